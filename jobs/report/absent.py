"""Reports on the clusters that a night does not publish and on the files that it could not read: the reason, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from jobs.lake.publication import NO_FOLDER, NOTHING_READABLE, WITHHELD
from jobs.schema import BESIDE, FOLDER

if TYPE_CHECKING:
    from jobs.views import DuckdbViews

_MAX_FILES = 20
_MAX_CAUSES = 5  # rules, files and rejected entries of an absent cluster; the view named beside them has all
_RESTORE = "Restore its dumps. If the cluster was retired, acknowledge it: --retired {}, in Airflow the Variable topology_retired_clusters."
_FIX_FOLDER = "Repair or replace these files, or remove the folder."
_FIX_DUMPS = "Bad input: the dumps lack what the rule needs, or contradict themselves. Repair or complete them, then run the night again."
_BUG = (
    "A computed table contradicts itself or its input: a bug of this project, not of the dumps. Report it with the rule and the row above."
)
_RUN_CHECKS = "Run the missing checks, then publish again."


class AbsentCluster(NamedTuple):
    """A cluster that a night does not publish; `detail` is the first cause, `last_snapshot_id` its last published night."""

    cluster_id: str
    reason: str
    detail: str
    last_snapshot_id: str | None


class _BrokenRule(NamedTuple):
    gate: str
    name: str
    sentence: str
    broken_rows: int
    example: str


class _RejectedEntry(NamedTuple):
    file: str
    line: int | None
    reason: str
    entries_of_cluster: int


def absent_clusters(connection: DuckdbViews, snapshot_id: str) -> list[AbsentCluster]:
    """Return the absent clusters of a night, in the order of their ids."""
    query = "SELECT cluster_id, reason, detail, last_snapshot_id FROM absent_cluster WHERE snapshot_id = ? ORDER BY 1"
    return [AbsentCluster(*row) for row in connection.execute(query, [snapshot_id]).fetchall()]


def absent_cluster_report(connection: DuckdbViews, snapshot_id: str) -> list[RenderableType]:
    """Return the parts of a report that states for each absent cluster the cause, the file or rule, and what to do."""
    clusters = absent_clusters(connection, snapshot_id)
    if not clusters:
        return []
    parts: list[RenderableType] = [
        Text(f"Absent from {snapshot_id}: {len(clusters)} cluster{'' if len(clusters) == 1 else 's'}\n", "bold red")
    ]
    causes = {NO_FOLDER: _no_folder, NOTHING_READABLE: _nothing_readable, WITHHELD: _withheld}
    for cluster in clusters:
        visible = f"Readers still see {cluster.last_snapshot_id}." if cluster.last_snapshot_id else "It was never published."
        parts.append(Text(f"{cluster.cluster_id}: {cluster.reason}", "bold"))
        lines = [visible, *causes[cluster.reason](connection, snapshot_id, cluster)]
        parts += [*(Padding(Text(line), (0, 0, 0, 2)) for line in lines), Text()]
    return parts


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _no_folder(connection: DuckdbViews, snapshot_id: str, cluster: AbsentCluster) -> Iterator[str]:
    yield _sentence(cluster.detail)
    yield _RESTORE.format(cluster.cluster_id)


def _nothing_readable(connection: DuckdbViews, snapshot_id: str, cluster: AbsentCluster) -> Iterator[str]:
    yield from _rejected_entries(connection, snapshot_id, cluster.cluster_id) or [_sentence(cluster.detail)]
    yield _FIX_FOLDER


def _withheld(connection: DuckdbViews, snapshot_id: str, cluster: AbsentCluster) -> Iterator[str]:
    """Yield lines on the hard rules that a cluster breaks, and on its dumps if these are the cause."""
    result = connection.execute(
        "SELECT gate, suite || '.' || rule, sentence, broken_rows, example FROM all_validation "
        "WHERE snapshot_id = ? AND cluster_id = ? AND severity = 'hard' AND NOT success ORDER BY gate <> 'ingest', 2",
        [snapshot_id, cluster.cluster_id],
    )
    rules = [_BrokenRule(*row) for row in result.fetchall()]
    if not rules:
        yield _sentence(cluster.detail)
        yield _RUN_CHECKS
        return
    for rule in rules[:_MAX_CAUSES]:
        rows = "1 row breaks" if rule.broken_rows == 1 else f"{rule.broken_rows} rows break"
        yield f"{rule.name}: {rule.sentence} {rows} it, for example {rule.example}"
    if len(rules) > _MAX_CAUSES:
        yield f"and {len(rules) - _MAX_CAUSES} more hard rules (view all_validation)"
    if rules[0].gate != "ingest":  # the rules of every later gate validate computed tables
        yield _BUG
        return
    files = connection.execute(
        "SELECT file, coalesce(format, 'unknown format'), accepted FROM all_input_file "
        "WHERE snapshot_id = ? AND cluster_id = ? ORDER BY format IS NULL, file",
        [snapshot_id, cluster.cluster_id],
    ).fetchall()
    names = [f"{file} ({format}, {accepted} accepted)" for file, format, accepted in files[:_MAX_CAUSES]]
    more = f", and {len(files) - _MAX_CAUSES} more (view all_input_file)" if len(files) > _MAX_CAUSES else ""
    yield f"Its files: {', '.join(names)}{more}"
    yield from _rejected_entries(connection, snapshot_id, cluster.cluster_id)
    yield _FIX_DUMPS


def _rejected_entries(connection: DuckdbViews, snapshot_id: str, cluster_id: str) -> list[str]:
    """Return a line for each of the first rejected entries of a cluster's dumps."""
    result = connection.execute(
        "SELECT file, line, reason, count(*) OVER () FROM all_rejected_input WHERE snapshot_id = ? AND cluster_id = ? "
        f"ORDER BY file, line, entry LIMIT {_MAX_CAUSES}",
        [snapshot_id, cluster_id],
    )
    entries = [_RejectedEntry(*row) for row in result.fetchall()]
    lines = [f"Rejected: {'' if entry.file == FOLDER else f'{entry.file}, line {entry.line}: '}{entry.reason}" for entry in entries]
    more = entries[0].entries_of_cluster - len(entries) if entries else 0
    return [*lines, f"and {more} more rejected entries (view all_rejected_input)"] if more else lines


def unread_files(connection: DuckdbViews, snapshot_id: str) -> list[tuple[str, str]]:
    """Return the path of each file that a night could not read, and the reason."""
    rows = connection.execute(
        "SELECT f.cluster_id, f.file, r.reason FROM all_input_file f JOIN all_rejected_input r ON r.snapshot_id = f.snapshot_id "
        "AND r.cluster_id = f.cluster_id AND r.file = f.file WHERE f.snapshot_id = ? AND f.format IS NULL ORDER BY ALL",
        [snapshot_id],
    ).fetchall()
    return [(file if cluster_id == BESIDE else f"{cluster_id}/{file}", reason) for cluster_id, file, reason in rows]


def unread_file_report(connection: DuckdbViews, snapshot_id: str) -> list[RenderableType]:
    """Return a line for each file that a night could not read, up to a limit."""
    files = unread_files(connection, snapshot_id)
    if not files:
        return []
    text = Text(f"Files that were not read: {len(files)}\n")
    for name, reason in files[:_MAX_FILES]:
        text.append(f"  {name}: {reason}\n")
    if len(files) > _MAX_FILES:
        text.append(f"  and {len(files) - _MAX_FILES} more (view all_rejected_input)\n")
    return [text]
