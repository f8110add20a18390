"""The charts of a night's page, as HTML tables: leaders after each failure, and survival night by night."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from jobs.report.tables import HARM_WORDS
from jobs.schema.failure import MUST_BE_ZERO

if TYPE_CHECKING:
    from jobs.views import DuckdbViews

_MAX_CLUSTERS, _MAX_BROKERS, _MAX_FAILURES, _MAX_NIGHTS = 50, 60, 80, 60
# Colour and words for the worst harm of a night. "": the cluster survives the loss of any broker; None: it was not published.
_NIGHT_COLOURS = {
    "": ("#2e9e5b", "survives"),
    "writes": ("#e6a817", "refuses acks=all"),
    "reads": ("#d33c3c", "goes offline"),
    "data": ("#7a1f1f", "loses data"),
    None: ("#ddd", "not published"),
}


def night_charts(connection: DuckdbViews, snapshot_id: str) -> str:
    """Return the charts of all clusters of a night."""
    return "".join([*_leader_charts(connection, snapshot_id), _survival_chart(connection, snapshot_id)])


def _leader_charts(connection: DuckdbViews, snapshot_id: str) -> Iterator[str]:
    """Yield a table for each cluster: a row for each of the worst failures, with the leaders that each broker has after it."""
    clusters = connection.execute(
        f"SELECT cluster_id FROM snapshot WHERE snapshot_id = ? ORDER BY 1 LIMIT {_MAX_CLUSTERS}", [snapshot_id]
    ).fetchall()
    for (cluster_id,) in clusters:
        yield from _leader_chart(connection, snapshot_id, cluster_id)


def _leader_chart(connection: DuckdbViews, snapshot_id: str, cluster_id: str) -> Iterator[str]:
    where, parameters = "WHERE snapshot_id = ? AND cluster_id = ?", [snapshot_id, cluster_id]
    brokers = connection.execute(
        f"SELECT broker_id, leaders FROM broker_balance {where} AND live ORDER BY 1 LIMIT {_MAX_BROKERS}", parameters
    ).fetchall()
    failures = connection.execute(
        f"SELECT scenario_id, brokers, {', '.join(HARM_WORDS)} FROM scenario {where} AND scenario_set = 'nightly' AND kind <> 'stop' "
        f"ORDER BY kind, newly_lost DESC, newly_offline DESC, newly_refusing_acks_all DESC, brokers, scenario_id LIMIT {_MAX_FAILURES}",
        parameters,
    ).fetchall()
    takeovers = connection.execute(
        f"SELECT scenario_id, broker_id, leaders_after FROM takeover {where} AND scenario_set = 'nightly'", parameters
    ).fetchall()
    leaders_after = {(scenario_id, broker_id): leaders for scenario_id, broker_id, leaders in takeovers}
    mean = sum(leaders for _, leaders in brokers) / max(len(brokers), 1) or 1
    yield f"<h2>{escape(cluster_id)}: the leaders that each survivor has after a failure</h2><table><tr><th>failure</th>"
    yield (
        "".join(f"<th>{broker_id}</th>" for broker_id, _ in brokers) + "".join(f"<th>{word}</th>" for word in HARM_WORDS.values()) + "</tr>"
    )
    yield "<tr><th>now</th>" + "".join(_leader_cell(leaders, mean) for _, leaders in brokers) + "<td></td>" * len(HARM_WORDS) + "</tr>"
    for scenario_id, failed, *counts in failures:
        cells = (
            "<td class=gone>&times;</td>"
            if broker_id in failed
            else _leader_cell(leaders_after.get((scenario_id, broker_id), leaders), mean)
            for broker_id, leaders in brokers
        )
        yield f"<tr><th>{escape(scenario_id)}</th>{''.join(cells)}{''.join(map(harm_cell, counts))}</tr>"
    yield "</table>"


def harm_cell(count: int) -> str:
    """Return a cell with a number of harmed partitions: red, or grey for 0."""
    return f"<td class={'harm' if count else 'none'}>{count}</td>"


def _leader_cell(leaders: int, mean: float) -> str:
    """Return a cell whose colour goes from white at the mean to red at three times the mean."""
    fade = round(255 - 155 * min(max((leaders / mean - 1) / 2, 0), 1))
    return f'<td style="background:rgb(255,{fade},{fade})">{leaders}</td>'


def _survival_chart(connection: DuckdbViews, snapshot_id: str) -> str:
    """Return a square for each cluster and night up to this one, coloured by the worst harm of losing any one broker."""
    rows = connection.execute(
        "SELECT cluster_id, snapshot_id, list(harm) FILTER (WHERE NOT survives) FROM survival WHERE kind = 'broker' AND snapshot_id <= ? "
        f"AND snapshot_id IN (SELECT DISTINCT snapshot_id FROM snapshot WHERE snapshot_id <= ? ORDER BY 1 DESC LIMIT {_MAX_NIGHTS}) "
        "GROUP BY 1, 2 ORDER BY 1, 2",
        [snapshot_id, snapshot_id],
    ).fetchall()
    worst = {(cluster_id, night): next((harm for harm in MUST_BE_ZERO if harm in (harms or ())), "") for cluster_id, night, harms in rows}
    nights = sorted({night for _, night in worst})
    lines = []
    for cluster_id in sorted({cluster_id for cluster_id, _ in worst}):
        squares = []
        for night in nights:
            colour, words = _NIGHT_COLOURS[worst.get((cluster_id, night))]
            squares.append(f'<td class=night style="background:{colour}" title="{escape(night)}: {words}"></td>')
        lines.append(f"<tr><th>{escape(cluster_id)}</th>{''.join(squares)}</tr>")
    legend = " ".join(f'<span style="color:{colour}">■</span> {words}' for colour, words in _NIGHT_COLOURS.values())
    return f"<h2>The loss of any one broker, night by night ({len(nights)})</h2><table>{''.join(lines)}</table><p>{legend}</p>"
