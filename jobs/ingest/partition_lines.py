"""Partition lines of a kafka-topics --describe text, read as columns straight from its bytes.

    \tTopic: orders\tPartition: 0\tLeader: 3\tReplicas: 3,1,2\tIsr: 3,1,2\tElr: \tLastKnownElr:

A compiled loop (partition_loops.py) reads the lines that any Kafka version prints. Every other line (a space within a list, a number of ten
digits, a mark for deletion, a broker named twice, bytes that no topic name has) goes to formats/kafka_topics.py. Both give the same result
for a line that both can read; tests/jobs/ingest/test_partition_lines.py compares them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from jobs.ingest import partitions
from jobs.ingest.dump import Parsed
from jobs.ingest.facts import PartitionLine
from jobs.ingest.partitions import LISTS, NO_LEADER, Partitions, Positions


class Text(Protocol):
    """The bytes of a text, loaded at once or on first access."""

    def __getitem__(self, part: slice, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class PartitionLines:
    """Partitions, and the line that each was read from: a row of each array is a line."""

    text: Text
    partitions: Partitions
    line: Positions  # line numbers, from 1
    start: Positions  # where in the text the line starts, and ends
    end: Positions

    def __len__(self) -> int:
        return len(self.line)

    @property
    def with_elr(self) -> NDArray[np.bool_]:
        """Return which lines have the ELR columns, which may be N/A."""
        return self.partitions.known[:, len(LISTS)]

    def take(self, rows: NDArray[Any]) -> PartitionLines:
        """Return some of the lines, in the order of these rows."""
        return replace(self, partitions=self.partitions.take(rows), line=self.line[rows], start=self.start[rows], end=self.end[rows])

    def text_of(self, row: int) -> str:
        """Return the text of a line."""
        return _decoded(self.text[self.start[row] : self.end[row]])

    def parsed_row(self, row: int) -> Parsed:
        """Return a line as formats/kafka_topics.py parses it."""
        columns = self.partitions
        lists: dict[str, Any] = {name: columns.ids_of(row, name) for name in LISTS}
        leader = int(columns.leader[row])
        fact = PartitionLine(
            topic=columns.topics[columns.topic[row]],
            partition=int(columns.partition[row]),
            leader=None if leader == NO_LEADER else leader,
            **lists,
        )
        return Parsed(int(self.line[row]), self.text_of(row), fact)

    def parsed_at_line(self, number: int) -> Parsed:
        """Return the line of this number; the lines are in the order of their file."""
        return self.parsed_row(int(np.searchsorted(self.line, number)))

    def last_before(self, number: int) -> tuple[int, str]:
        """Return the number and text of the last line before this number; the lines are in the order of their file."""
        row = int(np.searchsorted(self.line, number)) - 1
        return (int(self.line[row]), self.text_of(row)) if row >= 0 else (0, "")


@dataclass(frozen=True, slots=True)
class Part:
    """The lines of a stretch of a text; positions and line numbers count from the start of the stretch."""

    lines: PartitionLines
    others: list[tuple[int, bytes]]  # the lines that the compiled loop does not read, except blank ones
    newlines: int
    size_bytes: int
    names_elr: bool  # it contains the name of an ELR column
    last_line: bytes  # what follows the last newline


def read(data: bytes) -> Part:
    """Split a stretch into the partition lines that the compiled loop reads, and every other line."""
    from jobs.ingest.partition_loops import parse_lines

    newlines = data.count(b"\n")
    spans, numbers, at, known, ids, others = parse_lines(
        np.frombuffer(data, dtype=np.uint8), newlines + 1, data.count(b",") + 6 * (newlines + 1)
    )
    run, line, start, end, name_start, name_end = spans.T
    first = np.flatnonzero(np.diff(run, prepend=-1))
    of_runs = [data[a:b].decode("ascii") for a, b in zip(name_start[first].tolist(), name_end[first].tolist(), strict=True)]
    code = {name: code for code, name in enumerate(dict.fromkeys(of_runs))}
    topic = np.array([code[name] for name in of_runs], dtype=np.int32)[run]
    unknown = np.full(len(run), -1, np.int8)
    columns = Partitions([*code], topic, numbers[:, 0], numbers[:, 1], at, ids, known, unknown, np.empty(0, np.int32), [])
    rest = [(number, data[a:b]) for number, a, b in others.tolist()]
    lines = PartitionLines(b"", columns, line, start, end)
    return Part(lines, rest, newlines, len(data), b"LastKnownElr:" in data, data[data.rfind(b"\n") + 1 :])


def join_parts(parts: Sequence[Part], text: Text) -> tuple[PartitionLines, list[tuple[int, str]], str]:
    """Join the parts of a text: its partition lines, its other lines with their numbers, and what follows its last newline."""
    moved, others, number, position = [], [], 0, 0
    for part in parts:
        lines = part.lines
        moved.append(replace(lines, line=lines.line + number, start=lines.start + position, end=lines.end + position))
        others += [(number + line, _decoded(text)) for line, text in part.others]
        number, position = number + part.newlines, position + part.size_bytes
    last = [part.last_line for part in parts if part.size_bytes]
    return replace(concat(moved), text=text), others, _decoded(last[-1] if last else b"")


def concat(parts: Sequence[PartitionLines]) -> PartitionLines:
    """Join lines, one part after the other; the result has no text."""
    none = np.empty(0, np.int64)
    line, start, end = (np.concatenate([none, *(getattr(part, name) for part in parts)]) for name in ("line", "start", "end"))
    return PartitionLines(b"", partitions.concat([part.partitions for part in parts]), line, start, end)


def _decoded(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape")
