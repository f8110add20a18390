"""broker_balance: what each broker carries, idle ones too, the partitions with something amiss, what topics store, and what members of groups
have to read: what the balance rules read.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.failure.sizes import leader_size
from jobs.schema import (
    BROKER,
    BROKER_BALANCE,
    DISK_USAGE,
    GROUP_LOAD,
    GROUP_MEMBER,
    OBSERVED_ASSIGNMENT,
    PARTITION,
    PARTITION_HEALTH,
    PRODUCER_LOAD,
    TOPIC,
    TOPIC_BALANCE,
)
from jobs.steps.group_load import group_load
from jobs.steps.stage import Stages

READS = (BROKER, TOPIC, PARTITION, PRODUCER_LOAD, DISK_USAGE, GROUP_MEMBER, OBSERVED_ASSIGNMENT)
WRITES = (BROKER_BALANCE, PARTITION_HEALTH, TOPIC_BALANCE, GROUP_LOAD)

_CLUSTER = ["snapshot_id", "cluster_id"]
_BROKER = [*_CLUSTER, "broker_id"]
_PARTITION = [*_CLUSTER, "topic", "partition"]


def transform(
    broker: DataFrame,
    topic: DataFrame,
    partition: DataFrame,
    producer_load: DataFrame,
    disk_usage: DataFrame,
    group_member: DataFrame,
    observed_assignment: DataFrame,
) -> Stages[tuple[DataFrame, ...]]:
    groups = yield from group_load(broker, partition, producer_load, group_member, observed_assignment)
    return (
        _balance(broker, partition, producer_load, disk_usage),
        _health(broker, topic, partition),
        _topics(partition),
        groups,
    )


def _topics(partition: DataFrame) -> DataFrame:
    """What each topic stores by its leaders, and between the two ends of its logs."""
    records = F.col("log_end_offset") - F.col("log_start_offset")

    def whole(value: Column) -> Column:
        """The sum; null, if one is unknown."""
        return F.when(F.count(value) == F.count("*"), F.sum(value))

    return (
        partition.withColumn("size_bytes", leader_size())
        .groupBy(*_CLUSTER, "topic")
        .agg(
            F.count("*").alias("partitions"),
            whole(records).alias("records"),
            F.max(records).alias("most_records"),
            whole(F.col("size_bytes")).alias("size_bytes"),
            F.max(F.when(F.col("size_bytes").isNotNull(), F.struct("size_bytes", F.col("partition")))).alias("fullest"),
        )
        .select(
            *_CLUSTER,
            "topic",
            "partitions",
            "records",
            F.when(F.col("records") > 0, F.col("most_records") * F.col("partitions") / F.col("records") - 1).alias("record_skew"),
            "size_bytes",
            F.col("fullest.partition").alias("fullest_partition"),
            F.col("fullest.size_bytes").alias("fullest_size_bytes"),
            F.when(F.col("records") > 0, F.col("size_bytes") / F.col("records")).alias("mean_record_bytes"),
        )
    )


def _balance(broker: DataFrame, partition: DataFrame, producer_load: DataFrame, disk_usage: DataFrame) -> DataFrame:
    held = (
        partition.select(*_CLUSTER, F.explode("replicas").alias("broker_id"), "replicas", "isr")
        .groupBy(_BROKER)
        .agg(
            F.count("*").alias("replicas"),
            F.count_if(F.array_contains("isr", F.col("broker_id"))).alias("in_sync_replicas"),
            F.count_if(F.col("replicas")[0] == F.col("broker_id")).alias("preferred_leaders"),
        )
    )
    led = (
        partition.where("leader IS NOT NULL")
        .join(producer_load.select(*_PARTITION, "records", "size_bytes"), on=_PARTITION, how="left")
        .groupBy(*_CLUSTER, F.col("leader").alias("broker_id"))
        .agg(F.count("*").alias("leaders"), F.sum("records").alias("led_records"), F.sum("size_bytes").alias("led_bytes"))
    )
    sampled = producer_load.where("records IS NOT NULL").select(*_CLUSTER).distinct().withColumn("sampled", F.lit(True))
    stored = disk_usage.groupBy(_BROKER).agg(F.sum("size_bytes").alias("size_bytes"))
    counts = ["replicas", "in_sync_replicas", "preferred_leaders", "leaders"]
    carried = (
        broker.join(held, on=_BROKER, how="left")
        .join(led, on=_BROKER, how="left")
        .join(stored, on=_BROKER, how="left")
        .join(sampled, on=_CLUSTER, how="left")
        .fillna(0, counts)
        .withColumn("produced_records", F.when(F.col("sampled"), F.coalesce("led_records", F.lit(0))))
        .withColumn("produced_size_bytes", F.when(F.col("sampled"), F.coalesce("led_bytes", F.lit(0))))
        .withColumn("live_brokers", F.count_if("live").over(Window.partitionBy(*_CLUSTER)))
    )
    return carried.select(
        *_BROKER,
        "rack",
        "live",
        *counts[:2],
        "leaders",
        "preferred_leaders",
        "size_bytes",
        "produced_records",
        "produced_size_bytes",
        F.when(F.col("disk_capacity_bytes") > 0, F.col("size_bytes") / F.col("disk_capacity_bytes")).alias("disk_used_share"),
        "live_brokers",
        _ratio("replicas").alias("replica_ratio"),
        _ratio("leaders").alias("leader_ratio"),
        _ratio("size_bytes").alias("byte_ratio"),
        _ratio("produced_size_bytes").alias("produced_ratio"),
    )


def _ratio(column: str) -> Column:
    """A live broker's share over the mean of the live brokers: what lies on dead ones is no load of anybody."""
    mean = F.avg(F.when(F.col("live"), F.col(column))).over(Window.partitionBy(*_CLUSTER))
    return F.when(F.col("live") & (mean > 0), F.col(column) / mean)


