"""Consumer and share groups: members, assignments and committed offsets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from jobs.ingest.facts import GroupNotice, GroupOffset, GroupState, IdleMember, ListedGroup, MemberLine
from jobs.ingest.resolve.evidence import Evidence
from jobs.ingest.resolve.rows import table_of
from jobs.schema import COMMITTED_OFFSET, CONSUMER_GROUP, GROUP_MEMBER, OBSERVED_ASSIGNMENT

Assignment = set[tuple[str, int]]


class ConsumerGroupRow(NamedTuple):
    """A row of `consumer_group`."""

    group_id: str
    protocol: str | None
    assignor: str | None
    state: str | None
    coordinator_id: int | None
    members: int


class GroupMemberRow(NamedTuple):
    """A row of `group_member`."""

    group_id: str
    member_id: str
    group_instance_id: str | None
    client_id: str | None
    host: str | None
    topics: list[str] | None
    rack: str | None
    topic_regex: str | None
    rack_known: bool


class ObservedAssignmentRow(NamedTuple):
    """A row of `observed_assignment`."""

    topic: str
    partition: int
    group_id: str
    member_id: str


class CommittedOffsetRow(NamedTuple):
    """A row of `committed_offset`."""

    topic: str
    partition: int
    group_id: str
    current_offset: int | None
    log_end_offset: int | None
    lag: int | None


@dataclass(frozen=True, slots=True)
class _Offsets:
    """The groups and members in the offsets table of --describe, and the partitions that it assigns to each member."""

    members: dict[str, dict[str, MemberLine]] = field(default_factory=lambda: defaultdict(dict))  # by group and member
    assignments: dict[tuple[str, str], Assignment] = field(default_factory=lambda: defaultdict(set))


def group_tables(evidence: Evidence, topics: pa.ChunkedArray) -> dict[str, pa.Table]:
    """Return the tables of groups; `topics` are the names of the cluster's topics, which regular expressions match."""
    states: Mapping[str, GroupState] = {fact.group_id: fact for fact in evidence.facts(GroupState)}
    listed_groups: Mapping[str, ListedGroup] = {fact.group_id: fact for fact in evidence.facts(ListedGroup)}
    notices: Mapping[str, GroupNotice] = {fact.group_id: fact for fact in evidence.facts(GroupNotice)}
    member_lines: dict[str, dict[str, MemberLine]] = defaultdict(dict)
    for fact in evidence.facts(MemberLine):
        member_lines[fact.group_id][fact.member_id] = fact
    offsets = _offsets(evidence)
    _report_contradictions(evidence, member_lines, offsets)

    groups, members, assignments = [], [], []
    for group_id in sorted({*states, *listed_groups, *notices, *member_lines, *offsets.members}):
        group_members = member_lines.get(group_id) or offsets.members.get(group_id, {})
        assigned = {
            member_id: set(offsets.assignments[group_id, member_id] if line.assignment is None else line.assignment)
            for member_id, line in group_members.items()
        }
        state, listed_group, notice = states.get(group_id), listed_groups.get(group_id), notices.get(group_id)
        group_state = next((fact.state for fact in (state, listed_group, notice) if fact and fact.state), None)
        settled = group_state is None or group_state.lower() == "stable"
        members += _member_rows(group_members, assigned, topics, settled=settled)
        assignments += [
            ObservedAssignmentRow(topic, partition, group_id, member_id)
            for member_id, pairs in assigned.items()
            for topic, partition in pairs
        ]
        protocols = (getattr(fact, "protocol", None) for fact in (state, listed_group, *member_lines.get(group_id, {}).values()))
        groups.append(
            ConsumerGroupRow(
                group_id=group_id,
                protocol=next(filter(None, protocols), None),
                assignor=state.assignor if state else None,
                state=group_state,
                coordinator_id=state.coordinator_id if state else None,
                members=len(group_members) or (state.members if state else None) or 0,
            )
        )
    return {
        "consumer_group": table_of(CONSUMER_GROUP, groups),
        "group_member": table_of(GROUP_MEMBER, members),
        "observed_assignment": table_of(OBSERVED_ASSIGNMENT, sorted(assignments)),
        "committed_offset": table_of(COMMITTED_OFFSET, _committed_offsets(evidence)),
    }


