"""Deaths of two and more brokers, compared with scenarios of their own and with enumeration."""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from jobs.engine import DuckdbEngine
from jobs.failure.cluster_state import cluster_states
from jobs.failure.counts import FailureCounts
from jobs.failure.election_inputs import election_inputs
from jobs.failure.patterns import Counts
from jobs.failure.scenarios import Scenario
from jobs.schema import BROKER, CLUSTER, PARTITION, SCENARIO, TOPIC, Table
from jobs.schema.failure import HARMS
from jobs.steps import failover, joint_failover
from tests.jobs.rows import rows_of_workers, run_step, sorted_rows, table
from tests.jobs.simulation import simulated

# Partitions of six brokers: three racks, two replicas, a lagging replica, three replicas again, a single replica in sync, a single replica.
PARTITIONS: list[dict[str, Any]] = [
    {"replicas": [1, 2, 3], "leader": 1, "isr": [1, 2, 3]},
    {"replicas": [4, 5], "leader": 4, "isr": [4, 5]},
    {"replicas": [2, 3, 4], "leader": 2, "isr": [2, 3]},
    {"replicas": [5, 6, 1], "leader": 5, "isr": [1, 5, 6]},
    {"replicas": [6, 2, 5], "leader": 6, "isr": [6]},
    {"replicas": [3], "leader": 3, "isr": [3]},
]
RACKS = {1: "a", 2: "b", 3: "c", 4: "a", 5: "b", 6: None}
VOTERS = {"kraft": [1, 4, 6], "zookeeper": None}


def min_isr(partition: dict[str, Any]) -> int:
    return min(2, len(partition["replicas"]))


def tables(spark: SparkSession, controller: str, voters: list[int] | None) -> dict[Table, DataFrame]:
    """Return the tables that failover reads: a topic for each partition."""
    topics = (
        {"topic": f"t{i}", "partitions": 1, "replication_factor": len(p["replicas"]), "min_insync_replicas": min_isr(p)}
        for i, p in enumerate(PARTITIONS)
    )
    elr = {"elr": [], "last_known_elr": []} if controller == "kraft" else {}
    return {each: table(spark, each) for each in failover.READS} | {
        CLUSTER: table(spark, CLUSTER, {"controller": controller, "elr": controller == "kraft", "voters": voters}),
        BROKER: table(spark, BROKER, *({"broker_id": id, "live": True, "rack": rack} for id, rack in RACKS.items())),
        TOPIC: table(spark, TOPIC, *topics),
        PARTITION: table(spark, PARTITION, *({"topic": f"t{i}", "partition": 0, **p, **elr} for i, p in enumerate(PARTITIONS))),
    }


def computed(inputs: dict[Table, DataFrame]) -> tuple[DataFrame, DataFrame, DataFrame]:
    """Return the scenarios of the night, `broker_pair` and `joint_loss`."""
    scenario = run_step(failover, *inputs.values())[0].localCheckpoint()  # computed once, as the step that follows reads it
    pair, loss = run_step(joint_failover, *(inputs[each] for each in (CLUSTER, BROKER, TOPIC, PARTITION)), scenario)
    return scenario, pair, loss


