"""Consumer groups, transactions and producers that a failure affects: columns of `scenario`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.schema.failure import LEADER_MOVED, OFFLINE

_CLUSTER = ["snapshot_id", "cluster_id"]
_SCENARIO = [*_CLUSTER, "scenario_set", "scenario_id"]
_PARTITION = [*_CLUSTER, "topic", "partition"]
# From scenarios to scenarios with further columns.
AddCounts = Callable[[DataFrame], DataFrame]


def coordinator_partition(group_id: Column, partitions: Column) -> Column:
    """Return the partition of __consumer_offsets whose leader coordinates a group.

    GroupCoordinatorService.partitionFor (4.x), GroupMetadataManager.partitionFor (before): Utils.abs(groupId.hashCode) % partitions. The
    columnar form of kafka_model.java.hash_map.string_hash; a test compares them.
    """

    def hash_code(units: Column) -> Column:  # String.hashCode reads UTF-16 code units, four hexadecimal digits each
        unit = lambda index: F.conv(F.substring(units, 4 * index + 1, F.lit(4)), 16, 10).cast("bigint")  # noqa: E731
        indexes = F.sequence(F.lit(0), (F.length(units) / 4).cast("int") - 1)
        return F.when(units == "", F.lit(0)).otherwise(
            F.aggregate(indexes, F.lit(0).cast("bigint"), lambda code, index: (code * 31 + unit(index)).bitwiseAND(0xFFFFFFFF))
        )

    code = _bind(F.hex(F.encode(group_id, "UTF-16BE")), hash_code)
    signed = F.when(code >= 1 << 31, code - (1 << 32)).otherwise(code)
    return (F.when(signed == -(1 << 31), F.lit(0)).otherwise(F.abs(signed)) % partitions).cast("int")


def _bind(value: Column, body: Callable[[Column], Column]) -> Column:
    """Return the body applied to a value that is computed once: Spark finds no common subexpressions inside a lambda."""
    return F.transform(F.array(value), body)[0]


def coordinators(outcomes: DataFrame, partition: DataFrame, consumer_group: DataFrame) -> AddCounts:
    """Count the groups and the partitions of __transaction_state whose coordinator moves or is lost.

    A group's coordinator is the leader of its partition of __consumer_offsets.
    """
    offsets = partition.where("topic = '__consumer_offsets'").groupBy(_CLUSTER).agg(F.count("*").alias("offsets_partitions"))
    groups = (
        consumer_group.join(offsets, on=_CLUSTER, how="inner")
        .withColumn("partition", coordinator_partition(F.col("group_id"), F.col("offsets_partitions")))
        .groupBy(*_CLUSTER, "partition").agg(F.count("*").alias("coordinated"))
        .withColumn("topic", F.lit("__consumer_offsets"))
    )  # fmt: skip
    transactions = partition.where("topic = '__transaction_state'").select(*_PARTITION, F.lit(1).cast("bigint").alias("coordinated"))
    coordinated = groups.unionByName(transactions)
    affected = outcomes.where("topic IN ('__consumer_offsets', '__transaction_state')").join(coordinated, on=_PARTITION, how="inner")

    def count(topic: str, condition: Column) -> Column:
        return F.sum(F.when((F.col("topic") == topic) & condition, F.col("coordinated")))

    moved, leaderless = F.expr(LEADER_MOVED), F.col("leader").isNull()
    counted = affected.groupBy(_SCENARIO).agg(
        count("__consumer_offsets", moved).alias("moved_coordinators"),
        count("__consumer_offsets", leaderless).alias("lost_coordinators"),
        count("__transaction_state", moved).alias("moved_transaction_coordinators"),
        count("__transaction_state", leaderless).alias("lost_transaction_coordinators"),
    )
    known = coordinated.groupBy(_CLUSTER).agg(
        F.some(F.col("topic") == "__consumer_offsets").alias("groups_known"),
        F.some(F.col("topic") == "__transaction_state").alias("transactions_known"),
    )
    return _add_to_scenarios(
        counted,
        known,
        groups_known=["moved_coordinators", "lost_coordinators"],
        transactions_known=["moved_transaction_coordinators", "lost_transaction_coordinators"],
    )


def consumers(outcomes: DataFrame, observed_assignment: DataFrame, committed_offset: DataFrame) -> AddCounts:
    """Count the groups that read a partition which goes offline, and the members all of whose partitions do."""
    assigned = observed_assignment.select(*_PARTITION, "group_id", "member_id")
    committed = committed_offset.select(*_PARTITION, "group_id", F.lit(None).cast("string").alias("member_id"))
    read = committed.unionByName(assigned)
    offline = outcomes.where(OFFLINE).select(*_SCENARIO, "topic", "partition")
    partitions_of_member = assigned.groupBy(*_CLUSTER, "group_id", "member_id").agg(F.count("*").alias("assigned_partitions"))
    lost = (
        offline.join(read, on=_PARTITION, how="inner")
        .groupBy(*_SCENARIO, "group_id", "member_id").agg(F.count("*").alias("lost_partitions"))
        .join(partitions_of_member, on=[*_CLUSTER, "group_id", "member_id"], how="left")
    )  # fmt: skip
    counted = lost.groupBy(_SCENARIO).agg(
        F.count_distinct("group_id").alias("affected_groups"),
        F.count_if(F.col("lost_partitions") == F.col("assigned_partitions")).alias("stranded_members"),
    )
    known = read.groupBy(_CLUSTER).agg(F.lit(True).alias("groups_known"), F.some(F.col("member_id").isNotNull()).alias("members_known"))
    return _add_to_scenarios(counted, known, groups_known=["affected_groups"], members_known=["stranded_members"])


def undeliverable_records(outcomes: DataFrame, topic: DataFrame, sample: DataFrame) -> AddCounts:
    """Count the sampled records that cannot be delivered, and those that go to other partitions instead.

    Records with a key or a given partition cannot be delivered while that partition has no leader. Records without a key go to the other
    partitions of the topic; if none of them has a leader, they cannot be delivered either.
    """
    leaderless = outcomes.where("leader IS NULL").select(*_SCENARIO, "topic", "partition", "leader_before")
    leaderless_topics = (
        leaderless.groupBy(*_SCENARIO, "topic").agg(F.count("*").alias("leaderless_partitions"))
        .join(topic.select(*_CLUSTER, "topic", "partitions"), on=[*_CLUSTER, "topic"], how="inner")
        .where("leaderless_partitions = partitions").select(*_SCENARIO, "topic", F.lit(True).alias("topic_leaderless"))
    )  # fmt: skip
    topic_leaderless = F.coalesce("topic_leaderless", F.lit(False))
    undeliverable = F.col("explicit_records") + F.col("keyed_records") + F.when(topic_leaderless, F.col("unkeyed_records")).otherwise(0)
    size = F.round(F.col("size_bytes") * (undeliverable / F.col("records"))).cast("bigint")
    redirected = F.when(~topic_leaderless & F.col("leader_before").isNotNull(), F.col("unkeyed_records")).otherwise(0)
    counted = (
        leaderless.join(sample, on=_PARTITION, how="inner")
        .join(leaderless_topics, on=[*_SCENARIO, "topic"], how="left")
        .groupBy(_SCENARIO)
        .agg(
            F.sum(undeliverable).alias("undeliverable_records"),
            F.sum(F.when(F.col("records") > 0, size)).alias("undeliverable_size_bytes"),
            F.sum(redirected).alias("redirected_records"),
        )
    )
    known = sample.groupBy(_CLUSTER).agg(F.sum("records").alias("sampled_records"), F.lit(True).alias("sample_known"))
    return _add_to_scenarios(counted, known, sample_known=["undeliverable_records", "undeliverable_size_bytes", "redirected_records"])


def _add_to_scenarios(counted: DataFrame, known: DataFrame, **names: Sequence[str]) -> AddCounts:
    """Return a function that adds counts to scenarios: 0 if nothing is counted, null if the input of the cluster is unknown.

    `known` has a flag for each kind of input of a cluster; `names` are the counts that depend on each flag.
    """

    def add(scenarios: DataFrame) -> DataFrame:
        joined = scenarios.join(counted, on=_SCENARIO, how="left").join(known, on=_CLUSTER, how="left")
        counts = {
            name: F.when(F.col(flag), F.coalesce(name, F.lit(0))) for flag, counts_of_flag in names.items() for name in counts_of_flag
        }
        return joined.withColumns(counts).drop(*names)

    return add
