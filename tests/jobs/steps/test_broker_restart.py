"""Turns of a rolling restart, and what a return brings and costs."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from jobs.schema import BROKER, CLUSTER, PARTITION, PRODUCER_LOAD, TOPIC
from jobs.steps import broker_restart
from tests.jobs.rows import run_step, table, told


def restarts(
    spark: SparkSession,
    *partitions: dict[str, Any],
    live: tuple[int, ...] = (1, 2, 3),
    voters: tuple[int, ...] | None = None,
    load: DataFrame | None = None,
) -> DataFrame:
    """Brokers 1 to 3 of a KRaft cluster with ELR; topics of a partition each, min.insync.replicas as told."""
    rows = [
        {"topic": f"t{number}", "partition": 0, "leader": p["isr"][0] if p["isr"] else None, "elr": [], "last_known_elr": [], **p}
        for number, p in enumerate(partitions)
    ]
    of = {other: table(spark, other) for other in broker_restart.READS}
    of[CLUSTER] = table(spark, CLUSTER, {"controller": "kraft", "elr": True, "voters": voters})
    of[BROKER] = table(spark, BROKER, *({"broker_id": id, "live": id in live} for id in (1, 2, 3)))
    of[TOPIC] = table(
        spark,
        TOPIC,
        *({"topic": row["topic"], "replication_factor": len(row["replicas"]), "min_insync_replicas": row.pop("least", 1)} for row in rows),
    )
    of[PARTITION] = table(spark, PARTITION, *rows)
    of[PRODUCER_LOAD] = load or of[PRODUCER_LOAD]
    (restart,) = run_step(broker_restart, *(of[other] for other in broker_restart.READS))
    return restart


def test_a_lagging_replica_is_restarted_before_the_one_that_it_lags_behind(spark: SparkSession) -> None:
    df = restarts(
        spark, {"replicas": [1, 2], "isr": [1]}, {"replicas": [3], "isr": [3]}, {"replicas": [1, 2, 3], "isr": [1, 2, 3], "least": 2}
    )
    assert told(df, "broker_id", "restart_order", "under_min_isr_partitions") == [(1, 2, 0), (2, 1, 0), (3, 3, 1)]


def test_two_that_wait_for_each_other_have_no_turn(spark: SparkSession) -> None:
    df = restarts(spark, {"replicas": [1, 2], "isr": [1]}, {"replicas": [1, 2], "isr": [2]}, {"replicas": [1, 3], "isr": [1, 3]})
    assert told(df, "broker_id", "restart_order") == [(1, None), (2, None), (3, 1)]


def test_a_return_revives_what_only_it_can_lead(spark: SparkSession) -> None:
    df = restarts(
        spark,
        {"replicas": [1], "isr": [1]},
        {"replicas": [1, 2], "isr": [1, 2]},
        {"replicas": [3, 1], "isr": [], "elr": [3], "last_known_elr": [3]},
        live=(1, 2),
    )
    asked = (
        "broker_id",
        "live",
        "restart_order",
        "rejoining_partitions",
        "revived_partitions",
        "revived_uncleanly",
        "preferred_partitions",
        "regained_leaders",
    )
    # 1, killed, may have lost what it had: with nobody else left it leads as the last known leader. So does 3.
    assert told(df, *asked) == [(1, True, 1, 2, 1, 1, 2, 1), (2, True, 2, 1, 0, 0, 0, 0), (3, False, None, 1, 1, 1, 1, 0)]


def test_a_quorum_that_was_lost_elects_another_when_its_voter_is_back(spark: SparkSession) -> None:
    df = restarts(spark, {"replicas": [1, 2], "isr": [1, 2]}, {"replicas": [2, 1], "isr": [2, 1]}, voters=(1,))
    # 1, killed, comes back another incarnation: the controller, back with it, takes it out of ISRs (handleBrokerShutdown), and 2 leads.
    asked = ("broker_id", "rejoining_partitions", "revived_partitions", "revived_uncleanly", "preferred_partitions", "regained_leaders")
    assert told(df, *asked)[:2] == [(1, 2, 1, 0, 1, 1), (2, 2, 0, 0, 1, 1)]


def test_a_cluster_without_a_live_broker_has_its_returns_too(spark: SparkSession) -> None:
    df = restarts(spark, {"replicas": [1, 2], "isr": [2]}, {"replicas": [3], "isr": [], "elr": [3], "last_known_elr": [3]}, live=())
    # 2 was the last in sync, and 3 the last known leader: each may have lost what it had, and leads only if it is alone.
    asked = ("broker_id", "restart_order", "revived_partitions", "revived_uncleanly", "preferred_partitions", "regained_leaders")
    assert told(df, *asked) == [(1, None, 0, 0, 1, 0), (2, None, 0, 0, 0, 0), (3, None, 1, 1, 1, 0)]


def test_a_return_fetches_what_was_written_meanwhile_or_all(spark: SparkSession) -> None:
    sized = ({"replicas": [1, 2], "isr": [1, 2], "replica_size_bytes": [100, 90]},
             {"replicas": [2, 3], "isr": [2, 3], "replica_size_bytes": [40, None]})  # fmt: skip
    load = table(spark, PRODUCER_LOAD, {"topic": "t1", "partition": 0, "observed_size_bytes_per_s": 2.5})
    df = restarts(spark, *sized, load=load)
    asked = ("broker_id", "full_copy_bytes", "catch_up_bytes_per_s", "truncated_size_bytes")
    assert told(df, *asked) == [(1, 100, None, 10), (2, 140, 2.5, 0), (3, 40, 2.5, 0)]
