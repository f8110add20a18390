"""log_storage: the segments, indexes and retention of each replica, and the bytes in each log dir.

Columnar forms of the bounds in kafka_model.log.segments: the minimum number of segments and the maximum index of a replica, from its
size alone.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.schema import BROKER, DISK_USAGE, LOG_DIR, LOG_STORAGE, REPLICA, TOPIC
from jobs.spark.session import dataframe_from_arrow
from jobs.steps.stage import Stage, Stages

READS = (BROKER, LOG_DIR, TOPIC, REPLICA)
WRITES = (LOG_STORAGE, DISK_USAGE)

_BROKER = ["snapshot_id", "cluster_id", "broker_id"]
_LOG_DIR = [*_BROKER, "log_dir"]
_TOPIC = ["snapshot_id", "cluster_id", "topic"]
# Kafka's defaults of topic configs (LogConfig, 2.0 to 4.x).
SEGMENT_BYTES, INDEX_INTERVAL_BYTES, RETENTION_MS, RETENTION_BYTES = 1 << 30, 4096, 604_800_000, -1
OFFSET_ENTRY_BYTES, TIME_ENTRY_BYTES = 8, 12


def transform(broker: pa.Table, log_dir: DataFrame, topic: DataFrame, replica: DataFrame) -> Stages[tuple[DataFrame, ...]]:
    storage = yield Stage(_storage(topic, replica), LOG_STORAGE)
    return storage, _disk_usage(dataframe_from_arrow(topic.sparkSession, broker), log_dir, storage)


def _storage(topic: DataFrame, replica: DataFrame) -> DataFrame:
    """The bounds of each replica whose size is known."""
    entries = F.expr("greatest(size_bytes - 1, 0) div (index_interval_bytes + 1)")
    segments = F.expr("greatest((size_bytes + segment_bytes - 1) div segment_bytes, 1)")
    excess_segments = F.expr("(size_bytes - retention_bytes) div segment_bytes")
    # The active segment is never deleted.
    deletable_segments = F.greatest(F.least(excess_segments, F.col("segments") - 1), F.lit(0))
    has_limit = F.col("deletes") & F.col("retention_bytes").isNotNull()
    return (
        replica.where("size_bytes IS NOT NULL")
        .join(_configs(topic), on=_TOPIC, how="left")
        .fillna({"segment_bytes": SEGMENT_BYTES, "index_interval_bytes": INDEX_INTERVAL_BYTES})
        .withColumn("segments", segments)
        .select(
            *_TOPIC,
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
            F.when(has_limit, deletable_segments * F.col("segment_bytes")).otherwise(0).alias("deletable_bytes"),
        )
    )


def _configs(topic: DataFrame) -> DataFrame:
    return topic.select(
        *_TOPIC,
        _config("segment.bytes", SEGMENT_BYTES).alias("segment_bytes"),
        _config("index.interval.bytes", INDEX_INTERVAL_BYTES).alias("index_interval_bytes"),
        _limit("retention.ms", RETENTION_MS).alias("retention_ms"),
        _limit("retention.bytes", RETENTION_BYTES).alias("retention_bytes"),
        F.coalesce(F.col("configs")["cleanup.policy"], F.lit("delete")).contains("delete").alias("deletes"),
    )


def _config(name: str, default: int) -> Column:
    return F.coalesce(F.col("configs")[name].try_cast("bigint"), F.lit(default))


def _limit(name: str, default: int) -> Column:
    """The value of a config; null if it is -1, which means no limit."""
    value = _config(name, default)
    return F.when(value >= 0, value)


def _disk_usage(broker: DataFrame, log_dir: DataFrame, storage: DataFrame) -> DataFrame:
    """The bytes in each log dir, also an empty one. The disk capacity of a broker with one log dir is the capacity of that log dir."""
    used = storage.groupBy(_LOG_DIR).agg(
        F.count("*").alias("replicas"),
        F.sum("size_bytes").alias("size_bytes"),
        F.sum(F.col("offset_index_bytes") + F.col("time_index_bytes")).alias("index_bytes"),
        F.sum("segments").alias("segments"),
    )
    sums = ["replicas", "size_bytes", "index_bytes", "segments"]
    log_dirs = log_dir.groupBy(_BROKER).agg(F.count("*").alias("log_dirs"))
    return (
        log_dir.join(used, on=_LOG_DIR, how="full")
        .fillna(0, sums)
        .join(broker.select(*_BROKER, "disk_capacity_bytes"), on=_BROKER, how="left")
        .join(log_dirs, on=_BROKER, how="left")
        .withColumn("capacity_bytes", F.coalesce("capacity_bytes", F.when(F.col("log_dirs") == 1, F.col("disk_capacity_bytes"))))
        .select(
            *_LOG_DIR,
            *sums,
            "capacity_bytes",
            F.when(F.col("capacity_bytes") > 0, F.col("size_bytes") / F.col("capacity_bytes")).alias("used_share"),
        )
    )
