"""How evenly a group's members, and the hosts of all groups, share their load, computed by hand."""

from __future__ import annotations

from math import sqrt

import pytest
from pyspark.sql import SparkSession

from jobs.schema import BROKER, CLUSTER, DISK_USAGE, GROUP_MEMBER, OBSERVED_ASSIGNMENT, PARTITION, PRODUCER_LOAD, TOPIC
from jobs.steps import broker_balance
from tests.jobs.rows import run_step, table


def test_members_and_hosts_have_the_load_of_their_partitions(spark: SparkSession) -> None:
    leader_and_isr = {0: (1, [1, 2]), 1: (1, [1]), 2: (2, [2]), 3: (1, [1, 2])}
    *_, groups = run_step(
        broker_balance,
        table(spark, CLUSTER, {}),
        table(spark, BROKER, {"broker_id": 1, "rack": "a", "live": True}, {"broker_id": 2, "rack": "b", "live": True}),
        table(spark, TOPIC, {"topic": "t", "replication_factor": 1}),
        table(spark, PARTITION, *({"topic": "t", "partition": id, "leader": leader, "replicas": isr, "isr": isr} for id, (leader, isr) in leader_and_isr.items())),
        table(spark, PRODUCER_LOAD, *({"topic": "t", "partition": id, "records": 10 * (id + 1), "size_bytes": 100 * (id + 1)} for id in leader_and_isr)),
        table(spark, DISK_USAGE),
        table(
            spark, GROUP_MEMBER,
            {"group_id": "g", "member_id": "m1", "host": "h1", "rack": "b"},
            {"group_id": "g", "member_id": "m2", "host": "h1"},
            {"group_id": "g", "member_id": "m3", "host": "h2", "rack": "a"},
        ),
        table(
            spark, OBSERVED_ASSIGNMENT,
            *({"group_id": "g", "member_id": "m1" if id < 3 else "m2", "topic": "t", "partition": id} for id in leader_and_isr),
        ),
    )  # fmt: skip
    found = {row.group_id: row.asDict() for row in groups.collect()}
    common = {"snapshot_id": "s", "cluster_id": "c", "topics": 1, "partitions": 4, "records": 100, "size_bytes": 1000,
              "cross_rack_partitions": 2, "cross_rack_size_bytes": 300, "local_replica_size_bytes": 100, "cross_rack_share": 0.5,
              "avoidable_share": pytest.approx(1 / 6)}  # fmt: skip
    assert found["g"] == common | {
        "group_id": "g", "members": 3, "idle_members": 1, "max_partitions": 3, "min_partitions": 0,
        "partition_cv": pytest.approx(sqrt(10 / 3 - (4 / 3) ** 2) / (4 / 3)), "busiest_member": "m1",
        "record_ratio": pytest.approx(1.8), "byte_ratio": pytest.approx(1.8),
    }  # fmt: skip
    assert found[None] == common | {
        "group_id": None, "members": 2, "idle_members": 1, "max_partitions": 4, "min_partitions": 0, "partition_cv": 1.0,
        "busiest_member": "h1", "record_ratio": 2.0, "byte_ratio": 2.0,
    }  # fmt: skip
