"""log_storage: the segments, indexes and retention of each replica, the bytes in each log dir, and when it will be full.

Columnar forms of the bounds in kafka_model.log.segments: the minimum number of segments and the maximum index of a replica, from its
size alone. With tiered storage (KIP-405), the retention of a replica on disk is that of local.retention.*: UnifiedLog.localRetentionSize and
localRetentionMs of Kafka 3.6 to 4.4. A replica with a retention in bytes keeps fewer than retention_bytes + segment_bytes, because
deleteRetentionSizeBreachedSegments deletes each segment that is not needed to keep retention_bytes.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.schema import BROKER, CLUSTER, DISK_USAGE, LOG_DIR, LOG_STORAGE, REPLICA, TOPIC
from jobs.spark.session import dataframe_from_arrow
from jobs.steps.captures import seconds_between
from jobs.steps.stage import Stage, Stages

READS = (CLUSTER, BROKER, LOG_DIR, TOPIC, REPLICA)
READS_PREVIOUS = (CLUSTER, DISK_USAGE)
WRITES = (LOG_STORAGE, DISK_USAGE)

_BROKER = ["snapshot_id", "cluster_id", "broker_id"]
_LOG_DIR = [*_BROKER, "log_dir"]
_TOPIC = ["snapshot_id", "cluster_id", "topic"]
# Kafka's defaults of topic configs (LogConfig, 2.0 to 4.x).
SEGMENT_BYTES, INDEX_INTERVAL_BYTES, RETENTION_MS, RETENTION_BYTES = 1 << 30, 4096, 604_800_000, -1
LIKE_TOTAL_RETENTION = -2  # default of local.retention.*: the same as retention.*
OFFSET_ENTRY_BYTES, TIME_ENTRY_BYTES = 8, 12
_MAX_SECONDS = 100 * 365 * 86_400  # until a log dir is full: later dates do not matter, and may not fit in a timestamp


def transform(
    cluster: pa.Table,
    broker: pa.Table,
    log_dir: DataFrame,
    topic: DataFrame,
    replica: DataFrame,
    previous_cluster: pa.Table,
    previous_disk_usage: DataFrame,
) -> Stages[tuple[DataFrame, ...]]:
    storage = yield Stage(_storage(topic, replica), LOG_STORAGE)
    clusters, brokers, previous_clusters = (dataframe_from_arrow(topic.sparkSession, rows) for rows in (cluster, broker, previous_cluster))
    usage = _disk_usage(brokers, log_dir, storage)
    return storage, _with_growth(usage, previous_disk_usage, seconds_between(clusters, previous_clusters))


def _storage(topic: DataFrame, replica: DataFrame) -> DataFrame:
    """The bounds of each replica whose size is known."""
    entries = F.expr("greatest(size_bytes - 1, 0) div (index_interval_bytes + 1)")
    segments = F.expr("greatest((size_bytes + segment_bytes - 1) div segment_bytes, 1)")
    excess_segments = F.expr("(size_bytes - retention_bytes) div segment_bytes")
    # The active segment is never deleted.
    deletable_segments = F.greatest(F.least(excess_segments, F.col("segments") - 1), F.lit(0))
    return (
        replica.where("size_bytes IS NOT NULL")
        .join(_configs(topic), on=_TOPIC, how="left")
        .fillna({"segment_bytes": SEGMENT_BYTES, "index_interval_bytes": INDEX_INTERVAL_BYTES, "tiered": False})
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
            F.when(F.col("retention_bytes").isNotNull(), deletable_segments * F.col("segment_bytes")).otherwise(0).alias("deletable_bytes"),
            "tiered",
        )
    )


def _configs(topic: DataFrame) -> DataFrame:
    return topic.select(
        *_TOPIC,
        _config("segment.bytes", SEGMENT_BYTES).alias("segment_bytes"),
        _config("index.interval.bytes", INDEX_INTERVAL_BYTES).alias("index_interval_bytes"),
        _is_tiered().alias("tiered"),
        _local_limit("retention.ms", RETENTION_MS).alias("retention_ms"),
        _local_limit("retention.bytes", RETENTION_BYTES).alias("retention_bytes"),
    )


def _config(name: str, default: int) -> Column:
    return F.coalesce(F.col("configs")[name].try_cast("bigint"), F.lit(default))


def _is_tiered() -> Column:
    """Whether the topic's segments are copied to remote storage."""
    enabled, copy_disabled = (
        F.coalesce(F.lower(F.col("configs")[name]) == "true", F.lit(False)) for name in ("remote.storage.enable", "remote.log.copy.disable")
    )
    return enabled & ~copy_disabled


