"""Which client's partitioner explains where a topic's keys lie: Java's murmur2, librdkafka's CRC-32, Sarama's FNV-1a.

The partitioner that most records fit is the answer, unless as many keys could well fit by chance: of n keys over p partitions, m fit a
partitioner that did not place them with a chance of at most exp(-n * KL(m/n || 1/p)) (Chernoff). What does not fit is asked once more:
a second client may have put it there.

    >>> keys = [b"user-%d" % number for number in range(100)]
    >>> found = [Found(key, PARTITIONERS["murmur2" if number < 90 else "crc32"](key, 6), 10) for number, key in enumerate(keys)]
    >>> told = attribute(found, 6)
    >>> told.partitioner, told.explained_records, told.second_partitioner, told.second_records, told.split_keys
    ('murmur2', 920, 'crc32', 80, 0)

Two of the ten keys that CRC-32 placed are where murmur2 would have them. Empty keys tell nothing, for librdkafka leaves them to chance.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import NamedTuple

from kafka_model.partitioner.key_hash import murmur2, to_positive
from kafka_model.partitioner.other_clients import sarama_partition

_BY_CHANCE = 0.001  # what is less likely is no chance


class Found(NamedTuple):
    """Records of a key that were found in a partition."""

    key: bytes
    partition: int
    records: int


@dataclass(frozen=True, slots=True)
class Attribution:
    """What a topic's keys tell of who placed them; partitioner None: none that is known, or too few keys to tell."""

    keys: int
    records: int
    partitioner: str | None
    explained_records: int
    second_partitioner: str | None
    second_records: int
    split_keys: int  # found in more than one partition
    split_records: int


def _sarama(name: str) -> Callable[[bytes, int], int]:
    def partition(key: bytes, partitions: int) -> int:
        placed = sarama_partition(name, key, partitions)  # type: ignore[arg-type]
        assert placed is not None
        return placed

    return partition


# Of equals the first stands: the Java client's, librdkafka's default, then Sarama's, of which `hash` is librdkafka's fnv1a as well.
PARTITIONERS: Mapping[str, Callable[[bytes, int], int]] = {
    "murmur2": lambda key, partitions: to_positive(murmur2(key)) % partitions,
    "crc32": _sarama("consistent_crc_hash"),
    "fnv1a": _sarama("hash"),
    "fnv1a_reference": _sarama("reference_hash"),
    "fnv1a_unsigned": _sarama("unsigned_hash"),
}


def attribute(found: Sequence[Found], partitions: int) -> Attribution:
    """Who placed the keys of a topic with so many partitions."""
    told = [one for one in found if one.key]
    places: dict[bytes, set[int]] = defaultdict(set)
    for one in told:
        places[one.key].add(one.partition)
    split = {key for key, where in places.items() if len(where) > 1}
    partitioner, explained, rest = _best(told, partitions)
    second, by_second, _ = _best(rest, partitions) if partitioner else (None, 0, rest)
    return Attribution(
        len(places),
        sum(one.records for one in told),
        partitioner,
        explained,
        second,
        by_second,
        len(split),
        sum(one.records for one in told if one.key in split),
    )


def _best(found: Sequence[Found], partitions: int) -> tuple[str | None, int, list[Found]]:
    """The partitioner that most records fit, how many do, and what does not fit; None if that may be chance."""
    best: tuple[str | None, int, list[Found]] = (None, 0, list(found))
    for name, place in PARTITIONERS.items():
        fitting = [place(one.key, partitions) == one.partition for one in found]
        records = sum(one.records for one, fits in zip(found, fitting, strict=True) if fits)
        if records > best[1] and _chance(sum(fitting), len(found), 1 / partitions) < _BY_CHANCE:
            best = name, records, [one for one, fits in zip(found, fitting, strict=True) if not fits]
    return best


def _chance(fitting: int, of: int, each: float) -> float:
    """At most how likely it is that so many fit, each with its chance."""
    share = fitting / of
    if share <= each:
        return 1.0
    divergence = share * log(share / each) + ((1 - share) * log((1 - share) / (1 - each)) if share < 1 else 0.0)
    return exp(-of * divergence)
