"""Partition lines of a kafka-topics --describe text, parsed from its bytes into columns.

    \tTopic: orders\tPartition: 0\tLeader: 3\tReplicas: 3,1,2\tIsr: 3,1,2\tElr: \tLastKnownElr:

A compiled loop (partition_loops.py) parses the lines that any Kafka version prints. Every other line goes to formats/kafka_topics.py: a space
within a list, a number of ten digits, `MarkedForDeletion`, a repeated broker, a character that topic names cannot contain. Both return the same
result for a line that both can parse; tests/jobs/ingest/test_partition_lines.py compares them.
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
    """The bytes of a text, in memory or loaded at the first access."""

    def __getitem__(self, part: slice, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class PartitionLines:
    """Parsed partition lines: a row of `partitions` and of each array is a line."""

    text: Text
    partitions: Partitions
    line: Positions  # line numbers, from 1
    start: Positions  # index of the line's first byte in the text
    end: Positions  # index after the line's last byte

    def __len__(self) -> int:
        return len(self.line)

    @property
    def has_elr_columns(self) -> NDArray[np.bool_]:
        """Return for each line whether it has the ELR columns; their value may be N/A."""
        return self.partitions.is_known[:, len(LISTS)]

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
        """Return the line with this number; the lines must be in the order of their file."""
        return self.parsed_row(int(np.searchsorted(self.line, number)))

    def last_before(self, number: int) -> tuple[int, str]:
        """Return number and text of the last line before this number, or 0 and an empty text; the lines must be in the order of their file."""
        row = int(np.searchsorted(self.line, number)) - 1
        return (int(self.line[row]), self.text_of(row)) if row >= 0 else (0, "")


@dataclass(frozen=True, slots=True)
class ParsedChunk:
    """The lines of a chunk of a text; byte positions and line numbers count from the start of the chunk."""

    lines: PartitionLines
    other_lines: list[tuple[int, bytes]]  # number and bytes of the lines that the compiled loop does not parse, without blank lines
    newlines: int
    size_bytes: int
    mentions_elr: bool  # the chunk contains the name of an ELR column
    last_line: bytes  # the bytes after the last newline


def read(data: bytes) -> ParsedChunk:
    """Parse a chunk: partition lines by the compiled loop, and every other line as bytes."""
    from jobs.ingest.partition_loops import parse_lines

    newlines = data.count(b"\n")
    most_ids = data.count(b",") + 6 * (newlines + 1)
    spans, numbers, list_starts, is_known, ids, other_spans = parse_lines(np.frombuffer(data, dtype=np.uint8), newlines + 1, most_ids)
    run, line, start, end, name_start, name_end = spans.T
    first_rows = np.flatnonzero(np.diff(run, prepend=-1))
    run_topics = [data[a:b].decode("ascii") for a, b in zip(name_start[first_rows].tolist(), name_end[first_rows].tolist(), strict=True)]
    code_by_topic = {topic: code for code, topic in enumerate(dict.fromkeys(run_topics))}
    partitions_of_lines = Partitions(
        topics=[*code_by_topic],
        topic=np.array([code_by_topic[topic] for topic in run_topics], dtype=np.int32)[run],
        partition=numbers[:, 0],
        leader=numbers[:, 1],
        list_starts=list_starts,
        broker_ids=ids,
        is_known=is_known,
        leader_recovering=np.full(len(run), -1, np.int8),
        directory=np.empty(0, np.int32),
        directories=[],
    )
    other_lines = [(number, data[first:last]) for number, first, last in other_spans.tolist()]
    lines = PartitionLines(b"", partitions_of_lines, line, start, end)
    return ParsedChunk(lines, other_lines, newlines, len(data), b"LastKnownElr:" in data, data[data.rfind(b"\n") + 1 :])


def join_chunks(chunks: Sequence[ParsedChunk], text: Text) -> tuple[PartitionLines, list[tuple[int, str]], str]:
    """Join the chunks of a text. Return its partition lines, its other lines with their numbers, and the text after its last newline."""
    shifted, other_lines, number, position = [], [], 0, 0
    for chunk in chunks:
        lines = chunk.lines
        shifted.append(replace(lines, line=lines.line + number, start=lines.start + position, end=lines.end + position))
        other_lines += [(number + line, _decoded(data)) for line, data in chunk.other_lines]
        number, position = number + chunk.newlines, position + chunk.size_bytes
    last_lines = [chunk.last_line for chunk in chunks if chunk.size_bytes]
    return replace(concat(shifted), text=text), other_lines, _decoded(last_lines[-1] if last_lines else b"")


def concat(parts: Sequence[PartitionLines]) -> PartitionLines:
    """Join lines, one part after the other; the result has no text."""
    empty = np.empty(0, np.int64)
    line, start, end = (np.concatenate([empty, *(getattr(part, name) for part in parts)]) for name in ("line", "start", "end"))
    return PartitionLines(b"", partitions.concat([part.partitions for part in parts]), line, start, end)


def _decoded(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape")
