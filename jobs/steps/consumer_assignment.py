"""consumer_assignment: the partitions of each group member under the assignors of its group, also with one member more and one fewer.

Every consumer group has the answers of range, of round robin and of its own assignor, a share group those of its own, and a streams group none (group_assignors.py).
Spark's workers compute both tables group by group. An assignment that the dumps do not determine has no rows in `consumer_assignment`, and
a row without numbers in `group_assignment`, which names the missing input.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.arrays import to_ints
from jobs.failure.cluster_state import oldest_release
from jobs.schema import (
    BROKER,
    CLUSTER,
    CONSUMER_ASSIGNMENT,
    CONSUMER_GROUP,
    GROUP_ASSIGNMENT,
    GROUP_MEMBER,
    OBSERVED_ASSIGNMENT,
    PARTITION,
    TOPIC,
    Table,
)
from jobs.spark.session import dataframe_from_arrow
from jobs.spark.worker_rows import WorkerRows
from jobs.steps.broker_racks import clusters_with_known_racks
from jobs.steps.group_assignors import Group, Undetermined, assign, depends_on_version, observed_differences
from jobs.steps.stage import Stages
from kafka_model.assignor.group import Assignment, Member
from kafka_model.release import parse_release

READS = (CLUSTER, BROKER, TOPIC, PARTITION, CONSUMER_GROUP, GROUP_MEMBER, OBSERVED_ASSIGNMENT)
WRITES = (CONSUMER_ASSIGNMENT, GROUP_ASSIGNMENT)

_CLUSTER = ["snapshot_id", "cluster_id"]
_TOPIC = [*_CLUSTER, "topic"]
_GROUP = [*_CLUSTER, "group_id"]
_ROWS_AT_ONCE = 1 << 17  # of consumer_assignment: few enough for the memory of a worker, and enough to make an Arrow table of them
_CLUSTER_FIELDS = [CLUSTER.schema.field(name) for name in _CLUSTER]
_RACKS_SCHEMA = pa.schema([*_CLUSTER_FIELDS, ("rack_of", pa.map_(pa.int32(), pa.string()))])
_VERSIONS_SCHEMA = pa.schema([*_CLUSTER_FIELDS, ("kafka_version", pa.string()), ("oldest_version", pa.string())])


class _Case(NamedTuple):
    """A group under one assignor, with the change of its members: a row of `group_assignment`."""

    snapshot_id: str
    cluster_id: str
    group_id: str
    assignor: str
    members_change: int
    members: int
    partitions: int | None = None
    idle_members: int | None = None
    min_partitions: int | None = None
    max_partitions: int | None = None
    spread: int | None = None
    moved_partitions: int | None = None
    observed_differences: int | None = None
    depends_on_version: bool | None = None
    missing_input: str | None = None


_CASE_KEY = _Case._fields[:5]


def transform(
    cluster: pa.Table,
    broker: pa.Table,
    topic: DataFrame,
    partition: DataFrame,
    consumer_group: DataFrame,
    group_member: DataFrame,
    observed_assignment: DataFrame,
) -> Stages[tuple[DataFrame, ...]]:
    racks = dataframe_from_arrow(topic.sparkSession, _racks_by_cluster(cluster, broker))
    versions = dataframe_from_arrow(topic.sparkSession, _versions_by_cluster(cluster))
    subscribed = group_member.select(*_GROUP, F.explode("topics").alias("topic")).distinct()
    topics = _topics(subscribed, topic, _topic_racks(group_member, partition, racks))
    groups = _groups(versions, consumer_group, group_member, topics, observed_assignment)
    return tuple((yield WorkerRows(groups, _assign, WRITES)))


def _racks_by_cluster(cluster: pa.Table, broker: pa.Table) -> pa.Table:
    """Return the rack of each live broker that has one, for the clusters with known racks.

    Clients see dead brokers without their rack: only live ones are in the metadata.
    """
    known = clusters_with_known_racks(cluster, broker)
    racks = {tuple(row[name] for name in _CLUSTER): dict[int, str]() for row in cluster.to_pylist() if row["cluster_id"] in known}
    for row in broker.to_pylist():
        if row["live"] and row["rack"] is not None:
            racks[row["snapshot_id"], row["cluster_id"]][row["broker_id"]] = row["rack"]
    rows = [{**dict(zip(_CLUSTER, key, strict=True)), "rack_of": list(rack_of.items())} for key, rack_of in racks.items()]
    return pa.Table.from_pylist(rows, _RACKS_SCHEMA)


def _versions_by_cluster(cluster: pa.Table) -> pa.Table:
    """Return the release of each cluster's brokers, and the oldest one that they may have."""
    rows = [row | {"oldest_version": str(oldest_release(row))} for row in cluster.to_pylist()]
    return pa.Table.from_pylist(rows, _VERSIONS_SCHEMA)


