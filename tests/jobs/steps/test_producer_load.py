"""The load of partitions: the counter over available partitions, keys by murmur2, named partitions, growth."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any
from zlib import crc32

import pytest
from pyspark.sql import DataFrame, SparkSession

from jobs.schema import CLUSTER, KEY_SAMPLE, PARTITION, TOPIC
from jobs.steps import producer_load
from kafka_model.partitioner.key_hash import murmur2
from tests.jobs.rows import run_step, sorted_rows, table

# org.apache.kafka.common.utils.UtilsTest.testMurmur2: keys with their hashes.
KAFKA_HASHES = {b"21": -973932308, b"foobar": -790332482, b"a-little-bit-long-string": -985981536, b"abc": 479470107}


def run(
    spark: SparkSession,
    sample: list[dict[str, Any]],
    *,
    leaders: list[int | None],
    before: list[dict[str, Any]] | None = None,
    now: list[dict[str, Any]] | None = None,
    topic_id: str = "then",
    configs: dict[str, str] | None = None,
    apart: timedelta = timedelta(hours=1),
    **parameters: str,
) -> tuple[DataFrame, ...]:
    """A topic t with these leaders and configs; `before` and `now` are columns of its partitions in two snapshots."""

    def topology(columns: list[dict[str, Any]], id: str, captured_at: datetime) -> tuple[DataFrame, ...]:
        led = [{"topic": "t", "partition": p, "leader": leader, "replicas": [9, leader or 8]} for p, leader in enumerate(leaders)]
        partitions = [row | more for row, more in zip(led, columns, strict=False)]
        return (
            table(spark, CLUSTER, {"captured_at": captured_at}),
            table(
                spark, TOPIC, *([{"topic": "t", "topic_id": id, "partitions": len(leaders), "configs": configs or {}}] if columns else [])
            ),
            table(spark, PARTITION, *partitions),
        )

    noon = datetime(2026, 1, 2, 12, tzinfo=UTC)
    keys = table(spark, KEY_SAMPLE, *({"topic": "t", "size_bytes": 10 * row["records"], **row} for row in sample))
    return run_step(
        producer_load,
        *topology(now or [{} for _ in leaders], "then", noon),
        keys,
        *topology(before or [], topic_id, noon - apart),
        parameters=parameters,
    )


def test_records_without_a_key_go_to_the_available_partitions_in_turn(spark: SparkSession) -> None:
    load, *_ = run(spark, [{"records": 7}], leaders=[1, 2, 3])
    assert sorted_rows(load, "partition", "unkeyed_records", "size_bytes") == [(0, 3, 30), (1, 2, 20), (2, 2, 20)]
    load, topic, *_ = run(spark, [{"records": 7}], leaders=[1, None, 3])
    assert sorted_rows(load, "partition", "unkeyed_records") == [(0, 4), (1, 0), (2, 3)]
    assert sorted_rows(topic, "available_partitions", "hottest_partition") == [(2, 0)]


def test_bytes_of_records_without_a_key_are_exact_beyond_64_bits(spark: SparkSession) -> None:
    records, size_bytes = 3_000_000_001, 9 * 10**18
    load, *_ = run(spark, [{"records": records, "size_bytes": size_bytes}], leaders=[1, 2])
    first = size_bytes * 1_500_000_001 // records
    assert sorted_rows(load, "partition", "unkeyed_records", "size_bytes") == [
        (0, 1_500_000_001, first),
        (1, 1_500_000_000, size_bytes - first),
    ]


def test_the_counter_starts_at_the_parameter_and_without_leaders_all_partitions_count(spark: SparkSession) -> None:
    load, *_ = run(spark, [{"records": 4}], leaders=[1, 2, 3], counter_start="2")
    assert sorted_rows(load, "partition", "unkeyed_records") == [(0, 1), (1, 1), (2, 2)]
    load, *_ = run(spark, [{"records": 4}], leaders=[None, None, None])
    assert sorted_rows(load, "partition", "unkeyed_records") == [(0, 2), (1, 1), (2, 1)]


def test_a_key_goes_by_murmur2_over_all_partitions_and_a_named_partition_wins(spark: SparkSession) -> None:
    sample = [{"key": key, "records": number + 1} for number, key in enumerate(KAFKA_HASHES)] + [
        {"key": b"21", "partition": 4, "records": 100}
    ]
    load, _, hot, _ = run(spark, sample, leaders=[1, None, 3, 1, 2])
    expected = {partition: 0 for partition in range(5)}
    for number, code in enumerate(KAFKA_HASHES.values()):
        expected[(code & 0x7FFFFFFF) % 5] += number + 1
    assert sorted_rows(load, "partition", "keyed_records") == sorted(expected.items())
    assert sorted_rows(load.where("explicit_records > 0"), "partition", "explicit_records") == [(4, 100)]
    assert sorted_rows(hot.where("rank = 1"), "key_text", "partition", "records") == [("abc", (479470107 & 0x7FFFFFFF) % 5, 4)]


def test_keys_that_librdkafka_would_bring_elsewhere_are_counted(spark: SparkSession) -> None:
    sample = [{"key": key, "records": 10} for key in KAFKA_HASHES] + [{"key": b"", "records": 1}]
    _, topic, hot, _ = run(spark, sample, leaders=[1, 2, 3, 1, 2])
    by_crc32 = {key.decode(): crc32(key) % 5 for key in KAFKA_HASHES} | {"": None}
    assert sorted_rows(hot, "key_text", "librdkafka_partition") == sorted(by_crc32.items(), key=str)
    moved = [key for key, code in KAFKA_HASHES.items() if (code & 0x7FFFFFFF) % 5 != crc32(key) % 5]
    assert sorted_rows(topic, "librdkafka_moved_keys", "librdkafka_moved_records") == [(len(moved) + 1, 10 * len(moved) + 1)]
    assert moved


def random_sample() -> tuple[dict[str, int | None], list[dict[str, Any]]]:
    """Return the partition counts of topics, and sampled rows: an unknown count, few keys, keys that all tie, and no key but in named partitions."""
    draw, partitions, sample = random.Random(8), {}, []
    for topic, count, keys, max_records in (("a", 7, 60, 9), ("b", None, 30, 9), ("c", 3, 4, 50), ("d", 5, 40, 1), ("e", 6, 0, 1)):
        partitions[topic] = count
        found: list[dict[str, Any]] = [
            {"key": key, "records": draw.randint(1, max_records)} for key in {draw.randbytes(draw.randint(0, 12)) for _ in range(keys)}
        ]
        found += [{"records": draw.randint(1, 99)}, {"key": b"named", "partition": 1, "records": 7}, {"partition": 1, "records": 8}]
        sample += [{"topic": topic, "size_bytes": draw.randint(1, 999), **row} for row in found]
    draw.shuffle(sample)
    return partitions, sample


def test_a_sample_of_several_topics_adds_up(spark: SparkSession) -> None:
    partitions, sample = random_sample()
    counts = [{"topic": topic, "partitions": count} for topic, count in partitions.items() if count is not None]
    existing = [
        {"topic": topic, "partition": partition, "leader": 1, "replicas": [1]}
        for topic, count in partitions.items()
        for partition in range(count or 2)
    ]
    load, topic_load, hot, _ = run_step(
        producer_load,
        table(spark, CLUSTER, {}),
        table(spark, TOPIC, *counts),
        table(spark, PARTITION, *existing),
        table(spark, KEY_SAMPLE, *sample),
        *(table(spark, each) for each in (CLUSTER, TOPIC, PARTITION)),
        parameters={},
    )
    explicit, keyed, keys, size_bytes, moved = Counter[Any](), Counter[Any](), Counter[Any](), Counter[Any](), Counter[Any]()
    hottest: dict[str, list[tuple[Any, ...]]] = {topic: [] for topic in partitions}
    for row in sample:
        topic, key, records, count = row["topic"], row.get("key"), row["records"], partitions[row["topic"]]
        if count is None:
            continue
        if "partition" in row:
            explicit[topic, row["partition"]] += records
        elif key is not None:
            partition = (murmur2(key) & 0x7FFFFFFF) % count
            keyed[topic, partition] += records
            keys[topic, partition] += 1
            by_crc32 = crc32(key) % count if key else None
            moved[topic] += by_crc32 != partition
            hottest[topic].append((-records, key, partition, by_crc32, row["size_bytes"]))
        size_bytes[topic] += row["size_bytes"]
    for row in load.collect():
        place = row["topic"], row["partition"]
        assert (row["explicit_records"], row["keyed_records"], row["keys"]) == (explicit[place], keyed[place], keys[place])
    skews = {row["topic"]: row for row in topic_load.collect()}
    for topic, count in partitions.items():
        ranked = sorted(hottest[topic])
        found = [(-row["records"], bytes(row["key"]), row["partition"], row["librdkafka_partition"], row["size_bytes"])
                 for row in sorted(hot.where(f"topic = '{topic}'").collect(), key=lambda row: row["rank"])]  # fmt: skip
        assert found == ranked[:10]
        if count is not None:
            records = [-each[0] for each in ranked]
            shared = [sum(records[n * count - n : n * count + 1]) for n in range(4) if len(records) > n * count]
            floor = max([*shared, *(explicit[topic, partition] for partition in range(count))])
            assert skews[topic]["skew_floor"] == pytest.approx(max(floor * count / skews[topic]["records"], 1))
            assert (skews[topic]["size_bytes"], skews[topic]["librdkafka_moved_keys"]) == (size_bytes[topic], moved[topic])


def test_a_sampled_topic_that_no_dump_describes_has_neither_a_hottest_key_nor_a_complete_log(spark: SparkSession) -> None:
    partition = {"topic": "t", "leader": 1, "replicas": [9, 1]}
    load, topic_load, hot, _ = run_step(
        producer_load,
        table(spark, CLUSTER, {}),
        table(spark, TOPIC),
        table(spark, PARTITION, partition | partition_at(9, 90, 0)),
        table(spark, KEY_SAMPLE, {"topic": "t", "key": b"k", "records": 3, "size_bytes": 30}),
        *(table(spark, each) for each in (CLUSTER, TOPIC)),
        table(spark, PARTITION, partition | partition_at(4, 40, 0)),
        parameters={},
    )
    assert sorted_rows(load, "records", "observed_records", "observed_size_source") == [(0, 5, "size_growth")]
    assert sorted_rows(topic_load, "records", "hottest_key_share", "skew_floor") == [(0, None, None)]
    assert hot.count() == 0


def test_the_text_of_a_hot_key_is_that_of_valid_utf8(spark: SparkSession) -> None:
    keys = [b"a\x00", "é".encode(), b"\xff", b"\xed\xa0\x80", b"\xc0\x80", b""]
    *_, hot, _ = run(spark, [{"key": key, "records": 1} for key in keys], leaders=[1])
    assert {bytes(key): text for key, text in sorted_rows(hot, "key", "key_text")} == {
        b"a\x00": "a\x00", "é".encode(): "é", b"\xff": None, b"\xed\xa0\x80": None, b"\xc0\x80": None, b"": ""
    }  # fmt: skip


def test_even_and_uneven_records_have_their_coefficients(spark: SparkSession) -> None:
    _, topic, *_ = run(spark, [{"partition": 0, "records": 3}, {"partition": 1, "records": 5}], leaders=[1, 1])
    assert sorted_rows(topic, "record_cv", "record_gini") == [(0.25, 0.125)]


@pytest.mark.parametrize(("partitions", "variation", "gini"), [(2, 0.0, 0.0), (20, None, 0.9)])
def test_the_variation_of_enormous_records_is_known_up_to_38_digits(
    spark: SparkSession, partitions: int, variation: float | None, gini: float
) -> None:
    sample = [{"partition": partition, "records": 4 * 10**18, "size_bytes": 1} for partition in range(2)]
    _, topic, *_ = run(spark, sample, leaders=[1] * partitions)
    assert sorted_rows(topic, "record_cv", "record_gini") == [(variation, gini)]


def test_the_hottest_key_sets_the_floor_of_the_skew(spark: SparkSession) -> None:
    _, topic, *_ = run(spark, [{"key": b"abc", "records": 60}, {"records": 40}], leaders=[1, 2, 3, 1])
    assert sorted_rows(topic, "hottest_key_share", "skew_floor") == [(0.6, 2.4)]
    # Kafka's default partitioner may send the 40 records without a key to the other partitions.
    assert sorted_rows(topic, "skew_lower_bound", "unkeyed_records") == [(2.4, 40)]


def test_the_skew_of_records_without_a_key_is_only_bounded(spark: SparkSession) -> None:
    """Kafka's default partitioner may fill one partition more than the others: it was measured at 1.5 times the mean."""
    _, topic, *_ = run(spark, [{"records": 20_000}], leaders=[1] * 10)
    assert sorted_rows(topic, "skew_lower_bound", "unkeyed_records") == [(1.0, 20_000)]
    _, topic, *_ = run(spark, [{"records": 20_000}, {"partition": 3, "records": 5_000}], leaders=[1] * 10)
    assert sorted_rows(topic, "skew_lower_bound", "unkeyed_records") == [(2.0, 20_000)]


