"""The load of each broker, also of idle and dead ones, and the problems of partitions."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from jobs.schema import BROKER, CLUSTER, DISK_USAGE, GROUP_MEMBER, OBSERVED_ASSIGNMENT, PARTITION, PRODUCER_LOAD, TOPIC
from jobs.steps import broker_balance
from tests.jobs.rows import run_step, sorted_rows, table

RACKS = {1: "a", 2: "b", 3: "c"}


def run(
    spark: SparkSession,
    partitions: list[dict[str, Any]],
    *,
    dead: tuple[int, ...] = (),
    racks: dict[int, str | None] = RACKS,
    kafka_version: str = "3.7.0",
    load: dict[int, int] | None = None,
    members: list[dict[str, Any]] | None = None,
    assigned: list[tuple[str, str, int]] | None = None,
    **topic: Any,
) -> tuple[DataFrame, ...]:
    return run_step(
        broker_balance,
        table(spark, CLUSTER, {"kafka_version": kafka_version}),
        table(spark, BROKER, *({"broker_id": id, "rack": rack, "live": id not in dead} for id, rack in racks.items())),
        table(spark, TOPIC, {"topic": "t", "replication_factor": 3, **topic}),
        table(spark, PARTITION, *({"topic": "t", "partition": number, **columns} for number, columns in enumerate(partitions))),
        table(spark, PRODUCER_LOAD, *({"topic": "t", "partition": p, "records": n, "size_bytes": 10 * n} for p, n in (load or {}).items())),
        table(spark, DISK_USAGE, {"broker_id": 1, "log_dir": "/a", "size_bytes": 30}, {"broker_id": 1, "log_dir": "/b", "size_bytes": 10}),
        table(spark, GROUP_MEMBER, *(members or [])),
        table(spark, OBSERVED_ASSIGNMENT, *({"group_id": g, "member_id": m, "topic": "t", "partition": p} for g, m, p in assigned or [])),
    )


def partition(replicas: list[int], leader: int | None, isr: list[int] | None = None, **more: Any) -> dict[str, Any]:
    return {"replicas": replicas, "leader": leader, "isr": sorted(replicas) if isr is None else isr, **more}


def test_an_idle_broker_has_a_row_and_a_dead_broker_no_ratio(spark: SparkSession) -> None:
    partitions = [partition([1, 2], 1), partition([1, 3], 1, [1]), partition([2, 3], 2, [2])]
    balance, *_ = run(spark, partitions, dead=(3,), racks={**RACKS, 4: "a"}, load={0: 3, 1: 5, 2: 0})
    counts = ("broker_id", "live", "replicas", "in_sync_replicas", "leaders", "preferred_leaders", "produced_records", "live_brokers")
    assert sorted_rows(balance, *counts) == [
        (1, True, 2, 2, 2, 2, 8, 3),
        (2, True, 2, 2, 1, 1, 0, 3),
        (3, False, 2, 0, 0, 0, 0, 3),
        (4, True, 0, 0, 0, 0, 0, 3),
    ]
    # The live brokers have four replicas, and are three.
    assert dict(sorted_rows(balance, "broker_id", "replica_ratio")) == {1: 1.5, 2: 1.5, 3: None, 4: 0.0}
    assert dict(sorted_rows(balance, "broker_id", "size_bytes"))[1] == 40


def test_without_a_key_sample_the_produced_load_is_unknown(spark: SparkSession) -> None:
    balance, *_ = run(spark, [partition([1, 2, 3], 1)])
    assert {row[1:] for row in sorted_rows(balance, "broker_id", "produced_records", "produced_ratio")} == {(None, None)}


PROBLEMS: list[tuple[dict[str, Any], set[str]]] = [
    (partition([1, 2, 3], 1), set()),
    (partition([1, 2, 3], 2), {"not_preferred"}),
    (partition([1, 2, 3], 1, [1, 2]), {"under_replicated", "at_min_isr"}),
    (partition([1, 2, 3], 1, [1]), {"under_replicated", "under_min_isr"}),
    (partition([1, 2, 3], None, []), {"leaderless", "under_replicated", "under_min_isr"}),
    (partition([1, 2, 3], 1, [1, 2, 9]), {"non_replica_in_isr"}),
    (partition([1, 2, 9], 1), {"unknown_broker"}),
    (partition([9, 2, 3], 9), {"unknown_broker", "leaderless", "under_min_isr"}),
    (partition([1, 2], 1), {"at_min_isr", "no_tolerance", "replication_factor_mismatch"}),
    (partition([1, 2, 3, 4], 1, [1, 2, 3], adding_replicas=[4]), set()),  # an ongoing reassignment
    (partition([1, 4, 2], 1), {"rack_unsafe"}),
    (partition([1], 1), {"no_tolerance", "replication_factor_mismatch", "min_isr_above_replicas"}),  # all replicas suffice for acks=all
]


def test_each_problem_is_found_in_its_partition(spark: SparkSession) -> None:
    _, health, *_ = run(spark, [problem for problem, _ in PROBLEMS], racks={**RACKS, 4: "a"}, min_insync_replicas=2)
    found = {row["partition"]: {name for name, value in row.items() if value is True} for row in (row.asDict() for row in health.collect())}
    assert found == {number: problems for number, (_, problems) in enumerate(PROBLEMS) if problems}


@pytest.mark.parametrize(
    ("kafka_version", "expected"),
    [
        ("3.6.2", [(0, True, False, True, 3, 3), (1, True, False, True, 3, 3), (2, True, False, True, 3, 3)]),
        ("3.7.0", [(0, False, False, True, 3, 1), (1, False, True, True, 3, 2), (2, True, False, True, 3, 2)]),
    ],
)
def test_since_3_7_acks_all_needs_at_most_all_replicas_in_sync(spark: SparkSession, kafka_version: str, expected: list[Any]) -> None:
    partitions = [partition([1], 1), partition([1, 2], 1), partition([1, 2], 1, [1])]
    _, health, *_ = run(spark, partitions, kafka_version=kafka_version, min_insync_replicas=3)
    columns = ("partition", "under_min_isr", "at_min_isr", "min_isr_above_replicas", "min_insync_replicas", "effective_min_isr")
    assert sorted_rows(health, *columns) == expected


def test_rack_safety_is_unknown_unless_all_racks_are_known(spark: SparkSession) -> None:
    _, health, *_ = run(spark, [partition([1, 4, 2], 2)], racks={**RACKS, 4: None}, min_insync_replicas=2)
    assert sorted_rows(health, "rack_unsafe", "not_preferred") == [(None, True)]


def test_partition_health_has_the_values_of_its_problems(spark: SparkSession) -> None:
    _, health, *_ = run(spark, [partition([2, 1, 3, 4], 1, [1, 3], adding_replicas=[4])], min_insync_replicas=2)
    columns = (
        "preferred_leader",
        "assigned_replicas",
        "settled_replicas",
        "in_sync_replicas",
        "min_insync_replicas",
        "replication_factor",
        "lagging_replicas",
    )
    assert sorted_rows(health, *columns) == [(2, 4, 3, 2, 2, 3, [2, 4])]


def test_a_topic_sums_up_its_leaders_and_log_offsets(spark: SparkSession) -> None:
    ends = [{"log_start_offset": 10, "log_end_offset": 40}, {"log_start_offset": 0, "log_end_offset": 10}]
    partitions = [
        partition([1, 2], 1, **ends[0], replica_size_bytes=[500, 9]),
        partition([1, 2], 2, **ends[1], replica_size_bytes=[9, 700]),
    ]
    _, _, topics, _ = run(spark, partitions)
    columns = ("partitions", "records", "record_skew", "size_bytes", "fullest_partition", "fullest_size_bytes", "mean_record_bytes")
    assert sorted_rows(topics, *columns) == [(2, 40, 0.5, 1200, 1, 700, 30.0)]
    _, _, topics, _ = run(spark, [partitions[0], partition([2, 1], 2)])  # its size and offsets are unknown
    assert sorted_rows(topics, *columns) == [(2, None, None, None, 0, 500, None)]


def test_members_and_hosts_have_their_load_and_the_part_that_crosses_racks(spark: SparkSession) -> None:
    partitions = [partition([1, 2], 1), partition([2, 3], 2, [2]), partition([3, 1], 3), partition([1, 3], 1)]
    members = [
        {"group_id": "g", "member_id": "one", "host": "h1", "rack": "a"},
        {"group_id": "g", "member_id": "two", "host": "h2", "rack": "b"},
        {"group_id": "g", "member_id": "idle", "host": "h1", "rack": "c"},
        {"group_id": "k", "member_id": "all", "host": "h1", "rack": None},
    ]
    assigned = [("g", "one", 0), ("g", "one", 1), ("g", "two", 2), ("g", "two", 3), *(("k", "all", number) for number in range(4))]
    *_, load = run(spark, partitions, load={0: 10, 1: 20, 2: 30, 3: 40}, members=members, assigned=assigned)
    shares = (
        "group_id",
        "members",
        "idle_members",
        "topics",
        "partitions",
        "max_partitions",
        "min_partitions",
        "busiest_member",
        "records",
    )
    assert sorted_rows(load, *shares) == [
        ("g", 3, 1, 1, 4, 2, 0, "two", 100),
        ("k", 1, 0, 1, 4, 4, 4, "all", 100),
        (None, 2, 0, 1, 8, 6, 2, "h1", 200),  # h1 has the members one, idle and all
    ]
    ratios = {row[0]: row[1:] for row in sorted_rows(load, "group_id", "record_ratio", "size_bytes", "byte_ratio")}
    assert ratios["g"] == (pytest.approx(2.1), 1000, pytest.approx(2.1))
    assert ratios[None] == (1.3, 2000, 1.3)
    # Member one on rack a reads partition 1 from rack b. Member two on rack b reads 2 and 3 from racks c and a. Neither has an in-sync replica on its rack.
    crossing = ("cross_rack_partitions", "cross_rack_size_bytes", "local_replica_size_bytes", "cross_rack_share", "avoidable_share")
    assert {row[0]: row[1:] for row in sorted_rows(load, "group_id", *crossing)} == {
        "g": (3, 900, 0, 0.9, 0.0), "k": (None,) * 5, None: (3, 900, 0, 0.9, 0.0),
    }  # fmt: skip
    partitions[2] = partition([3, 2], 3)  # with an in-sync replica on rack b
    *_, load = run(spark, partitions, load={0: 10, 1: 20, 2: 30}, members=members[:2], assigned=assigned[:4])
    assert sorted_rows(
        load.where("group_id = 'g'"), "cross_rack_size_bytes", "local_replica_size_bytes", "record_ratio", "cross_rack_partitions"
    ) == [
        (None, 300, None, 3),  # the records of partition 3 are unknown
    ]
