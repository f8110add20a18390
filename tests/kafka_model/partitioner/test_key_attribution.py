"""The partitioner that explains a topic's keys, compared with recorded placements of real clients."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

import pytest

from kafka_model.partitioner.key_attribution import PARTITIONERS, Attribution, Matches, attribute
from tests.oracle.algorithm import golden


class KeyLocation(NamedTuple):
    """A key, a partition that contains it, and the number of its records there."""

    key: bytes
    partition: int
    records: int


def attribution(locations: Sequence[KeyLocation], partitions: int) -> Attribution:
    """Attribute locations, each with its matches."""

    def explained_by(location: KeyLocation) -> int:
        choices = [partition_of(location.key, partitions) for partition_of in PARTITIONERS.values()]
        return sum(1 << number for number, partition in enumerate(choices) if partition == location.partition)

    return attribute([Matches(explained_by(location), 1, location.records) for location in locations], partitions)


def recorded(client: str, partitioner: str, partitions: int = 12) -> list[KeyLocation]:
    """Read where the client itself placed keys, without the keys that it placed at random."""
    cases = [
        (line.case["key"], line.result["answer"])
        for line in golden(f"{client}_partitioner")
        if (line.case["partitioner"], line.case["partitions"]) == (partitioner, partitions)
    ]
    return [KeyLocation(bytes.fromhex(key), partition, 2) for key, partition in dict(cases).items() if key and partition is not None]


@pytest.mark.parametrize(
    ("client", "partitioner", "expected"),
    [
        ("librdkafka", "consistent_random", "crc32"),
        ("librdkafka", "murmur2_random", "murmur2"),
        ("librdkafka", "fnv1a_random", "fnv1a"),
        ("sarama", "hash", "fnv1a"),
        ("sarama", "reference_hash", "fnv1a_reference"),
        ("sarama", "unsigned_hash", "fnv1a_unsigned"),
        ("sarama", "consistent_crc_hash", "crc32"),
    ],
)
def test_partitioner_of_a_real_client_is_recognised(client: str, partitioner: str, expected: str) -> None:
    locations = recorded(client, partitioner)
    assert len(locations) > 6
    assert attribution(locations, 12) == Attribution(expected, 2 * len(locations), None, 0)


def test_both_clients_of_one_topic_are_recognised() -> None:
    java, other = recorded("librdkafka", "murmur2_random"), recorded("librdkafka", "consistent_random")
    result = attribution([*(location._replace(records=5) for location in java), *other], 12)
    assert (result.partitioner, result.second_partitioner) == ("murmur2", "crc32")
    assert result.explained_records + result.second_records == 5 * len(java) + 2 * len(other)


def test_random_placement_matches_no_partitioner() -> None:
    rng = random.Random(1)
    topics = [[KeyLocation(b"%d" % rng.getrandbits(60), rng.randrange(6), 1) for _ in range(200)] for _ in range(60)]
    assert [attribution(locations, 6).partitioner for locations in topics] == [None] * 60


def test_two_keys_are_too_few_to_recognise_a_partitioner() -> None:
    assert attribution(recorded("librdkafka", "murmur2_random")[:2], 12).partitioner is None


def test_a_key_in_another_partition_is_not_explained() -> None:
    java = recorded("librdkafka", "murmur2_random")
    misplaced = java[0]._replace(partition=(java[0].partition + 1) % 12, records=1)
    assert attribution([*java, misplaced], 12) == Attribution("murmur2", 2 * len(java), None, 0)


def test_no_key_has_no_partitioner() -> None:
    assert attribute([], 6) == Attribution(None, 0, None, 0)