def test_keys_that_must_share_a_partition_set_the_floor_of_the_skew(spark: SparkSession) -> None:
    weights = [30, 24, 23, 21, 20, 19, 18, 5]
    keys = [{"key": f"k{number}".encode(), "records": records} for number, records in enumerate(weights)]
    load, topic, *_ = run(spark, [*keys, {"records": 10}], leaders=[1, 2, 3])
    ((floor, share, gini),) = sorted_rows(topic, "skew_floor", "hottest_share", "record_gini")
    # Among the seven hottest keys three share one of three partitions: at least 20 + 19 + 18. Two among four give less: 23 + 21.
    mean = (sum(weights) + 10) / 3
    assert floor == pytest.approx(57 / mean)
    least = min(
        max(sum(w for w, p in zip(weights, to, strict=True) if p == at) for at in range(3)) for to in product(range(3), repeat=len(weights))
    )
    assert floor <= least / mean
    counts = [records for (records,) in sorted_rows(load, "records")]
    assert share == max(counts) / sum(counts)
    assert gini == pytest.approx(sum(abs(one - other) for one in counts for other in counts) / (2 * len(counts) * sum(counts)))
    _, topic, *_ = run(spark, [*keys, {"partition": 1, "records": 200}], leaders=[1, 2, 3])  # a named partition
    assert sorted_rows(topic, "skew_floor") == [(pytest.approx(200 / ((sum(weights) + 200) / 3)),)]


