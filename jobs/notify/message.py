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
    yield from (f"{name}: new finding, {finding_line(row)}" for row in changes.new_findings)
    yield from (f"{name}: repaired finding, {row['consequence']}: {row['problem']}" for row in changes.repaired_findings)


def finding_line(row: Row) -> str:
    """Return a finding in a line: its consequence, what is wrong, and the smallest change."""
    change = f". Smallest change: {row['smallest_change']}" if row["smallest_change"] else ""
    return f"{row['consequence']}: {row['problem']}{change}"


def _failures(harms_by_kind: Mapping[str, Sequence[str]]) -> str:
    return enumeration([f"{words} ({', '.join(harms_by_kind[kind])})" for kind, words in FAILURES.items() if kind in harms_by_kind])


def _body(lines: Sequence[str]) -> str:
    if len(lines) > _MAX_LINES:
        lines = [*lines[: _MAX_LINES - 1], f"and {len(lines) - _MAX_LINES + 1} more lines; the views finding and survival have all"]
    return "\n".join(lines)
