"""Verdicts of Cruise Control's goals on tables: equal to the model on generated clusters, and unknown without their input."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.schema import BROKER, CLUSTER, LOG_DIR, PARTITION, PARTITION_LOAD
from jobs.steps import goal
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
from tests.jobs.rows import run_step, sorted_rows, table
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
        goal,
        table(spark, CLUSTER, *({"cluster_id": id} for id in clusters)),
        table(spark, BROKER, *brokers),
        table(spark, LOG_DIR, *log_dirs),
        table(spark, PARTITION, *partitions),
        table(spark, PARTITION_LOAD, *loads),
        thresholds=thresholds,
    )


@pytest.mark.parametrize("thresholds", [Thresholds(), STRICT], ids=["defaults", "strict"])
def test_verdicts_equal_those_of_the_model(spark: SparkSession, thresholds: Thresholds) -> None:
    cases = {f"c{number}": oracle.case(random.Random(f"job/{number}")) for number in range(40)}
    brokers, partitions, loads = [], [], []
    for id, case in cases.items():
        used = {broker for _, _, replicas, *_ in case["partitions"] for broker in replicas}
        has_racks = not id.endswith(("2", "7"))  # otherwise Cruise Control takes the host for the rack
        case["brokers"] = [
            (broker, rack if has_racks else host, host, alive, *capacity)
            for broker, rack, host, alive, *capacity in case["brokers"]
            if alive or broker in used
        ]
        for broker, rack, host, alive, disk, cpu, network_in, network_out in case["brokers"]:
            capacity = {"disk_capacity_bytes": disk * 2.0**20, "cpu_capacity_percent": float(cpu)}
            network = {"network_in_capacity_bytes_per_s": network_in * 2.0**10, "network_out_capacity_bytes_per_s": network_out * 2.0**10}
            brokers.append(
                {
                    "cluster_id": id,
                    "broker_id": broker,
                    "rack": rack if has_racks else None,
                    "host": host,
                    "live": alive,
                    **capacity,
                    **network,
                }
            )
        for topic, number, replicas, leader, disk, cpu, network_in, network_out in case["partitions"]:
            key = {"cluster_id": id, "topic": topic, "partition": number}
            partitions.append({**key, "replicas": replicas, "leader": leader, "isr": sorted(replicas)})
            rates = {"network_in_bytes_per_s": network_in * 2.0**10, "network_out_bytes_per_s": network_out * 2.0**10}
            loads.append({**key, "cpu_percent": float(cpu), "disk_bytes": disk * 2.0**20, **rates})
    verdicts, breaches, balance, net = run(spark, brokers, partitions, loads, thresholds=thresholds)
    found = {
        row[:2]: row[2:]
        for row in sorted_rows(verdicts, "cluster_id", "goal", "verdict", "near_limit", "breaches", "provision", "brokers", "racks")
    }
    limits = {row[:5]: row[5] for row in sorted_rows(breaches, "cluster_id", "goal", "broker_id", "topic", "partition", "limit_value")}
    scores = dict(sorted_rows(balance, "cluster_id", "highest_score"))
    imbalances = {row[:2]: row[2] for row in sorted_rows(net, "cluster_id", "level", "net_imbalance")}
    near_limit = 0
    for id, case in cases.items():
        expected = net_imbalances(case)
        assert {level: imbalances[id, level] for level in expected} == expected
        resources = (DISK, CPU, NETWORK_IN, NETWORK_OUT)
        model_brokers = [Broker(broker, rack, host, alive, dict(zip(resources, capacity, strict=True)))
                    for broker, rack, host, alive, *capacity in sorted(case["brokers"])]  # fmt: skip
        model = goals.evaluate(
            model_brokers,
            [Partition(topic, number, tuple(replicas), *rest) for topic, number, replicas, *rest in case["partitions"]],
            thresholds,
        )
        assert model.keys() == GOALS.keys()
        for name, verdict in model.items():
            actual, is_near_limit, *counts = found[id, name]
            if is_near_limit:
                near_limit += 1
                continue
            provision = verdict.provision
            assert (id, name, actual) == (id, name, verdict.verdict)
            assert counts == [len(verdict.breaches), provision.status, provision.brokers, provision.racks]
            breach_limits = {key[2:]: limit for key, limit in limits.items() if key[:2] == (id, name)}
            assert breach_limits == pytest.approx({(b.broker_id, b.topic, b.partition): b.limit for b in verdict.breaches})
        has_dead_brokers = not all(broker.alive for broker in model_brokers)
        assert scores[id] == pytest.approx(balancedness_score_range(model, thresholds, has_dead_brokers=has_dead_brokers)[1])
    assert near_limit < 0.02 * len(cases) * len(GOALS)


def net_imbalances(case: dict[str, Any]) -> dict[str, int]:
    """Count Yelp's net imbalance of each level."""
    rack_of = {id: rack for id, rack, _, alive, *_ in case["brokers"] if alive}
    racks = set(rack_of.values())
    live_replicas = [(topic, [id for id in replicas if id in rack_of]) for topic, _, replicas, *_ in case["partitions"]]
    by_topic: dict[str, Counter[int]] = {}
    for topic, replicas in live_replicas:
        by_topic.setdefault(topic, Counter()).update(replicas)
    counted = {
        "replicas": ([Counter(id for _, replicas in live_replicas for id in replicas)], rack_of),
        "leaders": ([Counter(leader for _, _, _, leader, *_ in case["partitions"])], rack_of),
        "topic replicas": (list(by_topic.values()), rack_of),
        "rack replicas": ([Counter(rack_of[id] for id in replicas) for _, replicas in live_replicas], racks),
    }
    return {level: sum(net_imbalance([counts[each] for each in among]) for counts in groups) for level, (groups, among) in counted.items()}


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


