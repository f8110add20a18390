"""Rows of the tables that a plan writes, except `plan_rule`. They are without snapshot_id, cluster_id and plan_id."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from jobs.failure.counts import FailureCounts
from jobs.failure.patterns import Counts
from jobs.plan.assessment import Assessment, find_worse
from jobs.plan.candidates import Candidate, Choice
from jobs.plan.current import CurrentCluster
from jobs.plan.question import PlanQuestion, Row
from jobs.plan.shortfalls import describe_shortfalls
from jobs.plan.throttle import compute_throttle
from jobs.plan.waves import compute_waves
from jobs.schema import PLAN, PLAN_BLOCKED, PLAN_BROKER, PLAN_GOAL, PLAN_MOVE, PLAN_SCENARIO, PLAN_WAVE, Table
from kafka_model.cruise_control.columnar import Bools, Cluster, Floats
from kafka_model.cruise_control.limits import DISK, GOALS
from kafka_model.cruise_control.plan import Plan
from kafka_model.cruise_control.reassignment import net_imbalance


class Moves(NamedTuple):
    """The rows of `plan_move` by partition index, and the bytes of a new copy of each partition; NaN: unknown."""

    rows: dict[int, Row]
    copy_bytes: Floats


def compute_moves(current: CurrentCluster, candidate: Candidate) -> Moves:
    """Return the moves of a plan."""
    copy_bytes = np.where(np.isnan(current.cluster.loads[DISK]), math.nan, current.disk_space.copy_sizes)
    rows = {p: _move_row(candidate.plan, p, candidate.waves[p], float(copy_bytes[p])) for p in candidate.waves}
    return Moves(rows, copy_bytes)


def plan_tables(current: CurrentCluster, question: PlanQuestion, choice: Choice, moves: Moves) -> dict[Table, pa.Table]:
    """Return the rows of each table."""
    candidate = choice.candidate
    before, after = current.assessment, candidate.assessment
    waves = compute_waves(current, candidate, moves.rows)
    throttle = compute_throttle(current.brokers, current.cluster, moves.rows.values(), question.network_share)
    summary = {
        "request": question.to_json(),
        "unfulfilled": describe_shortfalls(question, candidate, choice.left_out),
        "worse": "; ".join(find_worse(after, before)) or None,
        "left_out": choice.left_out,
        "score_before": before.score,
        "score": after.score,
        **_move_totals(current, question, candidate, moves),
        "disk_limit": current.disk_limit,
        "disk_unknown_brokers": current.cluster.broker_ids[current.cluster.live & np.isinf(current.disk_space.limit)].tolist(),
        "size_unknown_partitions": int(np.isnan(current.cluster.loads[DISK]).sum()),
        "throttle_bytes_per_s": throttle.bytes_per_s,
        "throttle_broker_id": throttle.broker_id,
        "throttle_load_source": throttle.load_source,
        "load_unknown_brokers": list(throttle.unknown_load_brokers),
        "harmed_before": waves.harmed_before,
        "harmed": waves.harmed,
    }
    rows = {
        PLAN: [summary],
        PLAN_MOVE: list(moves.rows.values()),
        PLAN_WAVE: waves.rows,
        PLAN_GOAL: list(_goal_rows(before, after)),
        PLAN_BROKER: _broker_rows(candidate),
        PLAN_SCENARIO: list(_scenario_rows(before.failures, after.failures)),
        PLAN_BLOCKED: list(_blocked_rows(candidate.plan)),
    }
    return {table: arrow_rows(table, table_rows) for table, table_rows in rows.items()}


def arrow_rows(table: Table, rows: Sequence[Row]) -> pa.Table:
    """Return the rows as Arrow, without the columns that name the plan."""
    columns = [field for field in table.schema if field.name not in ("snapshot_id", "cluster_id", "plan_id")]
    return pa.Table.from_pylist(list(rows), pa.schema(columns))


def _move_row(plan: Plan, partition: int, wave: int, copy_bytes: float) -> Row:
    cluster = plan.cluster
    before, after = (cluster.broker_ids[row[row >= 0]].tolist() for row in (cluster.replicas[partition], plan.replicas[partition]))
    added = [broker_id for broker_id in after if broker_id not in before]
    leader = cluster.leader[partition]
    return {
        "topic": cluster.topics[cluster.topic[partition]],
        "partition": int(cluster.partition[partition]),
        "wave": wave,
        "reason": plan.reasons[partition] or "not led by its first replica",
        "replicas_before": before,
        "replicas": after,
        "added_replicas": added,
        "removed_replicas": [broker_id for broker_id in before if broker_id not in after],
        "leader_before": int(cluster.broker_ids[leader]) if leader >= 0 else None,
        "moved_bytes": _finite(copy_bytes * len(added)) if added else 0.0,
    }


def _move_totals(current: CurrentCluster, question: PlanQuestion, candidate: Candidate, moves: Moves) -> Row:
    """Return the columns of `plan` that count moves."""
    plan, cluster = candidate.plan, current.cluster
    added = plan.added_replicas
    may_hold_replicas = cluster.live & ~np.isin(cluster.broker_ids, question.drain)
    stranded = (plan.replicas >= 0) & ~may_hold_replicas[plan.replicas]
    return {
        "changed_partitions": len(plan.changed_partitions),
        "moved_replicas": int(added.sum()),
        "moved_bytes": _finite(float((added * moves.copy_bytes)[added > 0].sum())),
        "leadership_changes": int((added[plan.changed_partitions] == 0).sum()),
        "elections": int(((cluster.leader != candidate.leader) & (candidate.leader >= 0)).sum()),
        "waves": max(candidate.waves.values(), default=0),
        "minimum_moves": net_imbalance(_replica_counts(cluster, cluster.live)),
        "stranded_replicas": int(stranded.sum()),
        "blocked_replicas": sum(blocked.replicas for blocked in plan.blocked),
    }


def _replica_counts(cluster: Cluster, brokers: Bools) -> list[int]:
    """Return the number of replicas on each of these brokers, or one 0 if there is none."""
    counts = np.bincount(cluster.replicas[cluster.replicas >= 0], minlength=len(cluster.broker_ids))
    return [int(count) for count in counts[brokers]] or [0]


def _goal_rows(before: Assessment, after: Assessment) -> Iterator[Row]:
    for goal, hard in GOALS.items():
        yield {
            "goal": goal,
            "hard": hard,
            "verdict_before": before.verdicts[goal].verdict,
            "verdict": after.verdicts[goal].verdict,
            "breaches_before": before.verdicts[goal].breach_count,
            "breaches": after.verdicts[goal].breach_count,
        }


def _broker_rows(candidate: Candidate) -> list[Row]:
    """Return the replicas, leaders and bytes of each broker before and after the plan. Each replica has its partition's disk load."""
    plan, cluster = candidate.plan, candidate.plan.cluster
    sizes = np.where(np.isnan(cluster.loads[DISK]), math.nan, cluster.size)
    brokers = len(cluster.broker_ids)
    columns: dict[str, list[Any]] = {"broker_id": cluster.broker_ids.tolist()}
    for suffix, replicas, leader in (("_before", cluster.replicas, cluster.leader), ("", plan.replicas, candidate.leader)):
        row, slot = np.nonzero(replicas >= 0)
        broker = replicas[row, slot]
        columns[f"replicas{suffix}"] = np.bincount(broker, minlength=brokers).tolist()
        columns[f"leaders{suffix}"] = np.bincount(leader[leader >= 0], minlength=brokers).tolist()
        columns[f"size_bytes{suffix}"] = [_finite(float(size)) for size in np.bincount(broker, weights=sizes[row], minlength=brokers)]
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _scenario_rows(before: FailureCounts, after: FailureCounts) -> Iterator[Row]:
    for failure in before.compare(after):
        row: Row = {"scenario_id": failure.scenario_id, "kind": failure.kind, "brokers": failure.brokers}
        for name in Counts._fields:
            row |= {f"{name}_before": getattr(failure.before, name), name: getattr(failure.after, name)}
        yield row


def _blocked_rows(plan: Plan) -> Iterator[Row]:
    cluster = plan.cluster
    for blocked in plan.blocked:
        replicas = cluster.replicas[blocked.partition]
        yield {
            "topic": cluster.topics[cluster.topic[blocked.partition]],
            "partition": int(cluster.partition[blocked.partition]),
            "reason": blocked.reason,
            "blocked_replicas": blocked.replicas,
            "replicas": cluster.broker_ids[replicas[replicas >= 0]].tolist(),
            "obstacle": blocked.obstacle,
        }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
