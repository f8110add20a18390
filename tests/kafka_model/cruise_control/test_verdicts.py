"""Cruise Control's limits by hand; its verdicts on thousands of clusters are in test_golden.py (cruise_control_goals)."""

from __future__ import annotations

import math

import pytest

from kafka_model.cruise_control.verdicts import (
    DEFAULT_GOALS,
    OVER,
    RIGHT,
    SATISFIED,
    UNDECIDED,
    UNDER,
    UNFIXABLE,
    UNKNOWN,
    VIOLATED,
    Provision,
    Thresholds,
    Verdict,
    balancedness_costs,
    count_limits,
    follower_cpu,
    provision,
    rack_aware_distributed,
    score,
    topic_limits,
    usage_limits,
)

DEFAULTS = Thresholds()


@pytest.mark.parametrize(("total", "limits"), [(400, (90, 110)), (8, (1, 3)), (10, (2, 3)), (0, (0, 0))])
def test_counts_are_held_to_the_mean_in_its_double_order(total: int, limits: tuple[int, int]) -> None:
    assert count_limits(total, 4, 1.1) == limits


@pytest.mark.parametrize(
    ("mean", "limits"),
    [(1, (0, 3)), (3, (0, 9)), (41, (1, 81)), (100, (60, 140))],  # two more at least; 2.8 times; forty at most, each way
)
def test_a_topics_limits_lie_within_its_gaps(mean: int, limits: tuple[int, int]) -> None:
    assert topic_limits(5 * mean, 5, DEFAULTS) == limits


def test_a_resource_of_little_use_has_no_lower_limit() -> None:
    assert usage_limits(0, 1000, 1.1, 0.0) == (0.0, 0.0)
    assert usage_limits(100, 1000, 1.1, 0.2) == (0.0, pytest.approx(0.18))  # nine tenths of the threshold
    lower, upper = usage_limits(300, 1000, 1.1, 0.2)
    assert (lower, upper) == (pytest.approx(0.273), pytest.approx(0.327))
    assert all(math.isnan(limit) for limit in usage_limits(0, 0, 1.1, 0.0))


def test_a_follower_costs_by_what_its_leader_does() -> None:
    assert follower_cpu(10, 100, 0) == pytest.approx(10 * 0.15 / 0.7)
    assert follower_cpu(10, 100, 100) == pytest.approx(10 * 0.15 / 0.85)
    assert follower_cpu(10, 0, 0) == 0


@pytest.mark.parametrize(
    ("racks", "live", "even"),
    [("ab", 3, True), ("aab", 2, True), ("aab", 3, False), ("aaab", 2, False), ("aabb", 2, True), ("aaabb", 2, True)],
)
def test_replicas_are_as_even_over_racks_as_can_be(racks: str, live: int, even: bool) -> None:
    assert rack_aware_distributed(racks, live) is even


def test_each_goal_weighs_a_tenth_more_than_the_next_and_half_as_much_again_if_it_is_hard() -> None:
    costs = balancedness_costs(DEFAULTS)
    assert sum(costs.values()) == pytest.approx(100)
    assert costs["RackAwareGoal"] / costs["MinTopicLeadersPerBrokerGoal"] == pytest.approx(1.1)
    assert costs["CpuCapacityGoal"] / costs["ReplicaDistributionGoal"] == pytest.approx(1.1 * 1.5)


def verdicts(**told: Verdict) -> dict[str, Verdict]:
    return {goal: told.get(goal, Verdict(goal, SATISFIED, provision=Provision(UNDECIDED))) for goal in DEFAULT_GOALS}


def test_the_score_has_a_range_where_a_goal_is_not_told() -> None:
    costs = balancedness_costs(DEFAULTS)
    said = verdicts(
        RackAwareGoal=Verdict("RackAwareGoal", UNFIXABLE),
        ReplicaDistributionGoal=Verdict("ReplicaDistributionGoal", VIOLATED),
        CpuCapacityGoal=Verdict("CpuCapacityGoal", UNKNOWN),
    )
    most = 100 - costs["RackAwareGoal"] - costs["ReplicaDistributionGoal"]
    assert score(said, DEFAULTS, dead_brokers=False) == (pytest.approx(most - costs["CpuCapacityGoal"]), pytest.approx(most))
    assert score(said, DEFAULTS, dead_brokers=True) == (-1.0, -1.0)


def test_what_lacks_something_decides_then_what_is_content() -> None:
    def told(**sizes: Provision) -> Provision:
        said = {goal: Verdict(goal, SATISFIED, provision=size) for goal, size in sizes.items()}
        return provision(verdicts(**said), 6, 3, DEFAULTS)

    drop, racks = Provision(OVER, brokers=9), Provision(OVER, racks=1)
    assert told() == Provision(UNDECIDED)
    assert told(RackAwareGoal=racks, ReplicaDistributionGoal=drop) == Provision(
        OVER, brokers=3, racks=1
    )  # three must stay for three replicas
    assert told(RackAwareGoal=racks, ReplicaDistributionGoal=Provision(RIGHT)) == Provision(RIGHT)
    assert told(
        RackAwareGoal=racks, DiskCapacityGoal=Provision(UNDER, brokers=2), CpuCapacityGoal=Provision(UNDER, brokers=5)
    ) == Provision(UNDER, brokers=5)
    few = provision(verdicts(ReplicaDistributionGoal=Verdict("ReplicaDistributionGoal", SATISFIED, provision=drop)), 2, 1, DEFAULTS)
    assert few == Provision(RIGHT)
