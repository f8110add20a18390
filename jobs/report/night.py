"""The report of a night: the failures that each cluster survives, its balance, its changes, and the rules that it breaks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from jobs.report.tables import HARM_WORDS, empty_table, query_table
from jobs.schema.failure import MUST_BE_ZERO, SURVIVES

if TYPE_CHECKING:
    from jobs.views import DuckdbViews

_NOTES = (
    "Each cell names the worst failure for data, for reads and for writes, with the number of partitions that it harms. Offline: without a leader. Refuse "
    "acks=all: with a leader, but too few replicas in sync. Lose data: no replica with every acknowledged record is left. Quorum at risk: "
    "one broker's death leaves too few controllers to elect a leader. Leaders, bytes: the most loaded broker over the mean. Producers: the "
    "most loaded partition of the worst topic over its mean, at least; records without a key can make it more uneven. Consumers: the most partitions of a member minus the fewest in its group. "
    "-: not in the dumps.\n"
)


def night_report(connection: DuckdbViews, snapshot_id: str) -> list[RenderableType]:
    """Return the tables of a night's report. Optional tables without rows are left out."""
    optional = [table(connection, snapshot_id) for table in (_worst_failures, _order_dependent_failures, _newly_fatal_failures, _changes)]
    return [
        _verdicts(connection, snapshot_id),
        _balance(connection, snapshot_id),
        Text(_NOTES, "dim"),
        *(table for table in optional if table.row_count),
        _broken_rules(connection, snapshot_id),
    ]


def _verdicts(connection: DuckdbViews, snapshot_id: str) -> Table:
    table = empty_table(f"Verdicts of {snapshot_id}")
    for name in ("cluster", "survives\nany broker?", "a rolling\nrestart?", "any rack?", "any two\nbrokers?"):
        table.add_column(name, overflow="fold")
    table.add_column("broken\nrules", justify="right")
    result = connection.execute(
        "SELECT v.*, c.controller FROM verdict v LEFT JOIN cluster c ON c.snapshot_id = v.snapshot_id AND c.cluster_id = v.cluster_id "
        "WHERE v.snapshot_id = ? ORDER BY v.cluster_id",
        [snapshot_id],
    )
    columns = [column[0] for column in result.description or ()]
    for row in result.fetchall():
        verdict = dict(zip(columns, row, strict=True))
        live, brokers, broken = verdict["live_brokers"], verdict["brokers"], verdict["broken_rules"]
        name = (
            Text(verdict["cluster_id"]).append(f"\n{live} of {brokers} live", "red" if live < brokers else "dim").append(_quorum(verdict))
        )
        table.add_row(name, *(_survival(verdict, kind) for kind in SURVIVES), Text(str(broken), "yellow" if broken else "green"))
    return table


def _survival(verdict: Mapping[str, Any], kind: str) -> Text:
    """Return whether a cluster survives a kind of failure; if not, the worst failures for data, reads and writes, each named once."""
    survived = [verdict[f"{SURVIVES[kind]}_{harm}"] for harm in MUST_BE_ZERO]
    if None in survived:
        return Text("-", "yellow")
    if all(survived):
        return Text("yes", "green")
    counts_by_failure: dict[str, dict[str, int]] = {}
    for harm, counts in MUST_BE_ZERO.items():
        if worst := verdict[f"worst_{kind}_{harm}"]:
            counts_by_failure.setdefault(worst, {}).update((count, verdict[f"{kind}_{harm}_{count}"]) for count in counts)
    sentences = (
        ", ".join(f"{partitions} {HARM_WORDS[count]}" for count, partitions in counts.items() if partitions) + f"\nif {failure}"
        for failure, counts in counts_by_failure.items()
    )
    return Text("NO: " + ";\n".join(sentences), "red")


def _quorum(verdict: Mapping[str, Any]) -> Text:
    """Return a warning if the death of one broker may break the controller quorum; otherwise an empty text."""
    survives = verdict["quorum_survives_any_broker"]
    if survives or verdict["controller"] != "kraft":
        return Text()
    return Text("\nquorum unknown", "yellow") if survives is None else Text("\nquorum at risk", "red")


def _balance(connection: DuckdbViews, snapshot_id: str) -> Table:
    return query_table(
        connection,
        "Balance",
        {"cluster": "left", "leaders": "right", "bytes": "right", "producers,\nat least": "right", "consumers": "right"},
        "SELECT cluster_id, coalesce(format('{:.2f}', leader_skew), '-'), coalesce(format('{:.2f}', byte_skew), '-'), "
        "coalesce(format('{:.2f}', producer_skew_lower_bound), '-'), coalesce(CAST(consumer_spread AS VARCHAR), '-') "
        "FROM verdict WHERE snapshot_id = ? ORDER BY cluster_id",
        [snapshot_id],
    )


