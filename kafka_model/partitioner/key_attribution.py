"""Infer which client's partitioner placed a topic's keys: Java's murmur2, librdkafka's CRC-32 or Sarama's FNV-1a.

The answer is the partitioner that matches most records, unless as many keys could match by chance: of n keys on p partitions, m match
an unrelated partitioner with probability at most exp(-n * KL(m/n || 1/p)) (Chernoff bound). Keys that do not match are compared a second
time, because a second client may write to the topic.

    >>> keys = [b"user-%d" % number for number in range(100)]
    >>> locations = [KeyLocation(key, PARTITIONERS["murmur2" if nth < 90 else "crc32"](key, 6), 10) for nth, key in enumerate(keys)]
    >>> result = attribute(locations, 6)
    >>> result.partitioner, result.explained_records, result.second_partitioner, result.second_records, result.split_keys
    ('murmur2', 920, 'crc32', 80, 0)

Two of the ten keys that CRC-32 placed are also where murmur2 would place them. Empty keys are ignored, because librdkafka places them at
random.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import NamedTuple

from kafka_model.partitioner.key_hash import murmur2, to_positive
from kafka_model.partitioner.other_clients import sarama_partition

_MAX_CHANCE = 0.001  # a less likely match is not a coincidence


class KeyLocation(NamedTuple):
    """A key, a partition that contains it, and the number of its records there."""

    key: bytes
    partition: int
    records: int


@dataclass(frozen=True, slots=True)
class Attribution:
    """The partitioners that explain a topic's keys. `partitioner` is None if no known one matches or the keys are too few."""

    keys: int
    records: int
    partitioner: str | None
    explained_records: int
    second_partitioner: str | None
    second_records: int
    split_keys: int  # keys in more than one partition
    split_records: int


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


def attribute(locations: Sequence[KeyLocation], partitions: int) -> Attribution:
    """Infer the partitioners that placed the keys of a topic with this number of partitions."""
    nonempty = [location for location in locations if location.key]
    partitions_of_key: dict[bytes, set[int]] = defaultdict(set)
    for location in nonempty:
        partitions_of_key[location.key].add(location.partition)
    split = {key for key, found_in in partitions_of_key.items() if len(found_in) > 1}
    partitioner, explained, unexplained = _best_match(nonempty, partitions)
    second, second_records, _ = _best_match(unexplained, partitions) if partitioner else (None, 0, unexplained)
    return Attribution(
        len(partitions_of_key),
        sum(location.records for location in nonempty),
        partitioner,
        explained,
        second,
        second_records,
        len(split),
        sum(location.records for location in nonempty if location.key in split),
    )


def _best_match(locations: Sequence[KeyLocation], partitions: int) -> tuple[str | None, int, list[KeyLocation]]:
    """Find the partitioner that matches most records, their number, and the keys that do not match. None if it may be chance."""
    best: tuple[str | None, int, list[KeyLocation]] = (None, 0, list(locations))
    for name, partition_of in PARTITIONERS.items():
        matches = [partition_of(location.key, partitions) == location.partition for location in locations]
        records = sum(location.records for location, match in zip(locations, matches, strict=True) if match)
        if records > best[1] and _max_probability(sum(matches), len(locations), 1 / partitions) < _MAX_CHANCE:
            best = name, records, [location for location, match in zip(locations, matches, strict=True) if not match]
    return best


def _max_probability(matches: int, keys: int, probability: float) -> float:
    """Compute an upper bound of the probability of this many matches, if each key matches with the given probability."""
    share = matches / keys
    if share <= probability:
        return 1.0
    divergence = share * log(share / probability) + ((1 - share) * log((1 - share) / (1 - probability)) if share < 1 else 0.0)
    return exp(-keys * divergence)
