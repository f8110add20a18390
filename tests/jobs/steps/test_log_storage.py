"""Segments, indexes and deletable bytes equal those of kafka_model.log.segments."""

from __future__ import annotations

import random
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from jobs.schema import BROKER, LOG_DIR, REPLICA, TOPIC
from jobs.steps import log_storage
from kafka_model.log.segments import deletable_bytes, index_entries, segments
from tests.jobs.rows import run_step, sorted_rows, table


def run(
    spark: SparkSession, replicas: list[dict[str, Any]], configs: dict[str, dict[str, str]], *, dirs: list[dict[str, Any]] | None = None
) -> tuple[DataFrame, ...]:
    return run_step(
        log_storage,
        table(spark, BROKER, {"broker_id": 1, "disk_capacity_bytes": 1000.0}, {"broker_id": 2, "disk_capacity_bytes": 1000.0}),
        table(spark, LOG_DIR, *(dirs or [])),
        table(spark, TOPIC, *({"topic": name, "configs": list(config.items())} for name, config in configs.items())),
        table(spark, REPLICA, *({"broker_id": 1, "log_dir": "/a", **replica} for replica in replicas)),
    )


def test_the_columnar_form_equals_the_model(spark: SparkSession) -> None:
    draw = random.Random(5)
    sizes = [0, 1, 1000, 1001, 4095, 4096, *(draw.randrange(1 << draw.randrange(1, 40)) for _ in range(200))]
    configs = {
        f"t{number}": {"segment.bytes": str(draw.choice([1000, 1 << 20, 1 << 30])), "index.interval.bytes": str(draw.choice([1, 4096])),
                       "retention.bytes": str(draw.choice([0, 1500, 1 << 22]))}
        for number in range(len(sizes))
    }  # fmt: skip
    storage, _ = run(spark, [{"topic": topic, "size_bytes": size} for topic, size in zip(configs, sizes, strict=True)], configs)
    expected = []
    for (topic, config), size in zip(configs.items(), sizes, strict=True):
        segment, interval, retention = (int(config[name]) for name in ("segment.bytes", "index.interval.bytes", "retention.bytes"))
        entries = index_entries(size, interval)
        count = segments(size, segment)
        expected.append((topic, count, 8 * entries, 12 * (entries + count - 1), deletable_bytes(size, retention, segment)))
    found = sorted_rows(storage, "topic", "segments", "offset_index_bytes", "time_index_bytes", "deletable_bytes")
    assert found == sorted(expected, key=str)


def test_unlimited_retention_and_compaction_delete_nothing(spark: SparkSession) -> None:
    configs = {
        "unlimited": {"retention.bytes": "-1", "retention.ms": "-1", "segment.bytes": "10"},
        "compacted": {"retention.bytes": "0", "cleanup.policy": "compact", "segment.bytes": "10"},
        "both": {"retention.bytes": "0", "cleanup.policy": "compact,delete", "segment.bytes": "10"},
    }
    storage, _ = run(spark, [{"topic": topic, "size_bytes": 100} for topic in configs], configs)
    assert sorted_rows(storage, "topic", "retention_ms", "retention_bytes", "deletable_bytes") == [
        ("both", 604_800_000, 0, 90),  # not the active segment
        ("compacted", 604_800_000, 0, 0),
        ("unlimited", None, None, 0),
    ]


def test_a_log_dir_sums_up_its_replicas_without_those_of_unknown_size(spark: SparkSession) -> None:
    replicas = [
        {"topic": "t", "partition": 0, "size_bytes": 300},
        {"topic": "t", "partition": 1, "size_bytes": 450},
        {"topic": "t", "partition": 2},
    ]
    dirs = [{"broker_id": 1, "log_dir": "/a"}, {"broker_id": 2, "log_dir": "/a"}, {"broker_id": 2, "log_dir": "/b", "capacity_bytes": 50.0}]
    storage, usage = run(spark, replicas, {"t": {}}, dirs=dirs)
    assert len(sorted_rows(storage, "partition")) == 2
    assert sorted_rows(usage, "broker_id", "log_dir", "replicas", "size_bytes", "capacity_bytes", "used_share") == [
        (1, "/a", 2, 750, 1000.0, 0.75),  # the broker's capacity is that of its only log dir
        (2, "/a", 0, 0, None, None),
        (2, "/b", 0, 0, 50.0, 0.0),
    ]
