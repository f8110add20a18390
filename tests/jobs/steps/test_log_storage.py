"""Segments, indexes and deletable bytes equal those of kafka_model.log.segments."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from jobs.schema import BROKER, CLUSTER, DISK_USAGE, LOG_DIR, REPLICA, TOPIC
from jobs.steps import log_storage
from kafka_model.log.segments import deletable_bytes, index_entries, segments
from tests.jobs.rows import run_step, sorted_rows, table


def run(
    spark: SparkSession,
    replicas: list[dict[str, Any]],
    configs: dict[str, dict[str, str]],
    *,
    dirs: list[dict[str, Any]] | None = None,
    captured_at: datetime | None = None,
    previous: list[dict[str, Any]] | None = None,
) -> tuple[DataFrame, ...]:
    """Run the step; `previous` are rows of the previous snapshot's disk_usage, an hour before."""
    before = captured_at and captured_at - timedelta(hours=1)
    return run_step(
        log_storage,
        table(spark, CLUSTER, {"captured_at": captured_at}),
        table(spark, BROKER, {"broker_id": 1, "disk_capacity_bytes": 1000.0}, {"broker_id": 2, "disk_capacity_bytes": 1000.0}),
        table(spark, LOG_DIR, *(dirs or [])),
        table(spark, TOPIC, *({"topic": name, "configs": list(config.items())} for name, config in configs.items())),
        table(spark, REPLICA, *({"broker_id": 1, "log_dir": "/a", **replica} for replica in replicas)),
        table(spark, CLUSTER, {"snapshot_id": "before", "captured_at": before}),
        table(spark, DISK_USAGE, *({"snapshot_id": "before", "broker_id": 1, **usage} for usage in previous or [])),
    )


def test_the_columnar_form_equals_the_model(spark: SparkSession) -> None:
    draw = random.Random(5)
    sizes = [0, 1, 1000, 1001, 4095, 4096, *(draw.randrange(1 << draw.randrange(1, 40)) for _ in range(200))]
    configs = {
        f"t{number}": {"segment.bytes": str(draw.choice([1000, 1 << 20, 1 << 30])), "index.interval.bytes": str(draw.choice([1, 4096])),
                       "retention.bytes": str(draw.choice([0, 1500, 1 << 22]))}
        for number in range(len(sizes))
    }  # fmt: skip
    storage, usage = run(spark, [{"topic": topic, "size_bytes": size} for topic, size in zip(configs, sizes, strict=True)], configs)
    expected, index_bytes = [], 0
    for (topic, config), size in zip(configs.items(), sizes, strict=True):
        segment, interval, retention = (int(config[name]) for name in ("segment.bytes", "index.interval.bytes", "retention.bytes"))
        expected.append((topic, segments(size, segment), interval, deletable_bytes(size, retention, segment)))
        index_bytes += (8 + 12) * index_entries(size, interval) + 12 * (segments(size, segment) - 1)
    assert sorted_rows(storage, "topic", "segments", "index_interval_bytes", "deletable_bytes") == sorted(expected, key=str)
    assert sorted_rows(usage, "index_bytes") == [(index_bytes,)]


def test_unlimited_retention_and_compaction_delete_nothing(spark: SparkSession) -> None:
    configs = {
        "unlimited": {"retention.bytes": "-1", "retention.ms": "-1", "segment.bytes": "10"},
        "compacted": {"retention.bytes": "0", "cleanup.policy": "compact", "segment.bytes": "10"},
        "both": {"retention.bytes": "0", "cleanup.policy": "compact,delete", "segment.bytes": "10"},
    }
    storage, _ = run(spark, [{"topic": topic, "size_bytes": 100} for topic in configs], configs)
    assert sorted_rows(storage, "topic", "retention_ms", "retention_bytes", "deletable_bytes") == [
        ("both", 604_800_000, 0, 90),  # not the active segment
        ("compacted", None, None, 0),
        ("unlimited", None, None, 0),
    ]


