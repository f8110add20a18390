"""broker_balance: the load of each broker, the partitions that are not healthy, what topics store, and the load of consumer groups.

The rules of the gate `balance` read these tables.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pyarrow as pa

from jobs.engine import Engine, sql_text
from jobs.failure.cluster_state import cluster_election_rules, cluster_states
from jobs.failure.min_isr import EFFECTIVE_MIN_ISR
from jobs.failure.sizes import LEADER_SIZE
from jobs.schema import (
    BROKER,
    BROKER_BALANCE,
    CLUSTER,
    DISK_USAGE,
    GROUP_LOAD,
    GROUP_MEMBER,
    OBSERVED_ASSIGNMENT,
    PARTITION,
    PARTITION_HEALTH,
    PRODUCER_LOAD,
    TOPIC,
    TOPIC_BALANCE,
)
from jobs.steps.group_load import group_load
from jobs.steps.stage import Stages

READS = (CLUSTER, BROKER, TOPIC, PARTITION, PRODUCER_LOAD, DISK_USAGE, GROUP_MEMBER, OBSERVED_ASSIGNMENT)
WRITES = (BROKER_BALANCE, PARTITION_HEALTH, TOPIC_BALANCE, GROUP_LOAD)

_BROKER_BALANCE = sql_text(__file__, "broker_balance")
_PARTITION_HEALTH = sql_text(__file__, "broker_balance_partition_health", EFFECTIVE_MIN_ISR=EFFECTIVE_MIN_ISR)
_TOPIC_BALANCE = sql_text(__file__, "broker_balance_topic_balance", LEADER_SIZE=LEADER_SIZE)
_CLUSTER_BROKERS = pa.schema(
    [
        *(CLUSTER.schema.field(name) for name in ("snapshot_id", "cluster_id")),
        pa.field("min_isr_capped", pa.bool_()),
        pa.field("live", pa.list_(pa.int32())),
        pa.field("rack_of", pa.map_(pa.int32(), pa.string())),
        pa.field("all_racks_known", pa.bool_()),
        pa.field("racks", pa.int32()),
    ]
)


def transform(
    cluster: pa.Table,
    broker: pa.Table,
    topic: Any,
    partition: Any,
    producer_load: Any,
    disk_usage: Any,
    group_member: Any,
    observed_assignment: Any,
    *,
    engine: Engine,
) -> Stages[tuple[Any, ...]]:
    brokers = cluster_brokers(cluster, broker)
    groups = yield from group_load(engine, brokers, partition, producer_load, group_member, observed_assignment)
    return (
        engine.sql(_BROKER_BALANCE, broker=broker, partition=partition, producer_load=producer_load, disk_usage=disk_usage),
        engine.sql(_PARTITION_HEALTH, partition=partition, topic=topic, cluster_brokers=brokers),
        engine.sql(_TOPIC_BALANCE, partition=partition),
        groups,
    )


def cluster_brokers(cluster: pa.Table, broker: pa.Table) -> pa.Table:
    """Return for each cluster its live brokers, the racks of all its brokers, and whether its brokers cap min.insync.replicas."""
    brokers = defaultdict(list)
    for row in broker.to_pylist():
        brokers[row["cluster_id"]].append(row)
    rules = cluster_election_rules(cluster_states(cluster.to_pylist(), broker.to_pylist()).values())
    capped = dict(zip(rules["cluster_id"].to_pylist(), rules["min_isr_capped"].to_pylist(), strict=True))
    rows = []
    for row in cluster.to_pylist():
        of_cluster = brokers[row["cluster_id"]]
        rack_of = {each["broker_id"]: each["rack"] for each in of_cluster if each["rack"] is not None}
        rows.append(
            {
                **row,
                "min_isr_capped": capped.get(row["cluster_id"]),
                "live": [each["broker_id"] for each in of_cluster if each["live"]],
                "rack_of": list(rack_of.items()),
                "all_racks_known": bool(of_cluster) and len(rack_of) == len(of_cluster),
                "racks": len(set(rack_of.values())),
            }
        )
    return pa.Table.from_pylist(rows, _CLUSTER_BROKERS)
