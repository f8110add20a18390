"""consumer_assignment: the partitions of each group member under range and round robin, also with one member more and one fewer.

Spark's workers compute both tables group by group. Share groups are left out: several of their members read the same partition, which no
assignor of consumer groups does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.arrays import to_ints
from jobs.schema import CONSUMER_ASSIGNMENT, CONSUMER_GROUP, GROUP_ASSIGNMENT, GROUP_MEMBER, OBSERVED_ASSIGNMENT, TOPIC, Table
from jobs.spark.worker_rows import WorkerRows
from jobs.steps.stage import Stages
from kafka_model.assignor import range as range_assignor
from kafka_model.assignor import round_robin
from kafka_model.assignor.group import Assignment, Member, TopicPartition

READS = (TOPIC, CONSUMER_GROUP, GROUP_MEMBER, OBSERVED_ASSIGNMENT)
WRITES = (CONSUMER_ASSIGNMENT, GROUP_ASSIGNMENT)

ASSIGNORS = {"range": range_assignor.assign, "roundrobin": round_robin.assign}
_GROUP = ["snapshot_id", "cluster_id", "group_id"]
_ROWS_AT_ONCE = 1 << 17  # of consumer_assignment: few enough for the memory of a worker, and enough to make an Arrow table of them

MemberOf = Mapping[TopicPartition, str]


class _Case(NamedTuple):
    """A group under one assignor, with the change of its members: a row of `group_assignment`."""

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
    spread: int
    moved_partitions: int
    observed_differences: int | None


_CASE_KEY = _Case._fields[:5]


def transform(
    topic: DataFrame, consumer_group: DataFrame, group_member: DataFrame, observed_assignment: DataFrame
) -> Stages[tuple[DataFrame, ...]]:
    groups = _groups(topic, consumer_group, group_member, observed_assignment)
    return tuple((yield WorkerRows(groups, _assign, WRITES)))


def _groups(topic: DataFrame, consumer_group: DataFrame, group_member: DataFrame, observed_assignment: DataFrame) -> DataFrame:
    """The members of each consumer group, and the partition count of each topic that a member subscribes to.

    `assignor` is the group's own assignor if it is one of ASSIGNORS, otherwise null. Such a group has its observed assignment.
    """
    shared = consumer_group.where("protocol = 'share'").select(*_GROUP)
    group_member = group_member.join(F.broadcast(shared), on=_GROUP, how="left_anti")
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
    in_force = consumer_group.where(F.col("assignor").isin(*ASSIGNORS)).select(*_GROUP, "assignor")
    observed = (
        observed_assignment.join(F.broadcast(in_force), on=_GROUP, how="left_semi")
        .groupBy(_GROUP)
        .agg(F.collect_list(F.struct("topic", "partition", "member_id")).alias("observed"))
    )
    return (
        members.join(subscribed, on=_GROUP, how="inner")
        .join(in_force, on=_GROUP, how="left")
        .join(observed, on=_GROUP, how="left")
        .withColumn("observed", F.coalesce("observed", F.array()))  # Spark's Arrow writer takes n * n steps for n null lists
    )


def _assign(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[Table, pa.Table]]:
    """Yield rows of both tables for batches of groups. A case in which no member gets a partition has no rows."""
    cases: list[tuple[_Case, Assignment]] = []
    for batch in batches:
        for group, observed in zip(batch.drop_columns(["observed"]).to_pylist(), _observed_members(batch["observed"]), strict=True):
            cases += _cases(group, observed)
            if sum(case.partitions for case, _ in cases) >= _ROWS_AT_ONCE:
                yield from _rows(cases)
                cases = []
    if cases:
        yield from _rows(cases)


def _observed_members(observed: pa.ListArray) -> Iterator[MemberOf]:
    """Yield the observed member of each partition of each group."""
    assignments = observed.flatten()
    topics, partitions, members = (assignments.field(name).to_pylist() for name in ("topic", "partition", "member_id"))
    end = 0
    for length in to_ints(pc.list_value_length(observed), 0).tolist():
        start, end = end, end + length
        yield dict(zip(zip(topics[start:end], partitions[start:end], strict=True), members[start:end], strict=True))


def _cases(group: Mapping[str, Any], observed: MemberOf) -> Iterator[tuple[_Case, Assignment]]:
    """Yield the group under each assignor, with its members and with one more and one fewer."""
    members = [Member(m["member_id"], tuple(m["topics"]), group_instance_id=m["group_instance_id"]) for m in group["members"]]
    partitions = dict(group["partitions"])
    for assignor, assign in ASSIGNORS.items():
        unchanged: dict[TopicPartition, str] = {}
        for change, present in _members_by_change(members).items():
            assignment = assign(partitions, present)
            member_of = {partition: member for member, assigned in assignment.items() for partition in assigned}
            unchanged = unchanged or member_of
            if counts := [len(assigned) for assigned in assignment.values() if assigned]:
                idle = len(present) - len(counts)
                fewest = 0 if idle else min(counts)
                is_observed = change == 0 and group["assignor"] == assignor
                case = _Case(
                    *(group[name] for name in _GROUP),
                    assignor=assignor,
                    members_change=change,
                    members=len(present),
                    partitions=sum(counts),
                    idle_members=idle,
                    min_partitions=fewest,
                    max_partitions=max(counts),
                    spread=max(counts) - fewest,
                    moved_partitions=_differences(member_of, unchanged),
                    observed_differences=_differences(member_of, observed) if is_observed else None,
                )
                yield case, assignment


def _differences(one: MemberOf, other: MemberOf) -> int:
    """Return the number of partitions that have another member, or none, in the other assignment."""
    return sum(other.get(partition) != member for partition, member in one.items())


def _members_by_change(members: list[Member]) -> dict[int, list[Member]]:
    """Return the group's members unchanged (0), with one more (1), and with one fewer (-1) if any remains.

    The last member in the order of ids is the one that leaves; the new member subscribes to the same topics.
    """
    last = members[-1]
    joined = Member(f"{last.member_id}+1", last.topics)
    return {0: members, 1: [*members, joined], **({-1: members[:-1]} if len(members) > 1 else {})}


def _rows(cases: Sequence[tuple[_Case, Assignment]]) -> Iterator[tuple[Table, pa.Table]]:
    """Yield the rows of both tables for these cases."""
    group_assignment = pa.Table.from_pylist([case._asdict() for case, _ in cases], GROUP_ASSIGNMENT.schema)
    yield GROUP_ASSIGNMENT, group_assignment
    assigned = [each for _, assignment in cases for each in assignment.items()]
    case_of_row = np.repeat(np.arange(len(cases)), [case.partitions for case, _ in cases])
    member_of_row = np.repeat(np.arange(len(assigned)), [len(partitions) for _, partitions in assigned])
    columns = {
        **{name: group_assignment[name].take(pa.array(case_of_row)) for name in _CASE_KEY},
        "topic": [topic for _, partitions in assigned for topic, _ in partitions],
        "partition": [partition for _, partitions in assigned for _, partition in partitions],
        "member_id": pa.array([member for member, _ in assigned], pa.string()).take(pa.array(member_of_row)),
    }
    yield CONSUMER_ASSIGNMENT, pa.table(columns, CONSUMER_ASSIGNMENT.schema)
