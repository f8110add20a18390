"""plan: the smallest reassignment that fixes the broken goals of a published cluster, and that drains or adds brokers as requested.

kafka_model.cruise_control.reassignment decides on the arrays of the cluster. A plan that makes something worse (jobs.plan.assessment) is
tried again with fewer balancing steps, and refused if none is left. The plan is stored as rows; nothing is executed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pyarrow as pa

from expectations.limits import Limits
from jobs.failure.counts import PartitionState, partition_states
from jobs.lake.lake import Lake
from jobs.plan.candidates import choose_candidate
from jobs.plan.current import READS, current_cluster
from jobs.plan.question import PlanQuestion, Row
from jobs.plan.tables import arrow_rows, compute_moves, plan_tables
from jobs.schema import (
    PLAN,
    PLAN_BLOCKED,
    PLAN_BROKER,
    PLAN_GOAL,
    PLAN_MOVE,
    PLAN_RULE,
    PLAN_SCENARIO,
    PLAN_WAVE,
    Table,
)
from jobs.snapshot import Snapshot, published_snapshot

WRITES = (PLAN, PLAN_MOVE, PLAN_WAVE, PLAN_GOAL, PLAN_BROKER, PLAN_SCENARIO, PLAN_BLOCKED, PLAN_RULE)


class PlanAnswer(NamedTuple):
    """A computed plan."""

    tables: dict[Table, pa.Table]  # all of WRITES except PLAN_RULE, without snapshot_id, cluster_id and plan_id
    brokers: list[Row]  # after the plan
    changed: pa.RecordBatch  # the changed partitions after the plan, with their election inputs, in the order of their waves

    @property
    def states(self) -> dict[tuple[str, int], PartitionState]:
        """The changed partitions after the plan, in the order of their waves."""
        keys = zip(self.changed["topic"].to_pylist(), self.changed["partition"].to_pylist(), strict=True)
        return dict(zip(keys, partition_states(self.changed), strict=True))


def answer(lake: Lake, snapshot_id: str | None, question: PlanQuestion, limits: Limits, *, rules: bool = True) -> Snapshot:
    """Compute a plan for a published snapshot, by default the cluster's newest, and store it; return the snapshot.

    With `rules`, the rules that the plan can change are evaluated on the night after it, which takes as long as a night of the cluster.
    """
    snapshot = published_snapshot(lake, snapshot_id, question.cluster_id)
    plan = compute_plan({table: snapshot.of_cluster(table, question.cluster_id) for table in READS}, question, limits)
    rule_rows = _rules(snapshot, question.cluster_id, limits, plan) if rules else []
    tables = plan.tables | {PLAN_RULE: arrow_rows(PLAN_RULE, rule_rows)}
    for table in WRITES:
        snapshot.replace(table, tables[table], plan_id=question.id, cluster_id=question.cluster_id)
    return snapshot


def _rules(snapshot: Snapshot, cluster_id: str, limits: Limits, plan: PlanAnswer) -> list[Row]:
    """Return the rows of `plan_rule`."""
    from jobs.plan.night_after import rules_after_plan  # imports Spark, which a plan without rules does not need

    return rules_after_plan(snapshot, cluster_id, limits, plan.brokers, plan.states)


def compute_plan(rows: Mapping[Table, pa.Table], question: PlanQuestion, limits: Limits) -> PlanAnswer:
    """Compute the plan for a cluster with these rows of READS."""
    current = current_cluster(rows, question, limits)
    choice = choose_candidate(current, question)
    moves = compute_moves(current, choice.candidate)
    changed = choice.candidate.after.append_column("wave", pa.array([row["wave"] for row in moves.rows.values()], pa.int64()))
    in_order = changed.sort_by([("wave", "ascending"), ("topic", "ascending"), ("partition", "ascending")])
    return PlanAnswer(plan_tables(current, question, choice, moves), current.brokers, in_order)


def unfulfilled(snapshot: Snapshot, question: PlanQuestion) -> str | None:
    """Return the requested changes that a stored plan does not make, with the reasons; None: it makes all of them."""
    (plan,) = snapshot.read_local(PLAN, cluster_id=question.cluster_id, plan_id=question.id).to_pylist()
    return None if plan["unfulfilled"] is None else str(plan["unfulfilled"])
