"""Which partition a record goes to: the Java producer's partitioners, by version. (Other clients' are in `foreign_partitioner`.)

An explicit partition always wins. A record with a key goes to toPositive(murmur2(key)) modulo *all* partitions, in every version. Without
one:

* DefaultPartitioner, 2.0 to 2.3: the next number of the topic's counter (which starts anywhere) modulo the *available* partitions, those
  with a leader.
* DefaultPartitioner, 2.4 to 3.2 (KIP-480), and UniformStickyPartitioner, which ignores keys: one partition until a batch is full, then
  another, at random.
* BuiltInPartitioner, 3.3 and later (KIP-794): one partition until so many bytes are in, then one at random, the emptier queues more
  often; since 4.4 (KIP-1123) in the producer's rack, if leaders are there.
* RoundRobinPartitioner, 2.4 and later: as the counter of 2.0, from 0, and for records with a key too.

Chance is an argument: `draw` gives what ThreadLocalRandom.nextInt() would, any signed 32-bit number.

    >>> partition_for_key(b"user-1", 6)
    2
    >>> null_key_counts(7, counter=4, partitions=4, available=[0, 1, 3])
    {0: 2, 1: 3, 3: 2}
    >>> load_stats([0, 3, 1], [4, 5, 6])
    LoadStats(cumulative=(4, 5, 8), partitions=(4, 5, 6))
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from kafka_model.partitioner.key_hash import murmur2, murmur2_batch, to_positive

__all__ = [
    "BuiltIn",
    "LoadStats",
    "appended",
    "default_partition",
    "load_stats",
    "load_stats_in_rack",
    "murmur2",
    "murmur2_batch",
    "next_built_in",
    "next_sticky",
    "null_key_counts",
    "partition_for_key",
    "round_robin_partition",
    "to_positive",
]

Draw = Callable[[], int]

_POSITIVE = 1 << 31  # as many numbers have no sign bit


def partition_for_key(key: bytes, partitions: int) -> int:
    """The partition of a key, available or not; the empty key is a key."""
    return to_positive(murmur2(key)) % partitions


# ---------------------------------------------------------------- DefaultPartitioner, Kafka 2.0.0 to 2.3
def default_partition(key: bytes | None, counter: int, *, partitions: int, available: Sequence[int]) -> tuple[int, int]:
    """The partition of a record and the topic's counter after it, which a key leaves alone; `available` in the order of the metadata."""
    if key is not None:
        return partition_for_key(key, partitions), counter
    return round_robin_partition(counter, partitions=partitions, available=available)


def round_robin_partition(counter: int, *, partitions: int, available: Sequence[int]) -> tuple[int, int]:
    """RoundRobinPartitioner (2.4 and later): the partition whose turn it is, and the topic's counter after it; it starts at 0."""
    return _at(counter, partitions, available), _signed(counter + 1)


def null_key_counts(records: int, *, counter: int, partitions: int, available: Sequence[int]) -> dict[int, int]:
    """How many of so many records without a key go to each partition in turn, from a counter on: what as many steps would give."""
    ring = list(available) or list(range(partitions))
    laps, rest = divmod(records, _POSITIVE)  # the counter loses its sign, so that it comes round after 2^31 records
    start = to_positive(counter)
    end = start + rest
    counts = []
    for turn in range(len(ring)):
        count = _turns(min(end, _POSITIVE), turn, len(ring)) - _turns(start, turn, len(ring))
        count += _turns(max(0, end - _POSITIVE), turn, len(ring)) + laps * _turns(_POSITIVE, turn, len(ring))
        counts.append(count)
    return dict(zip(ring, counts, strict=True))


def _turns(below: int, turn: int, ring: int) -> int:
    """How many numbers from 0 up to, and not including, `below` give `turn` modulo the ring."""
    return (below - turn + ring - 1) // ring


def _signed(number: int) -> int:
    return (number + _POSITIVE & 0xFFFFFFFF) - _POSITIVE


