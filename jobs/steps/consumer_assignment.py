"""consumer_assignment: who would read each partition under range and round robin, with one member more and one fewer.

Share groups are left out: several of their members read a partition, which no assignor of consumer groups knows of.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from jobs.schema import CONSUMER_ASSIGNMENT, CONSUMER_GROUP, GROUP_ASSIGNMENT, GROUP_MEMBER, OBSERVED_ASSIGNMENT, TOPIC
from jobs.steps.stage import Stage, Stages
from kafka_model.assignor import range, round_robin
from kafka_model.assignor.group import Member

READS = (TOPIC, CONSUMER_GROUP, GROUP_MEMBER, OBSERVED_ASSIGNMENT)
WRITES = (CONSUMER_ASSIGNMENT, GROUP_ASSIGNMENT)

ASSIGNORS = {"range": range.assign, "roundrobin": round_robin.assign}
_GROUP = ["snapshot_id", "cluster_id", "group_id"]
_PARTITION = ["topic", "partition"]
_CASE = [*_GROUP, "assignor", "members_change"]
_COUNTED = [*_CASE, "members", "partitions", "idle_members", "min_partitions", "max_partitions", "moved_partitions"]
_ASSIGNED = pa.struct([(name, CONSUMER_ASSIGNMENT.schema.field(name).type) for name in (*_PARTITION, "member_id")])
_CASES = pa.schema([*((name, GROUP_ASSIGNMENT.schema.field(name).type) for name in _COUNTED), ("assigned", pa.list_(_ASSIGNED))])


def transform(
    topic: DataFrame, consumer_group: DataFrame, group_member: DataFrame, observed_assignment: DataFrame
) -> Stages[tuple[DataFrame, ...]]:
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
    case = yield Stage(group.mapInArrow(_assign, from_arrow_schema(_CASES)))
    assignment = case.select(*_CASE, F.explode("assigned").alias("assigned")).select(*_CASE, "assigned.*")

    in_force = consumer_group.where(F.col("assignor").isin(*ASSIGNORS)).select(*_GROUP, "assignor")
    seen = observed_assignment.select(*_GROUP, *_PARTITION, F.col("member_id").alias("seen"))
    differing = (
        assignment.where("members_change = 0")
        .join(in_force, on=[*_GROUP, "assignor"], how="inner")
        .join(seen, on=[*_GROUP, *_PARTITION], how="left")
        .groupBy(_CASE)
        .agg(F.count_if(~F.col("member_id").eqNullSafe(F.col("seen"))).cast("int").alias("observed_differences"))
    )
    group_assignment = case.join(differing, on=_CASE, how="left").withColumn("spread", F.col("max_partitions") - F.col("min_partitions"))
    return assignment, group_assignment.select(GROUP_ASSIGNMENT.schema.names)


def _assign(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A row for each case of each group in which anybody gets anything."""
    for batch in batches:
        for group in batch.to_pylist():
            if cases := [*_cases(group)]:
                yield _batch(cases)


def _batch(cases: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
    """Cases as Spark takes them; their assignments flat, a stretch a case."""
    *counts, assignments = zip(*cases, strict=True)
    rows = [(topic, partition, member) for each in assignments for member, held in each.items() for topic, partition in held]
    assigned = [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), _ASSIGNED, strict=True)]
    ends = pa.array([0, *accumulate(counts[_COUNTED.index("partitions")])], pa.int32())
    columns = [*counts, pa.ListArray.from_arrays(ends, pa.StructArray.from_arrays(assigned, fields=list(_ASSIGNED)))]
    return pa.RecordBatch.from_arrays([pa.array(column, field.type) for column, field in zip(columns, _CASES, strict=True)], schema=_CASES)


def _cases(group: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """What _CASES has of the group under each assignor, as it is and as it would be; the assignment at the end."""
    members = [Member(m["member_id"], tuple(m["topics"]), group_instance_id=m["group_instance_id"]) for m in group["members"]]
    partitions = dict(group["partitions"])
    for assignor, assign in ASSIGNORS.items():
        as_is: dict[tuple[str, int], str] = {}
        for change, present in _changed(members).items():
            assignment = assign(partitions, present)
            member_of = {partition: member for member, held in assignment.items() for partition in held}
            as_is = as_is or member_of
            if held := [len(held) for held in assignment.values() if held]:
                idle = len(present) - len(held)
                moved = sum(as_is[partition] != member for partition, member in member_of.items())
                counts = (len(present), sum(held), idle, 0 if idle else min(held), max(held), moved)
                yield *(group[name] for name in _GROUP), assignor, change, *counts, assignment


def _changed(members: list[Member]) -> dict[int, list[Member]]:
    """The group as it is, with one member more, and with one fewer if any would be left: the last in the order of ids each time."""
    last = members[-1]
    joined = Member(f"{last.member_id}+1", last.topics)
    return {0: members, 1: [*members, joined], **({-1: members[:-1]} if len(members) > 1 else {})}
