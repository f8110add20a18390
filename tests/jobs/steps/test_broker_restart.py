"""Turns of a rolling restart, and what the return of a broker recovers and costs."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from jobs.schema import BROKER, CLUSTER, PARTITION, PRODUCER_LOAD, TOPIC
from jobs.steps import broker_restart
from tests.jobs.rows import rows_of_workers, run_step, sorted_rows, table

# Revived partitions, those of them that may miss records, and leaders that return only after a preferred leader election.
AFTER_KILL, AFTER_STOP = (
    tuple(f"{name}_after_{death}" for name in ("revived", "revived_uncleanly", "regained_leaders")) for death in ("kill", "stop")
)


def restarts(
    spark: SparkSession,
    *partitions: dict[str, Any],
    live: tuple[int, ...] = (1, 2, 3),
    voters: tuple[int, ...] | None = None,
    load: DataFrame | None = None,
) -> DataFrame:
    """Return `broker_restart` of the tables of `cluster`."""
    (restart,) = run_step(broker_restart, *cluster(spark, *partitions, live=live, voters=voters, load=load))
    return restart


def cluster(
    spark: SparkSession,
    *partitions: dict[str, Any],
    live: tuple[int, ...] = (1, 2, 3),
    voters: tuple[int, ...] | None = None,
    load: DataFrame | None = None,
) -> list[DataFrame]:
    """Return the tables that the step reads, of a KRaft cluster with ELR and brokers 1 to 3.

    Each partition is the only one of its topic; `min_isr` in its row is the topic's min.insync.replicas, by default 1.
    """
    rows = [
        {"topic": f"t{number}", "partition": 0, "leader": p["isr"][0] if p["isr"] else None, "elr": [], "last_known_elr": [], **p}
        for number, p in enumerate(partitions)
    ]
    inputs = {each: table(spark, each) for each in broker_restart.READS}
    inputs[CLUSTER] = table(spark, CLUSTER, {"controller": "kraft", "elr": True, "voters": voters})
    inputs[BROKER] = table(spark, BROKER, *({"broker_id": id, "live": id in live} for id in (1, 2, 3)))
    inputs[TOPIC] = table(
        spark,
        TOPIC,
        *(
            {"topic": row["topic"], "replication_factor": len(row["replicas"]), "min_insync_replicas": row.pop("min_isr", 1)}
            for row in rows
        ),
    )
    inputs[PARTITION] = table(spark, PARTITION, *rows)
    inputs[PRODUCER_LOAD] = load or inputs[PRODUCER_LOAD]
    return [*inputs.values()]


def test_a_broker_with_a_lagging_replica_restarts_before_the_leader(spark: SparkSession) -> None:
    df = restarts(
        spark, {"replicas": [1, 2], "isr": [1]}, {"replicas": [3], "isr": [3]}, {"replicas": [1, 2, 3], "isr": [1, 2, 3], "min_isr": 2}
    )
    assert sorted_rows(df, "broker_id", "restart_order", "under_min_isr_partitions") == [(1, 2, 0), (2, 1, 0), (3, 3, 1)]


def test_two_brokers_that_wait_for_each_other_have_no_turn(spark: SparkSession) -> None:
    df = restarts(spark, {"replicas": [1, 2], "isr": [1]}, {"replicas": [1, 2], "isr": [2]}, {"replicas": [1, 3], "isr": [1, 3]})
    assert sorted_rows(df, "broker_id", "restart_order") == [(1, None), (2, None), (3, 1)]


def test_the_brokers_of_a_cluster_without_partitions_restart_in_the_order_of_their_ids(spark: SparkSession) -> None:
    assert sorted_rows(restarts(spark, live=(1, 3)), "broker_id", "restart_order") == [(1, 1), (2, None), (3, 2)]


def test_batches_of_a_worker_may_have_any_size(spark: SparkSession) -> None:
    sized = {"leader": 1, "replicas": [1, 2], "replica_size_bytes": [100, 90]}
    partitions = ({**sized, "isr": [1]}, {**sized, "isr": [1, 2]}, {"replicas": [1, 2, 3], "isr": [1, 2, 3], "min_isr": 2})
    one, all_rows = (rows_of_workers(broker_restart, cluster(spark, *partitions), size) for size in (1, 1_000))
    assert one == all_rows
    assert all(one.values())


def test_a_returning_broker_revives_the_partitions_that_only_it_can_lead(spark: SparkSession) -> None:
    df = restarts(
        spark,
        {"replicas": [1], "isr": [1]},
        {"replicas": [1, 2], "isr": [1, 2]},
        {"replicas": [3, 1], "isr": [], "elr": [3], "last_known_elr": [3]},
        live=(1, 2),
    )
    columns = ("broker_id", "live", "restart_order", "rejoining_partitions", "preferred_partitions")
    assert sorted_rows(df, *columns) == [(1, True, 1, 2, 2), (2, True, 2, 1, 0), (3, False, None, 1, 1)]
    # A killed broker may lose records. Broker 1 is the only replica of t0, and leads it uncleanly as the last known leader; so does 3 t2.
    assert sorted_rows(df, "broker_id", *AFTER_KILL) == [(1, 1, 1, 1), (2, 0, 0, 0), (3, 1, 1, 0)]
    # After a clean stop they are still in the ELR.
    assert sorted_rows(df, "broker_id", *AFTER_STOP) == [(1, 1, 0, 1), (2, 0, 0, 0), (3, 1, 0, 0)]


def test_only_after_a_clean_stop_an_eligible_replica_leads_although_another_one_is_dead(spark: SparkSession) -> None:
    """Brokers 1 and 2 are dead and in the ELR of t0. Broker 3 leads t1, whose ELR has broker 2."""
    df = restarts(
        spark,
        {"replicas": [1, 2], "isr": [], "elr": [1, 2], "last_known_elr": [2], "min_isr": 2},
        {"replicas": [2, 3], "isr": [3], "elr": [2], "min_isr": 2},
        live=(3,),
    )
    assert sorted_rows(df, "broker_id", *AFTER_KILL) == [(1, 0, 0, 0), (2, 0, 0, 1), (3, 0, 0, 0)]
    assert sorted_rows(df, "broker_id", *AFTER_STOP) == [(1, 1, 0, 0), (2, 1, 0, 1), (3, 1, 0, 0)]


def test_a_recovered_quorum_elects_another_leader(spark: SparkSession) -> None:
    df = restarts(spark, {"replicas": [1, 2], "isr": [1, 2]}, {"replicas": [2, 1], "isr": [2, 1]}, voters=(1,))
    # Broker 1, the only voter, returns as a new incarnation. The controller removes it from ISRs (handleBrokerShutdown), and 2 leads.
    columns = ("broker_id", "rejoining_partitions", "preferred_partitions", *AFTER_KILL)
    assert sorted_rows(df, *columns)[:2] == [(1, 2, 1, 1, 0, 1), (2, 2, 1, 0, 0, 1)]


def test_a_cluster_without_live_brokers_has_returns(spark: SparkSession) -> None:
    df = restarts(spark, {"replicas": [1, 2], "isr": [2]}, {"replicas": [3], "isr": [], "elr": [3], "last_known_elr": [3]}, live=())
    # Broker 2 was the last one in the ISR of t0, and 3 is the last known leader of t1. A broker that was killed may lose records, so it leads
    # uncleanly and only if no other broker has a replica.
    columns = ("broker_id", "restart_order", "preferred_partitions", *AFTER_KILL)
    assert sorted_rows(df, *columns) == [(1, None, 1, 0, 0, 0), (2, None, 0, 0, 0, 0), (3, None, 1, 1, 1, 0)]
    # After a clean stop broker 2 is still in the ISR, and 3 in the ELR.
    assert sorted_rows(df, "broker_id", *AFTER_STOP) == [(1, 0, 0, 0), (2, 1, 0, 0), (3, 1, 0, 0)]


def test_a_returning_broker_fetches_what_was_written_since_or_everything(spark: SparkSession) -> None:
    sized = ({"replicas": [1, 2], "isr": [1, 2], "replica_size_bytes": [100, 90]},
             {"replicas": [2, 3], "isr": [2, 3], "replica_size_bytes": [40, None]})  # fmt: skip
    load = table(spark, PRODUCER_LOAD, {"topic": "t1", "partition": 0, "observed_size_bytes_per_s": 2.5})
    df = restarts(spark, *sized, load=load)
    columns = ("broker_id", "full_copy_bytes", "catch_up_bytes_per_s", "truncated_size_bytes")
    assert sorted_rows(df, *columns) == [(1, 100, None, 10), (2, 140, 2.5, 0), (3, 40, 2.5, 0)]


def test_rates_of_growth_are_added_as_the_decimals_that_they_are_written_as(spark: SparkSession) -> None:
    rates = (9204824.768947367, 838843.178585138, 5271958.52299888)
    load = table(
        spark, PRODUCER_LOAD, *({"topic": f"t{n}", "partition": 0, "observed_size_bytes_per_s": rate} for n, rate in enumerate(rates))
    )
    df = restarts(spark, *({"replicas": [1], "isr": [1]} for _ in rates), load=load)
    # The sum is 15315626.470531385. A product of each float with 10^9, rounded, loses its last digit.
    assert sorted_rows(df, "broker_id", "catch_up_bytes_per_s")[0] == (1, 15315626.470531385)
