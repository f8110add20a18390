"""Evidence: the facts of a cluster, their origins, and the entries that contradict better ones.

    a.txt, 02:00   t-0 leader 1      rejected: "b.txt, line 1, differs: leader 2, not 1 (written 02:01, this 02:00)"
    b.txt, 02:01   t-0 leader 2      used: same precedence, newer file

If two files have different facts about the same thing, the format with the better `Precedence` wins; for equal precedence, the newer file.
Fields that the winner does not know are filled from the other fact. The other entry is rejected, and the reason has both values.
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
    """What the files of a cluster state; `columns` has the entries that need no resolving."""

    files: Sequence[ParsedFile]
    columns: ColumnarDumps
    origins: dict[type, dict[Any, Origin]] = field(default_factory=lambda: defaultdict(dict))  # of the winning facts, by kind and key
    key_samples: list[pa.Table] = field(default_factory=list)
    # By file, topic and partition: plans do not contradict each other.
    proposals: dict[tuple[Any, ...], Origin] = field(default_factory=dict)
    rejected: dict[str, list[Rejected]] = field(default_factory=lambda: defaultdict(list))  # by file
    missing: dict[str, int] = field(default_factory=lambda: defaultdict(int))  # the number of missing entries by file
    _rejected_rows: dict[tuple[str, int, int], int] = field(default_factory=dict)  # in `rejected`, by file, line and identity of the entry

    def facts(self, kind: type) -> list[Any]:
        """Return the winning facts of a kind."""
        return [origin.parsed.fact for origin in self.origins[kind].values()]

    def add(self, origin: Origin) -> None:
        """Add a fact; if there is one about the same thing, keep the one from the better source."""
        fact = origin.parsed.fact
        origins, key = self.origins[type(fact)], fact[: fact.KEY_FIELDS]
        earlier = origins.get(key)
        origins[key] = origin if earlier is None else self._resolve_conflict(earlier, origin)

    def add_proposal(self, origin: Origin) -> None:
        """Add a row of a plan; a later one of the same file wins."""
        key = (origin.file.name, *origin.fact[: origin.fact.KEY_FIELDS])
        if key in self.proposals:
            self.reject(self.proposals[key], f"repeated in line {origin.parsed.line}")
        self.proposals[key] = origin

    def source_of(self, topic: str, partition: int) -> Origin:
        """Return the origin of the facts about a partition."""
        return self.origins[PartitionLine].get((topic, partition)) or self.columns.source_of(topic, partition, self.files)

    def reject(self, origin: Origin, reason: str) -> None:
        """Reject an entry that its format accepted. An entry with several facts is rejected once, with all reasons."""
        rejected, (line, entry, *_) = self.rejected[origin.file.name], origin.parsed
        row = self._rejected_rows.setdefault((origin.file.name, line, id(entry)), len(rejected))
        if row == len(rejected):
            rejected.append(Rejected(line, entry, reason))
        elif reason not in rejected[row].reason.split("; "):
            rejected[row] = rejected[row]._replace(reason=f"{rejected[row].reason}; {reason}")

    def report_missing(self, origin: Origin, reason: str) -> None:
        """Count an entry that is missing beside this one, and add a rejected entry for it."""
        self.missing[origin.file.name] += 1
        self.rejected[origin.file.name].append(Rejected(origin.parsed.line, origin.parsed.entry, reason))

    def _resolve_conflict(self, earlier: Origin, later: Origin) -> Origin:
        """Return the better of two facts about the same thing; `later` comes later in the same file, or from a newer file."""
        earlier_rank, later_rank = earlier.file.reading.precedence, later.file.reading.precedence
        earlier_wins = earlier_rank < later_rank or _is_larger(earlier.fact, later.fact)
        winner, loser = (earlier, later) if earlier_wins else (later, earlier)
        if earlier.file is later.file:
            self.reject(loser, f"repeated in line {winner.parsed.line}")
        elif earlier.fact != later.fact:
            if text := differences(winner.fact, loser.fact):
                self.reject(loser, contradiction(winner, loser, text))
            if earlier_rank != later_rank:
                return winner.with_fact(fill_gaps(winner.fact, loser.fact))
        return winner


def _is_larger(fact: Any, other_fact: Any) -> bool:
    name = getattr(fact, "LARGEST_WINS", None)
    return name is not None and getattr(fact, name) > getattr(other_fact, name)


def contradiction(winner: Origin, loser: Origin, text: str) -> str:
    """Return the reason for rejecting an entry whose differences from a better one have this text."""
    winner_time, loser_time = (origin.file.written_at.strftime("%Y-%m-%d %H:%M:%S") for origin in (winner, loser))
    return f"{winner.location}, differs: {text} (written {winner_time}, this {loser_time})"


def differences(winner: Any, loser: Any) -> str:
    """Return the fields in which two facts about the same thing differ: `leader 2, not 1`; empty if there are none."""
    if hasattr(winner, "comparable_with") and not winner.comparable_with(loser):
        return ""
    may_be_unknown, unordered = getattr(winner, "MAY_BE_UNKNOWN", ()), getattr(winner, "UNORDERED", ())
    texts = []
    for name, value, other_value in zip(winner._fields, winner, loser, strict=True):
        pairs = [(name, value, other_value)]
        if name in may_be_unknown:
            if value is None or other_value is None:
                continue
            if isinstance(value, dict):
                pairs = [(key, value[key], other_value[key]) for key in sorted(value.keys() & other_value.keys())]
        texts += [
            f"{label} {_plain(left)}, not {_plain(right)}"
            for label, left, right in pairs
            if (set(left) != set(right) if name in unordered else left != right)
        ]
    return "; ".join(texts)


def _plain(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value)) or "none"
    return "none" if value is None else str(value)


def fill_gaps(fact: Any, other_fact: Any) -> Any:
    """Return the fact with its unknown fields and dict keys taken from the other one."""
    filled = {}
    for name in getattr(fact, "MAY_BE_UNKNOWN", ()):
        value, other_value = getattr(fact, name), getattr(other_fact, name)
        if isinstance(value, dict):
            filled[name] = other_value | value
        elif value is None or value == "":
            filled[name] = other_value
    return fact._replace(**filled)