def test_a_goal_with_missing_input_is_unknown(spark: SparkSession) -> None:
    goal_verdict, _, balance, _ = run(spark, brokers(2, rack=None, cpu_capacity_percent=None), [partition(0, [0, 1])])
    verdicts = dict(sorted_rows(goal_verdict, "goal", "verdict"))
    assert {name for name, verdict in verdicts.items() if verdict != "unknown"} == {
        "MinTopicLeadersPerBrokerGoal", "ReplicaCapacityGoal", "ReplicaDistributionGoal", "TopicReplicaDistributionGoal",
        "LeaderReplicaDistributionGoal", "PreferredLeaderElectionGoal",
    }  # fmt: skip
    missing_input = dict(sorted_rows(goal_verdict, "goal", "missing_input"))
    assert missing_input["CpuCapacityGoal"] == "cpu capacity of each live broker"
    assert missing_input["DiskCapacityGoal"] == "disk load of each partition"
    assert missing_input["RackAwareGoal"] == "rack of each live broker"
    costs = balancedness_cost_by_goal(Thresholds())
    lowest = sum(costs[name] for name in DEFAULT_GOALS if verdicts[name] == "satisfied")
    assert sorted_rows(balance, "balancedness_score", "lowest_score", "highest_score", "goals_unknown") == [
        (None, pytest.approx(lowest), 100.0, 11)
    ]


def test_a_replica_counts_with_the_size_of_the_leader_and_a_leaderless_partition_does_not_count(spark: SparkSession) -> None:
    led = {**partition(0, [0, 1]), "replica_size_bytes": [900 * 2**20, 1]}
    leaderless = {**partition(1, [1]), "leader": None, "replica_size_bytes": [900 * 2**20]}
    _, breaches, *_ = run(spark, brokers(3), [led, leaderless])
    assert sorted_rows(breaches.where("goal = 'DiskCapacityGoal'"), "broker_id", "measured", "limit_value", "smallest_change") == [
        (0, 900.0, 800.0, "move 100 MiB off broker 0"),
        (1, 900.0, 800.0, "move 100 MiB off broker 1"),
    ]


def test_a_breach_has_the_smallest_change_that_ends_it(spark: SparkSession) -> None:
    skewed = [partition(number, [0]) for number in range(6)] + [partition(6, [1])]
    _, breaches, *_ = run(spark, brokers(2), skewed)
    assert sorted_rows(breaches.where("goal = 'ReplicaDistributionGoal'"), "broker_id", "measured", "limit_value", "smallest_change") == [
        (0, 6.0, 4.0, "move 2 replicas off broker 0"),
        (1, 1.0, 3.0, "move 2 replicas to broker 1"),
    ]
    _, breaches, *_ = run(spark, [*brokers(2, rack="a"), {"broker_id": 2, "rack": "b", "live": True}], [partition(0, [0, 1], 1)])
    assert sorted_rows(breaches.where("partition = 0"), "goal", "smallest_change") == [
        ("PreferredLeaderElectionGoal", "elect broker 0"),
        ("RackAwareDistributionGoal", "move 1 replica from the rack that holds 2 to emptier racks"),
        ("RackAwareGoal", "move 1 replica to racks without one: b"),
    ]


