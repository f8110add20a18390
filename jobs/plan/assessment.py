"""Assessment of a cluster: the balancedness score, the goals and the cost of failures; and what is worse in one than in another.

Moving a replica always moves risk from one broker to another, so failures are compared by kind. All failures of a kind together may not
cost more partitions their in-sync replicas, their leader or their acks=all writes, in this order of severity: a replica that leaves a
shared rack saves data in one failure, and may cost writes in another. Balancing may not make the worst failure of a kind worse either.
Moves off dead brokers and shared racks may, because their replicas have to go somewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from jobs.failure.counts import FailureCounts
from jobs.schema import MUST_BE_ZERO
from kafka_model.cruise_control.limits import GOALS, Thresholds, balancedness_cost_by_goal
from kafka_model.cruise_control.verdicts import UNFIXABLE, VIOLATED, Verdict

# What a failure costs a partition, the most severe first.
_COSTS = {"data": "all in-sync replicas", "reads": "their leader", "writes": "their acks=all writes"}
_BROKEN = (VIOLATED, UNFIXABLE)
_SCORE_ERROR = 1e-9  # of floating-point sums


class Assessment(NamedTuple):
    """A cluster now, or after a plan."""

    score: float
    verdicts: Mapping[str, Verdict]
    failures: FailureCounts
    refusing_partitions: int  # with a leader, and refusing acks=all writes without any failure
    blocked_replicas: float  # that must be moved or added, and cannot; infinite: not computed


def assess(
    verdicts: Mapping[str, Verdict],
    thresholds: Thresholds,
    failures: FailureCounts,
    refusing_partitions: int,
    blocked_replicas: float,
) -> Assessment:
    """Return the assessment of a cluster with these verdicts and failures."""
    return Assessment(_balancedness_score(verdicts, thresholds), verdicts, failures, refusing_partitions, blocked_replicas)


def _balancedness_score(verdicts: Mapping[str, Verdict], thresholds: Thresholds) -> float:
    """Return 100 less the weights of the default goals that are violated. A goal without input counts as satisfied."""
    weights = balancedness_cost_by_goal(thresholds)
    return 100.0 - sum(weight for goal, weight in weights.items() if verdicts[goal].verdict in _BROKEN)


def find_worse(now: Assessment, baseline: Assessment, required: Assessment | None = None) -> list[str]:
    """Return what is worse than in the baseline, a clause each.

    With `required`, the plan without balancing, the worst failures may be as bad as those of that plan.
    """
    return [*_worse_score(now, baseline), *_worse_goals(now, baseline), *_worse_failures(now, baseline, required)]


def _worse_score(now: Assessment, baseline: Assessment) -> Iterator[str]:
    if now.blocked_replicas > baseline.blocked_replicas:
        yield f"{now.blocked_replicas} replicas cannot be moved instead of {baseline.blocked_replicas}"
    if now.score < baseline.score - _SCORE_ERROR:
        yield f"the balancedness score falls from {baseline.score:.1f} to {now.score:.1f}"


def _worse_goals(now: Assessment, baseline: Assessment) -> Iterator[str]:
    for goal, hard in GOALS.items():
        before, after = baseline.verdicts[goal], now.verdicts[goal]
        newly_broken = after.verdict in _BROKEN and before.verdict not in _BROKEN
        # No placement satisfies an unfixable goal, and a replica on a dead broker hides breaches of it.
        more_breaches = before.verdict != UNFIXABLE and after.breach_count > before.breach_count
        if hard and (newly_broken or more_breaches):
            yield f"the hard goal {goal} has {after.breach_count} breaches instead of {before.breach_count}"


class _FailureCosts(NamedTuple):
    """The partitions that each failure of a kind costs something, by scenario id."""

    kind: str
    harm: str
    before: Mapping[str, int]
    after: Mapping[str, int]


def _worse_failures(now: Assessment, baseline: Assessment, required: Assessment | None) -> Iterator[str]:
    allowed = {} if required is None else {(costs.kind, costs.harm): max(costs.before.values()) for costs in _failure_costs(required, now)}
    improved_kinds = set()  # kinds of failures whose more severe costs fall
    for kind, harm, before, after in _failure_costs(baseline, now):
        most_before, worst = max(before.values()), max(after, key=after.__getitem__)
        total, total_before = sum(after.values()), sum(before.values())
        if after[worst] > max(most_before, allowed.get((kind, harm), 0)):
            yield f"the worst {kind} failure ({worst}) costs {after[worst]} partitions {_COSTS[harm]} instead of {most_before}"
        elif total > total_before and kind not in improved_kinds:
            yield f"all {kind} failures together cost {total} partitions {_COSTS[harm]} instead of {total_before}"
        elif total < total_before:
            improved_kinds.add(kind)


def _failure_costs(baseline: Assessment, now: Assessment) -> Iterator[_FailureCosts]:
    """Yield the costs of each kind of failure and each harm, the most severe harm first."""
    failures = baseline.failures.compare(now.failures, every_pair=True)
    for kind in dict.fromkeys(failure.kind for failure in failures):
        same_kind = [failure for failure in failures if failure.kind == kind]
        for harm in _COSTS:
            # A partition that refuses writes without a failure refuses them in every failure too.
            refusing = (baseline.refusing_partitions, now.refusing_partitions) if harm == "writes" else (0, 0)
            counted = MUST_BE_ZERO[harm]
            yield _FailureCosts(
                kind,
                harm,
                {each.scenario_id: refusing[0] + sum(getattr(each.before, name) for name in counted) for each in same_kind},
                {each.scenario_id: refusing[1] + sum(getattr(each.after, name) for name in counted) for each in same_kind},
            )
