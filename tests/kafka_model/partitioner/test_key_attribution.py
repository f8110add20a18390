"""Who placed a topic's keys: held to where real clients put them."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest

from kafka_model.partitioner.key_attribution import Found, attribute

GOLDEN = Path(__file__).parents[2] / "golden"


def placed(client: str, partitioner: str, partitions: int = 12) -> list[Found]:
    """Where the client itself put keys, as was recorded; those that it left to chance are not there."""
    with gzip.open(GOLDEN / f"{client}_partitioner.jsonl.gz", "rt") as file:
        lines = [json.loads(line) for line in file]
    cases = [(line["case"], line["said"]["answer"]) for line in lines if "case" in line]
    asked = {case["key"]: answer for case, answer in cases if (case["partitioner"], case["partitions"]) == (partitioner, partitions)}
    return [Found(bytes.fromhex(key), answer, 2) for key, answer in asked.items() if key and answer is not None]


@pytest.mark.parametrize(
    ("client", "partitioner", "told"),
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
def test_real_clients_are_known_by_where_they_put_keys(client: str, partitioner: str, told: str) -> None:
    found = placed(client, partitioner)
    assert len(found) > 6
    answer = attribute(found, 12)
    assert (answer.partitioner, answer.explained_records, answer.keys) == (told, 2 * len(found), len(found))
    assert (answer.second_partitioner, answer.split_keys) == (None, 0)


def test_two_clients_of_one_topic_are_both_told() -> None:
    java, other = placed("librdkafka", "murmur2_random"), placed("librdkafka", "consistent_random")
    answer = attribute([*(one._replace(records=5) for one in java), *other], 12)
    assert (answer.partitioner, answer.second_partitioner) == ("murmur2", "crc32")
    assert answer.explained_records + answer.second_records == answer.records


def test_a_key_in_two_partitions_is_split() -> None:
    java = placed("librdkafka", "murmur2_random")
    strayed = java[0]._replace(partition=(java[0].partition + 1) % 12, records=1)
    answer = attribute([*java, strayed], 12)
    assert (answer.split_keys, answer.split_records, answer.keys) == (1, 3, len(java))
    assert answer.records - answer.explained_records == 1


def test_chance_is_no_partitioner() -> None:
    chance = random.Random(1)
    anywhere = [[Found(b"%d" % chance.getrandbits(60), chance.randrange(6), 1) for _ in range(200)] for _ in range(60)]
    assert [attribute(found, 6).partitioner for found in anywhere] == [None] * 60
    few = placed("librdkafka", "murmur2_random")[:2]
    assert attribute(few, 12).partitioner is None


def test_nothing_and_the_empty_key_tell_nothing() -> None:
    answer = attribute([Found(b"", 3, 9)], 6)
    assert (answer.partitioner, answer.keys, answer.records, answer.explained_records) == (None, 0, 0, 0)
