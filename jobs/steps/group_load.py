"""Rows of `group_load`: how evenly the members of consumer groups share what they read, and how much of it crosses racks.

The load of a partition is what producers sent to it: the growth since the previous snapshot, otherwise the sample. A member that reports its
rack (client.rack) reads from the leader, on any rack, unless the brokers have the RackAwareReplicaSelector.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.steps.stage import Stage, Stages
from jobs.steps.variation import variation

_CLUSTER = ["snapshot_id", "cluster_id"]
_PARTITION = [*_CLUSTER, "topic", "partition"]
_MEMBER = [*_CLUSTER, "group_id", "member_id"]
# `located_...`: of partitions where the racks of the member and of the leader are known.
_SUMS = ("partitions", "records", "size_bytes", "located_partitions", "located_size_bytes", "cross_rack_partitions",
         "cross_rack_size_bytes", "local_replica_size_bytes")  # fmt: skip


def group_load(
    broker: DataFrame, partition: DataFrame, producer_load: DataFrame, group_member: DataFrame, observed_assignment: DataFrame
) -> Stages[DataFrame]:
    """A row for each group, and one for each cluster about the hosts of all its groups."""
    assigned = _assigned_partitions(broker, partition, producer_load, observed_assignment)
    members = yield Stage(_member_sums(group_member, assigned))
    hosts = members.groupBy(*_CLUSTER, F.col("host").alias("reader")).agg(
        *(_sum_if_all_known(name).alias(name) for name in _SUMS),
        F.array_distinct(F.flatten(F.collect_list("topics"))).alias("topics"),
    )
    readers = (
        members.withColumnRenamed("member_id", "reader")
        .select(*_CLUSTER, "group_id", "reader", *_SUMS, "topics")
        .unionByName(hosts.withColumn("group_id", F.lit(None).cast("string")))
    )
    return _summaries(readers)


def _assigned_partitions(broker: DataFrame, partition: DataFrame, producer_load: DataFrame, observed_assignment: DataFrame) -> DataFrame:
    """The partitions of each member, with their load, leader and ISR, and the racks of the cluster's brokers."""
    sent = producer_load.select(
        *_PARTITION,
        F.coalesce("observed_records", "records").alias("sent_records"),
        F.coalesce("observed_size_bytes", "size_bytes").alias("sent_bytes"),
    )
    rack_of = F.map_from_entries(F.collect_list(F.struct("broker_id", "rack"))).alias("rack_of")
    racks = broker.where("rack IS NOT NULL").groupBy(_CLUSTER).agg(rack_of)
    return (
        observed_assignment.select(*_MEMBER, "topic", "partition")
        .join(sent, on=_PARTITION, how="left")
        .join(partition.select(*_PARTITION, "leader", "isr"), on=_PARTITION, how="left")
        .join(F.broadcast(racks), on=_CLUSTER, how="left")
    )


def _member_sums(group_member: DataFrame, assigned: DataFrame) -> DataFrame:
    """The sums and the topics of each member."""
    exists, leader_rack = F.col("topic").isNotNull(), F.col("rack_of")[F.col("leader")]
    located = exists & F.col("rack").isNotNull() & leader_rack.isNotNull()
    cross_rack = located & (F.col("rack") != leader_rack)
    local_replica = cross_rack & F.array_contains(F.transform("isr", lambda broker_id: F.col("rack_of")[broker_id]), F.col("rack"))
    sent_bytes = F.col("sent_bytes")
    # Grouped by topic first: collecting the topics of a member from its partitions would look up each of them in a set of strings.
    topics = (
        group_member.select(*_MEMBER, F.coalesce("host", "member_id").alias("host"), "rack")
        .join(assigned, on=_MEMBER, how="left")
        .groupBy(*_MEMBER, "host", "topic")
        .agg(
            F.count("topic").alias("partitions"),
            _sum_where(F.col("sent_records"), exists).alias("records"),
            _sum_where(sent_bytes, exists).alias("size_bytes"),
            F.count_if(located).alias("located_partitions"),
            _sum_where(F.when(located, sent_bytes), located).alias("located_size_bytes"),
            F.count_if(cross_rack).alias("cross_rack_partitions"),
            _sum_where(F.when(cross_rack, sent_bytes), cross_rack).alias("cross_rack_size_bytes"),
            _sum_where(F.when(local_replica, sent_bytes), local_replica).alias("local_replica_size_bytes"),
        )
    )
    return topics.groupBy(*_MEMBER, "host").agg(
        *(_sum_if_all_known(name).alias(name) for name in _SUMS), F.collect_list("topic").alias("topics")
    )


def _summaries(readers: DataFrame) -> DataFrame:
    """Rows of `group_load` for members or hosts."""
    located, located_bytes = F.col("total_located_partitions") > 0, F.col("total_located_size_bytes")
    return (
        readers.groupBy(*_CLUSTER, "group_id")
        .agg(
            F.count("*").alias("members"),
            F.count_if(F.col("partitions") == 0).alias("idle_members"),
            F.size(F.array_distinct(F.flatten(F.collect_list("topics")))).cast("bigint").alias("topics"),
            F.max("partitions").alias("max_partitions"),
            F.min("partitions").alias("min_partitions"),
            variation("partitions").alias("partition_cv"),
            F.max(F.struct("size_bytes", "records", "partitions", "reader"))["reader"].alias("busiest_member"),
            _max_over_mean("records").alias("record_ratio"),
            _max_over_mean("size_bytes").alias("byte_ratio"),
            *(_sum_if_all_known(name).alias(f"total_{name}") for name in _SUMS),
        )
        .select(
            *_CLUSTER,
            "group_id",
            "members",
            "idle_members",
            "topics",
            F.col("total_partitions").alias("partitions"),
            "max_partitions",
            "min_partitions",
            "partition_cv",
            "busiest_member",
            F.col("total_records").alias("records"),
            "record_ratio",
            F.col("total_size_bytes").alias("size_bytes"),
            "byte_ratio",
            *(
                F.when(located, F.col(f"total_{name}")).alias(name)
                for name in ("cross_rack_partitions", "cross_rack_size_bytes", "local_replica_size_bytes")
            ),
            F.when(located & (located_bytes > 0), F.col("total_cross_rack_size_bytes") / located_bytes).alias("cross_rack_share"),
            F.when(located & (located_bytes > 0), F.col("total_local_replica_size_bytes") / located_bytes).alias("avoidable_share"),
        )
    )


def _sum_where(value: Column, condition: Column) -> Column:
    """The sum over the rows where the condition holds, 0 if there are none; null if one of their values is unknown."""
    return F.when(F.count_if(condition & value.isNull()) == 0, F.coalesce(F.sum(value), F.lit(0)))


def _sum_if_all_known(name: str) -> Column:
    return F.when(F.count(name) == F.count("*"), F.sum(name))


def _max_over_mean(name: str) -> Column:
    """The maximum over the mean; null if a value is unknown or all are 0."""
    return F.when((F.count(name) == F.count("*")) & (F.sum(name) > 0), F.max(name) / F.avg(name))