def _offsets(evidence: Evidence) -> _Offsets:
    offsets = _Offsets()

    def add_member(fact: IdleMember | GroupOffset, member_id: str) -> None:
        offsets.members[fact.group_id][member_id] = MemberLine(
            fact.group_id, member_id, None, fact.host, fact.client_id, protocol=None, partitions=0, assignment=None
        )

    for idle in evidence.facts(IdleMember):
        add_member(idle, idle.member_id)
    for fact in evidence.facts(GroupOffset):
        offsets.members.setdefault(fact.group_id, {})  # a group exists even if no member reads the partition
        if fact.member_id is not None:
            add_member(fact, fact.member_id)
            offsets.assignments[fact.group_id, fact.member_id].add((fact.topic, fact.partition))
    return offsets


def _member_rows(
    members: Mapping[str, MemberLine], assigned: Mapping[str, Assignment], topics: pa.ChunkedArray, *, settled: bool
) -> list[GroupMemberRow]:
    """Return the members of a group with their subscriptions.

    A partition proves that its member subscribes to its topic. A member without a partition of a topic may subscribe to it too: without a
    capture, the subscriptions are known only if every member has a partition of every topic of the group, and the group is `settled`.
    """
    topics_of = {member_id: {topic for topic, _ in pairs} for member_id, pairs in assigned.items()}
    assigned_topics = frozenset[str]().union(*topics_of.values())
    is_proven = settled and bool(assigned_topics) and all(topics_of[member_id] == assigned_topics for member_id in members)
    proven = sorted(assigned_topics) if is_proven else None
    return [
        GroupMemberRow(
            line.group_id,
            member_id,
            line.group_instance_id,
            line.client_id,
            line.host,
            proven if line.topics is None else _with_matches(line, topics, assigned_topics),
            line.rack,
            line.topic_regex,
            rack_known=line.rack is not None or line.topics is not None,  # a capture reports both, or neither
        )
        for member_id, line in sorted(members.items())
    ]


def _with_matches(line: MemberLine, topics: pa.ChunkedArray, assigned_topics: Set[str]) -> list[str] | None:
    """Return the topics of a reported subscription, with those that its regular expression matches. None: they are unknown.

    The coordinator matches whole names with RE2/J, internal topics included (TopicRegexResolver); Arrow has the same syntax. It leaves out
    topics that the member may not describe, and new ones for some time: only matches that the group has partitions of are certain.
    """
    names = set(line.topics or ())
    if not line.topic_regex:
        return sorted(names)
    try:
        matching = set(topics.filter(pc.match_substring_regex(topics, f"^(?:{line.topic_regex})$")).to_pylist())
    except pa.ArrowInvalid:
        return None
    return sorted(names | matching) if matching <= assigned_topics else None


def _committed_offsets(evidence: Evidence) -> list[CommittedOffsetRow]:
    return sorted(
        CommittedOffsetRow(fact.topic, fact.partition, fact.group_id, fact.current_offset, fact.log_end_offset, fact.lag)
        for fact in evidence.facts(GroupOffset)
    )


def _report_contradictions(evidence: Evidence, member_lines: Mapping[str, Mapping[str, MemberLine]], offsets: _Offsets) -> None:
    """Report partitions whose member differs between --members and the offsets, and members whose partitions neither lists."""
    for origin in evidence.origins[GroupOffset].values():
        fact = origin.fact
        if fact.member_id is not None and fact.group_id in member_lines:
            line = member_lines[fact.group_id].get(fact.member_id)
            if line is None or (line.assignment is not None and (fact.topic, fact.partition) not in line.assignment):
                evidence.report_missing(origin, f"--members does not assign it to {fact.member_id}")
    for origin in evidence.origins[MemberLine].values():
        line = origin.fact
        count = len(offsets.assignments.get((line.group_id, line.member_id), ()))
        if line.assignment is None and line.partitions != count:
            evidence.report_missing(
                origin, f"topics are known for {count} of its {line.partitions} partitions: add the output of --describe without --members"
            )
