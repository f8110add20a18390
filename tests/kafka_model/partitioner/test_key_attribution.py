"""The partitioner that explains a topic's keys, compared with recorded placements of real clients."""

from __future__ import annotations

import random

import pytest

from kafka_model.partitioner.key_attribution import KeyLocation, attribute
from tests.oracle.algorithm import golden


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
    result = attribute(locations, 12)
    assert (result.partitioner, result.explained_records, result.keys) == (expected, 2 * len(locations), len(locations))
    assert (result.second_partitioner, result.split_keys) == (None, 0)


def test_both_clients_of_one_topic_are_recognised() -> None:
    java, other = recorded("librdkafka", "murmur2_random"), recorded("librdkafka", "consistent_random")
    result = attribute([*(location._replace(records=5) for location in java), *other], 12)
    assert (result.partitioner, result.second_partitioner) == ("murmur2", "crc32")
    assert result.explained_records + result.second_records == result.records


def test_a_key_in_two_partitions_is_split() -> None:
    java = recorded("librdkafka", "murmur2_random")
    misplaced = java[0]._replace(partition=(java[0].partition + 1) % 12, records=1)
    result = attribute([*java, misplaced], 12)
    assert (result.split_keys, result.split_records, result.keys) == (1, 3, len(java))
    assert result.records - result.explained_records == 1


def test_random_placement_matches_no_partitioner() -> None:
    rng = random.Random(1)
    topics = [[KeyLocation(b"%d" % rng.getrandbits(60), rng.randrange(6), 1) for _ in range(200)] for _ in range(60)]
    assert [attribute(locations, 6).partitioner for locations in topics] == [None] * 60


def test_two_keys_are_too_few_to_recognise_a_partitioner() -> None:
    assert attribute(recorded("librdkafka", "murmur2_random")[:2], 12).partitioner is None


def test_the_empty_key_is_ignored() -> None:
    result = attribute([KeyLocation(b"", 3, 9)], 6)
    assert (result.partitioner, result.keys, result.records, result.explained_records) == (None, 0, 0, 0)