def _topic_racks(group_member: DataFrame, partition: DataFrame, racks: DataFrame) -> DataFrame:
    """The racks of the topics of members that have a rack, or may have one.

    `rack_set` is a hash of the racks of every partition, null if they differ. `racks` are those of each partition, none if no member has a
    rack.
    """
    read = (
        group_member.where("rack IS NOT NULL OR NOT rack_known")
        .select(*_CLUSTER, F.explode("topics").alias("topic"), "rack")
        .groupBy(_TOPIC)
        .agg((F.count("rack") > 0).alias("has_clients"))
    )
    racks_of_replicas = F.transform("replicas", lambda broker_id: F.col("rack_of")[broker_id])
    located = (
        partition.select(*_TOPIC, "partition", "replicas")
        .join(F.broadcast(read), on=_TOPIC, how="inner")
        .join(F.broadcast(racks), on=_CLUSTER, how="inner")
        .withColumn("racks", F.sort_array(F.array_distinct(F.array_compact(racks_of_replicas))))
    )
    rack_set = F.xxhash64("racks")
    racks_of_partition = F.when(F.col("has_clients"), F.struct("partition", "racks"))
    return located.groupBy(_TOPIC).agg(
        F.when(F.min(rack_set) == F.max(rack_set), F.min(rack_set)).alias("rack_set"),
        F.transform(F.sort_array(F.collect_list(racks_of_partition)), lambda each: each["racks"]).alias("racks"),
    )


def _topics(subscribed: DataFrame, topic: DataFrame, topic_racks: DataFrame) -> DataFrame:
    """The topics that the members of each group subscribe to."""
    details = (F.coalesce("racks", F.array()).alias("racks"), "rack_set")
    return (
        subscribed.join(topic.select(*_TOPIC, "partitions", "topic_id"), on=_TOPIC, how="inner")
        .join(topic_racks, on=_TOPIC, how="left")
        .groupBy(_GROUP)
        .agg(F.collect_list(F.struct("topic", "partitions", "topic_id", *details)).alias("topics"))
    )


def _groups(
    versions: DataFrame, consumer_group: DataFrame, group_member: DataFrame, topics: DataFrame, observed_assignment: DataFrame
) -> DataFrame:
    """The members of each group with their topics, and its observed assignment."""
    member = F.struct("member_id", "group_instance_id", _not_null("topics").alias("topics"), "rack").alias("member")
    members = group_member.groupBy(_GROUP).agg(
        F.sort_array(F.collect_list(member)).alias("members"),
        F.bool_and(F.col("topics").isNotNull()).alias("subscriptions_known"),
        F.bool_and("rack_known").alias("client_racks_known"),
    )
    described = consumer_group.select(*_GROUP, "protocol", "assignor", "state")
    observed = observed_assignment.groupBy(_GROUP).agg(F.collect_list(F.struct("topic", "partition", "member_id")).alias("observed"))
    return (
        members.join(F.broadcast(versions), on=_CLUSTER, how="inner")
        .join(described, on=_GROUP, how="left")
        .join(topics, on=_GROUP, how="left")
        .join(observed, on=_GROUP, how="left")
        .withColumns({name: _not_null(name) for name in ("topics", "observed")})
    )


def _not_null(name: str) -> Column:
    """An empty list for null: Spark's Arrow writer takes n * n steps for n null lists."""
    return F.coalesce(name, F.array())


def _assign(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[Table, pa.Table]]:
    """Yield rows of both tables for batches of groups."""
    cases: list[tuple[_Case, Assignment]] = []
    for batch in batches:
        for row, observed in zip(batch.drop_columns(["observed"]).to_pylist(), _observed_members(batch["observed"]), strict=True):
            cases += _cases(row, observed)
            if sum(case.partitions or 0 for case, _ in cases) >= _ROWS_AT_ONCE:
                yield from _rows(cases)
                cases = []
    if cases:
        yield from _rows(cases)


def _observed_members(observed: pa.ListArray) -> Iterator[Assignment]:
    """Yield the observed partitions of each member of each group."""
    assignments = observed.flatten()
    topics, partitions, members = (assignments.field(name).to_pylist() for name in ("topic", "partition", "member_id"))
    end = 0
    for length in to_ints(pc.list_value_length(observed), 0).tolist():
        start, end = end, end + length
        assignment: Assignment = {}
        for topic, partition, member in sorted(zip(topics[start:end], partitions[start:end], members[start:end], strict=True)):
            assignment.setdefault(member, []).append((topic, partition))
        yield assignment