def _worst_failures(connection: DuckdbViews, snapshot_id: str) -> Table:
    return query_table(
        connection,
        "If the worst broker dies (worst for writes, or for data if no broker harms writes)",
        {
            "cluster": "left",
            "broker": "right",
            "bytes\nat risk": "right",
            "undeliverable\nrecords": "right",
            "groups\naffected": "right",
            "members\nstranded": "right",
            "fullest survivor,\nnetwork used": "right",
            "leaders gained,\nover the mean": "right",
        },
        "SELECT s.cluster_id, s.brokers[1], CASE WHEN at_risk_unknown = 0 THEN CAST(at_risk_size_bytes AS VARCHAR) ELSE '-' END, "
        "coalesce(format('{:.1f}%', 100 * undeliverable_share), '-'), coalesce(CAST(affected_groups AS VARCHAR), '-'), "
        "coalesce(CAST(stranded_members AS VARCHAR), '-'), coalesce(format('{}: {:.0f}%', fullest_survivor, 100 * fullest_survivor_share), '-'), "
        "coalesce(format('{}: {:.1f}', busiest_survivor, concentration), '-') "
        "FROM verdict v JOIN scenario s ON s.snapshot_id = v.snapshot_id AND s.cluster_id = v.cluster_id AND s.scenario_set = 'nightly' "
        "AND s.scenario_id = coalesce(v.worst_broker_writes, v.worst_broker_data) WHERE v.snapshot_id = ? ORDER BY 1",
        [snapshot_id],
    )


def _order_dependent_failures(connection: DuckdbViews, snapshot_id: str) -> Table:
    return query_table(
        connection,
        "Partitions whose ELR, last known leader, ISR or elections depend on the order of the deaths (here the order of the ids)",
        {"cluster": "left", "failure": "left", "partitions": "right"},
        "SELECT cluster_id, failure, coalesce(CAST(partitions AS VARCHAR), 'all: the quorum is lost') FROM ("
        "SELECT cluster_id, scenario_id AS failure, order_dependent_partitions AS partitions FROM scenario "
        "WHERE snapshot_id = $1 AND scenario_set = 'nightly' AND (order_dependent_partitions > 0 OR order_dependent_partitions IS NULL) "
        "UNION ALL SELECT cluster_id, format('brokers {}+{}', broker_id, other_broker_id), NULL FROM broker_pair "
        "WHERE snapshot_id = $1 AND order_dependent) "
        "ORDER BY partitions DESC NULLS FIRST, 1, 2 LIMIT 20",
        [snapshot_id],
    )


def _newly_fatal_failures(connection: DuckdbViews, snapshot_id: str) -> Table:
    return query_table(
        connection,
        "Since the night before",
        {
            "cluster": "left",
            "failure": "left",
            "change": "left",
            "offline": "right",
            "refuse acks=all": "right",
            "lose data": "right",
            "cause": "left",
        },
        "SELECT cluster_id, scenario_id, change, format('{:+d}', offline_change), format('{:+d}', refusing_acks_all_change), "
        "format('{:+d}', lost_change), coalesce(cause, '') "
        "FROM survival_change WHERE snapshot_id = ? ORDER BY change = 'newly fatal' DESC, lost_change DESC, offline_change DESC, "
        "refusing_acks_all_change DESC, 1, 2 LIMIT 20",
        [snapshot_id],
    )


def _changes(connection: DuckdbViews, snapshot_id: str) -> Table:
    return query_table(
        connection,
        "What changed since the night before",
        {"cluster": "left", "change": "left", "count": "right", "cause": "left", "example": "left"},
        "SELECT cluster_id, kind, changes, coalesce(cause, ''), example FROM change_summary WHERE snapshot_id = ? AND kind NOT LIKE 'member %' "
        "ORDER BY cause IS NOT NULL, cluster_id, changes DESC, kind, cause LIMIT 30",
        [snapshot_id],
    )


def _broken_rules(connection: DuckdbViews, snapshot_id: str) -> Table:
    return query_table(
        connection,
        "Broken rules by cluster, with the number of rows that break each",
        {"cluster": "left", "rows": "right", "rule": "left"},
        "SELECT cluster_id, broken_rows, sentence || ' ' || suite || '.' || rule || coalesce(' (' || owner || ')', '') FROM broken_rule "
        "WHERE snapshot_id = ? AND result = 'broken' ORDER BY 1, broken_rows DESC, 3",
        [snapshot_id],
    )
