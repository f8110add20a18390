"""Infer which client's partitioner placed a topic's keys: Java's murmur2, librdkafka's CRC-32 or Sarama's FNV-1a.

The answer is the partitioner that matches most records, unless as many keys could match by chance: of n keys on p partitions, m match
an unrelated partitioner with probability at most exp(-n * KL(m/n || 1/p)) (Chernoff bound). Keys that do not match are compared a second
time, because a second client may write to the topic.

    >>> murmur2_alone, both, crc32_alone = 0b1, 0b11, 0b10
    >>> attribute([Matches(murmur2_alone, 88, 880), Matches(both, 4, 40), Matches(crc32_alone, 8, 80)], 6)
    Attribution(partitioner='murmur2', explained_records=920, second_partitioner='crc32', second_records=80)

Empty keys do not count, because librdkafka places them at random.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import NamedTuple

from kafka_model.partitioner.key_hash import murmur2, to_positive
from kafka_model.partitioner.other_clients import sarama_partition

_MAX_CHANCE = 0.001  # a less likely match is not a coincidence


class Matches(NamedTuple):
    """Locations of a topic's keys, each a key in a partition, that the same partitioners explain, and the number of their records."""

    explained_by: int  # bit n: the nth of PARTITIONERS chooses this partition for the key
    locations: int
    records: int


@dataclass(frozen=True, slots=True)
class Attribution:
    """The partitioners that explain a topic's keys. `partitioner` is None if no known one matches or the keys are too few."""

    partitioner: str | None
    explained_records: int
    second_partitioner: str | None
    second_records: int


def _sarama(name: str) -> Callable[[bytes, int], int]:
    def partition(key: bytes, partitions: int) -> int:
        placed = sarama_partition(name, key, partitions)  # type: ignore[arg-type]
        assert placed is not None
        return placed

    return partition


# On a tie the first one wins: the Java client, librdkafka's default, then Sarama. Sarama's `hash` is also librdkafka's fnv1a.
PARTITIONERS: Mapping[str, Callable[[bytes, int], int]] = {
    "murmur2": lambda key, partitions: to_positive(murmur2(key)) % partitions,
    "crc32": _sarama("consistent_crc_hash"),
    "fnv1a": _sarama("hash"),
    "fnv1a_reference": _sarama("reference_hash"),
    "fnv1a_unsigned": _sarama("unsigned_hash"),
}


def attribute(matches: Sequence[Matches], partitions: int) -> Attribution:
    """Infer the partitioners that placed the keys of a topic with this number of partitions."""
    partitioner, explained, unexplained = _best_match(matches, partitions)
    second, second_records, _ = _best_match(unexplained, partitions) if partitioner else (None, 0, unexplained)
    return Attribution(partitioner, explained, second, second_records)


def _best_match(matches: Sequence[Matches], partitions: int) -> tuple[str | None, int, Sequence[Matches]]:
    """Find the partitioner that matches most records, their number, and what does not match. None if it may be chance."""
    best: tuple[str | None, int, Sequence[Matches]] = (None, 0, matches)
    locations = sum(each.locations for each in matches)
    for number, name in enumerate(PARTITIONERS):
        explained, others = ([each for each in matches if each.explained_by >> number & 1 == bit] for bit in (1, 0))
        records = sum(each.records for each in explained)
        if records > best[1] and _max_probability(sum(each.locations for each in explained), locations, 1 / partitions) < _MAX_CHANCE:
            best = name, records, others
    return best


def _max_probability(matches: int, keys: int, probability: float) -> float:
    """Compute an upper bound of the probability of this many matches, if each key matches with the given probability."""
    share = matches / keys
    if share <= probability:
        return 1.0
    divergence = share * log(share / probability) + ((1 - share) * log((1 - share) / (1 - probability)) if share < 1 else 0.0)
    return exp(-keys * divergence)