def _at(number: int, partitions: int, available: Sequence[int]) -> int:
    """The available partition that a number points at; if none is available, any."""
    turn = to_positive(number)
    return available[turn % len(available)] if available else turn % partitions


# ---------------------------------------------------------------- StickyPartitionCache, Kafka 2.4 to 3.9
def next_sticky(sticky: int | None, previous: int | None, *, partitions: int, available: Sequence[int], draw: Draw) -> int:
    """The topic's sticky partition once there is none yet, or a batch for `previous` was full: another one than before, if others are
    available.
    """
    if sticky is not None and sticky != previous:
        return sticky  # another thread has moved on already
    if len(available) == 1:
        return available[0]
    drawn = _at(draw(), partitions, available)
    while available and drawn == sticky:
        drawn = _at(draw(), partitions, available)
    return drawn


# ---------------------------------------------------------------- BuiltInPartitioner, Kafka 3.3 to 4.4
@dataclass(frozen=True, slots=True)
class LoadStats:
    """The partitions that may be drawn, and the running sum of their weights: the emptier a queue, the heavier."""

    cumulative: tuple[int, ...]
    partitions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A topic's partitioner: the sticky partition and the bytes that it got; what is known of the queues, of all racks and of the
    producer's.
    """

    sticky_batch_size: int
    partition: int | None = None
    produced_bytes: int = 0
    load: LoadStats | None = None
    load_in_rack: LoadStats | None = None


def load_stats(queue_sizes: Sequence[int], partitions: Sequence[int], length: int | None = None) -> LoadStats | None:
    """The weights of the first `length` partitions, those that answer in time; None: uniform, since there is nothing to choose or all
    queues are equal.
    """
    length = len(queue_sizes) if length is None else length
    if length < 1 or len(queue_sizes) < 2:
        return None
    ready = queue_sizes[:length]
    if length == len(queue_sizes) and len(set(ready)) == 1:
        return None
    return _weighed(ready, partitions[:length])


def load_stats_in_rack(
    queue_sizes: Sequence[int], partitions: Sequence[int], leader_racks: Sequence[str | None], rack: str, length: int | None = None
) -> LoadStats | None:
    """The weights of those led in the producer's rack (partitioner.rack.aware, 4.4); None: none is, or load_stats has nothing to choose."""
    if load_stats(queue_sizes, partitions, length) is None:
        return None
    inside = [at for at in range(len(queue_sizes) if length is None else length) if leader_racks[at] == rack]
    return _weighed([queue_sizes[at] for at in inside], [partitions[at] for at in inside]) if inside else None


def next_built_in(
    draw: Draw,
    *,
    partitions: int,
    available: Sequence[int],
    leader_racks: Mapping[int, str | None] | None = None,
    rack: str | None = None,
    load: LoadStats | None = None,
    load_in_rack: LoadStats | None = None,
) -> int:
    """The partition to stick to next; with a rack (4.4, partitioner.rack.aware), one led there, if there is one."""
    weights = load_in_rack or load
    if weights is not None:
        point = to_positive(draw()) % weights.cumulative[-1]
        return weights.partitions[bisect_right(weights.cumulative, point)]
    near = [partition for partition in available if leader_racks and leader_racks.get(partition) == rack] if rack is not None else []
    return _at(draw(), partitions, near or available)


def appended(topic: BuiltIn, appended_bytes: int, *, enable_switch: bool, next_partition: Callable[[], int]) -> BuiltIn:
    """The partitioner after an append: it moves on once the batch size is reached, if it may, or twice the size, even if it may not."""
    produced = topic.produced_bytes + appended_bytes
    if (produced >= topic.sticky_batch_size and enable_switch) or produced >= 2 * topic.sticky_batch_size:
        return replace(topic, partition=next_partition(), produced_bytes=0)
    return replace(topic, produced_bytes=produced)


def _weighed(queue_sizes: Sequence[int], partitions: Sequence[int]) -> LoadStats:
    longest = max(queue_sizes) + 1
    weights = [longest - size for size in queue_sizes]
    return LoadStats(tuple(accumulate(weights)), tuple(partitions))
