"""Score and size that follow from the verdicts of all goals, and the decisions about one partition, computed by hand."""

from __future__ import annotations

import pytest

from kafka_model.cruise_control.cluster_load import follower_cpu
from kafka_model.cruise_control.limits import DEFAULT_GOALS, Thresholds, balancedness_cost_by_goal
from kafka_model.cruise_control.placement_goals import is_evenly_distributed
from kafka_model.cruise_control.verdicts import (
    OVER_PROVISIONED,
    RIGHT_SIZED,
    SATISFIED,
    UNDECIDED,
    UNDER_PROVISIONED,
    UNFIXABLE,
    UNKNOWN,
    VIOLATED,
    ProvisionRecommendation,
    Verdict,
    aggregate_provision,
    balancedness_score_range,
)

DEFAULTS = Thresholds()


def test_follower_cpu_depends_on_the_leaders_network_rates() -> None:
    assert follower_cpu(10, 100, 0) == pytest.approx(10 * 0.15 / 0.7)
    assert follower_cpu(10, 100, 100) == pytest.approx(10 * 0.15 / 0.85)
    assert follower_cpu(10, 0, 0) == 0


@pytest.mark.parametrize(
    ("racks", "live_racks", "is_even"),
    [("ab", 3, True), ("aab", 2, True), ("aab", 3, False), ("aaab", 2, False), ("aabb", 2, True), ("aaabb", 2, True)],
)
def test_replica_counts_of_racks_differ_by_at_most_one(racks: str, live_racks: int, is_even: bool) -> None:
    assert is_evenly_distributed(racks, live_racks) is is_even


def verdicts(**changed: Verdict) -> dict[str, Verdict]:
    """Return satisfied verdicts for all goals but the changed ones."""
    return {goal: changed.get(goal, Verdict(goal, SATISFIED)) for goal in DEFAULT_GOALS}


def test_score_is_a_range_if_a_verdict_is_unknown() -> None:
    costs = balancedness_cost_by_goal(DEFAULTS)
    some_unknown = verdicts(
        RackAwareGoal=Verdict("RackAwareGoal", UNFIXABLE),
        ReplicaDistributionGoal=Verdict("ReplicaDistributionGoal", VIOLATED),
        CpuCapacityGoal=Verdict("CpuCapacityGoal", UNKNOWN),
    )
    highest = 100 - costs["RackAwareGoal"] - costs["ReplicaDistributionGoal"]
    assert balancedness_score_range(some_unknown, DEFAULTS, has_dead_brokers=False) == (
        pytest.approx(highest - costs["CpuCapacityGoal"]),
        pytest.approx(highest),
    )


def test_score_with_dead_brokers_is_minus_one() -> None:
    assert balancedness_score_range(verdicts(), DEFAULTS, has_dead_brokers=True) == (-1.0, -1.0)


def aggregate(*, live_brokers: int = 6, max_replication_factor: int = 3, **recommended: ProvisionRecommendation) -> ProvisionRecommendation:
    changed = {goal: Verdict(goal, SATISFIED, provision=recommendation) for goal, recommendation in recommended.items()}
    return aggregate_provision(verdicts(**changed), live_brokers, max_replication_factor, DEFAULTS)


REMOVE_NINE_BROKERS = ProvisionRecommendation(OVER_PROVISIONED, brokers=9)
REMOVE_ONE_RACK = ProvisionRecommendation(OVER_PROVISIONED, racks=1)


def test_size_is_undecided_without_recommendations() -> None:
    assert aggregate() == ProvisionRecommendation(UNDECIDED)


def test_removal_leaves_a_broker_for_each_replica() -> None:
    assert aggregate(RackAwareGoal=REMOVE_ONE_RACK, ReplicaDistributionGoal=REMOVE_NINE_BROKERS) == ProvisionRecommendation(
        OVER_PROVISIONED, brokers=3, racks=1
    )


def test_cluster_below_the_minimum_of_brokers_is_not_over_provisioned() -> None:
    assert aggregate(live_brokers=2, max_replication_factor=1, ReplicaDistributionGoal=REMOVE_NINE_BROKERS) == ProvisionRecommendation(
        RIGHT_SIZED
    )


def test_a_right_sized_goal_outweighs_over_provisioned_goals() -> None:
    right_sized = ProvisionRecommendation(RIGHT_SIZED)
    assert aggregate(RackAwareGoal=REMOVE_ONE_RACK, ReplicaDistributionGoal=right_sized) == right_sized


def test_under_provisioned_goals_decide_first_and_the_greatest_need_counts() -> None:
    two, five = (ProvisionRecommendation(UNDER_PROVISIONED, brokers=count) for count in (2, 5))
    assert aggregate(RackAwareGoal=REMOVE_ONE_RACK, DiskCapacityGoal=two, CpuCapacityGoal=five) == five