def _health(broker: DataFrame, topic: DataFrame, partition: DataFrame) -> DataFrame:
    cluster = broker.groupBy(_CLUSTER).agg(
        F.collect_list(F.when(F.col("live"), F.col("broker_id"))).alias("live"),
        F.map_from_entries(F.collect_list(F.when(F.col("rack").isNotNull(), F.struct("broker_id", "rack")))).alias("rack_of"),
        F.every(F.col("rack").isNotNull()).alias("racked"),
        F.count_distinct("rack").alias("racks"),
    )
    led = F.col("leader").isNotNull() & F.array_contains("live", F.col("leader"))
    replicas, in_sync, min_isr = F.size("replicas"), F.size("isr"), F.coalesce("min_insync_replicas", F.lit(1))
    settled = replicas - F.size(F.coalesce("adding_replicas", F.array()))
    spread = F.size(F.array_distinct(F.transform("replicas", lambda id: F.col("rack_of")[id])))
    signs = {
        "leaderless": ~led,
        "under_replicated": in_sync < settled,
        "under_min_isr": ~led | (in_sync < min_isr),
        "at_min_isr": led & (in_sync == min_isr) & (replicas > 1),
        "not_preferred": led & (F.col("leader") != F.col("replicas")[0]),
        "non_replica_in_isr": F.size(F.array_except("isr", "replicas")) > 0,
        "unknown_broker": F.size(F.array_except("replicas", "live")) > 0,
        "rack_unsafe": F.when(F.col("racked"), spread < F.least(replicas, F.col("racks"))),
        "no_tolerance": replicas <= min_isr,
        "replication_factor_mismatch": settled != F.col("replication_factor"),
        "unwritable": replicas < min_isr,
    }
    amiss = F.lit(False)
    for sign in signs:
        amiss = amiss | F.coalesce(sign, F.lit(False))
    return (
        partition.join(topic.select(*_CLUSTER, "topic", "replication_factor", "min_insync_replicas"), on=[*_CLUSTER, "topic"], how="left")
        .join(F.broadcast(cluster), on=_CLUSTER, how="left")
        .select(
            *_PARTITION,
            *(sign.alias(name) for name, sign in signs.items()),
            F.col("replicas")[0].alias("preferred_leader"),
            replicas.alias("assigned_replicas"),
            settled.alias("settled_replicas"),
            in_sync.alias("in_sync_replicas"),
            min_isr.alias("min_insync_replicas"),
            "replication_factor",
            F.array_except("replicas", "isr").alias("lagging_replicas"),
        )
        .where(amiss)
    )