def test_bytes_of_a_topic_are_unknown_if_the_size_of_a_sampled_key_is(spark: SparkSession) -> None:
    load, topic, hot, _ = run(spark, [{"key": b"abc", "records": 3}, {"key": b"21", "records": 2, "size_bytes": None}], leaders=[1, 2])
    assert sorted_rows(load, "size_bytes") == [(None,)] * 2
    assert sorted_rows(topic, "records", "size_bytes") == [(5, None)]
    assert sorted_rows(hot, "key_text", "size_bytes") == [("21", None), ("abc", 30)]


def test_growth_is_observed_only_if_both_snapshots_have_the_same_topic(spark: SparkSession) -> None:
    before = [{"log_end_offset": 100, "replica_size_bytes": [1, 1000]}, {"log_end_offset": 50, "replica_size_bytes": [2, 900]}]
    now = [{"log_end_offset": 130, "replica_size_bytes": [3, 1600]}, {"log_end_offset": 60, "replica_size_bytes": [9000, 800]}]
    load, topic, *_ = run(spark, [], leaders=[1, 2], before=before, now=now)
    seen = ("partition", "observed_records", "observed_size_bytes")
    assert sorted_rows(load, *seen) == [(0, 30, 600), (1, 10, None)]  # retention shrank partition 1
    assert sorted_rows(topic, "observed_records", "observed_skew", "records") == [(40, 1.5, None)]
    load, *_ = run(spark, [], leaders=[1, 2], before=before, now=now, topic_id="recreated")
    assert sorted_rows(load, *seen) == []