@pytest.mark.parametrize("controller", ["kraft", "zookeeper"])
def test_every_pair_equals_a_scenario_of_both_brokers(spark: SparkSession, controller: str) -> None:
    voters = VOTERS[controller]
    inputs = tables(spark, controller, voters)
    _, pair, _ = computed(inputs)
    pairs = list(combinations(RACKS, 2))
    both_die, _, _ = simulated([Scenario("s", "c", "pairs", f"{a} {b}", "what-if", [a, b]) for a, b in permutations(RACKS, 2)], inputs)
    expected = {tuple(row["brokers"]): tuple(row[name] for name in HARMS) for row in both_die.collect()}
    found = {(a, b): tuple(counts) for a, b, *counts in sorted_rows(pair, "broker_id", "other_broker_id", *HARMS)}
    sharing = {pair for p in PARTITIONS for pair in combinations(sorted(p["replicas"]), 2)}
    quorum_breaking = {pair for pair in pairs if voters and 2 * len(set(voters) - set(pair)) <= len(voters)}
    assert found == {pair: expected[pair] for pair in sharing | quorum_breaking}
    assert all(any(counts) for counts in zip(*found.values(), strict=True))  # some pair does each harm
    shared = {pair: sum(set(pair) <= set(p["replicas"]) for p in PARTITIONS) for pair in found}
    assert {(a, b): count for a, b, count in sorted_rows(pair, "broker_id", "other_broker_id", "shared_partitions")} == shared
    order_dependent = {(a, b) for a, b, differs in sorted_rows(pair, "broker_id", "other_broker_id", "order_dependent") if differs}
    assert order_dependent == {(a, b) for a, b in found if expected[a, b] != expected[b, a]}
    assert bool(order_dependent) == (controller == "kraft")


@pytest.mark.parametrize("controller", ["kraft", "zookeeper"])
def test_counts_in_this_process_equal_those_of_the_night(spark: SparkSession, controller: str) -> None:
    inputs = tables(spark, controller, VOTERS[controller])
    rows = {each: inputs[each].toArrow() for each in (CLUSTER, BROKER, TOPIC, PARTITION)}
    state = cluster_states(rows[CLUSTER].to_pylist(), rows[BROKER].to_pylist())["c"]
    counts, empty = FailureCounts(state), FailureCounts(state)
    (partitions,) = election_inputs(DuckdbEngine(), rows[PARTITION], rows[TOPIC], [state]).toArrow().combine_chunks().to_batches()
    counts.add(partitions)
    failures = counts.compare(empty)
    scenario, pair, _ = computed(inputs)
    nightly = {id: Counts(*values) for id, *values in sorted_rows(scenario, "scenario_id", *Counts._fields)}
    assert {failure.scenario_id: failure.before for failure in failures if failure.kind != "pair"} == nightly
    pairs = {(a, b): tuple(values) for a, b, *values in sorted_rows(pair, "broker_id", "other_broker_id", *HARMS)}
    assert {
        tuple(failure.brokers): tuple(getattr(failure.before, name) for name in HARMS) for failure in failures if failure.kind == "pair"
    } == pairs
    counts.add(partitions, copies=-1)
    assert not any(any(failure.before) for failure in counts.compare(empty, every_pair=True))


@pytest.mark.parametrize("controller", ["kraft", "zookeeper"])
def test_batches_of_a_worker_may_have_any_size(spark: SparkSession, controller: str) -> None:
    inputs = tables(spark, controller, VOTERS[controller]) | {SCENARIO: table(spark, SCENARIO)}
    one, all_rows = (rows_of_workers(joint_failover, [inputs[each] for each in joint_failover.READS], size) for size in (1, 1_000))
    assert one == all_rows
    assert bool(one["quorum_count"]) == (controller == "kraft")


def test_fatal_sets_are_counted_from_the_replicas_in_sync(spark: SparkSession) -> None:
    _, _, loss = computed(tables(spark, "kraft", None))
    fatal_to_data = [set(p["isr"]) for p in PARTITIONS]
    fatal_to_writes = [
        set(brokers)
        for p in PARTITIONS
        for brokers in combinations(p["isr"], max(len(p["isr"]) - min_isr(p) + 1, 1))
        if len(p["isr"]) >= min_isr(p)
    ]

    def count(fatal: list[set[int]], deaths: int) -> int:
        return sum(any(each <= set(dead) for each in fatal) for dead in combinations(RACKS, deaths))

    columns = ("deaths", "broker_sets", "copysets", "data_loss_sets", "write_outage_sets")
    assert sorted_rows(loss, *columns) == [
        (2, 15, 1, count(fatal_to_data, 2), count(fatal_to_writes, 2)),
        (3, 20, 4, count(fatal_to_data, 3), count(fatal_to_writes, 3)),
    ]
