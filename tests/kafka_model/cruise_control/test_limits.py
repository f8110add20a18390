"""Limits of Cruise Control's goals, computed by hand. tests/kafka_model/test_golden.py compares thousands of verdicts."""

from __future__ import annotations

import math

import pytest

from kafka_model.cruise_control.limits import Thresholds, balancedness_cost_by_goal, count_limits, topic_replica_limits, utilization_limits

DEFAULTS = Thresholds()


@pytest.mark.parametrize(("total", "limits"), [(400, (90, 110)), (8, (1, 3)), (10, (2, 3)), (0, (0, 0))])
def test_count_limits_are_computed_in_cruise_controls_order_of_operations(total: int, limits: tuple[int, int]) -> None:
    assert count_limits(total, 4, 1.1) == limits


@pytest.mark.parametrize(
    ("mean", "limits"),
    [(1, (0, 3)), (3, (0, 9)), (41, (1, 81)), (100, (60, 140))],  # a gap of at least 2, otherwise 1.8 times the mean, at most 40
)
def test_topic_replica_limits_respect_the_minimum_and_the_maximum_gap(mean: int, limits: tuple[int, int]) -> None:
    assert topic_replica_limits(5 * mean, 5, DEFAULTS) == limits


def test_utilization_at_or_below_the_low_utilization_threshold_has_no_lower_limit() -> None:
    assert utilization_limits(0, 1000, 1.1, 0.0) == (0.0, 0.0)
    assert utilization_limits(100, 1000, 1.1, 0.2) == (0.0, pytest.approx(0.18))  # 0.9 times the low utilization threshold
    lower, upper = utilization_limits(300, 1000, 1.1, 0.2)
    assert (lower, upper) == (pytest.approx(0.273), pytest.approx(0.327))


def test_utilization_limits_without_capacity_are_nan() -> None:
    assert all(math.isnan(limit) for limit in utilization_limits(0, 0, 1.1, 0.0))


def test_costs_of_violated_goals_add_up_to_100() -> None:
    assert sum(balancedness_cost_by_goal(DEFAULTS).values()) == pytest.approx(100)


def test_a_goal_costs_a_tenth_more_than_the_next_and_a_hard_goal_half_as_much_again() -> None:
    costs = balancedness_cost_by_goal(DEFAULTS)
    assert costs["RackAwareGoal"] / costs["MinTopicLeadersPerBrokerGoal"] == pytest.approx(1.1)
    assert costs["CpuCapacityGoal"] / costs["ReplicaDistributionGoal"] == pytest.approx(1.1 * 1.5)
