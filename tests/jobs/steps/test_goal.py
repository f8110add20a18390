"""The goals of Cruise Control on whole tables: equal to the model on made-up clusters, silent on what is unknown."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.schema import BROKER, CLUSTER, LOG_DIR, PARTITION, PARTITION_LOAD
from jobs.steps import goal as job
from kafka_model.cruise_control import goals
from kafka_model.cruise_control.cluster_load import Broker, Partition
from kafka_model.cruise_control.limits import (
    CPU,
    DEFAULT_GOALS,
    DISK,
    GOALS,
    NETWORK_IN,
    NETWORK_OUT,
    Thresholds,
    balancedness_cost_by_goal,
)
from kafka_model.cruise_control.reassignment import net_imbalance
from kafka_model.cruise_control.verdicts import balancedness_score_range
from tests.jobs.rows import run_step, table, told
from tests.oracle.algorithms import cruise_control_goals as oracle

STRICT = Thresholds(
    replica_count_balance_threshold=1.5,
    topic_replica_count_balance_threshold=1.5,
    topic_replica_count_balance_min_gap=0,
    topic_replica_count_balance_max_gap=2,
    disk_capacity_threshold=0.3,
    cpu_low_utilization_threshold=0.2,
    max_replicas_per_broker=20,
    overprovisioned_max_replicas_per_broker=5,
    topics_with_min_leaders_per_broker="t0|t2",
    min_topic_leaders_per_broker=0,
)
CAPACITY = {
    "disk_capacity_bytes": 1000.0 * 2**20,
    "network_in_capacity_bytes_per_s": 1000.0 * 2**10,
    "network_out_capacity_bytes_per_s": 1000.0 * 2**10,
    "cpu_capacity_percent": 100.0,
}


def run(
    spark: SparkSession,
    brokers: list[dict[str, Any]],
    partitions: list[dict[str, Any]],
    loads: Sequence[dict[str, Any]] = (),
    *,
    log_dirs: Sequence[dict[str, Any]] = (),
    thresholds: Thresholds = Thresholds(),
) -> tuple[Any, ...]:
    clusters = sorted({row.get("cluster_id", "c") for row in brokers})
    return run_step(
        job,
        table(spark, CLUSTER, *({"cluster_id": id} for id in clusters)),
        table(spark, BROKER, *brokers),
        table(spark, LOG_DIR, *log_dirs),
        table(spark, PARTITION, *partitions),
        table(spark, PARTITION_LOAD, *loads),
        thresholds=thresholds,
    )


@pytest.mark.parametrize("thresholds", [Thresholds(), STRICT], ids=["defaults", "strict"])
def test_the_job_says_what_the_model_says(spark: SparkSession, thresholds: Thresholds) -> None:
    cases = {f"c{number}": oracle.case(random.Random(f"job/{number}")) for number in range(40)}
    brokers, partitions, loads = [], [], []
    for id, case in cases.items():
        held = {broker for _, _, replicas, *_ in case["partitions"] for broker in replicas}
        case["brokers"] = [broker for broker in case["brokers"] if broker[3] or broker[0] in held]
        for broker, rack, _, alive, disk, cpu, into, out in case["brokers"]:
            capacity = {"disk_capacity_bytes": disk * 2.0**20, "cpu_capacity_percent": float(cpu)}
            network = {"network_in_capacity_bytes_per_s": into * 2.0**10, "network_out_capacity_bytes_per_s": out * 2.0**10}
            brokers.append({"cluster_id": id, "broker_id": broker, "rack": rack, "live": alive, **capacity, **network})
        for topic, number, replicas, leader, disk, cpu, into, out in case["partitions"]:
            where = {"cluster_id": id, "topic": topic, "partition": number}
            partitions.append({**where, "replicas": replicas, "leader": leader, "isr": sorted(replicas)})
            rates = {"network_in_bytes_per_s": into * 2.0**10, "network_out_bytes_per_s": out * 2.0**10}
            loads.append({**where, "cpu_percent": float(cpu), "disk_bytes": disk * 2.0**20, **rates})
    verdicts, breaches, balance, net = run(spark, brokers, partitions, loads, thresholds=thresholds)
    found = {
        row[:2]: row[2:]
        for row in told(verdicts, "cluster_id", "goal", "verdict", "near_limit", "breaches", "provision", "brokers", "racks")
    }
    outside = {row[:5]: row[5] for row in told(breaches, "cluster_id", "goal", "broker_id", "topic", "partition", "limit_value")}
    scores = dict(told(balance, "cluster_id", "highest_score"))
    moves = {row[:2]: row[2] for row in told(net, "cluster_id", "level", "net_imbalance")}
    close = 0
    for id, case in cases.items():
        assert {level: moves[id, level] for level in imbalance(case)} == imbalance(case)
        resources = (DISK, CPU, NETWORK_IN, NETWORK_OUT)
        of_model = [Broker(broker, rack, str(broker), alive, dict(zip(resources, capacity, strict=True)))
                    for broker, rack, _, alive, *capacity in sorted(case["brokers"])]  # fmt: skip
        model = goals.evaluate(
            of_model,
            [Partition(topic, number, tuple(replicas), *rest) for topic, number, replicas, *rest in case["partitions"]],
            thresholds,
        )
        assert model.keys() == GOALS.keys()
        for name, verdict in model.items():
            said, near, *counts = found[id, name]
            if near:
                close += 1
                continue
            size = verdict.provision
            assert (id, name, said, counts) == (id, name, verdict.verdict, [len(verdict.breaches), size.status, size.brokers, size.racks])
            limits = {place[2:]: limit for place, limit in outside.items() if place[:2] == (id, name)}
            assert limits == pytest.approx({(b.broker_id, b.topic, b.partition): b.limit for b in verdict.breaches})
        dead = not all(broker.alive for broker in of_model)
        assert scores[id] == pytest.approx(balancedness_score_range(model, thresholds, has_dead_brokers=dead)[1])
    assert close < 0.02 * len(cases) * len(GOALS)


def imbalance(case: dict[str, Any]) -> dict[str, int]:
    """By Yelp's rule, counted here."""
    rack_of = {id: rack for id, rack, _, alive, *_ in case["brokers"] if alive}
    replicas = Counter(id for _, _, of, *_ in case["partitions"] for id in of if id in rack_of)
    leaders = Counter(row[3] for row in case["partitions"])
    topics = {row[0] for row in case["partitions"]}
    of_topic = [Counter(id for topic, _, of, *_ in case["partitions"] for id in of if topic == name and id in rack_of) for name in topics]
    racks = [Counter(rack_of[id] for id in of if id in rack_of) for _, _, of, *_ in case["partitions"]]
    levels = {
        "replicas": [(replicas, rack_of)],
        "leaders": [(leaders, rack_of)],
        "topic replicas": [(counts, rack_of) for counts in of_topic],
    }
    levels["rack replicas"] = [(counts, set(rack_of.values())) for counts in racks]
    return {level: sum(net_imbalance([counts[place] for place in places]) for counts, places in parts) for level, parts in levels.items()}