def described_group(row: Mapping[str, Any], observed: Assignment) -> Group:
    """Return the group of a row that the workers read."""
    topics = row["topics"]
    return Group(
        protocol=row["protocol"],
        assignor=row["assignor"],
        stable=(row["state"] or "").lower() == "stable",
        kafka_version=parse_release(row["kafka_version"]),
        oldest_version=parse_release(row["oldest_version"]),
        members=[Member(m["member_id"], tuple(m["topics"]), m["group_instance_id"], m["rack"]) for m in row["members"]],
        subscriptions_known=row["subscriptions_known"],
        client_racks_known=row["client_racks_known"],
        partitions={topic["topic"]: topic["partitions"] for topic in topics},
        topic_ids={topic["topic"]: topic["topic_id"] for topic in topics if topic["topic_id"] is not None},
        rack_sets=[topic["rack_set"] for topic in topics],
        racks={topic["topic"]: topic["racks"] for topic in topics},
        observed=observed,
    )


def _cases(row: Mapping[str, Any], observed: Assignment) -> Iterator[tuple[_Case, Assignment]]:
    """Yield the group under each assignor, with its members and with one more and one fewer."""
    group = described_group(row, observed)
    for assignor in group.assignors:
        unchanged: Assignment | None = None
        for change, present in _members_by_change(group.members).items():
            case = _Case(*(row[name] for name in _GROUP), assignor=assignor, members_change=change, members=len(present))
            try:
                assignment = assign(assignor, group, present)
                depends = depends_on_version(assignor, group, present, assignment)
            except Undetermined as undetermined:
                yield case._replace(missing_input=str(undetermined)), {}
                continue
            if change == 0:
                unchanged = assignment
            counts = [len(assigned) for assigned in assignment.values() if assigned]
            idle = len(present) - len(counts)
            fewest, most = 0 if idle else min(counts), max(counts, default=0)
            is_observed = change == 0 and assignor == group.own_assignor and group.stable
            numbers = case._replace(
                partitions=sum(counts),
                idle_members=idle,
                min_partitions=fewest,
                max_partitions=most,
                spread=most - fewest,
                moved_partitions=None if unchanged is None else _moved(assignment, unchanged),
                observed_differences=observed_differences(assignor, group, assignment) if is_observed else None,
                depends_on_version=depends,
            )
            yield numbers, assignment


def _moved(changed: Assignment, unchanged: Assignment) -> int:
    """Return the number of partitions that members have in the first assignment and not in the second."""
    earlier = ((assigned, unchanged.get(member, [])) for member, assigned in changed.items())
    return sum(len(set(assigned).difference(before)) for assigned, before in earlier if assigned != before)


def _members_by_change(members: Sequence[Member]) -> dict[int, Sequence[Member]]:
    """Return the group's members unchanged (0), with one more (1), and with one fewer (-1) if any remains.

    The last member in the order of ids is the one that leaves; the new member has the same subscription and client.rack.
    """
    last = members[-1]
    joined = Member(f"{last.member_id}+1", last.topics, rack=last.rack)
    return {0: members, 1: [*members, joined], **({-1: members[:-1]} if len(members) > 1 else {})}


def _rows(cases: Sequence[tuple[_Case, Assignment]]) -> Iterator[tuple[Table, pa.Table]]:
    """Yield the rows of both tables for these cases."""
    group_assignment = pa.Table.from_pylist([case._asdict() for case, _ in cases], GROUP_ASSIGNMENT.schema)
    yield GROUP_ASSIGNMENT, group_assignment
    assigned = [each for _, assignment in cases for each in assignment.items()]
    case_of_row = np.repeat(np.arange(len(cases)), [case.partitions or 0 for case, _ in cases])
    member_of_row = np.repeat(np.arange(len(assigned)), [len(partitions) for _, partitions in assigned])
    columns = {
        **{name: group_assignment[name].take(pa.array(case_of_row)) for name in _CASE_KEY},
        "topic": [topic for _, partitions in assigned for topic, _ in partitions],
        "partition": [partition for _, partitions in assigned for _, partition in partitions],
        "member_id": pa.array([member for member, _ in assigned], pa.string()).take(pa.array(member_of_row)),
    }
    yield CONSUMER_ASSIGNMENT, pa.table(columns, CONSUMER_ASSIGNMENT.schema)
