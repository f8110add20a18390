"""What a plan makes worse: the balancedness score, hard goals, and what failures do, compared with a baseline.

The baseline is the cluster as it is, or the smallest plan that does what was asked. Moving a replica always moves risk from one broker to
another, so failures are compared by kind: all failures of a kind together may not cost more partitions all in-sync replicas, their leader or
their acks=all writes, in this order: a replica that leaves a shared rack saves the data from one failure, and may cost writes in another.
Balancing may not make the worst failure of a kind worse either; a replica that leaves a dead broker or a shared rack
may, since it has to go somewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from jobs.failure.counts import FailureCounts
from kafka_model.cruise_control.limits import GOALS, Thresholds, balancedness_cost_by_goal
from kafka_model.cruise_control.verdicts import UNFIXABLE, VIOLATED, Verdict

# What a failure costs a partition, the most severe first, and the counts that add up to it. A partition without a leader takes no writes either.
_LEADER, _WRITES, _DATA = "their leader", "their acks=all writes", "all in-sync replicas"
_HARMS = {_DATA: ("newly_lost",), _LEADER: ("newly_offline",), _WRITES: ("newly_offline", "newly_refusing_acks_all")}
_BROKEN = (VIOLATED, UNFIXABLE)
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Assessment:
    """A cluster as it is, or once a plan is done."""

    score: float
    verdicts: Mapping[str, Verdict]
    failures: FailureCounts
    refusing_writes: int  # partitions with a leader that refuse acks=all without any failure
    blocked: float  # replicas that must move, or be added, and cannot


def balancedness(verdicts: Mapping[str, Verdict], thresholds: Thresholds) -> float:
    """100 less the weights of the default goals that are violated. A goal that lacks input counts as satisfied."""
    costs = balancedness_cost_by_goal(thresholds)
    return 100.0 - sum(cost for name, cost in costs.items() if verdicts[name].verdict in _BROKEN)


def worse(now: Assessment, than: Assessment, mended: Assessment | None = None) -> list[str]:
    """What is worse, a clause each. The worst failures may be as bad as those of `mended`, the plan without balancing, if it is given."""
    return [*_worse_score(now, than), *_worse_goals(now, than), *_worse_failures(now, than, mended)]


def _worse_score(now: Assessment, than: Assessment) -> Iterator[str]:
    if now.blocked > than.blocked:
        yield f"{now.blocked} replicas cannot be moved instead of {than.blocked}"
    if now.score < than.score - _ROUNDING:
        yield f"the balancedness score falls from {than.score:.1f} to {now.score:.1f}"


def _worse_goals(now: Assessment, than: Assessment) -> Iterator[str]:
    for name, hard in GOALS.items():
        one, other = than.verdicts[name], now.verdicts[name]
        broken = other.verdict in _BROKEN and one.verdict not in _BROKEN
        # No placement satisfies an unfixable goal, and a replica on a dead broker hides breaches of it.
        more = one.verdict != UNFIXABLE and other.breach_count > one.breach_count
        if hard and (broken or more):
            yield f"the hard goal {name} has {other.breach_count} breaches instead of {one.breach_count}"


def _worse_failures(now: Assessment, than: Assessment, mended: Assessment | None) -> Iterator[str]:
    allowed = {} if mended is None else {(kind, harm): max(before.values()) for kind, harm, before, _ in _costs(mended, now)}
    better = set()  # kinds of failures that cost less of what is more severe
    for kind, harm, before, after in _costs(than, now):
        most, worst = max(before.values()), max(after, key=after.__getitem__)
        total, total_before = sum(after.values()), sum(before.values())
        if after[worst] > max(most, allowed.get((kind, harm), 0)):
            yield f"the worst {kind} failure ({worst}) costs {after[worst]} partitions {harm} instead of {most}"
        elif total > total_before and kind not in better:
            yield f"all {kind} failures together cost {total} partitions {harm} instead of {total_before}"
        elif total < total_before:
            better.add(kind)


def _costs(than: Assessment, now: Assessment) -> Iterator[tuple[str, str, dict[str, int], dict[str, int]]]:
    """Of each kind of failure and harm, the most severe first, how many partitions each failure costs before and after."""
    compared = than.failures.compare(now.failures, every_pair=True)
    for kind in dict.fromkeys(row.kind for row in compared):
        of_kind = [row for row in compared if row.kind == kind]
        for harm, counts in _HARMS.items():
            # What refuses writes without a failure refuses them in every failure too.
            refusing = (than.refusing_writes, now.refusing_writes) if harm == _WRITES else (0, 0)
            yield (
                kind,
                harm,
                {row.scenario_id: refusing[0] + sum(getattr(row.before, name) for name in counts) for row in of_kind},
                {row.scenario_id: refusing[1] + sum(getattr(row.after, name) for name in counts) for row in of_kind},
            )
