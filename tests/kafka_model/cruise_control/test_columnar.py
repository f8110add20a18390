"""Columnar forms compared with the scalar forms that they name, on generated clusters."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kafka_model.cruise_control import cluster_load, columnar, goals, placement_goals, reassignment
from kafka_model.cruise_control.cluster_load import Broker, Partition
from kafka_model.cruise_control.columnar import Cluster
from kafka_model.cruise_control.limits import CAPACITY_GOALS, CPU, NETWORK_IN, NETWORK_OUT, USAGE_DISTRIBUTION_GOALS, Thresholds
from kafka_model.cruise_control.verdicts import SATISFIED, VIOLATED, Verdict
from tests.kafka_model.cruise_control.clusters import RESOURCES, cluster_with_loads, random_case

GOLDEN = Path(__file__).parents[2] / "golden" / "cruise_control_goals.jsonl.gz"


def scalar_cluster(case: dict[str, Any]) -> tuple[list[Broker], list[Partition]]:
    """Return the brokers that are alive or have a replica, some on shared hosts, and the partitions."""
    with_replicas = {broker_id for _, _, replicas, *_ in case["partitions"] for broker_id in replicas}
    brokers = [
        Broker(broker_id, rack, host, alive, dict(zip(RESOURCES, capacity, strict=True)))
        for broker_id, rack, host, alive, *capacity in sorted(case["brokers"])
        if alive or broker_id in with_replicas
    ]
    return brokers, [Partition(topic, number, tuple(replicas), *rest) for topic, number, replicas, *rest in case["partitions"]]


def with_listed_breaches(cluster: Cluster, thresholds: Thresholds) -> dict[str, Verdict]:
    verdicts = columnar.evaluate(cluster, cluster.replicas, cluster.leader, thresholds)
    for goal, breach in columnar.placement_breaches(cluster, cluster.replicas, cluster.leader, thresholds):
        verdict = verdicts[goal]
        verdicts[goal] = replace(verdict, breaches=(*verdict.breaches, breach), unlisted_breaches=verdict.unlisted_breaches - 1)
    return verdicts


def locations(verdict: Verdict) -> list[tuple[Any, ...]]:
    return sorted(((breach.topic, breach.partition, breach.broker_id) for breach in verdict.breaches), key=str)


def values_and_limits(verdict: Verdict) -> list[float]:
    breaches = sorted(verdict.breaches, key=lambda breach: str((breach.topic, breach.partition, breach.broker_id)))
    return [value for breach in breaches for value in (breach.measured, breach.limit)]


@pytest.mark.parametrize("number", range(120))
def test_columnar_verdicts_equal_the_scalar_verdicts(number: int) -> None:
    case = random_case(f"columnar/{number}")
    config = {name.replace(".", "_"): value for name, value in case["config"].items()}
    thresholds = Thresholds(**config | {"topics_with_min_leaders_per_broker": "t0|t2", "min_topic_leaders_per_broker": number % 3})
    expected = goals.evaluate(*scalar_cluster(case), thresholds)
    computed = with_listed_breaches(cluster_with_loads(case), thresholds)
    assert computed.keys() == expected.keys()
    for goal, verdict in expected.items():
        if not computed[goal].near_limit:
            assert (goal, computed[goal].verdict, computed[goal].provision) == (goal, verdict.verdict, verdict.provision)
            assert (computed[goal].unlisted_breaches, locations(computed[goal])) == (0, locations(verdict))
            assert values_and_limits(computed[goal]) == pytest.approx(values_and_limits(verdict), nan_ok=True)


def test_columnar_verdicts_on_shared_hosts_are_those_of_cruise_control() -> None:
    with gzip.open(GOLDEN, "rt") as lines:
        records = [json.loads(line) for line in lines][1:]
    goals_of_hosts = [
        goal for resource in (NETWORK_IN, NETWORK_OUT, CPU) for goal in (CAPACITY_GOALS[resource], USAGE_DISTRIBUTION_GOALS[resource])
    ]
    compared = Counter[tuple[str, str]]()
    for record in records:
        case = record["case"]
        hosts = [host for _, _, host, *_ in case["brokers"]]
        if len(set(hosts)) == len(hosts):
            continue
        thresholds = Thresholds(**{name.replace(".", "_"): value for name, value in case["config"].items()})
        cluster = cluster_with_loads(case)
        verdicts = columnar.evaluate(cluster, cluster.replicas, cluster.leader, thresholds)
        for goal in goals_of_hosts:
            if not verdicts[goal].near_limit:
                assert verdicts[goal].verdict == record["result"]["answer"][goal]["verdict"], (case, goal)
                compared[goal, verdicts[goal].verdict] += 1
    assert all(compared[goal, verdict] for goal in goals_of_hosts for verdict in (SATISFIED, VIOLATED))


def test_fewer_than_2_percent_of_the_columnar_verdicts_are_near_a_limit() -> None:
    clusters = [cluster_with_loads(random_case(f"columnar/{number}")) for number in range(120)]
    verdicts = [
        verdict for cluster in clusters for verdict in columnar.evaluate(cluster, cluster.replicas, cluster.leader, Thresholds()).values()
    ]
    assert sum(verdict.near_limit for verdict in verdicts) < 0.02 * len(verdicts)


def test_columnar_net_imbalance_equals_the_scalar_one() -> None:
    rng = np.random.default_rng(0)
    for groups in range(1, 12):
        counts = rng.integers(0, rng.integers(1, 30), (50, groups))
        expected = [reassignment.net_imbalance(row) for row in counts.tolist()]
        assert columnar.net_imbalance(counts, groups).tolist() == expected


def test_columnar_follower_cpu_equals_the_scalar_one() -> None:
    rng = np.random.default_rng(0)
    cpu, network_in, network_out = rng.exponential(10, (3, 500)) * rng.integers(0, 2, (3, 500))
    expected = [cluster_load.follower_cpu(*loads) for loads in zip(cpu.tolist(), network_in.tolist(), network_out.tolist(), strict=True)]
    assert columnar.follower_cpu(cpu, network_in, network_out).tolist() == pytest.approx(expected)


def test_columnar_rack_sharing_is_the_negation_of_scalar_rack_awareness() -> None:
    rng = np.random.default_rng(0)
    racks = np.array([rng.permutation([*rng.integers(0, 6, count), *[-1] * (4 - count)]) for count in rng.integers(1, 5, 500)])
    expected = [not placement_goals.is_rack_aware([str(rack) for rack in row if rack >= 0]) for row in racks.tolist()]
    assert columnar.share_rack(racks).tolist() == expected
