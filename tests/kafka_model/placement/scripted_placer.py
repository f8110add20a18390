"""The model of StripedReplicaPlacer with given draws instead of random ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from kafka_model.java.hash_map import hash_map_order, string_hash, string_order
from kafka_model.java.random_numbers import JavaRandom
from kafka_model.placement.kraft import UsableBroker, place_striped
from kafka_model.placement.striped_draws import Placement

_ANY = object()  # stands for each value that no replica shows


class ScriptedRandom(JavaRandom):
    """A random source that returns the draws of a placement, and any possible value for those that no replica shows."""

    def __init__(self, placement: Placement, brokers: Sequence[UsableBroker]) -> None:
        super().__init__(0)
        self._racks = sorted({broker.rack for broker in brokers}, key=lambda rack: (rack is not None, string_order(rack or "")))
        # The placer draws in the order of a HashMap.
        seen = list(dict.fromkeys(broker.rack for broker in brokers))
        drawn = hash_map_order(seen, lambda racks: [0 if rack is None else string_hash(rack) for rack in racks])
        sizes = [
            sum(broker.rack == rack and broker.fenced == fenced for broker in brokers) for rack in self._racks for fenced in (False, True)
        ]
        lists = [2 * self._racks.index(rack) + fenced for rack in drawn for fenced in (1, 0)]
        self._offsets = iter([*(placement.broker_offsets[used] or 0 for used in lists if sizes[used]), placement.rack_offset])
        self._orders = self._shuffled(placement, sizes, lists)

    def _shuffled(self, placement: Placement, sizes: Sequence[int], lists: Sequence[int]) -> Iterator[list[Any]]:
        starts = [sum(sizes[:used]) for used in range(len(sizes))]
        for shuffle in placement.shuffles:
            yield [_ANY if rack is None else self._racks[rack] for rack in shuffle.rack_order]
            for used in lists:
                order = shuffle.broker_order[starts[used] : starts[used] + sizes[used]]
                yield [_ANY if broker is None else broker for broker in order]

    def next_int(self, bound: int | None = None) -> int:
        offset = next(self._offsets)
        assert offset in range(bound or 0)
        return offset

    def shuffle(self, items: Any) -> None:
        order = next(self._orders)
        others = [item for item in items if item not in order]
        items[:] = [others.pop() if item is _ANY else item for item in order]
        assert not others


def place_again(
    brokers: Sequence[Sequence[Any]], placements: Sequence[Placement], partitions: int, replication_factor: int
) -> list[list[int]]:
    """Place a topic by recovered draws. Brokers are pairs of id and rack."""
    starts = [*(placement.first_partition for placement in placements), partitions]
    replicas = []
    for placement, (start, end) in zip(placements, pairwise(starts), strict=True):
        usable = [UsableBroker(broker, rack, broker in placement.fenced) for broker, rack in brokers]
        placed = place_striped(usable, end - start, replication_factor, random=ScriptedRandom(placement, usable))
        replicas += [list(ids) for ids in placed]
    return replicas
