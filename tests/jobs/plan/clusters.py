"""Clusters for the tests of plans, made by hand or generated, and the rows of their plans."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from expectations.limits import limits
from jobs.lake.lake import Lake
from jobs.plan.answer import compute_plan
from jobs.plan.current import READS
from jobs.plan.question import PlanQuestion
from jobs.schema import (
    BROKER,
    CLUSTER,
    PARTITION,
    PARTITION_LOAD,
    PLAN,
    PLAN_BLOCKED,
    PLAN_BROKER,
    PLAN_GOAL,
    PLAN_MOVE,
    PLAN_SCENARIO,
    PLAN_WAVE,
    REPLICA,
    SNAPSHOT,
    TOPIC,
    Table,
)
from tests.jobs.empty_lake import empty_lake
from tests.jobs.rows import rows
from tests.oracle.algorithms import cruise_control_goals as oracle

Tables = dict[Table, pa.Table]
Row = dict[str, Any]

GIB = 2**30
NETWORK = {"network_in_capacity_bytes_per_s": 2e6, "network_out_capacity_bytes_per_s": 1e6}
RACKS = {1: "a", 2: "a", 3: "b", 4: "c"}
TWO_RACKS = {1: "a", 2: "a", 3: "b", 4: "b"}


class PlanRows(NamedTuple):
    """The rows of a plan."""

    summary: Row
    moves: list[Row]
    waves: list[Row]
    goals: list[Row]
    brokers: list[Row]
    scenarios: list[Row]
    blocked: list[Row]


def plan_rows(tables: Tables, cluster_id: str = "c", **options: Any) -> PlanRows:
    """Compute a plan with these options of its question."""
    plan = compute_plan(with_replica_sizes(tables), PlanQuestion("p", cluster_id, **options), limits(None)).tables
    (summary,) = plan[PLAN].to_pylist()
    tables_of_rows = (PLAN_MOVE, PLAN_WAVE, PLAN_GOAL, PLAN_BROKER, PLAN_SCENARIO, PLAN_BLOCKED)
    return PlanRows(summary, *(plan[table].to_pylist() for table in tables_of_rows))


def cluster_on_three_racks(
    partitions: list[tuple[list[int], int | None, list[int]]], *, dead: tuple[int, ...] = (), size: int | None = 100
) -> Tables:
    """Return a topic with min.insync.replicas=2 on RACKS; partitions are replicas, leader and ISR."""
    tables = {table: rows(table) for table in READS}
    tables[CLUSTER] = rows(CLUSTER, {"controller": "kraft", "elr": True})
    tables[BROKER] = rows(
        BROKER, *({"broker_id": broker_id, "rack": rack, "live": broker_id not in dead, **NETWORK} for broker_id, rack in RACKS.items())
    )
    tables[TOPIC] = rows(TOPIC, {"topic": "t", "partitions": len(partitions), "replication_factor": 3, "min_insync_replicas": 2})
    tables[PARTITION] = rows(
        PARTITION,
        *(
            {"topic": "t", "partition": number, "replicas": replicas, "leader": leader, "isr": isr}
            for number, (replicas, leader, isr) in enumerate(partitions)
        ),
    )
    tables[REPLICA] = rows(
        REPLICA,
        *(
            {"topic": "t", "partition": number, "broker_id": broker_id, "size_bytes": size}
            for number, (replicas, _, _) in enumerate(partitions)
            for broker_id in replicas
        ),
    )
    return with_replica_sizes(tables)


def cluster_with_disks(partitions: dict[int, tuple[list[int], int]], *, capacity: float | None, racks: dict[int, str]) -> Tables:
    """Return partitions by number, each with replicas, all in sync, and a size, on brokers with disks of this capacity."""
    tables = {table: rows(table) for table in READS}
    tables[CLUSTER] = rows(CLUSTER, {"controller": "kraft", "elr": True})
    tables[BROKER] = rows(
        BROKER,
        *({"broker_id": broker_id, "rack": rack, "live": True, "disk_capacity_bytes": capacity} for broker_id, rack in racks.items()),
    )
    tables[TOPIC] = rows(TOPIC, {"topic": "t", "partitions": len(partitions), "replication_factor": 2, "min_insync_replicas": 1})
    tables[PARTITION] = rows(
        PARTITION,
        *(
            {"topic": "t", "partition": number, "replicas": replicas, "leader": replicas[0], "isr": sorted(replicas)}
            for number, (replicas, _) in partitions.items()
        ),
    )
    tables[REPLICA] = rows(
        REPLICA,
        *(
            {"topic": "t", "partition": number, "broker_id": broker_id, "size_bytes": size}
            for number, (replicas, size) in partitions.items()
            for broker_id in replicas
        ),
    )
    return with_replica_sizes(tables)


def with_broker_columns(tables: Tables, columns: dict[int, Row]) -> Tables:
    """Return the tables with other columns of these brokers, by broker id."""
    brokers = [row | columns.get(row["broker_id"], {}) for row in tables[BROKER].to_pylist()]
    return tables | {BROKER: pa.Table.from_pylist(brokers, BROKER.schema)}


def published_lake(tables: Tables, folder: Path) -> Lake:
    """Return a lake with one published snapshot of these rows."""
    lake = empty_lake(folder)
    for table, table_rows in with_replica_sizes(tables).items():
        lake.replace(table, table_rows, snapshot_id="s", attempt_id="1")
    lake.replace(SNAPSHOT, rows(SNAPSHOT, {"published_at": 0}), snapshot_id="s")
    return lake


def with_replica_sizes(tables: Tables) -> Tables:
    """Return the tables with partition.replica_size_bytes as table replica has them."""
    sizes = {(row["topic"], row["partition"], row["broker_id"]): row["size_bytes"] for row in tables[REPLICA].to_pylist()}
    partitions = [
        row | {"replica_size_bytes": [sizes.get((row["topic"], row["partition"], broker_id)) for broker_id in row["replicas"]]}
        for row in tables[PARTITION].to_pylist()
    ]
    return tables | {PARTITION: pa.Table.from_pylist(partitions, PARTITION.schema)}


def generated_cluster(seed: int) -> Tables:
    """Return a cluster with the brokers, loads and partitions of the goals' oracle, and with random ISRs."""
    rng = random.Random(f"plan/{seed}")
    case = oracle.case(rng)
    dead = {broker_id for broker_id, _, _, alive, *_ in case["brokers"] if not alive}
    tables = {table: rows(table) for table in READS}
    tables[CLUSTER] = rows(CLUSTER, {"controller": rng.choice(["kraft", "zookeeper"]), "elr": False})
    capacities = ("disk_capacity_bytes", "cpu_capacity_percent", "network_in_capacity_bytes_per_s", "network_out_capacity_bytes_per_s")
    units = (2.0**20, 1.0, 1024.0, 1024.0)
    tables[BROKER] = rows(
        BROKER,
        *(
            {"broker_id": broker_id, "rack": rack, "live": alive}
            | {name: value * unit for name, value, unit in zip(capacities, capacity, units, strict=True)}
            for broker_id, rack, _, alive, *capacity in case["brokers"]
        ),
    )
    replica_counts = {topic: len(replicas) for topic, _, replicas, *_ in case["partitions"]}
    tables[TOPIC] = rows(
        TOPIC,
        *({"topic": topic, "min_insync_replicas": max(1, count - rng.choice([0, 1, 1, 2]))} for topic, count in replica_counts.items()),
    )
    partitions, replicas, loads = [], [], []
    for topic, number, assigned, leader, disk, cpu, network_in, network_out in case["partitions"]:
        key, live = {"topic": topic, "partition": number}, [broker_id for broker_id in assigned if broker_id not in dead]
        live_leader = leader if leader in live else next(iter(live), None)
        isr = [broker_id for broker_id in live if broker_id == live_leader or rng.random() > 0.05]
        partitions.append(key | {"replicas": assigned, "leader": live_leader, "isr": sorted(isr)})
        replicas += [key | {"broker_id": broker_id, "size_bytes": int(disk * 2**20)} for broker_id in assigned]
        rates = {"cpu_percent": cpu, "network_in_bytes_per_s": network_in * 1024, "network_out_bytes_per_s": network_out * 1024}
        loads.append(key | rates | {"disk_bytes": disk * 2**20})
    return with_replica_sizes(
        tables
        | {
            PARTITION: rows(PARTITION, *partitions),
            REPLICA: rows(REPLICA, *replicas),
            PARTITION_LOAD: rows(PARTITION_LOAD, *loads),
        }
    )


def with_uneven_sizes(tables: Tables, seed: int) -> Tables:
    """Return the cluster with other sizes for followers, and with some sizes and some or all reported loads missing."""
    rng = random.Random(f"sizes/{seed}")
    leaders = {(row["topic"], row["partition"]): row["leader"] for row in tables[PARTITION].to_pylist()}
    share_of_loads = rng.choice([0.0, 0.5, 1.0])
    unknown_leader_sizes = rng.choice([0.0, 0.1])

    def size(row: dict[str, Any]) -> int | None:
        is_leader = leaders[row["topic"], row["partition"]] == row["broker_id"]
        if is_leader:
            return None if rng.random() < unknown_leader_sizes else row["size_bytes"]
        return int(row["size_bytes"] * rng.choice([0.1, 1, 1, 3]))

    replicas = [row | {"size_bytes": size(row)} for row in tables[REPLICA].to_pylist()]
    loads = [row for row in tables[PARTITION_LOAD].to_pylist() if rng.random() < share_of_loads]
    return with_replica_sizes(
        tables
        | {
            REPLICA: pa.Table.from_pylist(replicas, REPLICA.schema),
            PARTITION_LOAD: pa.Table.from_pylist(loads, PARTITION_LOAD.schema),
        }
    )
