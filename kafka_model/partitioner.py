"""Which partition a record goes to: the Java producer's partitioners, by version.

An explicit partition always wins. Else, DefaultPartitioner of Kafka 2.0.0: a record with a key goes to toPositive(murmur2(key)) modulo *all*
partitions; one without takes the next number of the topic's counter (which starts anywhere) modulo the *available* partitions, those with a leader.

    >>> partition_for_key(b"user-1", 6)
    2
    >>> null_key_counts(7, counter=4, partitions=4, available=[0, 1, 3])
    {0: 2, 1: 3, 3: 2}
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_model.key_hash import murmur2, murmur2_batch, to_positive

__all__ = ["default_partition", "murmur2", "murmur2_batch", "null_key_counts", "partition_for_key", "to_positive"]

_POSITIVE = 1 << 31  # as many numbers have no sign bit


def partition_for_key(key: bytes, partitions: int) -> int:
    """The partition of a key, available or not; the empty key is a key."""
    return to_positive(murmur2(key)) % partitions


# ---------------------------------------------------------------- DefaultPartitioner, Kafka 2.0.0 to 2.3
def default_partition(key: bytes | None, counter: int, *, partitions: int, available: Sequence[int]) -> tuple[int, int]:
    """The partition of a record and the topic's counter after it, which a key leaves alone; `available` in the order of the metadata."""
    if key is not None:
        return partition_for_key(key, partitions), counter
    turn = to_positive(counter)
    return available[turn % len(available)] if available else turn % partitions, _signed(counter + 1)


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
