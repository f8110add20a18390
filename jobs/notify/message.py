"""The text of a message about a night."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from jobs.notify.changes import FAILURES, ClusterChanges
from jobs.report.rows import Row
from jobs.report.survival import Survival, enumeration

_MAX_LINES = 30  # of a body; some services cut longer messages


@dataclass(frozen=True, slots=True)
class Message:
    """A message: its text, and whether it reports something worse than in the previous night."""

    title: str
    body: str
    is_bad: bool

    @property
    def digest(self) -> str:
        """The SHA-256 of the text: a message that a rerun of a night would repeat has the same one."""
        return hashlib.sha256(f"{self.title}\n{self.body}".encode()).hexdigest()


def night_message(snapshot_id: str, clusters: int, changes: Sequence[ClusterChanges], survivals: Mapping[str, Survival]) -> Message:
    """Return the message about a night with this number of clusters, published or absent. `survivals` has the newly fatal ones."""
    counted = {
        "newly fatal": sum(bool(each.newly_fatal) for each in changes),
        "newly safe": sum(bool(each.newly_safe) for each in changes),
        "with new findings": sum(bool(each.new_findings) for each in changes),
        "with repaired findings": sum(bool(each.repaired_findings) for each in changes),
        "newly absent": sum(each.newly_absent is not None for each in changes),
        "published again": sum(each.newly_present for each in changes),
    }
    summary = ", ".join(f"{count} {words}" for words, count in counted.items() if count)
    title = f"Kafka topology audit {snapshot_id}: {clusters} cluster{'s' * (clusters != 1)}: {summary}"
    worst_first = sorted(
        changes, key=lambda each: (each.newly_absent is None, not each.newly_fatal, not each.new_findings, each.cluster_id)
    )
    lines = [line for each in worst_first for line in _cluster_lines(each, survivals.get(each.cluster_id))]
    is_bad = any(each.newly_absent or each.newly_fatal or each.new_findings for each in changes)
    return Message(title, _body(lines), is_bad)


def owner_message(snapshot_id: str, owner: str, changes: Sequence[ClusterChanges]) -> Message | None:
    """Return the message about the findings of an owner, or None if none is new or repaired."""
    new = [row for each in changes for row in each.new_findings if owner in _owners(row)]
    repaired = [row for each in changes for row in each.repaired_findings if owner in _owners(row)]
    if not new and not repaired:
        return None
    counted = [f"{len(rows)} {word} finding{'s' * (len(rows) != 1)}" for word, rows in (("new", new), ("repaired", repaired)) if rows]
    lines = [*map(_new_line, new), *map(_repaired_line, repaired)]
    return Message(f"Kafka topology audit {snapshot_id}: {owner}: {', '.join(counted)}", _body(lines), bool(new))


def _owners(finding: Row) -> list[str]:
    return finding["owner"].split(", ") if finding["owner"] else []


def _cluster_lines(changes: ClusterChanges, survival: Survival | None) -> Iterator[str]:
    name = changes.cluster_id
    if changes.newly_absent:
        yield f"{name} is newly absent: {changes.newly_absent.reason}: {changes.newly_absent.detail}"
    if changes.newly_present:
        yield f"{name} is published again"
    if changes.newly_fatal:
        yield f"{name} is newly fatal: {_failures(changes.newly_fatal)}"
    if changes.newly_fatal and survival:
        yield "  " + " ".join(filter(None, (survival.sentence, survival.news, survival.fix)))
    if changes.newly_safe:
        yield f"{name} is newly safe: {_failures(changes.newly_safe)}"
    yield from map(_new_line, changes.new_findings)
    yield from map(_repaired_line, changes.repaired_findings)


def _new_line(row: Row) -> str:
    change = f". Smallest change: {row['smallest_change']}" if row["smallest_change"] else ""
    return f"{row['cluster_id']}: new finding, {row['consequence']}: {row['problem']}{change}"


def _repaired_line(row: Row) -> str:
    return f"{row['cluster_id']}: repaired finding, {row['consequence']}: {row['problem']}"


def _failures(harms_by_kind: Mapping[str, Sequence[str]]) -> str:
    return enumeration([f"{words} ({', '.join(harms_by_kind[kind])})" for kind, words in FAILURES.items() if kind in harms_by_kind])


def _body(lines: Sequence[str]) -> str:
    if len(lines) > _MAX_LINES:
        lines = [*lines[: _MAX_LINES - 1], f"and {len(lines) - _MAX_LINES + 1} more lines; the views finding and survival have all"]
    return "\n".join(lines)