def test_the_partitioner_is_inferred_from_the_partitions_of_keys(spark: SparkSession) -> None:
    def found(key: bytes, **records_of: int) -> dict[str, Any]:
        places = [(int(partition[1:]), records) for partition, records in sorted(records_of.items())]
        return {
            "key": key,
            "records": sum(records for _, records in places),
            "observed_partitions": [p for p, _ in places],
            "observed_records": [r for _, r in places],
        }

    keys = [f"key-{number}".encode() for number in range(40)]
    sample = [found(key, **{f"p{crc32(key) % 5}": 3}) for key in keys[1:]] + [found(keys[0], p0=1, p1=1)]
    sample += [
        {"records": 9, "observed_partitions": [0], "observed_records": [9]},
        found(b"", p4=5),
        {"key": b"named", "partition": 2, "records": 1},
    ]
    load, *_, partitioner = run(spark, sample, leaders=[1, 2, 3, 1, 2])
    fits = int(crc32(keys[0]) % 5 in (0, 1))
    assert sorted_rows(
        partitioner, "topic", "partitions", "keys", "records", "partitioner", "explained_records", "split_keys", "split_records"
    ) == [("t", 5, 40, 39 * 3 + 2, "crc32", 39 * 3 + fits, 1, 2)]
    assert sum(row["keys"] for row in load.collect()) == 41  # a key found in two partitions counts once


