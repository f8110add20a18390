"""consumer_assignment: the partitions of each group member under range and round robin, also with one member more and one fewer.

Share groups are left out: several of their members read the same partition, which no assignor of consumer groups does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from jobs.schema import CONSUMER_ASSIGNMENT, CONSUMER_GROUP, GROUP_ASSIGNMENT, GROUP_MEMBER, OBSERVED_ASSIGNMENT, TOPIC
from jobs.steps.stage import Stage, Stages
from kafka_model.assignor import range as range_assignor
from kafka_model.assignor import round_robin
from kafka_model.assignor.group import Assignment, Member

READS = (TOPIC, CONSUMER_GROUP, GROUP_MEMBER, OBSERVED_ASSIGNMENT)
WRITES = (CONSUMER_ASSIGNMENT, GROUP_ASSIGNMENT)

ASSIGNORS = {"range": range_assignor.assign, "roundrobin": round_robin.assign}
_GROUP = ["snapshot_id", "cluster_id", "group_id"]
_PARTITION = ["topic", "partition"]


class _Case(NamedTuple):
    """A group under one assignor, with the change of its members: 0, or one more or fewer."""

    snapshot_id: str
    cluster_id: str
    group_id: str
    assignor: str
    members_change: int
    members: int
    partitions: int
    idle_members: int
    min_partitions: int
    max_partitions: int
    moved_partitions: int


_CASE_KEY = _Case._fields[:5]
_ASSIGNED = pa.struct([(name, CONSUMER_ASSIGNMENT.schema.field(name).type) for name in (*_PARTITION, "member_id")])
_CASE_SCHEMA = pa.schema([*((name, GROUP_ASSIGNMENT.schema.field(name).type) for name in _Case._fields), ("assigned", pa.list_(_ASSIGNED))])


def transform(
    topic: DataFrame, consumer_group: DataFrame, group_member: DataFrame, observed_assignment: DataFrame
) -> Stages[tuple[DataFrame, ...]]:
    groups = _groups(topic, consumer_group, group_member)
    cases = yield Stage(groups.mapInArrow(_assign, from_arrow_schema(_CASE_SCHEMA)))
    assignment = cases.select(*_CASE_KEY, F.explode("assigned").alias("assigned")).select(*_CASE_KEY, "assigned.*")
    differences = _observed_differences(assignment, consumer_group, observed_assignment)
    group_assignment = cases.join(differences, on=[*_CASE_KEY], how="left").withColumn(
        "spread", F.col("max_partitions") - F.col("min_partitions")
    )
    return assignment, group_assignment.select(GROUP_ASSIGNMENT.schema.names)


def _groups(topic: DataFrame, consumer_group: DataFrame, group_member: DataFrame) -> DataFrame:
    """The members of each consumer group, and the partition count of each topic that a member subscribes to."""
    shared = consumer_group.where("protocol = 'share'").select(*_GROUP)
    group_member = group_member.join(shared, on=_GROUP, how="left_anti")
    counts = topic.select("snapshot_id", "cluster_id", "topic", "partitions")
    subscribed = (
        group_member.select(*_GROUP, F.explode("topics").alias("topic"))
        .distinct()
        .join(counts, on=["snapshot_id", "cluster_id", "topic"], how="inner")
        .groupBy(_GROUP)
        .agg(F.map_from_entries(F.collect_list(F.struct("topic", "partitions"))).alias("partitions"))
    )
    member = F.struct("member_id", "group_instance_id", "topics").alias("member")
    members = group_member.groupBy(_GROUP).agg(F.sort_array(F.collect_list(member)).alias("members"))
    return members.join(subscribed, on=_GROUP, how="inner")


def _observed_differences(assignment: DataFrame, consumer_group: DataFrame, observed_assignment: DataFrame) -> DataFrame:
    """The number of partitions that a group's own assignor would give to another member than the observed one."""
    in_force = consumer_group.where(F.col("assignor").isin(*ASSIGNORS)).select(*_GROUP, "assignor")
    observed = observed_assignment.select(*_GROUP, *_PARTITION, F.col("member_id").alias("observed_member_id"))
    return (
        assignment.where("members_change = 0")
        .join(in_force, on=[*_GROUP, "assignor"], how="inner")
        .join(observed, on=[*_GROUP, *_PARTITION], how="left")
        .groupBy(*_CASE_KEY)
        .agg(F.count_if(~F.col("member_id").eqNullSafe(F.col("observed_member_id"))).cast("int").alias("observed_differences"))
    )


def _assign(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the cases of each group in which some member gets a partition."""
    for batch in batches:
        for group in batch.to_pylist():
            if cases := [*_cases(group)]:
                yield _batch(cases)


def _cases(group: dict[str, Any]) -> Iterator[tuple[_Case, Assignment]]:
    """Yield the group under each assignor, with its members and with one more and one fewer."""
    members = [Member(m["member_id"], tuple(m["topics"]), group_instance_id=m["group_instance_id"]) for m in group["members"]]
    partitions = dict(group["partitions"])
    for assignor, assign in ASSIGNORS.items():
        unchanged: dict[tuple[str, int], str] = {}
        for change, present in _members_by_change(members).items():
            assignment = assign(partitions, present)
            member_of = {partition: member for member, assigned in assignment.items() for partition in assigned}
            unchanged = unchanged or member_of
            if counts := [len(assigned) for assigned in assignment.values() if assigned]:
                idle = len(present) - len(counts)
                case = _Case(
                    *(group[name] for name in _GROUP),
                    assignor=assignor,
                    members_change=change,
                    members=len(present),
                    partitions=sum(counts),
                    idle_members=idle,
                    min_partitions=0 if idle else min(counts),
                    max_partitions=max(counts),
                    moved_partitions=sum(unchanged[partition] != member for partition, member in member_of.items()),
                )
                yield case, assignment


def _members_by_change(members: list[Member]) -> dict[int, list[Member]]:
    """Return the group's members unchanged (0), with one more (1), and with one fewer (-1) if any remains.

    The last member in the order of ids is the one that leaves; the new member subscribes to the same topics.
    """
    last = members[-1]
    joined = Member(f"{last.member_id}+1", last.topics)
    return {0: members, 1: [*members, joined], **({-1: members[:-1]} if len(members) > 1 else {})}


def _batch(cases: Sequence[tuple[_Case, Assignment]]) -> pa.RecordBatch:
    """Convert cases to Arrow. All assignments form one flat array, which the offsets cut into a list per case."""
    assigned = [each for _, assignment in cases for each in assignment.items()]
    fields = {
        "topic": [topic for _, partitions in assigned for topic, _ in partitions],
        "partition": [partition for _, partitions in assigned for _, partition in partitions],
        "member_id": [member for member, partitions in assigned for _ in partitions],
    }
    structs = pa.StructArray.from_arrays([pa.array(fields[field.name], field.type) for field in _ASSIGNED], fields=list(_ASSIGNED))
    offsets = pa.array([0, *accumulate(case.partitions for case, _ in cases)], pa.int32())
    lists = pa.ListArray.from_arrays(offsets, structs)
    columns = {name: [getattr(case, name) for case, _ in cases] for name in _Case._fields} | {"assigned": lists}
    return pa.RecordBatch.from_pydict(columns, _CASE_SCHEMA)
