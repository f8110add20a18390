"""The report of a plan: its unfulfilled requests, its moves, and each goal, rule and failure before and after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from expectations.limits import limits_of_cluster
from jobs.report.page import sections, write_page
from jobs.report.rows import rows
from jobs.report.tables import HARM_WORDS, query_table
from jobs.schema.plan import unchecked_limits

if TYPE_CHECKING:
    from expectations.limits import Limits
    from jobs.views import DuckdbViews

_WHERE = "WHERE snapshot_id = ? AND cluster_id = ? AND plan_id = ?"
_COLUMNS = (
    "cluster_id", "changed_partitions", "moved_replicas", "moved_bytes", "leadership_changes", "elections", "waves", "minimum_moves",
    "blocked_replicas", "throttle_bytes_per_s", "harmed_before", "harmed", "throttle_broker_id", "throttle_load_source", "unfulfilled",
    "worse", "left_out", "score_before", "score", "disk_limit", "disk_unknown_brokers", "size_unknown_partitions", "load_unknown_brokers",
)  # fmt: skip
_HARM_COLUMNS = ", ".join(f"{name}_before, {name}" for name in HARM_WORDS)
_HARMFUL = f"greatest({_HARM_COLUMNS}) > 0"
# Single failures before pairs, the worst of each kind first.
_WORST_FIRST = (
    "kind = 'pair', kind, newly_lost_before DESC, newly_offline_before DESC, newly_refusing_acks_all_before DESC, brokers, scenario_id"
)


def plan_report(connection: DuckdbViews, snapshot_id: str, cluster_id: str, plan_id: str) -> list[RenderableType]:
    """Return the parts of a plan's report. Tables without rows are left out, except goals, waves and moves."""
    parameters = [snapshot_id, cluster_id, plan_id]
    row = connection.execute(f"SELECT {', '.join(_COLUMNS)} FROM plan {_WHERE}", parameters).fetchone()
    plan = dict(zip(_COLUMNS, row or (), strict=True))
    optional = [table(connection, parameters) for table in (_blocked, _rules, _failures)]
    return [
        *_warnings(plan),
        Text(f"{' '.join(_summary(plan, snapshot_id))}\n", "bold"),
        *(Text(f"{line}\n", "yellow") for line in unchecked_limits(plan)),
        _goals(connection, parameters),
        *(table for table in optional if table.row_count),
        _waves(connection, parameters),
        _moves(connection, parameters),
    ]


def _warnings(plan: Mapping[str, Any]) -> Iterator[Text]:
    if plan["unfulfilled"] is not None:
        withheld = "; the files are not written, because the part that can be done makes something worse" if plan["worse"] else ""
        yield Text(f"NOT FULFILLED: {plan['unfulfilled']}{withheld}.\n", "bold red")
    if plan["left_out"] is not None:
        yield Text(f"Left out because it would make something worse: {plan['left_out']}.\n", "yellow")
    if plan["worse"] is not None:
        yield Text(f"Worse than now: {plan['worse']}.\n", "yellow")


def _summary(plan: Mapping[str, Any], snapshot_id: str) -> Iterator[str]:
    moved = "" if plan["moved_bytes"] is None else f" ({plan['moved_bytes'] / 2**30:.2f} GiB)"
    yield (
        f"Cluster {plan['cluster_id']} of {snapshot_id}: {plan['moved_replicas']} replicas are copied{moved} in {plan['waves']} waves, "
        f"{plan['leadership_changes']} partitions change leadership alone, {plan['elections']} need a preferred election."
    )
    yield f"To make counts equal to within one would take {plan['minimum_moves']} moves."
    yield _throttle(plan)
    yield f"Disks are filled to at most {plan['disk_limit']:g} of their capacity, old and new copies together."
    yield f"Partitions that one broker's death harms: {plan['harmed_before']} now, {plan['harmed']} then."
    yield f"Balancedness score: {plan['score_before']:.1f} now, {plan['score']:.1f} then."
    if plan["blocked_replicas"]:
        yield f"{plan['blocked_replicas']} replicas cannot be moved: see below."


def _throttle(plan: Mapping[str, Any]) -> str:
    throttle = plan["throttle_bytes_per_s"]
    if throttle is None:
        return "No throttle: network capacities are unknown."
    if throttle >= 1:
        source = plan["throttle_load_source"]
        return f"Throttle: {throttle:.0f} bytes/s, for broker {plan['throttle_broker_id']} (its current load: {source})."
    return f"No throttle keeps broker {plan['throttle_broker_id']} under the requested share: its load already exceeds it."


def _goals(connection: DuckdbViews, parameters: list[str]) -> Table:
    return query_table(
        connection,
        "Cruise Control's goals",
        {"goal": "left", "": "left", "now": "left", "breaches": "right", "then": "left", "breaches then": "right"},
        "SELECT goal, CASE WHEN hard THEN 'hard' ELSE 'soft' END, verdict_before, CAST(breaches_before AS VARCHAR), verdict, "
        f"CAST(breaches AS VARCHAR) FROM plan_goal {_WHERE} ORDER BY NOT hard, goal",
        parameters,
    )