def test_no_partitioner_is_inferred_from_one_partition_or_unknown_partitions(spark: SparkSession) -> None:
    sample = [{"key": f"{number}".encode(), "records": 1, "observed_partitions": [0], "observed_records": [1]} for number in range(20)]
    assert run(spark, sample, leaders=[1])[3].collect() == []
    assert run(spark, [{"key": b"k", "records": 1}], leaders=[1, 2])[3].collect() == []


def partition_at(end: int, size_bytes: int | None, start: int | None = None) -> dict[str, Any]:
    """Return the offsets and the leader's size of a partition whose leader is its second replica."""
    return {"log_end_offset": end, "log_start_offset": start, "replica_size_bytes": [7, size_bytes]}


WRITTEN = ("partition", "observed_records", "observed_size_bytes", "observed_size_source")


def test_bytes_are_written_although_retention_leaves_the_size_unchanged(spark: SparkSession) -> None:
    """Retention deletes as much as is written, more, or less; the mean record of each log has 10 bytes. Nothing is written to partition 3."""
    before = [partition_at(1000, 5000, 500), partition_at(1000, 6000, 400), partition_at(1000, 5000, 500), partition_at(9, None)]
    now = [partition_at(1360, 5000, 860), partition_at(1360, 5000, 860), partition_at(1360, 8600, 500), partition_at(9, None)]
    load, *_ = run(spark, [], leaders=[1, 2, 3, 4], before=before, now=now)
    assert sorted_rows(load, *WRITTEN) == [(p, 360, 3600, "offsets_and_log") for p in range(3)] + [(3, 0, 0, "offsets_and_log")]
    assert sorted_rows(load.where("partition < 3"), "observed_size_bytes_per_s") == [(1.0,)] * 3


@pytest.mark.parametrize("config", [{}, {"cleanup.policy": "compact,delete"}, {"remote.storage.enable": "true"}])
def test_without_a_complete_log_a_sample_has_the_bytes_of_a_record(spark: SparkSession, config: dict[str, str]) -> None:
    """The start of the log is unknown, or the log lacks records because of compaction or tiered storage."""
    start = 500 if config else None
    nights = {"before": [partition_at(1000, 5000, start)], "now": [partition_at(1360, 5100, start)]}
    load, *_ = run(spark, [{"records": 4, "size_bytes": 80}], leaders=[1], configs=config, **nights)
    assert sorted_rows(load, *WRITTEN) == [(0, 360, 7200, "offsets_and_sample")]


def test_without_bytes_of_a_record_a_growing_size_counts_unless_the_log_was_truncated(spark: SparkSession) -> None:
    before = [partition_at(1000, 5000, 0), partition_at(10, 5000), partition_at(10, 5000)]
    now = [partition_at(990, 5100, 0), partition_at(11, 4000), partition_at(11, 5100)]
    load, *_ = run(spark, [], leaders=[1, 2, 3], before=before, now=now)
    assert sorted_rows(load, *WRITTEN) == [(1, 1, None, None), (2, 1, 100, "size_growth")]


def test_growth_over_the_time_between_two_captures_is_a_rate(spark: SparkSession) -> None:
    nights = {"before": [{"replica_size_bytes": [1, 100]}, {"replica_size_bytes": [1, 50]}], "now": [{"replica_size_bytes": [1, 3700]}, {}]}
    load, *_ = run(spark, [], leaders=[1, 2], **nights)
    assert sorted_rows(load, "partition", "observed_size_bytes_per_s") == [(0, 1.0)]
    load, *_ = run(spark, [], leaders=[1, 2], apart=timedelta(seconds=599), **nights)
    assert sorted_rows(load, "partition", "observed_size_bytes", "observed_size_bytes_per_s") == [(0, 3600, None)]
