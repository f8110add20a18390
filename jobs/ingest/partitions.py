"""All partitions of a cluster as columns.

    orders-0   leader 3   replicas 3,1,2   isr 3,1     topic 0   partition 0   leader 3   broker_ids   3 1 2 3 1 1 2 1 ...
    orders-1   leader 1   replicas 1,2     isr 1       topic 0   partition 1   leader 1   list_starts  0 3 5 5 5 5 5 | 5 7 8 ...

The broker id lists of all partitions are in one array; `list_starts` has the index where each list starts. partition_lines.py parses lines of
kafka-topics into columns directly; `from_facts` converts the facts of any format.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from jobs.ingest.facts import PartitionLine
from jobs.ingest.id_lists import copy_lists, list_replicas

Ints = NDArray[np.int32]
Positions = NDArray[np.int64]
LISTS = ("replicas", "isr", "adding_replicas", "removing_replicas", "elr", "last_known_elr")
NO_LEADER = -1
_UNKNOWN = -1


class ReplicaColumns(NamedTuple):
    """Every replica of some partitions; a row of each array is a replica."""

    row: Ints  # of the partition
    broker_id: Ints
    index: Ints  # in the assignment
    in_sync: NDArray[np.bool_]


class TopicRows(NamedTuple):
    """The rows of a topic's partitions, from `first` to `end`, and its highest partition."""

    first: int
    end: int
    highest_partition: int


@dataclass(frozen=True, slots=True)
class Partitions:
    """Partitions as arrays, in which a row is a partition, and the names and lists that the rows refer to."""

    topics: Sequence[str]
    topic: Ints  # an index of topics
    partition: Ints
    leader: Ints  # or NO_LEADER
    list_starts: (
        Positions  # per partition, the index in broker_ids where each of its LISTS starts; the last column is where the last list ends
    )
    broker_ids: Ints
    is_known: NDArray[np.bool_]  # per partition and list; last column: the dump has the ELR columns, which may be N/A
    leader_recovering: NDArray[np.int8]  # 1: the leader recovers from an unclean election, 0: it does not, -1: unknown
    directory: Ints  # parallel to broker_ids: an index of directories for each replica, or -1; empty if no directory is known
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
        """Return a list of a partition; None: unknown."""
        number = LISTS.index(name)
        if not self.is_known[row, number]:
            return None
        return tuple(self.broker_ids[self.list_starts[row, number] : self.list_starts[row, number + 1]].tolist())

    def lists(self, name: str, *, ascending: bool = False, empty_is_null: bool = False) -> pa.ListArray:
        """Return a list of each partition, with sorted ids if `ascending`; null: unknown, or empty if `empty_is_null`."""
        offsets, values = self._copied_lists(name, ascending=ascending)
        null = offsets[1:] == offsets[:-1] if empty_is_null else ~self.is_known[:, LISTS.index(name)]
        return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values), mask=pa.array(null))

    def replicas(self) -> ReplicaColumns:
        """Return every replica, sorted by partition and broker id."""
        return ReplicaColumns(*list_replicas(self.list_starts, self.broker_ids))

    def directories_of(self, replicas: ReplicaColumns) -> pa.Array:
        """Return the directory id of each replica; null: unknown."""
        if not len(self.directory):
            return pa.nulls(len(replicas.row), pa.string())
        codes = self.directory[self.list_starts[replicas.row, 0] + replicas.index]
        directory = pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes == _UNKNOWN), pa.array(self.directories, pa.string()))
        return directory.cast(pa.string())

    def leaders(self) -> set[int]:
        """Return every broker that leads a partition."""
        return set(np.unique(self.leader).tolist()) - {NO_LEADER}

    def brokers(self, name: str) -> set[int]:
        """Return every broker in this list of any partition."""
        return set(np.unique(self._copied_lists(name, ascending=False)[1]).tolist())

    def any_known(self, name: str) -> bool:
        """Return whether this list of any partition is known."""
        return bool(self.is_known[:, LISTS.index(name)].any())

    def any_broker_in(self, name: str) -> bool:
        """Return whether this list of any partition contains a broker."""
        number = LISTS.index(name)
        return bool((self.list_starts[:, number + 1] > self.list_starts[:, number]).any())

    def unique_rows(self, other_partitions: Iterable[tuple[str, int]]) -> NDArray[np.bool_]:
        """Return for each row whether it is the only row of its partition, and the partition is none of the other ones."""
        codes = self._topic_codes()
        other_keys = np.array([codes[topic] << 32 | partition for topic, partition in other_partitions if topic in codes], np.int64)
        keys = self.topic.astype(np.int64) << 32 | self.partition
        _, key_of_row, rows_per_key = np.unique(keys, return_inverse=True, return_counts=True)
        return (rows_per_key[key_of_row] == 1) & ~np.isin(keys, other_keys)

    def sorted_rows(self) -> Positions:
        """Return the row numbers in the order of topic and partition."""
        rank = np.empty(len(self.topics), np.int64)
        rank[sorted(range(len(self.topics)), key=self.topics.__getitem__)] = np.arange(len(self.topics))
        return np.argsort(rank[self.topic] << 32 | self.partition, kind="stable")

    def rows_by_topic(self) -> dict[str, TopicRows]:
        """Return the rows of each topic; the partitions must be sorted."""
        firsts = self._first_rows()
        ends = np.append(firsts, len(self))[1:]
        names = [self.topics[code] for code in self.topic[firsts].tolist()]
        rows = map(TopicRows, firsts.tolist(), ends.tolist(), self.partition[ends - 1].tolist())
        return dict(zip(names, rows, strict=True))

    def rows_of(self, topic: pa.Array, partition: NDArray[np.int64]) -> Positions:
        """Return the row of each of these partitions, or -1 if it has none; the rows must be sorted."""
        if not len(self) or not len(partition):
            return np.full(len(partition), -1)
        code_by_topic = self._topic_codes()
        firsts = self._first_rows()
        rank_of_code = np.full(len(self.topics) + 1, -1, np.int64)  # the last code is that of an unknown topic
        rank_of_code[self.topic[firsts]] = np.arange(len(firsts))
        encoded = topic.dictionary_encode()
        codes = np.array([code_by_topic.get(name, len(code_by_topic)) for name in encoded.dictionary.to_pylist()], np.int64)
        ranks = rank_of_code[codes[encoded.indices.to_numpy()]]
        keys, wanted_keys = rank_of_code[self.topic] << 32 | self.partition, ranks << 32 | partition
        rows = np.minimum(np.searchsorted(keys, wanted_keys), len(keys) - 1)
        return np.where((ranks >= 0) & (keys[rows] == wanted_keys), rows, -1)

    def _copied_lists(self, name: str, *, ascending: bool) -> tuple[Ints, Ints]:
        number = LISTS.index(name)
        return copy_lists(self.list_starts[:, number], self.list_starts[:, number + 1], self.broker_ids, ascending)

    def _first_rows(self) -> Positions:
        return np.flatnonzero(np.diff(self.topic, prepend=-1))

    def _topic_codes(self) -> dict[str, int]:
        return {name: code for code, name in enumerate(self.topics)}