def test_with_a_dead_broker_or_log_dir_score_and_provision_are_undecided(spark: SparkSession) -> None:
    dead = [*brokers(2), {"broker_id": 9, "rack": "z", "live": False}]
    verdicts, _, balance, _ = run(spark, dead, [partition(0, [0, 9])])
    assert sorted_rows(balance, "balancedness_score", "provision") == [(-1.0, "UNDECIDED")]
    assert ("RackAwareGoal", "satisfied") in sorted_rows(verdicts, "goal", "verdict")
    _, _, balance, _ = run(spark, dead, [partition(0, [0, 1])])  # Cruise Control ignores a dead broker without replicas
    assert sorted_rows(balance, "highest_score", "goals_violated") == [(100.0, 0)]
    _, _, balance, _ = run(spark, brokers(2), [partition(0, [0, 1])], log_dirs=[{"broker_id": 0, "log_dir": "/d", "error": "offline"}])
    assert sorted_rows(balance, "balancedness_score") == [(-1.0,)]


def test_more_replicas_than_racks_need_more_racks(spark: SparkSession) -> None:
    three = [*brokers(2, rack="a"), {"broker_id": 2, "rack": "b", "live": True}]
    verdicts, breaches, balance, _ = run(spark, three, [partition(0, [0, 1, 2])])
    assert sorted_rows(verdicts.where("verdict = 'unfixable'"), "goal", "breaches", "racks") == [("RackAwareGoal", 2, 1)]
    assert sorted_rows(breaches.where("goal = 'RackAwareGoal'"), "partition", "measured", "limit_value", "smallest_change") == [
        (0, 1.0, 0.0, "add racks: there are fewer than replicas"),
        (None, 3.0, 2.0, "add 1 rack"),
    ]
    assert sorted_rows(balance, "provision", "racks_to_add") == [("UNDER_PROVISIONED", 1)]


def test_without_any_input_every_verdict_is_unknown(spark: SparkSession) -> None:
    verdicts, _, balance, _ = run_step(
        goal,
        table(spark, CLUSTER, {}),
        *(table(spark, each) for each in (BROKER, LOG_DIR, PARTITION, PARTITION_LOAD)),
        thresholds=Thresholds(),
    )
    assert {verdict for (verdict,) in sorted_rows(verdicts, "verdict")} == {"unknown"}
    assert sorted_rows(balance, "balancedness_score", "lowest_score", "highest_score", "goals_unknown") == [
        (None, pytest.approx(0), 100.0, 16)
    ]


def test_a_cluster_lacks_only_its_own_brokers_or_partitions(spark: SparkSession) -> None:
    """Of three clusters one has no partitions, and one no brokers, but a log dir that failed."""
    verdicts, breaches, balance, net = run_step(
        goal,
        table(spark, CLUSTER, *({"cluster_id": id} for id in ("both", "brokers", "partitions"))),
        table(spark, BROKER, *({**broker, "cluster_id": id} for id in ("both", "brokers") for broker in brokers(2))),
        table(spark, LOG_DIR, {"cluster_id": "partitions", "log_dir": "/d", "error": "offline"}, {"cluster_id": "both", "log_dir": "/d"}),
        table(spark, PARTITION, *({**partition(0, [0], 0), "cluster_id": id} for id in ("both", "partitions"))),
        table(spark, PARTITION_LOAD),
        thresholds=Thresholds(),
    )
    unknown = Counter(id for (id,) in sorted_rows(verdicts.where("verdict = 'unknown'"), "cluster_id"))
    assert unknown == {"both": len(GOALS) - 8, "partitions": len(GOALS)}
    assert breaches.count() == 0
    assert sorted_rows(balance, "cluster_id", "balancedness_score", "provision", "goals_unknown") == [
        ("both", None, "RIGHT_SIZED", 10), ("brokers", 100.0, "RIGHT_SIZED", 0), ("partitions", -1.0, "UNDECIDED", 16),
    ]  # fmt: skip
    assert sorted_rows(net, "cluster_id", "level", "items") == [
        ("both", "leaders", 1), ("both", "rack replicas", 1), ("both", "replicas", 1), ("both", "topic replicas", 1),
        ("brokers", "leaders", 0), ("brokers", "replicas", 0),
    ]  # fmt: skip
