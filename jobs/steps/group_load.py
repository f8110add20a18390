"""How the members of consumer groups share what they were seen to hold, and what of it crosses racks: rows of `group_load`.

What a partition gives to read is what producers sent to it: grown since the night before, else as sampled. A member that tells its rack
(client.rack) fetches from the leader, wherever that is, unless brokers have the RackAwareReplicaSelector.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.steps.stage import Stage, Stages
from jobs.steps.variation import variation

_CLUSTER = ["snapshot_id", "cluster_id"]
_PARTITION = [*_CLUSTER, "topic", "partition"]
_MEMBER = [*_CLUSTER, "group_id", "member_id"]
_BYTES = ("size_bytes", "racked_size_bytes", "cross_rack_size_bytes", "local_replica_size_bytes")
_SUMS = ("partitions", "records", *_BYTES, "racked", "cross_rack_partitions")


def group_load(
    broker: DataFrame, partition: DataFrame, producer_load: DataFrame, group_member: DataFrame, observed_assignment: DataFrame
) -> Stages[DataFrame]:
    """A row for each group, and one for each cluster: the hosts of all its groups."""
    sent = producer_load.select(
        *_PARTITION,
        F.coalesce("observed_records", "records").alias("sent_records"),
        F.coalesce("observed_size_bytes", "size_bytes").alias("sent_bytes"),
    )
    of_brokers = F.map_from_entries(F.collect_list(F.struct("broker_id", "rack")))
    racks = broker.where("rack IS NOT NULL").groupBy(_CLUSTER).agg(of_brokers.alias("rack_of"))
    held = (
        observed_assignment.select(*_MEMBER, "topic", "partition")
        .join(sent, on=_PARTITION, how="left")
        .join(partition.select(*_PARTITION, "leader", "isr"), on=_PARTITION, how="left")
        .join(F.broadcast(racks), on=_CLUSTER, how="left")
    )
    holds, from_rack = F.col("topic").isNotNull(), F.col("rack_of")[F.col("leader")]
    racked = holds & F.col("rack").isNotNull() & from_rack.isNotNull()
    cross = racked & (F.col("rack") != from_rack)
    local = cross & F.array_contains(F.transform("isr", lambda id: F.col("rack_of")[id]), F.col("rack"))
    sent_bytes = F.col("sent_bytes")
    # A member's topics first: of the rows of its partitions each would go through a set of strings.
    of_topics = (
        group_member.select(*_MEMBER, F.coalesce("host", "member_id").alias("host"), "rack")
        .join(held, on=_MEMBER, how="left")
        .groupBy(*_MEMBER, "host", "topic")
        .agg(
            F.count("topic").alias("partitions"),
            _whole_sum(F.col("sent_records"), holds).alias("records"),
            _whole_sum(sent_bytes, holds).alias("size_bytes"),
            _whole_sum(F.when(racked, sent_bytes), racked).alias("racked_size_bytes"),
            _whole_sum(F.when(cross, sent_bytes), cross).alias("cross_rack_size_bytes"),
            _whole_sum(F.when(local, sent_bytes), local).alias("local_replica_size_bytes"),
            F.count_if(racked).alias("racked"),
            F.count_if(cross).alias("cross_rack_partitions"),
        )
    )
    members = yield Stage(
        of_topics.groupBy(*_MEMBER, "host").agg(*(_all(F.col(name)).alias(name) for name in _SUMS), F.collect_list("topic").alias("topics"))
    )
    hosts = members.groupBy(*_CLUSTER, F.col("host").alias("reader")).agg(
        *(_all(F.col(name)).alias(name) for name in _SUMS), F.array_distinct(F.flatten(F.collect_list("topics"))).alias("topics")
    )
    readers = (
        members.withColumnRenamed("member_id", "reader")
        .select(*_CLUSTER, "group_id", "reader", *_SUMS, "topics")
        .unionByName(hosts.withColumn("group_id", F.lit(None).cast("string")))
    )
    told, of_racked = F.col("all_racked") > 0, F.col("all_racked_size_bytes")
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
            *(_over_mean(name).alias(alias) for name, alias in (("records", "record_ratio"), ("size_bytes", "byte_ratio"))),
            *(_all(F.col(name)).alias(f"all_{name}") for name in _SUMS),
        )
        .select(
            *_CLUSTER,
            "group_id",
            "members",
            "idle_members",
            "topics",
            F.col("all_partitions").alias("partitions"),
            "max_partitions",
            "min_partitions",
            "partition_cv",
            "busiest_member",
            F.col("all_records").alias("records"),
            "record_ratio",
            F.col("all_size_bytes").alias("size_bytes"),
            "byte_ratio",
            F.when(told, F.col("all_cross_rack_partitions")).alias("cross_rack_partitions"),
            F.when(told, F.col("all_cross_rack_size_bytes")).alias("cross_rack_size_bytes"),
            F.when(told, F.col("all_local_replica_size_bytes")).alias("local_replica_size_bytes"),
            F.when(told & (of_racked > 0), F.col("all_cross_rack_size_bytes") / of_racked).alias("cross_rack_share"),
            F.when(told & (of_racked > 0), F.col("all_local_replica_size_bytes") / of_racked).alias("avoidable_share"),
        )
    )


def _whole_sum(value: Column, of: Column) -> Column:
    """The sum over these rows, 0 if there are none; null, if one is unknown."""
    return F.when(F.count_if(of & value.isNull()) == 0, F.coalesce(F.sum(value), F.lit(0)))


def _all(value: Column) -> Column:
    """The sum; null, if one is unknown."""
    return F.when(F.count(value) == F.count("*"), F.sum(value))


def _over_mean(name: str) -> Column:
    """The most of a reader over the mean; null: unknown of all, or nothing to read."""
    whole = F.count(name) == F.count("*")
    return F.when(whole & (F.sum(name) > 0), F.max(name) / F.avg(name))