_COLUMNS = ("topic", "partition", "leader", "list_starts", "is_known", "leader_recovering")


def from_facts(facts: Sequence[PartitionLine]) -> Partitions:
    """Convert facts to columns."""
    topics: dict[str, int] = {}
    list_starts: list[int] = []
    broker_ids: list[int] = []
    is_known: list[bool] = []
    for fact in facts:
        for ids in (getattr(fact, name) for name in LISTS):
            list_starts.append(len(broker_ids))
            is_known.append(ids is not None)
            broker_ids += ids or ()
        list_starts.append(len(broker_ids))
        is_known.append(False)
    list_columns = len(LISTS) + 1
    directory, directories = _directories(facts)
    return Partitions(
        topic=np.array([topics.setdefault(fact.topic, len(topics)) for fact in facts], np.int32),
        topics=[*topics],
        partition=np.array([fact.partition for fact in facts], np.int32),
        leader=np.array([NO_LEADER if fact.leader is None else fact.leader for fact in facts], np.int32),
        list_starts=np.array(list_starts, np.int64).reshape(-1, list_columns),
        broker_ids=np.array(broker_ids, np.int32),
        is_known=np.array(is_known, np.bool_).reshape(-1, list_columns),
        leader_recovering=np.array([_UNKNOWN if fact.leader_recovering is None else fact.leader_recovering for fact in facts], np.int8),
        directory=directory,
        directories=directories,
    )


def _directories(facts: Sequence[PartitionLine]) -> tuple[Ints, list[str]]:
    """Return the index of each replica's directory, parallel to the broker ids of all lists, and the directories."""
    directories: dict[str, int] = {}
    codes: list[int] = []
    if any(fact.directories for fact in facts):
        for fact in facts:
            names = (fact.directories or ())[: len(fact.replicas)]
            codes += [directories.setdefault(name, len(directories)) for name in names]
            codes += [_UNKNOWN] * (sum(len(getattr(fact, name) or ()) for name in LISTS) - len(names))
    return np.array(codes, np.int32), [*directories]


def concat(parts: Sequence[Partitions]) -> Partitions:
    """Join partitions, one part after the other."""
    parts = parts or [from_facts([])]
    if len(parts) == 1:
        return parts[0]
    topics: dict[str, int] = {}
    directories: dict[str, int] = {}
    columns: dict[str, list[NDArray[Any]]] = {name: [] for name in (*_COLUMNS, "broker_ids", "directory")}
    has_directories = any(len(part.directory) for part in parts)
    shift = 0
    for part in parts:
        codes = np.array([topics.setdefault(name, len(topics)) for name in part.topics], np.int32)
        recoded = replace(part, topic=codes[part.topic], list_starts=part.list_starts + shift)
        if has_directories:
            codes = np.array([*(directories.setdefault(name, len(directories)) for name in part.directories), _UNKNOWN], np.int32)
            directory = codes[part.directory] if len(part.directory) else np.full(len(part.broker_ids), _UNKNOWN, np.int32)
            recoded = replace(recoded, directory=directory)
        for name, arrays in columns.items():
            arrays.append(getattr(recoded, name))
        shift += len(part.broker_ids)
    return Partitions(topics=[*topics], directories=[*directories], **{name: np.concatenate(arrays) for name, arrays in columns.items()})
