"""Partitions as columns: the one form in which the ingest holds what grows with a cluster.

    orders-0   leader 3   replicas 3,1,2   isr 3,1     topic 0   partition 0   leader 3   ids 3 1 2 3 1 1 2 ...
    orders-1   leader 1   replicas 1,2     isr 1       topic 0   partition 1   leader 1   at  0 3 5 5 5 5 5 | 5 7 8 ...

The id lists of all partitions lie in one array; `at` has where each list starts. Lines of kafka-topics become columns straight from bytes
(partition_lines.py), facts of any format by `of_facts`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from jobs.ingest.facts import PartitionLine
from jobs.ingest.id_lists import explode, gather

Ints = NDArray[np.int32]
Positions = NDArray[np.int64]
LISTS = ("replicas", "isr", "adding_replicas", "removing_replicas", "elr", "last_known_elr")
NO_LEADER = -1
_UNKNOWN = -1
_ELR_COLUMNS = len(LISTS)


@dataclass(frozen=True, slots=True)
class Partitions:
    """A row of each array is a partition."""

    topics: Sequence[str]
    topic: Ints  # an index of topics
    partition: Ints
    leader: Ints  # or NO_LEADER
    at: Positions  # by partition and list, where in ids the list starts; the last column, where the last list ends
    ids: Ints
    known: NDArray[np.bool_]  # by partition and list; the last column: the dump has ELR columns, which may be N/A
    recovering: NDArray[np.int8]  # 1: the leader recovers from an unclean election, 0: it does not, -1: unknown
    directory: Ints  # parallel to ids: of each replica an index of directories, or -1; empty if no directory is known
    directories: Sequence[str]

    def __len__(self) -> int:
        return len(self.topic)

    def take(self, rows: NDArray[Any]) -> Partitions:
        """Return some of the partitions, in the order of these rows."""
        return replace(self, **{name: getattr(self, name)[rows] for name in _COLUMNS})

    def topic_names(self) -> pa.Array:
        """Return the topic of each partition."""
        return pa.DictionaryArray.from_arrays(pa.array(self.topic), pa.array(self.topics, pa.string())).cast(pa.string())

    def ids_of(self, row: int, name: str) -> tuple[int, ...] | None:
        """Return an id list of a partition; None: unknown."""
        number = LISTS.index(name)
        if not self.known[row, number]:
            return None
        return tuple(self.ids[self.at[row, number] : self.at[row, number + 1]].tolist())

    def lists(self, name: str, *, in_order: bool = False, empty: bool = True) -> pa.ListArray:
        """Return an id list of each partition, sorted if `in_order`; null: unknown, or empty where `empty` is not allowed."""
        number = LISTS.index(name)
        offsets, values = gather(self.at[:, number], self.at[:, number + 1], self.ids, in_order)
        null = ~self.known[:, number] if empty else offsets[1:] == offsets[:-1]
        return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values), mask=pa.array(null))

    def replicas(self) -> tuple[Ints, Ints, Ints, NDArray[np.bool_]]:
        """List every replica by broker id: its partition's row, its broker, its index in the assignment, and whether it is in sync."""
        rows, brokers, indices, in_sync = explode(self.at, self.ids)
        return rows, brokers, indices, in_sync

    def directory_of(self, rows: Ints, indices: Ints) -> pa.Array:
        """Return the directory of these replicas, each a row and an index in its assignment; null: unknown."""
        if not len(self.directory):
            return pa.nulls(len(rows), pa.string())
        codes = self.directory[self.at[rows, 0] + indices]
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes == _UNKNOWN), pa.array(self.directories, pa.string())).cast(
            pa.string()
        )

    def leaders(self) -> set[int]:
        """Return every broker that leads a partition."""
        return set(np.unique(self.leader).tolist()) - {NO_LEADER}

    def brokers(self, name: str) -> set[int]:
        """Return every broker in this list of any partition."""
        number = LISTS.index(name)
        return set(np.unique(gather(self.at[:, number], self.at[:, number + 1], self.ids, False)[1]).tolist())

    def knows(self, name: str) -> bool:
        """Return whether this list of any partition is known."""
        return bool(self.known[:, LISTS.index(name)].any())

    def names_any(self, name: str) -> bool:
        """Return whether this list of any partition has a broker."""
        number = LISTS.index(name)
        return bool((self.at[:, number + 1] > self.at[:, number]).any())

    def unique(self, elsewhere: Iterable[tuple[str, int]]) -> NDArray[np.bool_]:
        """Return which rows are the only one of their partition, and of none of the partitions `elsewhere`."""
        code = {name: code for code, name in enumerate(self.topics)}
        taken = np.array([code[topic] << 32 | partition for topic, partition in elsewhere if topic in code], np.int64)
        keys = self._keys()
        _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
        return (counts[inverse] == 1) & ~np.isin(keys, taken)

    def order(self) -> Positions:
        """Return the rows by topic and partition."""
        rank = np.empty(len(self.topics), np.int64)
        rank[sorted(range(len(self.topics)), key=self.topics.__getitem__)] = np.arange(len(self.topics))
        return np.argsort(rank[self.topic] << 32 | self.partition, kind="stable")

    def by_topic(self) -> dict[str, tuple[int, int, int]]:
        """Return the first row, the end row and the highest partition of each topic; the partitions are in order."""
        first = self._first_rows()
        end = np.append(first, len(self))[1:]
        names = [self.topics[code] for code in self.topic[first].tolist()]
        return dict(zip(names, zip(first.tolist(), end.tolist(), self.partition[end - 1].tolist(), strict=True), strict=True))

    def rows_of(self, topic: pa.Array, partition: NDArray[np.int64]) -> Positions:
        """Return the rows of these partitions, -1 for one that is not here; the partitions are in order."""
        if not len(self) or not len(partition):
            return np.full(len(partition), -1)
        code = {name: code for code, name in enumerate(self.topics)}
        first = self._first_rows()
        rank = np.full(len(self.topics) + 1, -1, np.int64)  # by code; the last is that of an unknown topic
        rank[self.topic[first]] = np.arange(len(first))
        named = topic.dictionary_encode()
        codes = np.array([code.get(name, len(code)) for name in named.dictionary.to_pylist()], np.int64)
        ranks = rank[codes[named.indices.to_numpy()]]
        keys, wanted = rank[self.topic] << 32 | self.partition, ranks << 32 | partition
        rows = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where((ranks >= 0) & (keys[rows] == wanted), rows, -1)

    def _first_rows(self) -> Positions:
        return np.flatnonzero(np.diff(self.topic, prepend=-1))

    def _keys(self) -> Positions:
        return self.topic.astype(np.int64) << 32 | self.partition