def _waves(connection: DuckdbViews, parameters: list[str]) -> Table:
    headings = ("wave", "partitions", "replicas copied", "GiB", "most on a broker", "fullest disk", "harmed after it")
    return query_table(
        connection,
        "Waves (0: leadership alone)",
        dict.fromkeys(headings, "right"),
        "SELECT CAST(wave AS VARCHAR), CAST(partitions AS VARCHAR), CAST(moved_replicas AS VARCHAR), "
        "coalesce(format('{:.2f}', moved_bytes / 1073741824), 'unknown'), CAST(moves_of_busiest_broker AS VARCHAR), "
        "coalesce(format('{}: {:.0f}%', fullest_target_id, 100 * fullest_target_share), '-'), CAST(harmed AS VARCHAR) "
        f"FROM plan_wave {_WHERE} ORDER BY plan_wave.wave",
        parameters,
    )


def _failures(connection: DuckdbViews, parameters: list[str]) -> Table:
    headings = ("offline", "offline then", "refuse acks=all", "refuse then", "lost", "lost then")
    return query_table(
        connection,
        "Partitions that each failure harms, now and then (the first 40 failures)",
        {"failure": "left", **dict.fromkeys(headings, "right")},
        "SELECT scenario_id, newly_offline_before, newly_offline, newly_refusing_acks_all_before, newly_refusing_acks_all, "
        f"newly_lost_before, newly_lost FROM plan_scenario {_WHERE} AND {_HARMFUL} ORDER BY {_WORST_FIRST} LIMIT 40",
        parameters,
    )


def _moves(connection: DuckdbViews, parameters: list[str]) -> Table:
    return query_table(
        connection,
        "What changes (the first 200)",
        {"wave": "right", "topic": "left", "partition": "right", "replicas": "left", "reason": "left"},
        "SELECT CAST(wave AS VARCHAR), topic, CAST(partition AS VARCHAR), "
        "CAST(replicas_before AS VARCHAR) || ' -> ' || CAST(replicas AS VARCHAR), reason "
        f"FROM plan_move {_WHERE} ORDER BY plan_move.wave, plan_move.topic, plan_move.partition LIMIT 200",
        parameters,
    )


def _rules(connection: DuckdbViews, parameters: list[str]) -> Table:
    result = (
        "CASE WHEN success{0} THEN 'holds' WHEN success{0} IS NULL THEN 'unknown' ELSE CAST(broken_rows{0} AS VARCHAR) || ' broken' END"
    )
    return query_table(
        connection,
        "Rules that it changes",
        {"rule": "left", "": "left", "now": "left", "then": "left", "smallest change that would clear it": "left"},
        f"SELECT suite || '.' || rule, severity, {result.format('_before')}, {result.format('')}, "
        f"coalesce(json_extract_string(example, '$.smallest_change'), '') FROM plan_rule {_WHERE} "
        "AND (success_before IS DISTINCT FROM success OR broken_rows_before <> broken_rows) ORDER BY success, severity, suite, rule",
        parameters,
    )


def _blocked(connection: DuckdbViews, parameters: list[str]) -> Table:
    return query_table(
        connection,
        "What cannot be moved",
        {"for": "left", "because": "left", "replicas": "right", "partitions": "right", "example": "left"},
        "SELECT reason, obstacle, CAST(sum(blocked_replicas) AS VARCHAR), CAST(count(*) AS VARCHAR), min(topic || '-' || partition) "
        f"FROM plan_blocked {_WHERE} GROUP BY ALL ORDER BY sum(blocked_replicas) DESC, 1, 2",
        parameters,
    )


def write_plan_page(
    connection: DuckdbViews, snapshot_id: str, cluster_id: str, plan_id: str, page: Path, *, files: Sequence[Path], limits: Limits
) -> None:
    """Write the page of a plan: its report, its waves, the load of each broker before and after it, and its files, the commands last."""
    parameters = [snapshot_id, cluster_id, plan_id]
    (plan,) = rows(connection, f"SELECT throttle_bytes_per_s FROM plan {_WHERE}", parameters)
    throttle = plan["throttle_bytes_per_s"]
    waves = rows(connection, f"SELECT wave, moved_replicas, moved_bytes FROM plan_wave {_WHERE} ORDER BY plan_wave.wave", parameters)
    policy = rows(connection, "SELECT * FROM policy WHERE snapshot_id = ? AND cluster_id = ?", [snapshot_id, cluster_id])
    for wave in waves:  # the throttle is per broker: if one broker receives all bytes, the wave takes longest
        known = throttle is not None and throttle >= 1 and wave["moved_bytes"] is not None
        wave["most_seconds"] = wave["moved_bytes"] / throttle if known else None
    write_page(
        "plan.html.j2",
        page,
        title=f"Plan for {cluster_id}, night {snapshot_id}",
        sections=sections(plan_report(connection, snapshot_id, cluster_id, plan_id)),
        waves=waves,
        brokers=rows(connection, f"SELECT *, true AS live FROM plan_broker {_WHERE} ORDER BY broker_id", parameters),
        files={file.name: file.read_text(encoding="utf-8") for file in files[:-1]},
        commands=files[-1].read_text(encoding="utf-8") if files else "",
        limits=limits_of_cluster(limits, policy),
    )
