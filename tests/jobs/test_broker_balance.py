"""What each broker carries, idle and dead ones too, and what is amiss with the partitions."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from jobs import broker_balance
from jobs.tables import BROKER, DISK_USAGE, PARTITION, PRODUCER_LOAD, TOPIC
from tests.jobs.rows import table, told

RACKS = {1: "a", 2: "b", 3: "c"}


def run(
    spark: SparkSession,
    partitions: list[dict[str, Any]],
    *,
    dead: tuple[int, ...] = (),
    racks: dict[int, str | None] = RACKS,
    load: dict[int, int] | None = None,
    **topic: Any,
) -> tuple[DataFrame, ...]:
    return broker_balance.transform(
        table(spark, BROKER, *({"broker_id": id, "rack": rack, "live": id not in dead} for id, rack in racks.items())),
        table(spark, TOPIC, {"topic": "t", "replication_factor": 3, **topic}),
        table(spark, PARTITION, *({"topic": "t", "partition": number, **told} for number, told in enumerate(partitions))),
        table(spark, PRODUCER_LOAD, *({"topic": "t", "partition": p, "records": n, "size_bytes": 10 * n} for p, n in (load or {}).items())),
        table(spark, DISK_USAGE, {"broker_id": 1, "log_dir": "/a", "size_bytes": 30}, {"broker_id": 1, "log_dir": "/b", "size_bytes": 10}),
        parameters={},
    )


def of(replicas: list[int], leader: int | None, isr: list[int] | None = None, **more: Any) -> dict[str, Any]:
    return {"replicas": replicas, "leader": leader, "isr": sorted(replicas) if isr is None else isr, **more}


def test_an_idle_broker_has_its_row_and_a_dead_one_no_share(spark: SparkSession) -> None:
    partitions = [of([1, 2], 1), of([1, 3], 1, [1]), of([2, 3], 2, [2])]
    balance, _ = run(spark, partitions, dead=(3,), racks={**RACKS, 4: "a"}, load={0: 3, 1: 5, 2: 0})
    counts = ("broker_id", "live", "replicas", "in_sync_replicas", "leaders", "preferred_leaders", "produced_records", "live_brokers")
    assert told(balance, *counts) == [
        (1, True, 2, 2, 2, 2, 8, 3),
        (2, True, 2, 2, 1, 1, 0, 3),
        (3, False, 2, 0, 0, 0, 0, 3),
        (4, True, 0, 0, 0, 0, 0, 3),
    ]
    # The four replicas of the live brokers, over three of them.
    assert dict(told(balance, "broker_id", "replica_ratio")) == {1: 1.5, 2: 1.5, 3: None, 4: 0.0}
    assert dict(told(balance, "broker_id", "size_bytes"))[1] == 40


def test_without_a_key_sample_nothing_is_told_of_producers(spark: SparkSession) -> None:
    balance, _ = run(spark, [of([1, 2, 3], 1)])
    assert {row[1:] for row in told(balance, "broker_id", "produced_records", "produced_ratio")} == {(None, None)}


SIGNS: list[tuple[dict[str, Any], set[str]]] = [
    (of([1, 2, 3], 1), set()),
    (of([1, 2, 3], 2), {"not_preferred"}),
    (of([1, 2, 3], 1, [1, 2]), {"under_replicated", "at_min_isr"}),
    (of([1, 2, 3], 1, [1]), {"under_replicated", "under_min_isr"}),
    (of([1, 2, 3], None, []), {"leaderless", "under_replicated", "under_min_isr"}),
    (of([1, 2, 3], 1, [1, 2, 9]), {"isr_outside"}),
    (of([1, 2, 9], 1), {"unknown_broker"}),
    (of([9, 2, 3], 9), {"unknown_broker", "leaderless", "under_min_isr"}),
    (of([1, 2], 1), {"at_min_isr", "no_tolerance", "odd_replication_factor"}),
    (of([1, 2, 3, 4], 1, [1, 2, 3], adding_replicas=[4]), set()),  # a reassignment under way
    (of([1, 4, 2], 1), {"rack_unsafe"}),
]


def test_each_sign_is_told_of_its_partition(spark: SparkSession) -> None:
    _, health = run(spark, [partition for partition, _ in SIGNS], racks={**RACKS, 4: "a"}, min_insync_replicas=2)
    found = {row["partition"]: {name for name, value in row.items() if value is True} for row in (row.asDict() for row in health.collect())}
    assert found == {number: signs for number, (_, signs) in enumerate(SIGNS) if signs}


def test_racks_that_are_not_told_of_all_say_nothing_of_the_spread(spark: SparkSession) -> None:
    _, health = run(spark, [of([1, 4, 2], 2)], racks={**RACKS, 4: None}, min_insync_replicas=2)
    assert told(health, "rack_unsafe", "not_preferred") == [(None, True)]