_COLUMNS = ("topic", "partition", "leader", "at", "known", "recovering")


def of_facts(facts: Sequence[PartitionLine]) -> Partitions:
    """Put facts into columns."""
    topics: dict[str, int] = {}
    directories: dict[str, int] = {}
    at: list[int] = []
    ids: list[int] = []
    known: list[bool] = []
    directory: list[int] = []
    with_directories = any(fact.directories for fact in facts)
    for fact in facts:
        first = len(ids)
        lists = [getattr(fact, name) for name in LISTS]
        for brokers in lists:
            at.append(len(ids))
            known.append(brokers is not None)
            ids += brokers or ()
        at.append(len(ids))
        known.append(False)
        if with_directories:
            named = (fact.directories or ())[: len(fact.replicas)]
            directory += [directories.setdefault(name, len(directories)) for name in named]
            directory += [_UNKNOWN] * (len(ids) - first - len(named))
    columns = len(LISTS) + 1
    return Partitions(
        topic=np.array([topics.setdefault(fact.topic, len(topics)) for fact in facts], np.int32),
        topics=[*topics],
        partition=np.array([fact.partition for fact in facts], np.int32),
        leader=np.array([NO_LEADER if fact.leader is None else fact.leader for fact in facts], np.int32),
        at=np.array(at, np.int64).reshape(-1, columns),
        ids=np.array(ids, np.int32),
        known=np.array(known, np.bool_).reshape(-1, columns),
        recovering=np.array([_UNKNOWN if fact.leader_recovering is None else fact.leader_recovering for fact in facts], np.int8),
        directory=np.array(directory, np.int32),
        directories=[*directories],
    )


def concat(parts: Sequence[Partitions]) -> Partitions:
    """Join partitions, one part after the other."""
    parts = parts or [of_facts([])]
    if len(parts) == 1:
        return parts[0]
    topics: dict[str, int] = {}
    directories: dict[str, int] = {}
    columns: dict[str, list[NDArray[Any]]] = {name: [] for name in (*_COLUMNS, "ids", "directory")}
    with_directories = any(len(part.directory) for part in parts)
    shift = 0
    for part in parts:
        codes = np.array([topics.setdefault(name, len(topics)) for name in part.topics], np.int32)
        moved = replace(part, topic=codes[part.topic], at=part.at + shift)
        if with_directories:
            named = np.array([*(directories.setdefault(name, len(directories)) for name in part.directories), _UNKNOWN], np.int32)
            moved = replace(moved, directory=named[part.directory] if len(part.directory) else np.full(len(part.ids), _UNKNOWN, np.int32))
        for name, arrays in columns.items():
            arrays.append(getattr(moved, name))
        shift += len(part.ids)
    return Partitions(topics=[*topics], directories=[*directories], **{name: np.concatenate(arrays) for name, arrays in columns.items()})
