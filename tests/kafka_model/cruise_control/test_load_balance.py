"""Network and cpu in a reassignment: by changes of leadership where that is enough, otherwise by replicas."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from kafka_model.cruise_control import columnar
from kafka_model.cruise_control.cluster_load import follower_cpu
from kafka_model.cruise_control.columnar import Cluster, Ints
from kafka_model.cruise_control.limits import CPU, NETWORK_IN, NETWORK_OUT, Thresholds
from kafka_model.cruise_control.plan import Plan
from kafka_model.cruise_control.reassignment import BALANCING_STEPS, plan_by_step, plan_reassignment
from tests.kafka_model.cruise_control.clusters import (
    LAX,
    RESOURCES,
    THREE_RACKS,
    broker_ids,
    cluster_with_loads,
    partitions,
    random_case,
    replicas_by_id,
    with_loads,
)


def leader_loads(plan: Plan, resource: str) -> dict[int, float]:
    """Return the sum of the loads of the partitions that each broker leads."""
    sums: Counter[int] = Counter()
    for row, load in zip(replicas_by_id(plan), plan.cluster.loads[resource].tolist(), strict=True):
        sums[row[0]] += load
    return dict(sums)


@pytest.mark.parametrize("resource", [NETWORK_OUT, CPU])
def test_load_of_leaders_leaves_a_full_broker_by_leadership_alone(resource: str) -> None:
    # The limit is 80 for network and 70 for cpu, and broker 1 has 95. The smallest sufficient load is 30.
    cluster = with_loads(Cluster.from_rows(THREE_RACKS, partitions((1, 2), (1, 3), (1, 2), (3, 2))), **{resource: [10.0, 30.0, 55.0, 5.0]})
    plan = plan_reassignment(cluster, thresholds=LAX)
    assert (leader_loads(plan, resource), plan.added_replicas.sum()) == ({1: 65.0, 3: 35.0}, 0)
    assert plan.reasons.tolist() == ["", "capacity", "", ""]


def test_load_of_every_replica_leaves_a_full_broker_with_a_replica() -> None:
    cluster = Cluster.from_rows(THREE_RACKS | {4: "a"}, partitions((1, 2), (1, 3), (1, 2), (1, 3)))
    plan = plan_reassignment(with_loads(cluster, network_inbound=[10.0, 20.0, 30.0, 35.0]), thresholds=LAX)
    assert (replicas_by_id(plan), plan.added_replicas.sum()) == ([[1, 2], [4, 3], [1, 2], [1, 3]], 1)


def test_broker_over_the_limit_of_potential_network_out_gives_a_replica_away() -> None:
    cluster = Cluster.from_rows(THREE_RACKS | {4: "b"}, partitions((1, 2), (3, 2), (1, 2)))
    plan = plan_reassignment(with_loads(cluster, network_outbound=[30.0, 30.0, 25.0]), thresholds=LAX)  # 85 on broker 2, of 80
    assert replicas_by_id(plan) == [[1, 2], [3, 2], [1, 4]]
    assert plan.reasons.tolist() == ["", "", "potential network out"]


def test_leaderships_are_exchanged_if_the_counts_of_leaders_must_stay() -> None:
    fixed_leaders = replace(LAX, leader_replica_count_balance_threshold=1.0, network_outbound_balance_threshold=1.3)
    cluster = Cluster.from_rows({1: "a", 2: "b"}, partitions((1, 2), (1, 2), (2, 1), (2, 1)))
    plan = plan_reassignment(with_loads(cluster, 1000.0, network_outbound=[50.0, 50.0, 10.0, 10.0]), thresholds=fixed_leaders)
    assert (leader_loads(plan, NETWORK_OUT), plan.added_replicas.sum()) == ({1: 60.0, 2: 60.0}, 0)
    assert Counter(row[0] for row in replicas_by_id(plan)) == {1: 2, 2: 2}


def test_leader_bytes_in_are_balanced_by_leadership_and_not_by_replicas() -> None:
    cluster = Cluster.from_rows(THREE_RACKS, partitions((1, 2), (1, 2), (2, 1), (3, 1)))
    cluster = with_loads(cluster, 1000.0, network_inbound=[50.0, 40.0, 10.0, 50.0])
    plan = plan_reassignment(cluster, thresholds=replace(LAX, network_inbound_balance_threshold=1.6))
    # The limit of leaders is 80, at a mean of 50. The limits of all replicas are 46 and 154, at a mean of 100.
    assert ([row[0] for row in replicas_by_id(plan)], plan.added_replicas.sum()) == ([1, 2, 2, 3], 0)


@pytest.mark.parametrize("incomplete", ["loads", "capacities"])
def test_resource_with_an_unknown_load_or_capacity_is_not_balanced(incomplete: str) -> None:
    cluster = Cluster.from_rows(THREE_RACKS, partitions((1, 2), (1, 3), (1, 2), (3, 2)))
    complete = with_loads(cluster, network_outbound=[10.0, 30.0, 55.0, 5.0])
    values = {resource: numbers.copy() for resource, numbers in getattr(complete, incomplete).items()}
    values[NETWORK_OUT][1] = math.nan
    assert plan_reassignment(complete, thresholds=LAX).changed_partitions.tolist() == [1]
    assert plan_reassignment(replace(complete, **{incomplete: values}), thresholds=LAX).changed_partitions.tolist() == []


def test_no_topic_loses_its_minimum_of_leaders() -> None:
    rows = [("t", 0, (1, 2), 1, 1.0), *(("u", number, row, row[0], 1.0) for number, row in enumerate([(1, 2), (2, 1), (3, 1)]))]
    cluster = with_loads(Cluster.from_rows(THREE_RACKS, rows), network_outbound=[50.0, 45.0, 1.0, 1.0])
    assert plan_reassignment(cluster, thresholds=LAX).changed_partitions.tolist() == [1]
    with_minimum = replace(LAX, topics_with_min_leaders_per_broker="u")
    assert plan_reassignment(cluster, thresholds=with_minimum).changed_partitions.tolist() == [0]


# ---------------------------------------------------------------- random clusters
def loads_by_broker(cluster: Cluster, replicas: Ints) -> dict[int, Counter[str]]:
    """Add up the loads of each broker's replicas, one by one. A partition without a leader has no load."""
    sums: dict[int, Counter[str]] = {broker_id: Counter() for broker_id in cluster.broker_ids.tolist()}
    for partition, row in enumerate(broker_ids(cluster, replicas)):
        if cluster.leader[partition] < 0:
            continue
        load = {resource: float(cluster.loads[resource][partition]) for resource in RESOURCES}
        for slot, broker_id in enumerate(row):
            is_leader = slot == 0
            cpu = load[CPU] if is_leader else follower_cpu(load[CPU], load[NETWORK_IN], load[NETWORK_OUT])
            sums[broker_id].update({NETWORK_IN: load[NETWORK_IN], NETWORK_OUT: load[NETWORK_OUT] if is_leader else 0, CPU: cpu})
    return sums


