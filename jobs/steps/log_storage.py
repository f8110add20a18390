"""log_storage: the segments, indexes and retention of each replica, and the bytes on each log dir.

Columnar forms of the bounds in kafka_model.log.segments: the minimum number of segments and the maximum index of a replica, from its
size alone.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.schema import BROKER, DISK_USAGE, LOG_DIR, LOG_STORAGE, REPLICA, TOPIC
from jobs.steps.stage import Stage, Stages

READS = (BROKER, LOG_DIR, TOPIC, REPLICA)
WRITES = (LOG_STORAGE, DISK_USAGE)

_DIR = ["snapshot_id", "cluster_id", "broker_id", "log_dir"]
# Kafka's defaults for a topic that overrides nothing (LogConfig, 2.0 to 4.x).
SEGMENT_BYTES, INDEX_INTERVAL_BYTES, RETENTION_MS, RETENTION_BYTES = 1 << 30, 4096, 604_800_000, -1
OFFSET_ENTRY_BYTES, TIME_ENTRY_BYTES = 8, 12


def transform(broker: DataFrame, log_dir: DataFrame, topic: DataFrame, replica: DataFrame) -> Stages[tuple[DataFrame, ...]]:
    config = topic.select(
        "snapshot_id",
        "cluster_id",
        "topic",
        _config("segment.bytes", SEGMENT_BYTES).alias("segment_bytes"),
        _config("index.interval.bytes", INDEX_INTERVAL_BYTES).alias("index_interval_bytes"),
        _limit("retention.ms", RETENTION_MS).alias("retention_ms"),
        _limit("retention.bytes", RETENTION_BYTES).alias("retention_bytes"),
        F.coalesce(F.col("configs")["cleanup.policy"], F.lit("delete")).contains("delete").alias("deleting"),
    )
    entries = F.expr("greatest(size_bytes - 1, 0) div (index_interval_bytes + 1)")
    segments = F.expr("greatest((size_bytes + segment_bytes - 1) div segment_bytes, 1)")
    excess = F.expr("(size_bytes - retention_bytes) div segment_bytes")  # whole segments that lie over the limit
    storage = yield Stage(
        replica.where("size_bytes IS NOT NULL")
        .join(config, on=["snapshot_id", "cluster_id", "topic"], how="left")
        .fillna({"segment_bytes": SEGMENT_BYTES, "index_interval_bytes": INDEX_INTERVAL_BYTES})
        .withColumn("segments", segments)
        .select(
            "snapshot_id",
            "cluster_id",
            "topic",
            "partition",
            "broker_id",
            "log_dir",
            "size_bytes",
            "segment_bytes",
            "segments",
            (entries * OFFSET_ENTRY_BYTES).alias("offset_index_bytes"),
            ((entries + F.col("segments") - 1) * TIME_ENTRY_BYTES).alias("time_index_bytes"),
            "retention_ms",
            "retention_bytes",
            F.when(
                F.col("deleting") & F.col("retention_bytes").isNotNull(),
                F.greatest(F.least(excess, F.col("segments") - 1), F.lit(0)) * F.col("segment_bytes"),
            )
            .otherwise(0)
            .alias("deletable_bytes"),
        ),
        LOG_STORAGE,
    )
    used = storage.groupBy(_DIR).agg(
        F.count("*").alias("replicas"),
        F.sum("size_bytes").alias("size_bytes"),
        F.sum(F.col("offset_index_bytes") + F.col("time_index_bytes")).alias("index_bytes"),
        F.sum("segments").alias("segments"),
    )
    counts = ["replicas", "size_bytes", "index_bytes", "segments"]
    dirs = log_dir.groupBy("snapshot_id", "cluster_id", "broker_id").agg(F.count("*").alias("dirs"))
    usage = (
        log_dir.join(used, on=_DIR, how="full")
        .fillna(0, counts)
        .join(broker.select("snapshot_id", "cluster_id", "broker_id", "disk_capacity_bytes"), on=_DIR[:3], how="left")
        .join(dirs, on=_DIR[:3], how="left")
        .withColumn("capacity_bytes", F.coalesce("capacity_bytes", F.when(F.col("dirs") == 1, F.col("disk_capacity_bytes"))))
        .select(
            *_DIR,
            *counts,
            "capacity_bytes",
            F.when(F.col("capacity_bytes") > 0, F.col("size_bytes") / F.col("capacity_bytes")).alias("used_share"),
        )
    )
    return storage, usage


def _config(name: str, default: int) -> Column:
    return F.coalesce(F.col("configs")[name].try_cast("bigint"), F.lit(default))


def _limit(name: str, default: int) -> Column:
    """A config whose -1 means no limit: null."""
    value = _config(name, default)
    return F.when(value >= 0, value)
