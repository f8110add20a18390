"""The end of a night on the terminal: what each cluster survives, the findings by consequence, and what to fix first, on one screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from rich.text import Text

from jobs.report.absent import absent_clusters, unread_files
from jobs.report.rows import Row, rows
from jobs.report.survival import Survival, quorum, survivals
from jobs.report.tables import FINDINGS_WORST_FIRST
from jobs.schema.publication import CONSEQUENCES

if TYPE_CHECKING:
    from jobs.views import DuckdbViews

_MAX_CLUSTERS, _MAX_CLUSTER_LINES, _MAX_FINDINGS, _MAX_WIDTH = 4, 3, 4, 120


def night_summary(connection: DuckdbViews, snapshot_id: str, width: int) -> Iterator[Text]:
    """Yield at most 22 lines of at most `width` columns."""
    width = min(width, _MAX_WIDTH)
    clusters, absent = survivals(connection, snapshot_id), absent_clusters(connection, snapshot_id)
    found = rows(
        connection,
        "SELECT cluster_id, priority, consequence, problem, is_new, owner, waived_until FROM finding WHERE snapshot_id = ? "
        f"ORDER BY {FINDINGS_WORST_FIRST}",
        [snapshot_id],
    )
    active = [row for row in found if row["waived_until"] is None]
    if absent:
        named = ", ".join(f"{each.cluster_id} ({each.reason})" for each in absent)
        yield Text(_shortened(f"Absent: {named}", width), "bold red")
    yield Text(_shortened(_headline(snapshot_id, clusters, len(absent)), width), "bold")
    if unread := unread_files(connection, snapshot_id):
        named = ", ".join(f"{name}: {reason}" for name, reason in unread)
        yield Text(_shortened(f"Not read ({len(unread)}): {named}", width), "yellow")
    for cluster in clusters[:_MAX_CLUSTERS]:
        yield from _cluster(cluster, width)
    if len(clusters) > _MAX_CLUSTERS:
        yield Text(f"  and {len(clusters) - _MAX_CLUSTERS} more clusters")
    if found:
        counted = [f"{sum(row['consequence'] == each for row in active)} {each}" for each in CONSEQUENCES]
        counted.append(f"{len(found) - len(active)} waived")
        fix = " Fix first:" if active else ""
        yield Text(_shortened(f"Findings: {', '.join(each for each in counted if not each.startswith('0 '))}.{fix}", width), "bold")
        yield from (_finding(row, width) for row in active[:_MAX_FINDINGS])


def _headline(snapshot_id: str, clusters: Sequence[Survival], absent: int) -> str:
    verdicts = [_verdict(cluster) for cluster in clusters]
    counted = ((verdicts.count(each), each) for each in ("not safe against one broker", "not safe against more", "safe", "unknown"))
    published = f"{len(clusters)} cluster{'s' * (len(clusters) != 1)} published"
    parts = [published, *(f"{count} {verdict}" for count, verdict in counted if count), *([f"{absent} absent"] if absent else [])]
    return f"Night {snapshot_id}: {', '.join(parts)}"


def _verdict(cluster: Survival) -> str:
    if cluster.answers["broker"] is False:
        return "not safe against one broker"
    if False in cluster.answers.values():
        return "not safe against more"
    return "safe" if all(cluster.answers.values()) else "unknown"


def _cluster(cluster: Survival, width: int) -> Iterator[Text]:
    """Yield the verdict of a cluster: its name and what it does not survive, then the sentence, in a few lines."""
    news = (cluster.news, quorum(cluster))
    lines = wrap(" ".join(filter(None, [f"{cluster.cluster_id}:", cluster.sentence, *news])), width - 2)
    shown = lines[:_MAX_CLUSTER_LINES]
    if len(lines) > len(shown):
        shown[-1] = _shortened(f"{shown[-1]} ...", width - 2)
    harmed = cluster.answers["broker"] is False
    for number, line in enumerate(shown):
        mark = ("✗ " if False in cluster.answers.values() else "✓ ") if number == 0 else "  "
        yield Text(f"{mark}{line}", "red" if harmed else "yellow" if False in cluster.answers.values() else "green")


def _finding(row: Row, width: int) -> Text:
    notes = "; ".join(note for note in ("new" if row["is_new"] else None, row["owner"]) if note)
    return Text(_shortened(f"  {row['consequence']}: {row['cluster_id']}: {row['problem']}{f' ({notes})' if notes else ''}", width))


def _shortened(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."