def _local_limit(name: str, default: int) -> Column:
    """The retention of segments on disk; null if it is -1, which means no limit, and for a topic that is only compacted."""
    local = _config(f"local.{name}", LIKE_TOTAL_RETENTION)
    value = F.when(_is_tiered() & (local != LIKE_TOTAL_RETENTION), local).otherwise(_config(name, default))
    deletes = F.coalesce(F.col("configs")["cleanup.policy"], F.lit("delete")).contains("delete")
    return F.when(deletes & (value >= 0), value)


def _disk_usage(broker: DataFrame, log_dir: DataFrame, storage: DataFrame) -> DataFrame:
    """The bytes in each log dir, also an empty one. The disk capacity of a broker with one log dir is the capacity of that log dir."""
    used = storage.groupBy(_LOG_DIR).agg(
        F.count("*").alias("replicas"),
        F.sum("size_bytes").alias("size_bytes"),
        F.sum(F.col("offset_index_bytes") + F.col("time_index_bytes")).alias("index_bytes"),
        F.sum("segments").alias("segments"),
        F.sum("deletable_bytes").alias("deletable_bytes"),
        F.when(F.count("retention_bytes") == F.count("*"), F.sum(F.col("retention_bytes") + F.col("segment_bytes"))).alias(
            "retained_bytes_most"
        ),
    )
    sums = ["replicas", "size_bytes", "index_bytes", "segments"]
    log_dirs = log_dir.groupBy(_BROKER).agg(F.count("*").alias("log_dirs"))
    return (
        log_dir.join(used, on=_LOG_DIR, how="full")
        .fillna(0, [*sums, "deletable_bytes"])
        .join(broker.select(*_BROKER, "disk_capacity_bytes"), on=_BROKER, how="left")
        .join(log_dirs, on=_BROKER, how="left")
        .withColumn("capacity_bytes", F.coalesce("capacity_bytes", F.when(F.col("log_dirs") == 1, F.col("disk_capacity_bytes"))))
        .select(
            *_LOG_DIR,
            *sums,
            "capacity_bytes",
            F.when(F.col("capacity_bytes") > 0, F.col("size_bytes") / F.col("capacity_bytes")).alias("used_share"),
            "deletable_bytes",
            "retained_bytes_most",
        )
    )


def _with_growth(usage: DataFrame, previous_usage: DataFrame, captures: DataFrame) -> DataFrame:
    """Add the growth of each log dir since the previous snapshot, and when it is full at this growth."""
    previous = previous_usage.select("cluster_id", "broker_id", "log_dir", F.col("size_bytes").alias("previous_size_bytes"))
    growth = (F.col("size_bytes") - F.col("previous_size_bytes")) / F.col("seconds")
    can_fill = F.coalesce(F.col("retained_bytes_most") > F.col("capacity_bytes"), F.lit(True))
    seconds_left = F.greatest(F.col("capacity_bytes") - F.col("size_bytes"), F.lit(0.0)) / F.col("growth_bytes_per_s")
    is_filling = (F.col("growth_bytes_per_s") > 0) & can_fill & (seconds_left <= _MAX_SECONDS)
    full_at = F.timestamp_micros(F.unix_micros("captured_at") + F.round(seconds_left * 1_000_000).cast("bigint"))
    return (
        usage.join(captures, on=["snapshot_id", "cluster_id"], how="left")
        .join(previous, on=["cluster_id", "broker_id", "log_dir"], how="left")
        .withColumn("growth_bytes_per_s", growth)
        .select(*usage.columns, "growth_bytes_per_s", F.when(is_filling, full_at).alias("full_at"))
    )
