"""Candidate plans with more or fewer balancing steps, and the choice of the one with the most steps that makes nothing worse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from jobs.arrays import to_lists
from jobs.errors import NoSuchPlan
from jobs.failure.counts import count_refusing
from jobs.plan.assessment import Assessment, assess, find_worse
from jobs.plan.current import CurrentCluster
from jobs.plan.question import PlanQuestion
from kafka_model.cruise_control import columnar
from kafka_model.cruise_control.columnar import Cluster, Ints
from kafka_model.cruise_control.plan import REQUIRED_REASONS, Plan, PlanRequest
from kafka_model.cruise_control.reassignment import BALANCING_STEPS, plan_by_step
from kafka_model.cruise_control.waves import WaveLimits, schedule


class Candidate(NamedTuple):
    """A plan in waves, and the cluster after it. Changed partitions are those with other replicas, or with an election only."""

    plan: Plan
    leader: Ints  # the leader of each partition after the plan
    waves: Mapping[int, int]  # by changed partition
    after: pa.RecordBatch  # the changed partitions after the plan, with their election inputs, in the order of `waves`
    assessment: Assessment


class Choice(NamedTuple):
    """The chosen candidate, and the balancing that it leaves out with the reason; None: nothing."""

    candidate: Candidate
    left_out: str | None


def choose_candidate(current: CurrentCluster, question: PlanQuestion) -> Choice:
    """Return the candidate with the most balancing steps that makes nothing worse; raise NoSuchPlan if each makes something worse.

    The baseline is the cluster now. If brokers or replicas are to be added or removed, it is the plan that does only that.
    """
    steps = list(BALANCING_STEPS) if question.balances else []
    plans = _plans(current, question)  # by the number of balancing steps
    whole = _candidate(current, question, plans[-1])
    if not question.requests_moves and not find_worse(whole.assessment, current.assessment):
        return Choice(whole, None)
    required = _candidate(current, question, plans[0]) if steps else whole
    baseline = required.assessment if question.requests_moves else current.assessment

    def worse_parts(candidate: Candidate) -> list[str]:
        return find_worse(candidate.assessment, baseline, required.assessment)

    if not (worse := worse_parts(whole)):
        return Choice(whole, None)
    reason = "; ".join(worse[:2])
    for count in range(len(steps) - 1, 0, -1):
        if plans[count] is plans[count + 1]:
            continue
        candidate = _candidate(current, question, plans[count])
        if candidate.waves and not worse_parts(candidate):
            return Choice(candidate, f"balancing of {', '.join(steps[count:])}: {reason}")
    if question.requests_moves or (required.waves and not worse_parts(required)):
        return Choice(required, f"all balancing: {reason}")
    without_elections = _candidate(current, question, plans[0], elect=False)
    if without_elections.waves and not worse_parts(without_elections):
        return Choice(without_elections, f"all balancing and preferred elections: {reason}")
    raise NoSuchPlan(f"cluster {question.cluster_id} has no plan that makes nothing worse: {reason}")


def _plans(current: CurrentCluster, question: PlanQuestion) -> list[Plan]:
    """Return the plan without balancing, and the plan after each balancing step."""
    request = PlanRequest(
        drained_brokers=frozenset(question.drain),
        cordoned_brokers=frozenset(row["broker_id"] for row in current.brokers if row.get("cordoned")),
        replication_factors=question.replication_factor,
        topics=frozenset(question.topics),
        balance=question.balance,
    )
    return list(plan_by_step(current.cluster, request, current.thresholds, current.disk_space))


def _candidate(current: CurrentCluster, question: PlanQuestion, plan: Plan, *, elect: bool = True) -> Candidate:
    """Return a plan in waves; without `elect`, partitions that keep their replicas keep their leader."""
    cluster, thresholds = current.cluster, current.thresholds
    plan, waves = schedule(plan, WaveLimits(question.wave_bytes, question.moves_per_broker), current.disk_space)
    first = plan.replicas[:, 0]
    becomes_leader = cluster.live[first]
    if not elect:
        becomes_leader = becomes_leader & np.isin(np.arange(len(first)), plan.changed_partitions)
    leader = np.where(becomes_leader, first, cluster.leader)
    # A partition that its first replica does not lead needs an election only; it is in wave 0.
    elected = np.flatnonzero((cluster.leader != leader) & (leader >= 0))
    unordered = dict.fromkeys(elected.tolist(), 0) | dict(zip(plan.changed_partitions.tolist(), waves.tolist(), strict=True))
    wave_of = dict(sorted(unordered.items()))
    changed = np.fromiter(wave_of, np.int64, len(wave_of))
    before = current.partitions.take(pa.array(changed))
    after = _after_reassignment(before, cluster, plan.replicas[changed])
    failures = current.assessment.failures.copy()
    failures.add(before, copies=-1)
    failures.add(after)
    refusing = current.assessment.refusing_partitions - count_refusing(before) + count_refusing(after)
    verdicts = columnar.evaluate(cluster, plan.replicas, leader, thresholds)
    blocked = sum(blocked.replicas for blocked in plan.blocked if blocked.reason in REQUIRED_REASONS)
    return Candidate(plan, leader, wave_of, after, assess(verdicts, thresholds, failures, refusing, blocked))


def _after_reassignment(before: pa.RecordBatch, cluster: Cluster, replicas: Ints) -> pa.RecordBatch:
    """Return partitions after their reassignment to these brokers: every live replica is in sync, and the first of them leads.

    `replicas` has a row of broker indexes per partition, -1 after the last one.
    """
    assigned = replicas >= 0
    ids, live = cluster.broker_ids[replicas], assigned & cluster.live[replicas]
    in_sync = to_lists(ids, live)
    leader = np.take_along_axis(ids, live.argmax(axis=1)[:, np.newaxis], axis=1)[:, 0]
    nobody = to_lists(ids, np.zeros_like(live))
    after = {
        "replicas": to_lists(ids, assigned),
        "live": in_sync,
        "isr": in_sync,
        "elr": nobody,
        "last_known_elr": nobody,
        "leader": pa.array(leader, pa.int32(), mask=~live.any(axis=1)),
        "replication_factor": pa.array(assigned.sum(axis=1), pa.int32()),
    }
    kept = {name: before[name] for name in before.schema.names if name not in (*after, "replica_size_bytes")}
    return pa.RecordBatch.from_pydict(kept | after)
