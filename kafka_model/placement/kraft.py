"""Replica placement with KRaft: StripedReplicaPlacer (Kafka 3.3 to 4.4).

The placer visits racks round robin from a random offset. It also visits the brokers of a rack round robin, unfenced brokers first. The
first replica is always unfenced; the rack of the leader is skipped the first time its turn comes.

    >>> brokers = [UsableBroker(1, "a"), UsableBroker(2, "a"), UsableBroker(3, "b"), UsableBroker(4, "b", fenced=True)]
    >>> place_striped(brokers, 3, 3, random=JavaRandom(1))
    [(2, 3, 1), (3, 1, 4), (2, 3, 1)]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kafka_model.java.hash_map import hash_map_order, string_hash, string_order
from kafka_model.java.random_numbers import JavaRandom
from kafka_model.placement.errors import InvalidReplicationFactor


@dataclass(frozen=True, slots=True)
class UsableBroker:
    """A registered broker. A fenced broker is used only where the unfenced ones do not suffice, and never as first replica."""

    broker_id: int
    rack: str | None = None
    fenced: bool = False


def place_striped(
    brokers: Sequence[UsableBroker], partitions: int, replication_factor: int, *, random: JavaRandom
) -> list[tuple[int, ...]]:
    """Place each partition as the KRaft controller does. `random` advances even if the placement is refused."""
    racks = _RackList(brokers, random)
    if replication_factor <= 0:
        raise InvalidReplicationFactor(f"replication factor {replication_factor}: it must be positive")
    if racks.unfenced == 0:
        raise InvalidReplicationFactor("all brokers are fenced")
    if replication_factor > len(brokers):
        raise InvalidReplicationFactor(f"replication factor {replication_factor} cannot be reached: {len(brokers)} brokers are registered")
    return [racks.place(replication_factor) for _ in range(partitions)]


class _BrokerList:
    """Brokers of a rack, visited round robin. Each epoch (one per partition) starts one broker further on."""

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
    """Racks, visited round robin. Each partition starts one rack further on.

    Racks and brokers are shuffled whenever as many partitions are placed as there are unfenced brokers.
    """

    __slots__ = ("brokers_by_rack", "epoch", "offset", "racks", "random", "unfenced")

    def __init__(self, brokers: Sequence[UsableBroker], random: JavaRandom) -> None:
        seen = list(dict.fromkeys(broker.rack for broker in brokers))
        # Kafka keeps the racks in a HashMap of Optional<String>: its order decides which rack draws a random number first.
        hashed = hash_map_order(seen, lambda racks: [0 if rack is None else string_hash(rack) for rack in racks])
        self.brokers_by_rack = {
            rack: (
                _BrokerList([broker.broker_id for broker in brokers if broker.rack == rack and broker.fenced], random),
                _BrokerList([broker.broker_id for broker in brokers if broker.rack == rack and not broker.fenced], random),
            )
            for rack in hashed
        }
        self.racks = sorted(seen, key=lambda rack: (rack is not None, string_order(rack or "")))
        self.unfenced = sum(not broker.fenced for broker in brokers)
        self.offset = random.next_int(len(seen)) if seen else 0
        self.random = random
        self.epoch = 0

    def place(self, replication_factor: int) -> tuple[int, ...]:
        if self.epoch == self.unfenced > 1:
            self._shuffle()
            self.epoch = 0
        self.offset %= len(self.racks)
        first = self.offset
        while (leader := self._next(first, allow_fenced=False)) is None:
            first = (first + 1) % len(self.racks)
        replicas = [leader]
        rack, skip_leader_rack = self.offset, True
        while len(replicas) < replication_factor:
            if rack == first and skip_leader_rack:
                skip_leader_rack = False
            elif (follower := self._next(rack, allow_fenced=True)) is not None:
                replicas.append(follower)
            rack = (rack + 1) % len(self.racks)
        self.epoch += 1
        self.offset += 1
        return tuple(replicas)

    def _next(self, position: int, *, allow_fenced: bool) -> int | None:
        fenced, unfenced = self.brokers_by_rack[self.racks[position]]
        broker = unfenced.next(self.epoch)
        return fenced.next(self.epoch) if broker is None and allow_fenced else broker

    def _shuffle(self) -> None:
        self.random.shuffle(self.racks)
        for fenced, unfenced in self.brokers_by_rack.values():
            self.random.shuffle(fenced.brokers)
            self.random.shuffle(unfenced.brokers)
