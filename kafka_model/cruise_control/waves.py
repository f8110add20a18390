"""The waves in which a reassignment is executed, one after another, so that each is limited in bytes, in moves and in disk space.

No class of Kafka or Cruise Control. Changes of leadership alone are wave 0. In every wave, old and new copies together stay under the
disk limits, because Kafka deletes the old copies only at its end.

    >>> from kafka_model.cruise_control.plan import Cluster, REASON_REPLICAS
    >>> cluster = Cluster.from_rows({1: "a", 2: "a"}, [("t", number, (1,), 1, 4.0) for number in range(3)])
    >>> plan = Plan(cluster, np.full((3, 1), 1), np.full(3, REASON_REPLICAS, dtype=object))
    >>> assign_waves(plan, WaveLimits(bytes_per_wave=10.0)).tolist()
    [1, 1, 2]
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kafka_model.cruise_control.columnar import Bools, Floats, Ints
from kafka_model.cruise_control.plan import (
    NO_WAVE,
    REASON_DEAD_BROKER,
    REASON_REPLICATION_FACTOR,
    REASON_SHARED_RACK,
    REASONS,
    Plan,
    pad_slots,
)
from kafka_model.cruise_control.plan_state import DiskSpace

NO_WAVE_POSSIBLE = -1
# Partitions nearest to data loss come first; a partition without a reason last.
_PRIORITY = {
    reason: index for index, reason in enumerate((REASON_DEAD_BROKER, REASON_SHARED_RACK, REASON_REPLICATION_FACTOR, *REASONS[3:], ""))
}


@dataclass(frozen=True, slots=True)
class WaveLimits:
    """The most that a wave may copy, in bytes, and the most replicas that it may move to or from a broker."""

    bytes_per_wave: float = math.inf
    moves_per_broker: int = 1_000_000


def schedule(plan: Plan, limits: WaveLimits, disk_space: DiskSpace) -> tuple[Plan, Ints]:
    """Return the plan without the partitions that fit into no wave, and the wave of each partition that it changes."""
    waves = assign_waves(plan, limits, disk_space)
    return plan.exclude(plan.changed_partitions[waves == NO_WAVE_POSSIBLE], NO_WAVE), waves[waves != NO_WAVE_POSSIBLE]


def assign_waves(plan: Plan, limits: WaveLimits, disk_space: DiskSpace | None = None) -> Ints:
    """Return the wave of each changed partition, as early as the limits allow; NO_WAVE_POSSIBLE: its copies fit into no wave.

    Partitions are in the order of their reasons, then those with the fewest replicas on live brokers first. An empty wave takes a partition
    of any size. A partition without disk space is tried again after later waves have freed some.
    """
    disk_space = DiskSpace.from_share(plan.cluster, math.inf) if disk_space is None else disk_space
    waves = _Waves(limits, disk_space, len(plan.cluster.broker_ids))
    changed, replicas_before = plan.changed_partitions, pad_slots(plan.cluster.replicas, plan.replicas.shape[1])
    live_replicas = np.where(replicas_before >= 0, plan.cluster.live[replicas_before], False).sum(axis=1)
    waiting = sorted(
        range(len(changed)),
        key=lambda index: (_PRIORITY[str(plan.reasons[changed[index]])], live_replicas[changed[index]], changed[index]),
    )
    assigned = np.full(len(changed), NO_WAVE_POSSIBLE, dtype=np.int64)
    while waiting:
        for index in waiting:
            partition = int(changed[index])
            move = _Move.between(partition, replicas_before[partition], plan.replicas[partition])
            assigned[index] = waves.assign(move)
        still_waiting = [index for index in waiting if assigned[index] == NO_WAVE_POSSIBLE]
        if len(still_waiting) == len(waiting):
            break
        waiting = still_waiting
    return assigned


class _Move(NamedTuple):
    """The brokers that get a replica of a partition, and those that lose one, each with its slot."""

    partition: int
    added: set[int]
    removed: Mapping[int, int]

    @classmethod
    def between(cls, partition: int, replicas_before: Ints, replicas_after: Ints) -> _Move:
        added = set(replicas_after[replicas_after >= 0].tolist()) - set(replicas_before.tolist())
        return cls(
            partition,
            added,
            {broker: slot for slot, broker in enumerate(replicas_before.tolist()) if broker >= 0 and broker not in replicas_after},
        )


class _Waves:
    """The bytes, moves and disk space of the waves so far."""

    def __init__(self, limits: WaveLimits, disk_space: DiskSpace, brokers: int) -> None:
        self._limits, self._space = limits, _WaveDiskSpace(disk_space)
        self._count = 0
        self._bytes = np.zeros(64)
        self._moves = np.zeros((64, brokers), dtype=np.int64)
        # All waves before these are full: for each broker by its moves, and for all by their bytes.
        self._first_for_broker = [0] * brokers
        self._first_for_bytes = 0

    def assign(self, move: _Move) -> int:
        """Put the partition into the first wave that has room for it and return the wave; NO_WAVE_POSSIBLE: its disks have no space yet."""
        if not move.added:
            self._space.take(move, -1)
            return 0
        if not self._space.has_room_at_end(move):
            return NO_WAVE_POSSIBLE
        brokers = sorted(move.added | move.removed.keys())
        copied = self._space.copy_size(move) * len(move.added)
        index = self._first_with_room(move, brokers, copied)
        if index == self._count:
            self._add_wave()
        self._space.take(move, index)
        self._bytes[index] += copied
        self._moves[index, brokers] += 1
        self._skip_full(brokers)
        return index + 1

    def _first_with_room(self, move: _Move, brokers: list[int], copied: float) -> int:
        first, count = max(self._first_for_bytes, *(self._first_for_broker[broker] for broker in brokers)), self._count
        has_room = self._bytes[first:count] + copied <= self._limits.bytes_per_wave
        for broker in brokers:
            has_room &= self._moves[first:count, broker] < self._limits.moves_per_broker
        has_room &= self._space.has_room(move, first, count)
        return first + int(has_room.argmax()) if has_room.any() else count

    def _add_wave(self) -> None:
        self._count += 1
        if self._count > len(self._bytes):
            self._bytes = np.pad(self._bytes, (0, self._count))
            self._moves = np.pad(self._moves, ((0, self._count), (0, 0)))

    def _skip_full(self, brokers: list[int]) -> None:
        while self._first_for_bytes < self._count and self._bytes[self._first_for_bytes] >= self._limits.bytes_per_wave:
            self._first_for_bytes += 1
        for broker in brokers:
            first = self._first_for_broker[broker]
            while first < self._count and self._moves[first, broker] >= self._limits.moves_per_broker:
                first += 1
            self._first_for_broker[broker] = first


class _WaveDiskSpace:
    """The bytes on each disk during each wave: those before it and the copies of the wave. Its deletions count from the next wave on."""

    def __init__(self, disk_space: DiskSpace) -> None:
        self._disk_space = disk_space
        self._limited = set(np.flatnonzero(np.isfinite(disk_space.limit)).tolist())
        self._stored: Floats = np.zeros((64, len(disk_space.limit)))
        self._count = 0
        self._stored_at_end: list[float] = disk_space.used.tolist()

    def copy_size(self, move: _Move) -> float:
        return float(self._disk_space.copy_sizes[move.partition])

    def has_room_at_end(self, move: _Move) -> bool:
        """Return whether the move fits into a new wave after all others."""
        size = self.copy_size(move)
        return all(self._stored_at_end[broker] + size <= self._disk_space.limit[broker] for broker in move.added & self._limited)

    def has_room(self, move: _Move, first: int, count: int) -> Bools:
        """Return for each of the waves from `first` to `count` whether the move fits into it and all later waves."""
        has_room = np.ones(count - first, dtype=np.bool_)
        for broker in move.added & self._limited:
            stored_from_here = np.maximum.accumulate(self._stored[first:count, broker][::-1])[::-1]
            has_room &= stored_from_here + self.copy_size(move) <= self._disk_space.limit[broker]
        return has_room

    def take(self, move: _Move, wave: int) -> None:
        """Add the copies from a wave on (an index; -1: none is needed), and delete the removed replicas at its end."""
        while wave >= self._count:
            if self._count == len(self._stored):
                self._stored = np.pad(self._stored, ((0, self._count), (0, 0)))
            self._stored[self._count] = self._stored_at_end
            self._count += 1
        for broker in move.added:
            size = self.copy_size(move)
            self._stored[wave : self._count, broker] += size
            self._stored_at_end[broker] += size
        for broker, slot in move.removed.items():
            size = float(self._disk_space.replica_sizes[move.partition, slot])
            self._stored[wave + 1 : self._count, broker] -= size
            self._stored_at_end[broker] -= size
