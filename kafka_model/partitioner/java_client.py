"""Partitioners of the Java producer: DefaultPartitioner, StickyPartitionCache, RoundRobinPartitioner and BuiltInPartitioner (2.0 to 4.4).

Other clients are in `other_clients`. A partition that the record names always wins. A record with a key goes to
toPositive(murmur2(key)) modulo *all* partitions, in every version. A record without a key:

* DefaultPartitioner, 2.0 to 2.3: the next value of a counter per topic, which starts at random, modulo the *available* partitions (those
  with a leader).
* DefaultPartitioner, 2.4 to 3.2 (KIP-480): one partition until a batch is full, then another one at random. UniformStickyPartitioner does
  the same and ignores keys.
* BuiltInPartitioner, 3.3 and later (KIP-794): one partition until a number of bytes is appended, then another one at random, weighted
  towards short queues. Since 4.4 (KIP-1123) only leaders in the producer's rack, if there are any.
* RoundRobinPartitioner, 2.4 and later: as the counter of 2.0, but from 0, and also for records with a key.

Random numbers are an argument: `draw` returns what ThreadLocalRandom.nextInt() would, any signed 32-bit number.

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

from kafka_model.partitioner.key_hash import murmur2, to_positive

Draw = Callable[[], int]

_COUNTER_VALUES = 1 << 31  # values of a counter without its sign bit


def partition_for_key(key: bytes, partitions: int) -> int:
    """Compute the partition of a key, available or not. The empty key counts as a key."""
    return to_positive(murmur2(key)) % partitions


# ---------------------------------------------------------------- DefaultPartitioner, Kafka 2.0.0 to 2.3
def default_partition(key: bytes | None, counter: int, *, partitions: int, available: Sequence[int]) -> tuple[int, int]:
    """Compute the partition of a record, and the topic's counter after it. A record with a key does not change the counter.

    `available` is in the order of the metadata.
    """
    if key is not None:
        return partition_for_key(key, partitions), counter
    return round_robin_partition(counter, partitions=partitions, available=available)


def round_robin_partition(counter: int, *, partitions: int, available: Sequence[int]) -> tuple[int, int]:
    """Compute the next partition of RoundRobinPartitioner (2.4 and later), and the topic's counter after it, which starts at 0."""
    return _partition_at(counter, partitions, available), _signed(counter + 1)


def null_key_counts(records: int, *, counter: int, partitions: int, available: Sequence[int]) -> dict[int, int]:
    """Count the records without a key per partition: the closed form of that number of calls of `default_partition`."""
    ring = list(available) or list(range(partitions))
    laps, rest = divmod(records, _COUNTER_VALUES)  # the sign bit is dropped, so the counter repeats after 2^31 records
    start = to_positive(counter)
    end = start + rest
    counts = []
    for turn in range(len(ring)):
        count = _count_below(min(end, _COUNTER_VALUES), turn, len(ring)) - _count_below(start, turn, len(ring))
        count += _count_below(max(0, end - _COUNTER_VALUES), turn, len(ring)) + laps * _count_below(_COUNTER_VALUES, turn, len(ring))
        counts.append(count)
    return dict(zip(ring, counts, strict=True))


def _count_below(limit: int, remainder: int, divisor: int) -> int:
    """Count the numbers in [0, limit) that have this remainder."""
    return (limit - remainder + divisor - 1) // divisor


def _signed(number: int) -> int:
    return (number + _COUNTER_VALUES & 0xFFFFFFFF) - _COUNTER_VALUES


def _partition_at(number: int, partitions: int, available: Sequence[int]) -> int:
    """Select the available partition at this number modulo their count, or any partition if none is available."""
    turn = to_positive(number)
    return available[turn % len(available)] if available else turn % partitions


# ---------------------------------------------------------------- StickyPartitionCache, Kafka 2.4 to 3.9
def next_sticky(sticky: int | None, previous: int | None, *, partitions: int, available: Sequence[int], draw: Draw) -> int:
    """Choose a topic's next sticky partition: at the first record, or when a batch for `previous` is full.

    It differs from the current one if other partitions are available.
    """
    if sticky is not None and sticky != previous:
        return sticky  # another thread has already switched
    if len(available) == 1:
        return available[0]
    drawn = _partition_at(draw(), partitions, available)
    while available and drawn == sticky:
        drawn = _partition_at(draw(), partitions, available)
    return drawn


# ---------------------------------------------------------------- BuiltInPartitioner, Kafka 3.3 to 4.4
@dataclass(frozen=True, slots=True)
class LoadStats:
    """Candidate partitions with the running sum of their weights. A shorter queue has a larger weight."""

    cumulative: tuple[int, ...]
    partitions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """The state of a topic's BuiltInPartitioner.

    It holds the sticky partition, the bytes appended to it, and the weights of all partitions and of those led in the producer's rack.
    """

    sticky_batch_size: int
    partition: int | None = None
    produced_bytes: int = 0
    load: LoadStats | None = None
    load_in_rack: LoadStats | None = None


def load_stats(queue_sizes: Sequence[int], partitions: Sequence[int], length: int | None = None) -> LoadStats | None:
    """Compute the weights of the first `length` partitions, those whose brokers are ready (partitioner.availability.timeout.ms).

    None means uniform: no partition is ready, there is only one, or all queues are equally long.
    """
    length = len(queue_sizes) if length is None else length
    if length < 1 or len(queue_sizes) < 2:
        return None
    ready = queue_sizes[:length]
    if length == len(queue_sizes) and len(set(ready)) == 1:
        return None
    return _weights(ready, partitions[:length])


def load_stats_in_rack(
    queue_sizes: Sequence[int], partitions: Sequence[int], leader_racks: Sequence[str | None], rack: str, length: int | None = None
) -> LoadStats | None:
    """Compute the weights of the partitions led in the producer's rack (partitioner.rack.aware, 4.4).

    None means that no leader is in the rack, or that `load_stats` is uniform.
    """
    if load_stats(queue_sizes, partitions, length) is None:
        return None
    in_rack = [position for position in range(len(queue_sizes) if length is None else length) if leader_racks[position] == rack]
    if not in_rack:
        return None
    return _weights([queue_sizes[position] for position in in_rack], [partitions[position] for position in in_rack])


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
    """Choose the next sticky partition: with a rack (4.4, partitioner.rack.aware), one led there if there is any."""
    weights = load_in_rack or load
    if weights is not None:
        point = to_positive(draw()) % weights.cumulative[-1]
        return weights.partitions[bisect_right(weights.cumulative, point)]
    in_rack = [partition for partition in available if leader_racks and leader_racks.get(partition) == rack] if rack is not None else []
    return _partition_at(draw(), partitions, in_rack or available)


def append(topic: BuiltIn, appended_bytes: int, *, enable_switch: bool, next_partition: Callable[[], int]) -> BuiltIn:
    """Update the partitioner after an append.

    It switches at the batch size if `enable_switch` allows it, and at twice the batch size in any case.
    """
    produced = topic.produced_bytes + appended_bytes
    if (produced >= topic.sticky_batch_size and enable_switch) or produced >= 2 * topic.sticky_batch_size:
        return replace(topic, partition=next_partition(), produced_bytes=0)
    return replace(topic, produced_bytes=produced)


def _weights(queue_sizes: Sequence[int], partitions: Sequence[int]) -> LoadStats:
    longest = max(queue_sizes) + 1
    weights = [longest - size for size in queue_sizes]
    return LoadStats(tuple(accumulate(weights)), tuple(partitions))
