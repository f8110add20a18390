"""The verdict of a goal, and what all verdicts together mean for the cluster's score and size (Cruise Control 2.5 of August 2026).

The score is KafkaCruiseControlUtils' balancedness score. The size is that of ProvisionResponse.aggregate: a goal that needs more brokers or
racks decides first, then a goal that is satisfied with the present size.

    >>> verdicts = {goal: Verdict(goal, SATISFIED) for goal in DEFAULT_GOALS}
    >>> verdicts["DiskCapacityGoal"] = Verdict("DiskCapacityGoal", UNKNOWN, missing_input="disk load of each partition")
    >>> lowest, highest = balancedness_score_range(verdicts, Thresholds(), has_dead_brokers=False)
    >>> round(lowest, 2), round(highest, 2)
    (90.01, 100.0)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kafka_model.cruise_control.limits import DEFAULT_GOALS, Thresholds, balancedness_cost_by_goal

# UNFIXABLE: no move of replicas satisfies the goal. REFUSED: Cruise Control throws an exception. UNKNOWN: input is missing.
SATISFIED, VIOLATED, UNFIXABLE, REFUSED, UNKNOWN = "satisfied", "violated", "unfixable", "refused", "unknown"
# Cruise Control's ProvisionStatus.
UNDER_PROVISIONED, RIGHT_SIZED, OVER_PROVISIONED, UNDECIDED = "UNDER_PROVISIONED", "RIGHT_SIZED", "OVER_PROVISIONED", "UNDECIDED"


class Breach(NamedTuple):
    """A broker, a partition, a topic on a broker, or the whole cluster, that is outside a limit."""

    measured: float
    limit: float
    formula: str
    smallest_change: str
    broker_id: int | None = None
    topic: str | None = None
    partition: int | None = None
    near_limit: bool = False  # Cruise Control, which computes in 32 bits, may decide otherwise


@dataclass(frozen=True, slots=True)
class ProvisionRecommendation:
    """How many brokers, racks or partitions a goal recommends to add (UNDER_PROVISIONED) or to remove (OVER_PROVISIONED)."""

    status: str
    brokers: int | None = None
    racks: int | None = None
    partitions: int | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict of one goal with its limits and breaches."""

    goal: str
    verdict: str
    lower: float | None = None
    upper: float | None = None
    breaches: tuple[Breach, ...] = ()
    near_limit: bool = False  # some value is so close to its limit that Cruise Control, which computes in 32 bits, may decide otherwise
    missing_input: str | None = None
    provision: ProvisionRecommendation = ProvisionRecommendation(UNDECIDED)
    unlisted_breaches: int = 0  # breaches that are counted but not in `breaches`

    @property
    def breach_count(self) -> int:
        return len(self.breaches) + self.unlisted_breaches


def satisfied_unless(breaches: Sequence[Breach]) -> str:
    """Return VIOLATED if there are breaches, otherwise SATISFIED."""
    return VIOLATED if breaches else SATISFIED


def balancedness_score_range(verdicts: Mapping[str, Verdict], thresholds: Thresholds, *, has_dead_brokers: bool) -> tuple[float, float]:
    """Return the lowest and the highest possible balancedness score: 100 less the costs of the violated default goals.

    They differ if a verdict is unknown or refused. With dead brokers the score is -1.
    """
    if has_dead_brokers:
        return -1.0, -1.0
    lowest = highest = 100.0
    for goal, cost in balancedness_cost_by_goal(thresholds).items():
        verdict = verdicts[goal].verdict
        highest -= cost if verdict in (VIOLATED, UNFIXABLE) else 0.0
        lowest -= cost if verdict != SATISFIED else 0.0
    return lowest, highest


def aggregate_provision(
    verdicts: Mapping[str, Verdict], live_brokers: int, max_replication_factor: int, thresholds: Thresholds
) -> ProvisionRecommendation:
    """Combine the recommendations of the default goals (ProvisionResponse.aggregate)."""
    recommendations = [
        _limit_removal(verdicts[goal].provision, live_brokers, max_replication_factor, thresholds)
        for goal in DEFAULT_GOALS
        if goal in verdicts
    ]
    statuses = {recommendation.status for recommendation in recommendations}
    status = next((status for status in (UNDER_PROVISIONED, RIGHT_SIZED, OVER_PROVISIONED) if status in statuses), UNDECIDED)
    if status in (RIGHT_SIZED, UNDECIDED):
        return ProvisionRecommendation(status)
    choose = max if status == UNDER_PROVISIONED else min
    deciding = [recommendation for recommendation in recommendations if recommendation.status == status]
    counts = {}
    for unit in ("brokers", "racks", "partitions"):
        recommended = [getattr(recommendation, unit) for recommendation in deciding]
        counts[unit] = choose((count for count in recommended if count is not None), default=None)
    return ProvisionRecommendation(status, **counts)


def _limit_removal(
    recommendation: ProvisionRecommendation, live_brokers: int, max_replication_factor: int, thresholds: Thresholds
) -> ProvisionRecommendation:
    """Leave a broker for each replica, and call no cluster with fewer than `overprovisioned.min.brokers` over-provisioned."""
    if recommendation.status != OVER_PROVISIONED:
        return recommendation
    removable = live_brokers - max_replication_factor
    is_excessive = recommendation.brokers is not None and recommendation.brokers > removable
    if live_brokers < thresholds.overprovisioned_min_brokers or (is_excessive and removable <= 0):
        return ProvisionRecommendation(RIGHT_SIZED)
    return ProvisionRecommendation(OVER_PROVISIONED, brokers=removable) if is_excessive else recommendation
