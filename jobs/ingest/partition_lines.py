"""The lines of partitions in a text of kafka-topics --describe, many at once: columns read from its bytes.

    \tTopic: orders\tPartition: 0\tLeader: 3\tReplicas: 3,1,2\tIsr: 3,1,2\tElr: \tLastKnownElr:

A compiled loop takes the lines that Kafka prints, in any version's shape. Whatever is written in another way (a space in a list, a number
of ten digits, a mark for deletion, a broker named twice, bytes that no topic has) it leaves to formats/kafka_topics.py, whose words it
follows: what it takes, that reads alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from jobs.ingest.dump import Told
from jobs.ingest.facts import PartitionLine

Ints = NDArray[np.int32]
Places = NDArray[np.int64]
LISTS = ("replicas", "isr", "adding_replicas", "removing_replicas", "elr", "last_known_elr")  # in the order of a line
NONE = -1  # no leader


class Text(Protocol):
    """The bytes of a text, or what gets them when they are asked for."""

    def __getitem__(self, part: slice, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class PartitionLines:
    """Lines of partitions, as columns: a row of each array is a line."""

    text: Text
    names: Sequence[str]  # of topics
    topic: Ints  # which of the names
    partition: Ints
    leader: Ints  # or NONE
    at: Places  # by line and list, where in ids it starts; the last column, where the last list ends
    ids: Ints
    told: NDArray[np.bool_]  # by line and list, whether it is told; the last column, whether the columns of the ELR are there
    line: Places  # line numbers, from 1
    start: Places  # where in the text the line starts, and ends
    end: Places

    def __len__(self) -> int:
        return len(self.topic)

    @property
    def with_elr(self) -> NDArray[np.bool_]:
        """Of each line, whether the columns of the ELR are there; they may be N/A."""
        return self.told[:, 6]

    def take(self, rows: NDArray[Any]) -> PartitionLines:
        """Some of the lines, in any order."""
        return replace(self, **{name: getattr(self, name)[rows] for name in _COLUMNS})

    def text_of(self, row: int) -> str:
        return _decoded(self.text[self.start[row] : self.end[row]])

    def told_alone(self, row: int) -> Told:
        """A line as formats/kafka_topics.py tells it."""
        lists: dict[str, Any] = {name: self.ids_of(row, number) for number, name in enumerate(LISTS)}
        leader = int(self.leader[row])
        fact = PartitionLine(
            topic=self.names[self.topic[row]], partition=int(self.partition[row]), leader=None if leader == NONE else leader, **lists
        )
        return Told(int(self.line[row]), self.text_of(row), fact)

    def last_before(self, number: int) -> tuple[int, str]:
        """The last line before that of this number, and its own number; of lines in the order of their file."""
        row = int(np.searchsorted(self.line, number)) - 1
        return (int(self.line[row]), self.text_of(row)) if row >= 0 else (0, "")

    def told_at(self, number: int) -> Told:
        """The line of this number; of lines in the order of their file."""
        return self.told_alone(int(np.searchsorted(self.line, number)))

    def ids_of(self, row: int, number: int) -> tuple[int, ...] | None:
        """A list of a line; None: it is not told."""
        if not self.told[row, number]:
            return None
        return tuple(self.ids[self.at[row, number] : self.at[row, number + 1]].tolist())

    def leaders(self) -> set[int]:
        return set(np.unique(self.leader).tolist()) - {NONE}

    def brokers(self, name: str) -> set[int]:
        """Whom a list names, in any line."""
        return set(np.unique(self._values(name, in_order=False)[1]).tolist())

    def told_any(self, name: str) -> bool:
        """Whether a list is told in any line."""
        return bool(self.told[:, LISTS.index(name)].any())

    def some(self, name: str) -> bool:
        """Whether a list names anybody in any line."""
        number = LISTS.index(name)
        return bool((self.at[:, number + 1] > self.at[:, number]).any())

    def topics(self) -> pa.Array:
        """The topic of each line."""
        return pa.DictionaryArray.from_arrays(pa.array(self.topic), pa.array(self.names, pa.string())).cast(pa.string())

    def lists(self, name: str, *, in_order: bool = False, empty: bool = True) -> pa.ListArray:
        """A list of each line, its ids in order if asked; null: it is not told, or if none may be `empty`, is so."""
        offsets, values = self._values(name, in_order=in_order)
        null = ~self.told[:, LISTS.index(name)] if empty else offsets[1:] == offsets[:-1]
        return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values), mask=pa.array(null))

    def _values(self, name: str, *, in_order: bool) -> tuple[Ints, Ints]:
        if not len(self):
            return np.zeros(1, np.int32), self.ids[:0]
        from jobs.ingest.partition_loops import gather

        number = LISTS.index(name)
        offsets, values = gather(self.at[:, number], self.at[:, number + 1], self.ids, in_order)
        return offsets, values

    def alone(self, told_elsewhere: Iterable[tuple[str, int]]) -> NDArray[np.bool_]:
        """Whether no other line is about the same partition, nor anything that is told elsewhere."""
        code = {name: code for code, name in enumerate(self.names)}
        elsewhere = np.array([code[topic] << 32 | partition for topic, partition in told_elsewhere if topic in code], np.int64)
        keys = self._keys()
        _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
        return (counts[inverse] == 1) & ~np.isin(keys, elsewhere)

    def in_order(self, wanted: NDArray[np.bool_]) -> Places:
        """The rows of the wanted lines by topic and partition."""
        rank = np.empty(len(self.names), np.int64)
        rank[sorted(range(len(self.names)), key=self.names.__getitem__)] = np.arange(len(self.names))
        rows = np.flatnonzero(wanted)
        return rows[np.argsort(rank[self.topic[rows]] << 32 | self.partition[rows], kind="stable")]

    def by_topic(self) -> dict[str, tuple[int, int, int]]:
        """Of each topic of lines in order: how many lines, the first and the last partition."""
        first = np.flatnonzero(np.diff(self.topic, prepend=-1))
        counts = np.diff(first, append=len(self))
        lowest, highest = self.partition[first].tolist(), self.partition[first + counts - 1].tolist()
        names = [self.names[code] for code in self.topic[first].tolist()]
        return dict(zip(names, zip(counts.tolist(), lowest, highest, strict=True), strict=True))

    def rows_of(self, topic: pa.Array, partition: NDArray[np.int64]) -> Places:
        """Of lines in order, the rows of these partitions; -1: there is none."""
        if not len(self):
            return np.full(len(partition), -1)
        code = {name: code for code, name in enumerate(self.names)}
        first = np.flatnonzero(np.diff(self.topic, prepend=-1))
        rank = np.full(len(self.names) + 1, -1, np.int64)  # by code; the last is that of no topic
        rank[self.topic[first]] = np.arange(len(first))
        named = topic.dictionary_encode()
        codes = np.array([code.get(name, len(code)) for name in named.dictionary.to_pylist()], np.int64)
        ranks = rank[codes[named.indices.to_numpy()]] if len(named) else np.empty(0, np.int64)
        keys, wanted = rank[self.topic] << 32 | self.partition, ranks << 32 | partition
        rows = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where((ranks >= 0) & (keys[rows] == wanted), rows, -1)

    def row_of(self, topic: str, partition: int) -> int:
        """The row of a partition."""
        return int(np.flatnonzero((self.topic == self.names.index(topic)) & (self.partition == partition))[0])

    def _keys(self) -> Places:
        return self.topic.astype(np.int64) << 32 | self.partition

    def replicas(self) -> tuple[Ints, Ints, Ints, NDArray[np.bool_]]:
        """Every replica of every line, by broker id: its line's row, its broker, its place in the assignment, and whether it is in sync."""
        from jobs.ingest.partition_loops import explode

        rows, brokers, places, in_sync = explode(self.at, self.ids)
        return rows, brokers, places, in_sync


