"""The start index and shift of AdminUtils that explain each topic of a cluster with a ZooKeeper controller.

The placement of partition p depends on two numbers only: the index of its first broker, (p + start index) mod n, and the shift of its
followers, (shift + p div n) mod (n - 1). Each replication factor therefore has a small table of patterns, n x (n - 1) rows computed by
kafka_model.placement.zookeeper. The pair of start index and shift that most partitions of a topic agree on explains the topic best, if these
are more than half.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from jobs.arrays import NO_BROKER, Ints, Matrix, list_positions
from jobs.steps.observed_topic import ExplainedTopic, ObservedTopic
from kafka_model.placement.zookeeper import alternate_racks, replicas_rack_aware, replicas_rack_unaware


class Start(NamedTuple):
    """A start index and a shift."""

    index: int
    shift: int


class StartIndexPlacer:
    """AdminUtils' placement on the brokers of a cluster; with a requested start, this one is the placement of every topic.

    If only some brokers have a rack, kafka-topics refuses to create a topic (RackAwareMode.Enforced). A broker that creates a topic
    automatically ignores the racks (RackAwareMode.Safe), and so does this placer.
    """

    def __init__(self, racks: Mapping[int, str | None], requested: Start | None) -> None:
        known = {broker: rack for broker, rack in racks.items() if rack is not None}
        self._ids, self._requested = sorted(racks), requested
        self._racks = known if len(known) == len(racks) else None
        self.algorithm = "rack-unaware" if self._racks is None else "rack-aware"
        self.start_requested = requested is not None
        self.refusal = "not all brokers have rack information" if known and self._racks is None else None
        self._patterns: dict[int, _Patterns] = {}

    @property
    def brokers(self) -> int:
        return len(self._ids)

    def explain(self, topic: ObservedTopic, *, compiled: bool) -> ExplainedTopic:
        patterns = self._patterns_of(topic.replication_factor)
        replicas = _replica_matrix(topic)
        if self._requested:
            start, votes = Start(self._requested.index % patterns.brokers, self._requested.shift % patterns.shifts), len(topic.numbers)
        else:
            start, votes = patterns.best_start(topic.numbers, replicas)
        if 2 * votes <= len(topic.numbers):
            return ExplainedTopic(False, first_unexplained=int(topic.numbers[0]))
        placed = patterns.place(topic.numbers, start)
        differs = np.flatnonzero((placed != replicas).any(axis=1) | (topic.lengths != topic.replication_factor))
        moved = dict(zip(topic.numbers[differs].tolist(), placed[differs].tolist(), strict=True))
        return ExplainedTopic(True, moved, min(moved, default=None), start.index, start.shift)

    def _patterns_of(self, factor: int) -> _Patterns:
        if factor not in self._patterns:
            self._patterns[factor] = _Patterns(self._ids, self._racks, factor)
        return self._patterns[factor]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_patterns": {}}  # each worker computes the patterns of the clusters that it reads


class _Patterns:
    """The replicas for each index of the first broker and each shift, with one replication factor."""

    def __init__(self, ids: list[int], racks: Mapping[int, str] | None, factor: int) -> None:
        self.brokers = len(ids)
        self.shifts = 1 if factor == 1 else max(len(ids) - 1, 1)  # that place differently
        pairs = [(first, shift) for first in range(self.brokers) for shift in range(self.shifts)]
        if racks is None:
            self._replicas = [replicas_rack_unaware(ids, first, shift, factor) for first, shift in pairs]
        else:
            arranged = alternate_racks(racks)
            self._replicas = [replicas_rack_aware(racks, arranged, first, shift, factor) for first, shift in pairs]
        self._matrix = np.array(self._replicas, dtype=np.int64).reshape(len(pairs), factor)

    @cached_property
    def _by_replicas(self) -> dict[tuple[int, ...], list[int]]:
        """The rows with the same replicas."""
        rows: dict[tuple[int, ...], list[int]] = {}
        for row, replicas in enumerate(self._replicas):
            rows.setdefault(replicas, []).append(row)
        return rows

    def place(self, numbers: Ints, start: Start) -> Matrix:
        """Return the replicas of partitions; each row is a partition."""
        first, shift = (numbers + start.index) % self.brokers, (start.shift + numbers // self.brokers) % self.shifts
        return self._matrix[first * self.shifts + shift]

    def best_start(self, numbers: Ints, replicas: Matrix) -> tuple[Start, int]:
        """Return the start that most partitions agree on, the lowest if several have as many, and the number of these partitions."""
        for start in sorted(self._starts(int(numbers[0]), tuple(replicas[0].tolist()))):  # one that places all partitions is one of these
            if (self.place(numbers, start) == replicas).all():
                return start, len(numbers)
        # One pattern at most gives a partition this pair, so that each partition has one vote for it.
        votes = Counter[Start]()
        for number, brokers in zip(numbers.tolist(), map(tuple, replicas.tolist()), strict=True):
            votes.update(self._starts(number, brokers))
        return min(votes.items(), key=lambda item: (-item[1], item[0]), default=(Start(0, 0), 0))

    def _starts(self, number: int, replicas: tuple[int, ...]) -> list[Start]:
        """List the starts that give a partition these replicas."""
        pairs = (divmod(row, self.shifts) for row in self._by_replicas.get(replicas, ()))
        return [Start((first - number) % self.brokers, (shift - number // self.brokers) % self.shifts) for first, shift in pairs]


def _replica_matrix(topic: ObservedTopic) -> Matrix:
    """Return the replicas of each partition; a partition with another replication factor than the topic's has no known broker."""
    factor = topic.replication_factor
    if (topic.lengths == factor).all():
        return topic.broker_ids.reshape(len(topic.numbers), factor)
    matrix = np.full((len(topic.numbers), factor), NO_BROKER)
    row, replica = list_positions(topic.lengths)
    listed = (topic.lengths == factor)[row]
    matrix[row[listed], replica[listed]] = topic.broker_ids[listed]
    return matrix