@pytest.fixture(params=range(60))
def cluster(request: pytest.FixtureRequest) -> Cluster:
    return cluster_with_loads(random_case(f"plan/{request.param}"))


def without_load_balance(cluster: Cluster) -> Plan:
    assert [*BALANCING_STEPS][-1] == "network and cpu"
    *_, plan, _ = plan_by_step(cluster)
    return plan


def test_load_balance_takes_no_broker_beyond_a_capacity_limit(cluster: Cluster) -> None:
    plan = plan_reassignment(cluster)
    assert (plan_reassignment(cluster).replicas == plan.replicas).all()
    before, after = (loads_by_broker(cluster, each.replicas) for each in (without_load_balance(cluster), plan))
    for broker, broker_id in enumerate(cluster.broker_ids.tolist()):
        for resource in (NETWORK_IN, NETWORK_OUT, CPU):
            limit = float(cluster.capacities[resource][broker]) * Thresholds().capacity(resource)
            assert not cluster.live[broker] or after[broker_id][resource] <= max(limit, before[broker_id][resource]) * (1 + 1e-9)


def test_load_balance_adds_no_breach_of_a_goal_on_racks_counts_or_disks(cluster: Cluster) -> None:
    before, after = (
        columnar.evaluate(cluster, plan.replicas, np.where(cluster.leader >= 0, plan.replicas[:, 0], -1), Thresholds())
        for plan in (without_load_balance(cluster), plan_reassignment(cluster))
    )
    for goal in ("RackAwareGoal", "ReplicaDistributionGoal", "LeaderReplicaDistributionGoal", "TopicReplicaDistributionGoal",
                 "DiskCapacityGoal", "DiskUsageDistributionGoal"):  # fmt: skip
        assert (goal, after[goal].breach_count) <= (goal, before[goal].breach_count)
