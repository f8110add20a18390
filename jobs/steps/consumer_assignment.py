"""consumer_assignment: the partitions of each group member under the assignors of its group, also with one member more and one fewer.

Every consumer group has the answers of range, of round robin and of its own assignor, a share group those of its own, and a streams group none (group_assignors.py).
Spark's workers compute both tables cluster by cluster. An assignment that the dumps do not determine has no rows in `consumer_assignment`, and
a row without numbers in `group_assignment`, which names the missing input.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from jobs.engine import Engine, sql_text
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
from jobs.spark.worker_rows import Batches, WorkerRows, rows_of_each
from jobs.steps.described_groups import Brokers, brokers_by_cluster, described_groups
from jobs.steps.group_assignors import Group, Undetermined, assign, depends_on_version, observed_differences
from jobs.steps.stage import Stages
from kafka_model.assignor.group import Assignment, Member

READS = (CLUSTER, BROKER, TOPIC, PARTITION, CONSUMER_GROUP, GROUP_MEMBER, OBSERVED_ASSIGNMENT)
WRITES = (CONSUMER_ASSIGNMENT, GROUP_ASSIGNMENT)

_GROUPS = sql_text(__file__, "consumer_assignment")
_ROWS_AT_ONCE = 1 << 17  # of consumer_assignment: few enough for the memory of a worker, and enough to make an Arrow table of them


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
    topic: Any,
    partition: Any,
    consumer_group: Any,
    group_member: Any,
    observed_assignment: Any,
    *,
    engine: Engine,
) -> Stages[tuple[Any, ...]]:
    rows = engine.sql(
        _GROUPS,
        topic=topic,
        partition=partition,
        consumer_group=consumer_group,
        group_member=group_member,
        observed_assignment=observed_assignment,
    )
    return tuple((yield WorkerRows(rows, partial(_assign, brokers_by_cluster(cluster, broker)), WRITES, together="cluster_id")))


def _assign(brokers: Mapping[str, Brokers], batches: Batches) -> Iterator[tuple[Table, pa.Table]]:
    """Yield rows of both tables for the groups of each cluster in the batches."""
    for rows in rows_of_each(batches, "cluster_id"):
        snapshot_id, cluster_id = (rows[name][0].as_py() for name in ("snapshot_id", "cluster_id"))
        cases: list[tuple[_Case, Assignment]] = []
        assigned = 0
        for group_id, group in described_groups(rows, brokers[cluster_id]):
            for case, assignment in _cases((snapshot_id, cluster_id, group_id), group):
                cases.append((case, assignment))
                assigned += case.partitions or 0
            if assigned >= _ROWS_AT_ONCE:
                yield from _rows(cases)
                cases, assigned = [], 0
        yield from _rows(cases)


def _cases(key: tuple[str, str, str], group: Group) -> Iterator[tuple[_Case, Assignment]]:
    """Yield a group under each assignor, with its members and with one more and one fewer."""
    for assignor in group.assignors:
        unchanged: Assignment | None = None
        for change, present in _members_by_change(group.members).items():
            case = _Case(*key, assignor=assignor, members_change=change, members=len(present))
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
