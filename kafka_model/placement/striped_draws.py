"""The random draws of StripedReplicaPlacer (Kafka 3.3 to 4.4), recovered from the replicas of a topic.

StripedReplicaPlacer draws an offset of the racks and one of each rack's brokers, unfenced and fenced ones apart. After each round, which
is as many partitions as there are unfenced brokers, it shuffles the racks and the brokers of each rack. In the first round the offsets
follow from the first replicas that show them. In a later round the orders do. Partitions that were added to a topic later are a placement
of their own.

    >>> cluster = StripedCluster([UsableBroker(1, "a"), UsableBroker(2, "a"), UsableBroker(3, "b")])
    >>> recovered = recover([cluster], [[3, 1], [2, 3], [3, 1], [1, 3], [3, 2]])
    >>> recovered.explained, recovered.placements[0].rack_offset, recovered.placements[0].shuffles
    (True, 1, (Shuffle(rack_order=(0, 1), broker_order=(2, 1, 3)),))

Any replicas could come from enough placements of few partitions. The fewest placements explain the topic, if there are at most two, or
if no placement with some partitions moved afterwards is far more likely: a replica that was moved in the middle of a topic is not an added
partition where the earlier placement continues behind it.

    >>> cluster = StripedCluster([UsableBroker(broker, rack) for broker, rack in zip(range(1, 9), "aaaabbbb")])
    >>> recover([cluster], [(3, 5), (6, 4), (1, 7), (8, 1), (3, 5), (6, 4), (1, 7), (8, 2)]).moved
    {3: (8, 2)}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import lgamma, log, log2
from typing import Any, NamedTuple

import numpy as np

from kafka_model.java.hash_map import string_order
from kafka_model.placement import striped_search
from kafka_model.placement.kraft import UsableBroker

_NOT_LISTED = -1
# Any replicas could come from enough events. The limits are these numbers, or this share of the partitions if that is more.
_MAX_ADDITIONS = 5
_MAX_EVENTS = 3  # additions and moved partitions together; at most half of the partitions
_MAX_EVENT_SHARE = 0.1
# Moved partitions are the reason only if they are 2 to this power times as likely as additions. A topic with three or more real placements
# is then taken for a moved one in fewer cases than one in this power.
_MIN_BITS = 8


class Shuffle(NamedTuple):
    """The orders after a shuffle: indexes of the sorted racks, and broker ids, rack by rack in sorted order, unfenced brokers first.

    None is an order that no replica shows.
    """

    rack_order: tuple[int | None, ...]
    broker_order: tuple[int | None, ...]


class Placement(NamedTuple):
    """The draws of one placement.

    Racks are sorted, brokers without a rack first. `broker_offsets` has two values for each rack: the offset of its unfenced brokers, and
    that of its fenced ones. None: there are no such brokers, or no replica shows the offset. `shuffles` are those of the later rounds.
    """

    first_partition: int
    fenced: tuple[int, ...]
    rack_offset: int
    broker_offsets: tuple[int | None, ...]
    shuffles: tuple[Shuffle, ...]


class Recovered(NamedTuple):
    """The placements that explain a topic, and the replicas that they give the moved partitions.

    There are no placements if nothing explains the topic. `first_unexplained` is the first moved partition, or the first one that breaks
    every draw of one placement; None: the topic is explained. A computed replica is None where the draws do not determine it.
    """

    placements: tuple[Placement, ...]
    moved: Mapping[int, tuple[int | None, ...]]
    first_unexplained: int | None

    @property
    def explained(self) -> bool:
        return self.first_unexplained is None


class StripedCluster:
    """The brokers that the placer could use, at least one of them unfenced."""

    def __init__(self, brokers: Sequence[UsableBroker]) -> None:
        racks = sorted({broker.rack for broker in brokers}, key=lambda rack: (rack is not None, string_order(rack or "")))
        list_of = {broker.broker_id: 2 * racks.index(broker.rack) + broker.fenced for broker in brokers}
        ids = sorted(list_of, key=lambda broker_id: (list_of[broker_id], broker_id))
        self.fenced = tuple(sorted(broker.broker_id for broker in brokers if broker.fenced))
        self.unfenced = len(brokers) - len(self.fenced)
        # The last element is for an unknown broker, whose index is -1.
        self.ids = np.array([*ids, _NOT_LISTED], dtype=np.int64)
        self._optional_ids = [*ids, None]
        self.list_of = np.array([list_of[broker_id] for broker_id in ids], dtype=np.int64)
        sizes = np.bincount(self.list_of, minlength=2 * len(racks))
        self.lists = np.zeros((len(sizes), 5), dtype=np.int64)
        self.lists[:, 0], self.lists[:, 1] = np.cumsum(sizes) - sizes, sizes
        self._by_id = np.argsort(self.ids[:-1])

    def indexes(self, broker_ids: Any) -> Any:
        """Return the index in `ids` of each broker, -1 for other brokers."""
        position = np.searchsorted(self.ids[:-1], broker_ids, sorter=self._by_id)
        index = self._by_id[np.minimum(position, len(self._by_id) - 1)]
        return np.where(self.ids[index] == broker_ids, index, -1)

    def optional_ids(self, indexes: Sequence[int]) -> tuple[int | None, ...]:
        """Return the brokers with these indexes in `ids`, None for -1."""
        return tuple(map(self._optional_ids.__getitem__, indexes))


class _Segment(NamedTuple):
    """Partitions of one placement, from `start` to the one before `end`."""

    start: int
    end: int
    cluster: int  # index of the cluster that explains it


def recover(clusters: Sequence[StripedCluster], replicas: Sequence[Sequence[int] | None], *, compiled: bool = False) -> Recovered:
    """Recover the draws of a topic from the replicas of each partition; None: the replicas are unknown.

    `clusters` are the possible states of the brokers at the time, the most likely first; each placement is explained by one of them. The
    replication factor is that of the first known partition.
    """
    factor = next((len(brokers) for brokers in replicas if brokers), 1)
    ids = np.full((len(replicas), factor), _NOT_LISTED, dtype=np.int64)
    for partition, brokers in enumerate(replicas):
        if brokers is not None and len(brokers) == factor:
            ids[partition] = brokers
    return recover_rows(clusters, ids, np.array([brokers is None for brokers in replicas], dtype=np.bool_), compiled=compiled)


def recover_rows(clusters: Sequence[StripedCluster], broker_ids: Any, unknown: Any, *, compiled: bool) -> Recovered:
    """Recover the draws of a topic from a matrix with a row for each partition. `unknown` partitions match any placement."""
    topic = _Topic(clusters, broker_ids, unknown, compiled)
    first = topic.longest(0)
    if first.end == topic.partitions:
        return topic.recovered([first])
    additions = _fewest_placements(topic, first)
    if additions is not None and len(additions) <= 2:
        return topic.recovered(additions)
    moves = _moved_partitions(topic, first)
    if moves is None:
        return Recovered((), {}, first.end) if additions is None else topic.recovered(additions)
    by_moves = topic.recovered(*moves)
    if additions is not None:
        by_additions = topic.recovered(additions)
        if topic.bits(additions, by_additions) < topic.bits(moves[0], by_moves) + _MIN_BITS:
            return by_additions
    return by_moves


def _fewest_placements(topic: _Topic, first: _Segment) -> list[_Segment] | None:
    """Find the fewest placements that explain all partitions, or None if they are too many.

    Each part of an explained placement from its start on is explained, too: whatever is reachable with one placement more begins anywhere
    in what is reachable now.
    """
    found, tried = [first], 0
    while found[-1].end < topic.partitions and len(found) <= topic.max_additions:
        reached = found[-1].end
        best = found[-1]
        for start in range(reached, tried, -1):
            longest = topic.longest(start)
            if longest.end > best.end:
                best = longest
            if best.end == topic.partitions:
                break
        if best.end == reached:
            return None
        found.append(best)
        tried = reached
    if found[-1].end < topic.partitions:
        return None
    ends = [following.start for following in found[1:]]
    return [_Segment(segment.start, end, segment.cluster) for segment, end in zip(found, [*ends, topic.partitions], strict=True)]


def _moved_partitions(topic: _Topic, first: _Segment) -> tuple[list[_Segment], Any] | None:
    """Explain a topic by moved and added partitions, at each break by the event after which the placement gets furthest.

    Return the placements and which partitions moved, or None if the events are too many.
    """
    segments: list[_Segment] = []
    skipped, current = topic.unknown.copy(), first
    for _ in range(topic.max_events + 1):
        if current.end == topic.partitions:
            return [*segments, current], skipped & ~topic.unknown
        skip, end = topic.repair(current, skipped)
        earliest = max(current.start, current.end - topic.clusters[current.cluster].unfenced)
        additions = (topic.longest(start) for start in range(current.end, earliest, -1))
        added = max(additions, key=lambda segment: segment.end, default=current)
        if added.end > end:
            segments.append(_Segment(current.start, added.start, current.cluster))
            current = added
        elif end > current.end:
            skipped[skip] = True
            current = _Segment(current.start, end, current.cluster)
        else:
            return None
    return None


class _Topic:
    """The observed replicas of a topic, as indexes of each cluster's brokers."""

    def __init__(self, clusters: Sequence[StripedCluster], broker_ids: Any, unknown: Any, compiled: bool) -> None:
        self.clusters = clusters
        self.observed = [cluster.indexes(broker_ids) for cluster in clusters]
        self.unknown = unknown
        self.partitions, self.factor = broker_ids.shape
        share = int(_MAX_EVENT_SHARE * self.partitions)
        self.max_additions = max(_MAX_ADDITIONS, share)
        self.max_events = min(max(_MAX_EVENTS, share), self.partitions // 2)
        self._search: Callable[..., Any] = striped_search.search
        self._repair: Callable[..., Any] = striped_search.repair
        if compiled:
            self._search, self._repair = striped_search.compiled()
        self._searched: _Segment | None = None  # the placement whose result `_found` and the rack offset are, if it is complete
        self._rack_offset = 0
        self._found = [self._result_arrays(cluster) for cluster in clusters]

    def longest(self, start: int) -> _Segment:
        """Return the longest placement that starts at a partition."""
        best, self._searched = _Segment(start, start, 0), None
        for number, cluster in enumerate(self.clusters):
            end, self._rack_offset = self._search(
                self.observed[number], start, self.unknown, *self._arguments(cluster), self._found[number]
            )
            if end > best.end:
                best = _Segment(start, int(end), number)
            if end == self.partitions:
                self._searched = best
                break
        return best

    def repair(self, segment: _Segment, skipped: Any) -> tuple[int, int]:
        """Return the partition without which a placement gets furthest, and how far it gets."""
        cluster, found = self.clusters[segment.cluster], self._found[segment.cluster]
        self._searched = None
        skip, end = self._repair(self.observed[segment.cluster], segment.start, skipped, *self._arguments(cluster), segment.end, found)
        return int(skip), int(end)

    def recovered(self, segments: Sequence[_Segment], skipped: Any = None) -> Recovered:
        """Return the draws of these placements, and the replicas that they give the skipped partitions."""
        placements, moved = [], {}
        for segment in segments:
            cluster = self.clusters[segment.cluster]
            slots, rack_orders, broker_orders = found = self._found[segment.cluster]
            if segment != self._searched:
                for array in found:
                    array.fill(-1)
                loose = self.unknown if skipped is None else self.unknown | skipped
                observed = self.observed[segment.cluster][: segment.end]
                _, self._rack_offset = self._search(observed, segment.start, loose, *self._arguments(cluster), found)
            self._searched = None  # `_placement` changes the arrays
            rounds = 1 if cluster.unfenced == 1 else -(-(segment.end - segment.start) // cluster.unfenced)
            if skipped is not None:
                _fill_in_last_ones(cluster, broker_orders[:rounds])
                for partition in np.flatnonzero(skipped[segment.start : segment.end]) + segment.start:
                    number = 0 if cluster.unfenced == 1 else (partition - segment.start) // cluster.unfenced
                    moved[int(partition)] = cluster.optional_ids(broker_orders[number][slots[partition]])
            placements.append(_placement(cluster, segment.start, int(self._rack_offset), rack_orders[:rounds], broker_orders[:rounds]))
        return Recovered(tuple(placements), moved, min(moved, default=None))

    def bits(self, segments: Sequence[_Segment], recovered: Recovered) -> float:
        """Return the information in the events of an explanation: minus the logarithm to base 2 of their probability."""
        brokers = len(self.clusters[0].list_of)
        total = log2(self.partitions) * (len(recovered.placements) - 1)
        for segment, placement in zip(segments, recovered.placements, strict=True):
            total += _bits(self.clusters[segment.cluster], placement)
        for partition, computed in recovered.moved.items():
            observed = self.clusters[0].optional_ids(self.observed[0][partition])
            changed = sum(one != other for one, other in zip(computed, observed, strict=True))
            total += log2(self.partitions) + changed * log2(self.factor * brokers)
        return total

    def _arguments(self, cluster: StripedCluster) -> tuple[Any, ...]:
        return cluster.lists, cluster.list_of, cluster.unfenced

    def _result_arrays(self, cluster: StripedCluster) -> tuple[Any, Any, Any]:
        rounds = 1 if cluster.unfenced == 1 else -(-self.partitions // cluster.unfenced)
        shapes = ((self.partitions, self.factor), (rounds, len(cluster.lists) // 2), (rounds, len(cluster.list_of)))
        slots, rack_orders, broker_orders = (np.full(shape, -1, dtype=np.int64) for shape in shapes)
        return slots, rack_orders, broker_orders


def _bits(cluster: StripedCluster, placement: Placement) -> float:
    """Return the information in the draws of a placement that its replicas show."""
    sizes = [int(size) for size in cluster.lists[:, 1]]
    total = log2(len(sizes) // 2)
    total += sum(log2(size) for size, offset in zip(sizes, placement.broker_offsets, strict=True) if offset is not None)
    for shuffle in placement.shuffles:
        total += _order_bits(shuffle.rack_order)
        for start, size in cluster.lists[:, :2]:
            total += _order_bits(shuffle.broker_order[start : start + size])
    return total


def _order_bits(order: Sequence[int | None]) -> float:
    """Return the information in the known part of a random order."""
    return (lgamma(len(order) + 1) - lgamma(order.count(None) + 1)) / log(2)


def _fill_in_last_ones(cluster: StripedCluster, orders: Any) -> None:
    """Fill in the only broker of a list that no replica shows, in the rounds where there is one."""
    for start, size in cluster.lists[:, :2].tolist():
        missing = orders[:, start : start + size] < 0
        for number in np.flatnonzero(missing.sum(axis=1) == 1):
            slot = start + int(np.argmax(missing[number]))
            (orders[number, slot],) = {*range(start, start + size)} - {*orders[number, start : start + size].tolist()}


def _placement(cluster: StripedCluster, first_partition: int, rack_offset: int, rack_orders: Any, broker_orders: Any) -> Placement:
    """Convert slots to the placer's own lists: slot 0 of a list is at its offset."""
    for number in np.flatnonzero((rack_orders < -1).any(axis=1)):  # any order of the racks whose brokers are all fenced explains them
        racks = rack_orders[number]
        absent = np.setdiff1d(np.flatnonzero(cluster.lists[::2, 1] == 0), racks)
        racks[racks < -1] = absent[: np.sum(racks < -1)]
    first_round, *later_rounds = broker_orders.tolist()
    offsets: list[int | None] = []
    orders: list[list[int]] = [[] for _ in later_rounds]
    for start, size in cluster.lists[:, :2].tolist():
        shown = size > 0 and first_round[start] >= 0
        offset = first_round[start] - start if shown else 0
        offsets.append(offset if shown else None)
        for slots, order in zip(later_rounds, orders, strict=True):
            order += slots[start + size - offset : start + size] + slots[start : start + size - offset]
    shuffles = tuple(
        Shuffle(tuple(None if rack < 0 else rack for rack in racks), cluster.optional_ids(order))
        for racks, order in zip(rack_orders[1:].tolist(), orders, strict=True)
    )
    return Placement(first_partition, cluster.fenced, rack_offset, tuple(offsets), shuffles)