def brokers(count: int, **more: Any) -> list[dict[str, Any]]:
    return [{"broker_id": id, "rack": f"r{id}", "live": True, **CAPACITY, **more} for id in range(count)]


def partition(number: int, replicas: list[int], leader: int | None = None, **more: Any) -> dict[str, Any]:
    return {
        "topic": "t",
        "partition": number,
        "replicas": replicas,
        "isr": sorted(replicas),
        "leader": replicas[0] if leader is None else leader,
        **more,
    }


def verdicts_of(outcome: tuple[Any, ...]) -> dict[str, str]:
    return dict(told(outcome[0], "goal", "verdict"))


def test_what_is_not_told_is_neither_satisfied_nor_violated(spark: SparkSession) -> None:
    outcome = run(spark, brokers(2, rack=None, cpu_capacity_percent=None), [partition(0, [0, 1])])
    verdicts = verdicts_of(outcome)
    assert {name for name, verdict in verdicts.items() if verdict != "unknown"} == {
        "MinTopicLeadersPerBrokerGoal", "ReplicaCapacityGoal", "ReplicaDistributionGoal", "TopicReplicaDistributionGoal",
        "LeaderReplicaDistributionGoal", "PreferredLeaderElectionGoal",
    }  # fmt: skip
    lacks = dict(told(outcome[0], "goal", "missing_input"))
    assert lacks["CpuCapacityGoal"] == "cpu capacity of each live broker"
    assert lacks["DiskCapacityGoal"] == "disk load of each partition"
    assert lacks["RackAwareGoal"] == "rack of each live broker"
    ((score, least, most, not_told),) = told(outcome[2], "balancedness_score", "lowest_score", "highest_score", "goals_unknown")
    assert (score, round(least, 6), most, not_told) == (None, round(sum(balancedness_cost_by_goal(Thresholds())[name] for name in DEFAULT_GOALS
                                                                     if verdicts[name] == "satisfied"), 6), 100.0, 11)  # fmt: skip


