"""consumer_assignment: who would read each partition under range and round robin, with one member more and one fewer.

Share groups are left out: several of their members read a partition, which no assignor of consumer groups knows of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.session import kept
from jobs.tables import CONSUMER_ASSIGNMENT, CONSUMER_GROUP, GROUP_ASSIGNMENT, GROUP_MEMBER, OBSERVED_ASSIGNMENT, TOPIC
from kafka_model.assignor import Member, range, round_robin

READS = (TOPIC, CONSUMER_GROUP, GROUP_MEMBER, OBSERVED_ASSIGNMENT)
WRITES = (CONSUMER_ASSIGNMENT, GROUP_ASSIGNMENT)

ASSIGNORS = {"range": range.assign, "roundrobin": round_robin.assign}
_GROUP = ["snapshot_id", "cluster_id", "group_id"]
_CASE = [*_GROUP, "assignor", "members_change"]


def transform(
    topic: DataFrame, consumer_group: DataFrame, group_member: DataFrame, observed_assignment: DataFrame, *, parameters: Mapping[str, str]
) -> tuple[DataFrame, ...]:
    shared = consumer_group.where("protocol = 'share'").select(*_GROUP)
    group_member = group_member.join(shared, on=_GROUP, how="left_anti")
    counts = topic.select("snapshot_id", "cluster_id", "topic", "partitions")
    member = F.struct("member_id", "group_instance_id", "topics").alias("member")
    subscribed = (
        group_member.select(*_GROUP, F.explode("topics").alias("topic"))
        .distinct()
        .join(counts, on=["snapshot_id", "cluster_id", "topic"], how="inner")
    )
    group = (
        group_member.groupBy(_GROUP)
        .agg(F.sort_array(F.collect_list(member)).alias("members"))
        .join(
            subscribed.groupBy(_GROUP).agg(F.map_from_entries(F.collect_list(F.struct("topic", "partitions"))).alias("partitions")),
            on=_GROUP,
            how="inner",
        )
    )
    assignment = kept(group.mapInArrow(_assign, CONSUMER_ASSIGNMENT.columns))

    members = group_member.groupBy(_GROUP).agg(F.count("*").cast("int").alias("now"))
    held = assignment.groupBy(*_CASE, "member_id").agg(F.count("*").cast("int").alias("held"))
    spread = held.groupBy(_CASE).agg(
        F.count("*").cast("int").alias("busy"),
        F.min("held").alias("least"),
        F.max("held").alias("most"),
        F.sum("held").cast("int").alias("partitions"),
    )
    partition = ["topic", "partition"]
    as_is = assignment.where("members_change = 0").select(*_GROUP, "assignor", *partition, F.col("member_id").alias("was"))
    moved = (
        assignment.join(as_is, on=[*_GROUP, "assignor", *partition], how="inner")
        .groupBy(_CASE)
        .agg(F.count_if(F.col("member_id") != F.col("was")).cast("int").alias("moved_partitions"))
    )
    in_force = consumer_group.where(F.col("assignor").isin(*ASSIGNORS)).select(*_GROUP, "assignor")
    seen = observed_assignment.select(*_GROUP, *partition, F.col("member_id").alias("seen"))
    differing = (
        assignment.where("members_change = 0")
        .join(in_force, on=[*_GROUP, "assignor"], how="inner")
        .join(seen, on=[*_GROUP, *partition], how="left")
        .groupBy(_CASE)
        .agg(F.count_if(~F.col("member_id").eqNullSafe(F.col("seen"))).cast("int").alias("observed_differences"))
    )
    case = spread.join(members, on=_GROUP, how="inner").withColumn("members", F.col("now") + F.col("members_change"))
    group_assignment = (
        case.join(moved, on=_CASE, how="inner")
        .join(differing, on=_CASE, how="left")
        .withColumn("idle_members", F.col("members") - F.col("busy"))
        .withColumn("fewest_partitions", F.when(F.col("idle_members") > 0, 0).otherwise(F.col("least")))
        .select(
            *_CASE,
            "members",
            "partitions",
            "idle_members",
            "fewest_partitions",
            F.col("most").alias("most_partitions"),
            (F.col("most") - F.col("fewest_partitions")).alias("spread"),
            "moved_partitions",
            "observed_differences",
        )
    )
    return assignment, group_assignment


def _assign(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    schema = pa.schema(
        [(name, pa.string()) for name in ("snapshot_id", "cluster_id", "group_id", "assignor")]
        + [("members_change", pa.int32()), ("topic", pa.string()), ("partition", pa.int32()), ("member_id", pa.string())]
    )
    for batch in batches:
        for group in batch.to_pylist():
            members = [Member(m["member_id"], tuple(m["topics"]), group_instance_id=m["group_instance_id"]) for m in group["members"]]
            head = (group["snapshot_id"], group["cluster_id"], group["group_id"])
            rows = [
                (*head, assignor, change, topic, partition, member)
                for change, present in _changed(members).items()
                for assignor, assign in ASSIGNORS.items()
                for member, held in assign(dict(group["partitions"]), present).items()
                for topic, partition in held
            ]
            yield pa.RecordBatch.from_arrays([pa.array(column, field.type) for column, field in zip(zip(*rows), schema)], schema=schema)


def _changed(members: list[Member]) -> dict[int, list[Member]]:
    """The group as it is, with one member more, and with one fewer if any would be left: the last in the order of ids each time."""
    last = members[-1]
    joined = Member(f"{last.member_id}+1", last.topics)
    return {0: members, 1: [*members, joined], **({-1: members[:-1]} if len(members) > 1 else {})}