@dataclass(frozen=True, slots=True)
class Part:
    """What a stretch of whole lines is read to: positions and line numbers count from its start."""

    lines: PartitionLines
    others: list[tuple[int, bytes]]  # the lines that the loop does not take, but for blank ones
    newlines: int
    size_bytes: int
    names_elr: bool  # the column's name is somewhere in it
    last_line: bytes  # what stands behind the last newline


def read(data: bytes) -> Part:
    """The lines of partitions that the loop takes, and every other line."""
    from jobs.ingest.partition_loops import take

    newlines = data.count(b"\n")
    spans, numbers, at, told, ids, others = take(np.frombuffer(data, dtype=np.uint8), newlines + 1, data.count(b",") + 6 * (newlines + 1))
    run, line, start, end, name_start, name_end = spans.T
    first = np.flatnonzero(np.diff(run, prepend=-1))
    of_runs = [data[a:b].decode("ascii") for a, b in zip(name_start[first].tolist(), name_end[first].tolist(), strict=True)]
    code = {name: code for code, name in enumerate(dict.fromkeys(of_runs))}
    topic = np.array([code[name] for name in of_runs], dtype=np.int32)[run]
    lines = PartitionLines(b"", list(code), topic, numbers[:, 0], numbers[:, 1], at, ids, told, line, start, end)
    rest = [(number, data[a:b]) for number, a, b in others.tolist()]
    return Part(lines, rest, newlines, len(data), b"LastKnownElr:" in data, data[data.rfind(b"\n") + 1 :])


def whole(parts: Sequence[Part], text: Text) -> tuple[PartitionLines, list[tuple[int, str]], str]:
    """The lines of a text that was read in parts, its other lines with their numbers, and what stands behind its last newline."""
    moved, others, number, position = [], [], 0, 0
    for part in parts:
        lines = part.lines
        moved.append(replace(lines, line=lines.line + number, start=lines.start + position, end=lines.end + position))
        others += [(number + line, _decoded(text)) for line, text in part.others]
        number, position = number + part.newlines, position + part.size_bytes
    last = [part.last_line for part in parts if part.size_bytes]
    return replace(joined(moved), text=text), others, _decoded(last[-1] if last else b"")


def joined(parts: Sequence[PartitionLines]) -> PartitionLines:
    """All these lines, without their texts."""
    code: dict[str, int] = {}
    codes = [np.array([code.setdefault(name, len(code)) for name in part.names], np.int32) for part in parts]
    topics = [of_part[part.topic] for of_part, part in zip(codes, parts, strict=True)]
    before = np.cumsum([0, *(len(part.ids) for part in parts)])
    parts = [
        _NO_LINES,
        *(replace(part, topic=topic, at=part.at + shift) for part, topic, shift in zip(parts, topics, before, strict=False)),
    ]
    rows = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS}
    return PartitionLines(b"", list(code), ids=np.concatenate([part.ids for part in parts]), **rows)


def _decoded(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape")


_COLUMNS = ("topic", "partition", "leader", "at", "told", "line", "start", "end")
_NO_LINES = PartitionLines(
    b"", [], *(np.empty(0, np.int32) for _ in range(3)), np.empty((0, 7), np.int64), np.empty(0, np.int32), np.empty((0, 7), np.bool_),
    *(np.empty(0, np.int64) for _ in range(3)),
)  # fmt: skip