def test_a_replica_counts_with_its_leaders_size_and_a_partition_without_a_leader_not_at_all(spark: SparkSession) -> None:
    led = {**partition(0, [0, 1]), "replica_size_bytes": [900 * 2**20, 1]}
    leaderless = {**partition(1, [1]), "leader": None, "replica_size_bytes": [900 * 2**20]}
    _, breaches, *_ = run(spark, brokers(3), [led, leaderless])
    assert told(breaches.where("goal = 'DiskCapacityGoal'"), "broker_id", "measured", "limit_value", "smallest_change") == [
        (0, 900.0, 800.0, "move 100 MiB off broker 0"),
        (1, 900.0, 800.0, "move 100 MiB off broker 1"),
    ]


def test_a_breach_says_the_smallest_change(spark: SparkSession) -> None:
    skewed = [partition(number, [0]) for number in range(6)] + [partition(6, [1])]
    _, breaches, *_ = run(spark, brokers(2), skewed)
    assert told(breaches.where("goal = 'ReplicaDistributionGoal'"), "broker_id", "measured", "limit_value", "smallest_change") == [
        (0, 6.0, 4.0, "move 2 replicas off broker 0"),
        (1, 1.0, 3.0, "move 2 replicas to broker 1"),
    ]
    _, breaches, *_ = run(spark, [*brokers(2, rack="a"), {"broker_id": 2, "rack": "b", "live": True}], [partition(0, [0, 1], 1)])
    assert told(breaches.where("partition = 0"), "goal", "smallest_change") == [
        ("PreferredLeaderElectionGoal", "elect broker 0"),
        ("RackAwareDistributionGoal", "move 1 from the rack that holds 2 to emptier racks"),
        ("RackAwareGoal", "move 1 to racks without one: b"),
    ]


def test_a_dead_broker_or_log_dir_leaves_no_score_and_no_size(spark: SparkSession) -> None:
    dead = [*brokers(2), {"broker_id": 9, "rack": "z", "live": False}]
    outcome = run(spark, dead, [partition(0, [0, 9])])
    assert told(outcome[2], "balancedness_score", "provision") == [(-1.0, "UNDECIDED")]
    assert verdicts_of(outcome)["RackAwareGoal"] == "satisfied"
    outcome = run(spark, dead, [partition(0, [0, 1])])  # nobody would know of it
    assert told(outcome[2], "highest_score", "goals_violated") == [(100.0, 0)]
    outcome = run(spark, brokers(2), [partition(0, [0, 1])], log_dirs=[{"broker_id": 0, "log_dir": "/d", "error": "offline"}])
    assert told(outcome[2], "balancedness_score") == [(-1.0,)]


def test_more_replicas_than_racks_ask_for_racks(spark: SparkSession) -> None:
    three = [*brokers(2, rack="a"), {"broker_id": 2, "rack": "b", "live": True}]
    verdicts, breaches, balance, _ = run(spark, three, [partition(0, [0, 1, 2])])
    assert told(verdicts.where("verdict = 'unfixable'"), "goal", "breaches", "racks") == [("RackAwareGoal", 2, 1)]
    assert told(breaches.where("goal = 'RackAwareGoal'"), "partition", "measured", "limit_value", "smallest_change") == [
        (0, 1.0, 0.0, "add racks: there are fewer than replicas"),
        (None, 3.0, 2.0, "add 1 rack"),
    ]
    assert told(balance, "provision", "racks_to_add") == [("UNDER_PROVISIONED", 1)]


def test_a_cluster_of_which_nothing_is_told_has_its_verdicts_all_the_same(spark: SparkSession) -> None:
    verdicts, _, balance, _ = run_step(
        job,
        table(spark, CLUSTER, {}),
        *(table(spark, of) for of in (BROKER, LOG_DIR, PARTITION, PARTITION_LOAD)),
        thresholds=Thresholds(),
    )
    assert {verdict for (verdict,) in told(verdicts, "verdict")} == {"unknown"}
    assert told(balance, "balancedness_score", "lowest_score", "highest_score", "goals_unknown") == [(None, pytest.approx(0), 100.0, 16)]
