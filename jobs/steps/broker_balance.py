"""broker_balance: the load of each broker, the partitions that are not healthy, what topics store, and the load of consumer groups.

The rules of the gate `balance` read these tables.
"""

from __future__ import annotations

from functools import reduce
from operator import or_

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.failure.cluster_state import cluster_election_rules, cluster_states
from jobs.failure.min_isr import EFFECTIVE_MIN_ISR
from jobs.failure.sizes import leader_size
from jobs.schema import (
    BROKER,
    BROKER_BALANCE,
    CLUSTER,
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
from jobs.spark.session import dataframe_from_arrow
from jobs.steps.group_load import group_load
from jobs.steps.stage import Stages

READS = (CLUSTER, BROKER, TOPIC, PARTITION, PRODUCER_LOAD, DISK_USAGE, GROUP_MEMBER, OBSERVED_ASSIGNMENT)
WRITES = (BROKER_BALANCE, PARTITION_HEALTH, TOPIC_BALANCE, GROUP_LOAD)

_CLUSTER = ["snapshot_id", "cluster_id"]
_BROKER = [*_CLUSTER, "broker_id"]
_PARTITION = [*_CLUSTER, "topic", "partition"]


def transform(
    cluster: pa.Table,
    broker: pa.Table,
    topic: DataFrame,
    partition: DataFrame,
    producer_load: DataFrame,
    disk_usage: DataFrame,
    group_member: DataFrame,
    observed_assignment: DataFrame,
) -> Stages[tuple[DataFrame, ...]]:
    brokers = dataframe_from_arrow(partition.sparkSession, broker)
    groups = yield from group_load(brokers, partition, producer_load, group_member, observed_assignment)
    balance = _broker_balance(brokers, partition, producer_load, disk_usage)
    rules = dataframe_from_arrow(
        partition.sparkSession, cluster_election_rules(cluster_states(cluster.to_pylist(), broker.to_pylist()).values())
    )
    return balance, _partition_health(rules, brokers, topic, partition), _topic_balance(partition), groups


def _topic_balance(partition: DataFrame) -> DataFrame:
    """The bytes of each topic in its leaders, and the records between the start and the end of its logs."""
    records = F.col("log_end_offset") - F.col("log_start_offset")

    def sum_if_all_known(value: Column) -> Column:
        return F.when(F.count(value) == F.count("*"), F.sum(value))

    return (
        partition.withColumn("size_bytes", leader_size())
        .groupBy(*_CLUSTER, "topic")
        .agg(
            F.count("*").alias("partitions"),
            sum_if_all_known(records).alias("records"),
            F.max(records).alias("max_records"),
            sum_if_all_known(F.col("size_bytes")).alias("size_bytes"),
            F.max(F.when(F.col("size_bytes").isNotNull(), F.struct("size_bytes", F.col("partition")))).alias("fullest"),
        )
        .select(
            *_CLUSTER,
            "topic",
            "partitions",
            "records",
            F.when(F.col("records") > 0, F.col("max_records") * F.col("partitions") / F.col("records") - 1).alias("record_skew"),
            "size_bytes",
            F.col("fullest.partition").alias("fullest_partition"),
            F.col("fullest.size_bytes").alias("fullest_size_bytes"),
            F.when(F.col("records") > 0, F.col("size_bytes") / F.col("records")).alias("mean_record_bytes"),
        )
    )


def _broker_balance(broker: DataFrame, partition: DataFrame, producer_load: DataFrame, disk_usage: DataFrame) -> DataFrame:
    """The replicas, leaders, bytes and produced records of each broker, also of idle and dead ones."""
    counts = ["replicas", "in_sync_replicas", "leaders", "preferred_leaders"]
    loaded = (
        broker.join(_replica_counts(partition), on=_BROKER, how="left")
        .join(_led_load(partition, producer_load), on=_BROKER, how="left")
        .join(disk_usage.groupBy(_BROKER).agg(F.sum("size_bytes").alias("size_bytes")), on=_BROKER, how="left")
        .join(_sampled_clusters(producer_load), on=_CLUSTER, how="left")
        .fillna(0, counts)
        .withColumn("produced_records", F.when(F.col("sampled"), F.coalesce("led_records", F.lit(0))))
        .withColumn("produced_size_bytes", F.when(F.col("sampled"), F.coalesce("led_bytes", F.lit(0))))
        .withColumn("live_brokers", F.count_if("live").over(Window.partitionBy(*_CLUSTER)))
    )
    return loaded.select(
        *_BROKER,
        "rack",
        "live",
        *counts,
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


def _replica_counts(partition: DataFrame) -> DataFrame:
    return (
        partition.select(*_CLUSTER, F.explode("replicas").alias("broker_id"), "replicas", "isr")
        .groupBy(_BROKER)
        .agg(
            F.count("*").alias("replicas"),
            F.count_if(F.array_contains("isr", F.col("broker_id"))).alias("in_sync_replicas"),
            F.count_if(F.col("replicas")[0] == F.col("broker_id")).alias("preferred_leaders"),
        )
    )


def _led_load(partition: DataFrame, producer_load: DataFrame) -> DataFrame:
    """The number of partitions that each broker leads, and their sampled records and bytes."""
    return (
        partition.where("leader IS NOT NULL")
        .join(producer_load.select(*_PARTITION, "records", "size_bytes"), on=_PARTITION, how="left")
        .groupBy(*_CLUSTER, F.col("leader").alias("broker_id"))
        .agg(F.count("*").alias("leaders"), F.sum("records").alias("led_records"), F.sum("size_bytes").alias("led_bytes"))
    )


def _sampled_clusters(producer_load: DataFrame) -> DataFrame:
    return producer_load.where("records IS NOT NULL").select(*_CLUSTER).distinct().withColumn("sampled", F.lit(True))


def _ratio(column: str) -> Column:
    """The value of a live broker over the mean of the live brokers; null for a dead broker."""
    mean = F.avg(F.when(F.col("live"), F.col(column))).over(Window.partitionBy(*_CLUSTER))
    return F.when(F.col("live") & (mean > 0), F.col(column) / mean)


def _partition_health(election_rules: DataFrame, broker: DataFrame, topic: DataFrame, partition: DataFrame) -> DataFrame:
    """The partitions with at least one problem, and the values that each problem is measured by."""
    replicas, in_sync, effective_min_isr = F.size("replicas"), F.size("isr"), F.expr(EFFECTIVE_MIN_ISR)
    settled = replicas - F.size(F.coalesce("adding_replicas", F.array()))  # without the replicas that a reassignment adds
    problems = _problems(replicas, in_sync, effective_min_isr, settled)
    has_problem = reduce(or_, (F.coalesce(name, F.lit(False)) for name in problems))
    return (
        partition.join(topic.select(*_CLUSTER, "topic", "replication_factor", "min_insync_replicas"), on=[*_CLUSTER, "topic"], how="left")
        .fillna(1, "min_insync_replicas")
        .join(F.broadcast(election_rules.select(*_CLUSTER, "min_isr_capped")), on=_CLUSTER, how="left")
        .join(F.broadcast(_cluster_racks(broker)), on=_CLUSTER, how="left")
        .select(
            *_PARTITION,
            *(problem.alias(name) for name, problem in problems.items()),
            F.col("replicas")[0].alias("preferred_leader"),
            replicas.alias("assigned_replicas"),
            settled.alias("settled_replicas"),
            in_sync.alias("in_sync_replicas"),
            "min_insync_replicas",
            effective_min_isr.alias("effective_min_isr"),
            "replication_factor",
            F.array_except("replicas", "isr").alias("lagging_replicas"),
        )
        .where(has_problem)
    )


def _problems(replicas: Column, in_sync: Column, effective_min_isr: Column, settled: Column) -> dict[str, Column]:
    """The columns of `partition_health` that state a problem; null: unknown."""
    led = F.col("leader").isNotNull() & F.array_contains("live", F.col("leader"))
    racks_used = F.size(F.array_distinct(F.transform("replicas", lambda broker_id: F.col("rack_of")[broker_id])))
    # True for most partitions, and faster to find than the difference of two sets.
    all_in_sync = F.col("isr") == F.sort_array("replicas")
    return {
        "leaderless": ~led,
        "under_replicated": in_sync < settled,
        "under_min_isr": ~led | (in_sync < effective_min_isr),
        "at_min_isr": led & (in_sync == effective_min_isr) & (replicas > 1),
        "not_preferred": led & (F.col("leader") != F.col("replicas")[0]),
        "non_replica_in_isr": ~all_in_sync & (F.size(F.array_except("isr", "replicas")) > 0),
        "unknown_broker": F.size(F.array_except("replicas", "live")) > 0,
        "rack_unsafe": F.when(F.col("all_racks_known"), racks_used < F.least(replicas, F.col("racks"))),
        "no_tolerance": replicas <= F.col("min_insync_replicas"),
        "replication_factor_mismatch": settled != F.col("replication_factor"),
        "min_isr_above_replicas": replicas < F.col("min_insync_replicas"),
    }


def _cluster_racks(broker: DataFrame) -> DataFrame:
    """The live brokers of each cluster, and the racks of all its brokers."""
    return broker.groupBy(_CLUSTER).agg(
        F.collect_list(F.when(F.col("live"), F.col("broker_id"))).alias("live"),
        F.map_from_entries(F.collect_list(F.when(F.col("rack").isNotNull(), F.struct("broker_id", "rack")))).alias("rack_of"),
        F.every(F.col("rack").isNotNull()).alias("all_racks_known"),
        F.count_distinct("rack").alias("racks"),
    )
