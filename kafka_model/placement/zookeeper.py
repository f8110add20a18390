"""Where a new partition's replicas go: AdminUtils (ZooKeeper controllers, Kafka 2.0 to 3.9) and StripedReplicaPlacer (KRaft).

AdminUtils draws a start index and a shift at random; here they are arguments, so that a placement can be repeated, or recovered.
Without racks, first replicas go round the brokers from the start index, and followers stand at a shift behind them that grows by one
each time round. Brokers 0, 1, 2, replication factor 3, start index 2, shift 1:

    >>> place_rack_unaware([0, 1, 2], 6, 3, start_index=2, shift=1)
    [(2, 1, 0), (0, 2, 1), (1, 0, 2), (2, 0, 1), (0, 1, 2), (1, 2, 0)]

With racks, the brokers are first put in an order in which racks alternate, and a follower passes over a rack that already has a replica
while another rack has none:

    >>> alternate_racks({0: "1", 1: "1", 2: "1", 3: "2", 4: "2", 5: "2"})
    [0, 3, 1, 4, 2, 5]

StripedReplicaPlacer takes racks round robin from a random offset, and brokers within a rack likewise, unfenced ones first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kafka_model.java.hash_map import hash_map_order, string_hash, string_order
from kafka_model.java.random_numbers import JavaRandom

Numbers = npt.NDArray[np.int64]
Patterns = npt.NDArray[np.int32]  # by first index, by shift: the replicas


class InvalidPartitions(ValueError):
    """A topic needs a partition."""


class InvalidReplicationFactor(ValueError):
    """No placement has this many replicas."""


class MixedRacks(ValueError):
    """Some brokers have a rack and some have none: AdminUtils places neither by racks nor without."""


# ---------------------------------------------------------------- AdminUtils, Kafka 2.0.0 to 3.9.2
def place(
    brokers: Mapping[int, str | None],
    partitions: int,
    replication_factor: int,
    *,
    start_index: int,
    shift: int,
    start_partition: int = 0,
) -> list[tuple[int, ...]]:
    """The replicas of each partition in turn: rack-aware if the brokers have racks, rack-unaware if none has; brokers in the order
    given.
    """
    _check(partitions, replication_factor, len(brokers))
    racks = {broker: rack for broker, rack in brokers.items() if rack is not None}
    if not racks:
        return place_rack_unaware(
            list(brokers), partitions, replication_factor, start_index=start_index, shift=shift, start_partition=start_partition
        )
    if len(racks) < len(brokers):
        raise MixedRacks(f"brokers without a rack: {sorted(set(brokers) - set(racks))}; either all have one, or none has")
    return place_rack_aware(racks, partitions, replication_factor, start_index=start_index, shift=shift, start_partition=start_partition)


def place_rack_unaware(
    brokers: Sequence[int], partitions: int, replication_factor: int, *, start_index: int, shift: int, start_partition: int = 0
) -> list[tuple[int, ...]]:
    """The replicas of each partition in turn, the preferred leader first; the order of the brokers matters."""
    _check(partitions, replication_factor, len(brokers))
    return [
        replicas_rack_unaware(brokers, first_index, grown, replication_factor)
        for first_index, grown in _firsts(len(brokers), partitions, start_index, shift, start_partition)
    ]


def place_rack_aware(
    racks: Mapping[int, str], partitions: int, replication_factor: int, *, start_index: int, shift: int, start_partition: int = 0
) -> list[tuple[int, ...]]:
    """The replicas of each partition in turn, the preferred leader first, on as many racks as there can be."""
    _check(partitions, replication_factor, len(racks))
    arranged = alternate_racks(racks)
    return [
        replicas_rack_aware(racks, arranged, first_index, grown, replication_factor)
        for first_index, grown in _firsts(len(racks), partitions, start_index, shift, start_partition)
    ]


def replicas_rack_unaware(brokers: Sequence[int], first_index: int, shift: int, replication_factor: int) -> tuple[int, ...]:
    """The replicas of one partition; only first_index modulo the brokers, and shift modulo one broker fewer, matter."""
    followers = (_replica_index(first_index, shift, nth, len(brokers)) for nth in range(replication_factor - 1))
    return (brokers[first_index % len(brokers)], *(brokers[index] for index in followers))


def replicas_rack_aware(
    racks: Mapping[int, str], arranged: Sequence[int], first_index: int, shift: int, replication_factor: int
) -> tuple[int, ...]:
    """The replicas of one partition over the brokers as `alternate_racks` arranges them; first_index and shift matter as they do without
    racks.
    """
    rack_count = len(set(racks.values()))
    replicas = [arranged[first_index % len(arranged)]]
    held = {racks[replicas[0]]}
    nth = 0
    while len(replicas) < replication_factor:
        broker = arranged[_replica_index(first_index, shift * rack_count, nth, len(arranged))]
        if broker not in replicas and (racks[broker] not in held or len(held) == rack_count):
            replicas.append(broker)
            held.add(racks[broker])
        nth += 1
    return tuple(replicas)


def patterns(brokers: Mapping[int, str | None], replication_factor: int) -> Patterns:
    """Of every first index and every shift that differs, the replicas of a partition: what `place` gives, for as many partitions as one
    likes at once.
    """
    _check(1, replication_factor, len(brokers))
    racks = {broker: rack for broker, rack in brokers.items() if rack is not None}
    if racks and len(racks) < len(brokers):
        raise MixedRacks(f"brokers without a rack: {sorted(set(brokers) - set(racks))}; either all have one, or none has")
    shifts = max(1, len(brokers) - 1)
    if racks:
        arranged = alternate_racks(racks)
        rows = [
            replicas_rack_aware(racks, arranged, first, shift, replication_factor)
            for first in range(len(brokers))
            for shift in range(shifts)
        ]
    else:
        ids = list(brokers)
        rows = [replicas_rack_unaware(ids, first, shift, replication_factor) for first in range(len(brokers)) for shift in range(shifts)]
    return np.array(rows, dtype=np.int32).reshape(len(brokers), shifts, replication_factor)


def place_batch(table: Patterns, partitions: Numbers, *, start_index: int | Numbers, shift: int | Numbers) -> Patterns:
    """The replicas of many partitions (of new topics: their numbers start at 0), a row each; start and shift are one for all, or one for
    each.
    """
    brokers, shifts, _ = table.shape
    first = _modulo(partitions + start_index, brokers)
    row = first * shifts + _modulo(partitions // brokers + shift, shifts)
    placed: Patterns = table.reshape(brokers * shifts, -1).take(row, axis=0)
    return placed


def _modulo(numbers: Numbers, divisor: int) -> Numbers:
    """numbers % divisor of none below 0: numpy divides by a constant in a fifth of the time that it takes for the remainder."""
    rest: Numbers = numbers - numbers // divisor * divisor
    return rest


def alternate_racks(racks: Mapping[int, str]) -> list[int]:
    """The brokers so that racks alternate: racks by name (in Java's order), brokers by id within each."""
    by_rack: dict[str, list[int]] = {}
    for broker in sorted(racks):
        by_rack.setdefault(racks[broker], []).append(broker)
    queues = [by_rack[rack] for rack in sorted(by_rack, key=string_order)]
    longest = max(map(len, queues), default=0)
    return [queue[nth] for nth in range(longest) for queue in queues if nth < len(queue)]


def added_partitions_start_index(brokers: Sequence[int], first_replica: int) -> int:
    """Where AdminZkClient starts when it adds partitions to a topic: at the first broker, in the given order, not below the first
    replica of partition 0.
    """
    return next((index for index, broker in enumerate(brokers) if broker >= first_replica), 0)


def _check(partitions: int, replication_factor: int, brokers: int) -> None:
    if partitions <= 0:
        raise InvalidPartitions(f"{partitions} partitions: there must be one at least")
    if replication_factor <= 0:
        raise InvalidReplicationFactor(f"replication factor {replication_factor}: there must be one replica at least")
    if replication_factor > brokers:
        raise InvalidReplicationFactor(f"replication factor {replication_factor} is larger than the number of brokers, {brokers}")


def _firsts(brokers: int, partitions: int, start_index: int, shift: int, start_partition: int) -> list[tuple[int, int]]:
    """For each partition, the index of its first replica and the shift of its followers, grown once for each multiple of the brokers
    passed.
    """
    start_partition = max(0, start_partition)
    passed = max(0, start_partition - 1) // brokers
    return [
        ((partition + start_index) % brokers, shift + partition // brokers - passed)
        for partition in range(start_partition, start_partition + partitions)
    ]


def _replica_index(first_index: int, shift: int, nth: int, brokers: int) -> int:
    return (first_index + 1 + (shift + nth) % (brokers - 1)) % brokers


# ---------------------------------------------------------------- StripedReplicaPlacer, Kafka 2.8 to 4.3
@dataclass(frozen=True, slots=True)
class UsableBroker:
    """A registered broker that the placer may use; a fenced one only where unfenced ones do not suffice, and never as first replica."""

    broker_id: int
    rack: str | None = None
    fenced: bool = False


def place_striped(
    brokers: Sequence[UsableBroker], partitions: int, replication_factor: int, *, random: JavaRandom
) -> list[tuple[int, ...]]:
    """The replicas of each partition in turn as the KRaft controller places them; `random` is drawn from, even if the placement is
    refused.
    """
    racks = _RackList(brokers, random)
    if replication_factor <= 0:
        raise InvalidReplicationFactor(f"replication factor {replication_factor}: it must be positive")
    if racks.unfenced == 0:
        raise InvalidReplicationFactor("all brokers are fenced")
    if replication_factor > len(brokers):
        raise InvalidReplicationFactor(f"replication factor {replication_factor} cannot be reached: {len(brokers)} brokers are registered")
    return [racks.place(replication_factor) for _ in range(partitions)]


class _BrokerList:
    """Brokers to go round, from one further on in each epoch (one epoch a partition)."""

    __slots__ = ("brokers", "epoch", "index", "offset")

    def __init__(self, brokers: Sequence[int], random: JavaRandom) -> None:
        self.brokers = sorted(brokers)
        self.offset = random.next_int(len(brokers)) if brokers else 0
        self.epoch = self.index = 0

    def next(self, epoch: int) -> int | None:
        if not self.brokers:
            return None
        if self.epoch != epoch:
            self.epoch, self.index = epoch, 0
            self.offset = (self.offset + 1) % len(self.brokers)
        if self.index >= len(self.brokers):
            return None
        self.index += 1
        return self.brokers[(self.index - 1 + self.offset) % len(self.brokers)]


class _RackList:
    """The racks to go round, one further on for each partition; shuffled once as many partitions are placed as brokers are unfenced."""

    __slots__ = ("epoch", "lists", "names", "offset", "random", "unfenced")

    def __init__(self, brokers: Sequence[UsableBroker], random: JavaRandom) -> None:
        met = list(dict.fromkeys(broker.rack for broker in brokers))
        # Kafka keeps the racks in a HashMap of Optional<String>, and its order says which rack draws first.
        hashed = hash_map_order(met, lambda racks: [0 if rack is None else string_hash(rack) for rack in racks])
        self.lists = {
            rack: (
                _BrokerList([broker.broker_id for broker in brokers if broker.rack == rack and broker.fenced], random),
                _BrokerList([broker.broker_id for broker in brokers if broker.rack == rack and not broker.fenced], random),
            )
            for rack in hashed
        }
        self.names = sorted(met, key=lambda rack: (rack is not None, string_order(rack or "")))
        self.unfenced = sum(not broker.fenced for broker in brokers)
        self.offset = random.next_int(len(met)) if met else 0
        self.random = random
        self.epoch = 0

    def place(self, replication_factor: int) -> tuple[int, ...]:
        if self.epoch == self.unfenced > 1:
            self._shuffle()
            self.epoch = 0
        self.offset %= len(self.names)
        first = self.offset
        while (leader := self._next(first, fenced=False)) is None:
            first = (first + 1) % len(self.names)
        replicas = [leader]
        rack, skip = self.offset, True  # the leader's rack is passed over the first time that its turn comes
        while len(replicas) < replication_factor:
            if rack == first and skip:
                skip = False
            elif (follower := self._next(rack, fenced=True)) is not None:
                replicas.append(follower)
            rack = (rack + 1) % len(self.names)
        self.epoch += 1
        self.offset += 1
        return tuple(replicas)

    def _next(self, position: int, *, fenced: bool) -> int | None:
        behind, ready = self.lists[self.names[position]]
        broker = ready.next(self.epoch)
        return behind.next(self.epoch) if broker is None and fenced else broker

    def _shuffle(self) -> None:
        self.random.shuffle(self.names)
        for behind, ready in self.lists.values():
            self.random.shuffle(behind.brokers)
            self.random.shuffle(ready.brokers)
