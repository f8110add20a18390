"""Tables of clusters for the tests of plans: by hand, and generated."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa

from jobs.plan.plan import READS
from jobs.schema import BROKER, CLUSTER, PARTITION, PARTITION_LOAD, REPLICA, TOPIC, Table
from tests.jobs.rows import rows
from tests.oracle.algorithms import cruise_control_goals as oracle


def with_replica_sizes(tables: dict[Table, pa.Table]) -> dict[Table, pa.Table]:
    """Return the tables with partition.replica_size_bytes as table replica has them."""
    sizes = {(row["topic"], row["partition"], row["broker_id"]): row["size_bytes"] for row in tables[REPLICA].to_pylist()}
    partitions = [
        row | {"replica_size_bytes": [sizes.get((row["topic"], row["partition"], id)) for id in row["replicas"]]}
        for row in tables[PARTITION].to_pylist()
    ]
    return tables | {PARTITION: pa.Table.from_pylist(partitions, PARTITION.schema)}


def generated_cluster(seed: int) -> dict[Table, pa.Table]:
    """Return a cluster with the brokers, loads and partitions of the goals' oracle, and with random ISRs."""
    rng = random.Random(f"plan/{seed}")
    case = oracle.case(rng)
    dead = {id for id, _, _, alive, *_ in case["brokers"] if not alive}
    tables = {table: rows(table) for table in READS}
    tables[CLUSTER] = rows(CLUSTER, {"controller": rng.choice(["kraft", "zookeeper"]), "elr": False})
    capacities = ("disk_capacity_bytes", "cpu_capacity_percent", "network_in_capacity_bytes_per_s", "network_out_capacity_bytes_per_s")
    units = (2.0**20, 1.0, 1024.0, 1024.0)
    tables[BROKER] = rows(
        BROKER,
        *(
            {"broker_id": id, "rack": rack, "live": alive}
            | {name: value * unit for name, value, unit in zip(capacities, capacity, units, strict=True)}
            for id, rack, _, alive, *capacity in case["brokers"]
        ),
    )
    replica_counts = {topic: len(replicas) for topic, _, replicas, *_ in case["partitions"]}
    tables[TOPIC] = rows(
        TOPIC,
        *({"topic": topic, "min_insync_replicas": max(1, count - rng.choice([0, 1, 1, 2]))} for topic, count in replica_counts.items()),
    )
    partitions, replicas, loads = [], [], []
    for topic, number, assigned, leader, disk, cpu, network_in, network_out in case["partitions"]:
        key, live = {"topic": topic, "partition": number}, [id for id in assigned if id not in dead]
        live_leader = leader if leader in live else next(iter(live), None)
        isr = [id for id in live if id == live_leader or rng.random() > 0.05]
        partitions.append(key | {"replicas": assigned, "leader": live_leader, "isr": sorted(isr)})
        replicas += [key | {"broker_id": id, "size_bytes": int(disk * 2**20)} for id in assigned]
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


def with_uneven_sizes(tables: dict[Table, pa.Table], seed: int) -> dict[Table, pa.Table]:
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