def test_tiered_topic_has_its_local_retention_on_disk(spark: SparkSession) -> None:
    # UnifiedLog.localRetentionSize and LogConfig.localRetentionBytes: -2, the default, is the same as retention.*, and -1 is unlimited.
    total = {
        "segment.bytes": "10",
        "retention.bytes": "80",
        "retention.ms": "5000",
        "local.retention.bytes": "30",
        "local.retention.ms": "1000",
    }
    tiered = total | {"remote.storage.enable": "true"}
    configs = {
        "copy disabled": tiered | {"remote.log.copy.disable": "true"},
        "not tiered": total,
        "off": total | {"remote.storage.enable": "false"},
        "tiered": tiered,
        "tiered like total": tiered | {"local.retention.bytes": "-2", "local.retention.ms": "-2"},
        "tiered unlimited": tiered | {"local.retention.bytes": "-1", "local.retention.ms": "-1"},
    }
    storage, usage = run(spark, [{"topic": topic, "size_bytes": 100} for topic in configs], configs)
    assert sorted_rows(storage, "topic", "tiered", "retention_ms", "retention_bytes", "deletable_bytes") == [
        ("copy disabled", False, 5000, 80, 20),
        ("not tiered", False, 5000, 80, 20),
        ("off", False, 5000, 80, 20),
        ("tiered like total", True, 5000, 80, 20),
        ("tiered unlimited", True, None, None, 0),
        ("tiered", True, 1000, 30, 70),
    ]
    assert sorted_rows(usage, "log_dir", "size_bytes", "deletable_bytes") == [("/a", 600, 150)]


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


def test_a_growing_log_dir_is_full_unless_retention_stops_it_before(spark: SparkSession) -> None:
    now = datetime(2026, 11, 21, 2, tzinfo=UTC)
    limited = {"segment.bytes": "100", "retention.bytes": "800"}  # at most 900 bytes on disk
    tiered = {"segment.bytes": "100", "remote.storage.enable": "true", "retention.bytes": "-1", "local.retention.bytes": "800"}
    configs = {"compacted": limited | {"cleanup.policy": "compact"}, "limited": limited, "tiered": tiered, "unlimited": {}}
    log_dirs = {  # the topics of its replicas, and its size an hour ago
        "/compacted": (["compacted"], 100),
        "/full soon": (["limited", "unlimited"], 100),
        "/limited": (["limited"], 100),
        "/new": (["unlimited"], None),
        "/shrinks": (["unlimited"], 500),
        "/tiered": (["tiered"], 100),
        "/too small": (["limited", "tiered"], 400),
    }
    _, usage = run(
        spark,
        [{"topic": topic, "log_dir": log_dir, "size_bytes": 300} for log_dir, (topics, _) in log_dirs.items() for topic in topics],
        configs,
        dirs=[{"broker_id": 1, "log_dir": log_dir, "capacity_bytes": 1000.0} for log_dir in log_dirs],
        captured_at=now,
        previous=[{"log_dir": log_dir, "size_bytes": size} for log_dir, (_, size) in log_dirs.items() if size is not None],
    )
    found = {row["log_dir"]: (row["retained_bytes_most"], row["growth_bytes_per_s"], row["full_at"]) for row in usage.toArrow().to_pylist()}
    assert found == {
        "/compacted": (None, 200 / 3600, now + timedelta(hours=3.5)),
        "/full soon": (None, 500 / 3600, now + timedelta(hours=0.8)),
        "/limited": (900, 200 / 3600, None),
        "/new": (None, None, None),
        "/shrinks": (None, -200 / 3600, None),
        "/tiered": (900, 200 / 3600, None),
        "/too small": (1800, 200 / 3600, now + timedelta(hours=2)),
    }


def test_a_full_log_dir_is_full_now_and_one_that_hardly_grows_never(spark: SparkSession) -> None:
    now = datetime(2026, 11, 21, 2, tzinfo=UTC)
    sizes = {"/full": (1000, 900), "/hardly": (1, 0)}
    _, usage = run(
        spark,
        [{"topic": "t", "log_dir": log_dir, "size_bytes": size} for log_dir, (size, _) in sizes.items()],
        {"t": {}},
        dirs=[
            {"broker_id": 1, "log_dir": log_dir, "capacity_bytes": capacity} for log_dir, capacity in (("/full", 1000.0), ("/hardly", 1e9))
        ],
        captured_at=now,
        previous=[{"log_dir": log_dir, "size_bytes": size} for log_dir, (_, size) in sizes.items()],
    )
    assert {row["log_dir"]: row["full_at"] for row in usage.toArrow().to_pylist()} == {"/full": now, "/hardly": None}
