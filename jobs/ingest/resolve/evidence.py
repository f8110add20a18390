"""Evidence: the fact that stands about each thing, its origin, and the entries that lost.

    a.txt, 02:00   t-0 leader 1      rejected: "b.txt, line 1, differs: leader 2, not 1 (written 02:01, this 02:00)"
    b.txt, 02:01   t-0 leader 2      stands: same precedence, newer file

A fact of the better format stands (`Precedence`); of equal formats that of the newer file. Fields that the better one leaves unknown are
filled from the other. The loser becomes a rejected entry with both values.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from jobs.ingest.dump import Rejected
from jobs.ingest.facts import PartitionLine
from jobs.ingest.resolve.columns import ColumnarDumps
from jobs.ingest.resolve.origin import Origin, ParsedFile


@dataclass(slots=True)
class Evidence:
    """What the files of a cluster state; `columns` has what needs no resolving."""

    files: Sequence[ParsedFile]
    columns: ColumnarDumps
    standing: dict[type, dict[Any, Origin]] = field(default_factory=lambda: defaultdict(dict))
    samples: list[pa.Table] = field(default_factory=list)
    rejected: dict[str, list[Rejected]] = field(default_factory=lambda: defaultdict(list))
    missing: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def of(self, kind: type) -> list[Any]:
        """Return the facts of a kind that stand."""
        return [origin.parsed.fact for origin in self.standing[kind].values()]

    def add(self, origin: Origin) -> None:
        """Add a fact; if another one is about the same thing, keep the one from the better source."""
        fact = origin.parsed.fact
        standing, key = self.standing[type(fact)], fact[: fact.KEYED_BY]
        before = standing.get(key)
        standing[key] = origin if before is None else self._resolve_conflict(before, origin)

    def source_of(self, topic: str, partition: int) -> Origin:
        """Return the origin of what stands about a partition."""
        return self.standing[PartitionLine].get((topic, partition)) or self.columns.source_of(topic, partition, self.files)

    def reject(self, origin: Origin, reason: str) -> None:
        """Reject an entry that its format accepted."""
        self.rejected[origin.file.name].append(Rejected(origin.parsed.line, origin.parsed.entry, reason))

    def report_missing(self, origin: Origin, reason: str) -> None:
        """Count an entry that should be there beside this one, and reject it."""
        self.missing[origin.file.name] += 1
        self.reject(origin, reason)

    def _resolve_conflict(self, before: Origin, after: Origin) -> Origin:
        """Return which of two facts about the same thing stands; `after` comes later in its file, or from a newer file."""
        first, second = (origin.file.reading.precedence for origin in (before, after))
        stands, loses = (before, after) if first < second or _is_larger(before.fact, after.fact) else (after, before)
        if before.file is after.file:
            self.reject(loses, f"repeated in line {stands.parsed.line}")
        elif before.fact != after.fact:
            if found := differences(stands.fact, loses.fact):
                self.reject(loses, contradiction(stands, loses, found))
            if first != second:
                return stands.with_fact(fill_gaps(stands.fact, loses.fact))
        return stands


def _is_larger(fact: Any, other: Any) -> bool:
    name = getattr(fact, "LARGEST_WINS", None)
    return name is not None and getattr(fact, name) > getattr(other, name)


def contradiction(stands: Origin, loses: Origin, found: str) -> str:
    """Return the reason for rejecting an entry that differs from the one that stands."""
    stood, lost = (origin.file.written_at.strftime("%Y-%m-%d %H:%M:%S") for origin in (stands, loses))
    return f"{stands.location}, differs: {found} (written {stood}, this {lost})"


def differences(stands: Any, loses: Any) -> str:
    """Return the fields in which two facts about the same thing differ: `leader 2, not 1`; empty if there are none."""
    if hasattr(stands, "comparable_with") and not stands.comparable_with(loses):
        return ""
    may_be_unknown, unordered = getattr(stands, "MAY_BE_UNKNOWN", ()), getattr(stands, "UNORDERED", ())
    found = []
    for name, ours, theirs in zip(stands._fields, stands, loses, strict=True):
        pairs = [(name, ours, theirs)]
        if name in may_be_unknown:
            if ours is None or theirs is None:
                continue
            if isinstance(ours, dict):
                pairs = [(key, ours[key], theirs[key]) for key in sorted(ours.keys() & theirs.keys())]
        found += [
            f"{label} {_plain(one)}, not {_plain(other)}"
            for label, one, other in pairs
            if (set(one) != set(other) if name in unordered else one != other)
        ]
    return "; ".join(found)


def _plain(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(str(one) for one in value) or "none"
    return "none" if value is None else str(value)


def fill_gaps(fact: Any, other: Any) -> Any:
    """Return the fact with its unknown fields and dict keys taken from the other."""
    filled = {}
    for name in getattr(fact, "MAY_BE_UNKNOWN", ()):
        ours, theirs = getattr(fact, name), getattr(other, name)
        if isinstance(ours, dict):
            filled[name] = theirs | ours
        elif ours is None or ours == "":
            filled[name] = theirs
    return fact._replace(**filled)
