"""The range assignor, which divides each topic into ranges of consecutive partitions.

Reproduces org.apache.kafka.clients.consumer.RangeAssignor, 2.0 to 4.4, with static members since 2.4 and racks (KIP-881) since 3.5;
and the coordinator's own org.apache.kafka.coordinator.group.assignor.RangeAssignor, 4.0 to 4.4, which ignores racks.

Ten partitions and four members: ten divided by four is two, and the first two members get one more (the remainder):

    >>> answer = assign({"P": 10}, [Member(name, ("P",)) for name in ("C1", "C2", "C3", "C4")])
    >>> [[partition for _, partition in partitions] for partitions in answer.values()]
    [[0, 1, 2], [3, 4, 5], [6, 7], [8, 9]]

Each topic is divided by itself, so the first members get the remainder of every topic. Where racks make a difference, partitions first
go to members on a rack of one of their replicas, within the same shares. Topics with the same number of partitions and the same members
(co-partitioned) give equal partition numbers to one member.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from kafka_model.assignor.group import (
    Assignment,
    Member,
    Racks,
    in_hash_map_order,
    in_order_of_ids,
    metadata_order,
    rack_aware,
    subscribers,
    topics_by_member_order,
)
from kafka_model.java.hash_map import string_order
from kafka_model.release import LATEST, Release


def assign(
    partitions: Mapping[str, int], members: Sequence[Member], *, racks: Racks | None = None, version: Release = LATEST
) -> Assignment:
    """Assign partitions to members. `partitions` are the partition counts of the topics; a topic without a count is skipped.

    Before 2.4 the client has no static members. Before 3.5 it has no racks. The order of a member's topics changed in 2.1 and in 3.5.
    """
    listed = in_hash_map_order(members)
    members_by_topic = subscribers(in_order_of_ids(listed, version=version))
    topics = metadata_order(partitions, listed)
    if version < Release(3, 5, 0):
        racks = None
        topics = [topic for topic in topics_by_member_order(listed, version=version) if partitions.get(topic)]
    assignment: Assignment = {member.member_id: [] for member in members}
    if racks is not None and any(member.rack for member in members):
        shares = [_TopicShares(topic, partitions[topic], members_by_topic[topic], racks.get(topic, ())) for topic in topics]
        if any(share.rack_aware for share in shares):
            _assign_by_rack(shares, assignment)
            return assignment
    for topic in topics:
        share, remainder = divmod(partitions[topic], len(members_by_topic[topic]))
        start = 0
        for position, member in enumerate(members_by_topic[topic] if share else members_by_topic[topic][:remainder]):
            end = start + share + (position < remainder)
            assignment[member.member_id] += [(topic, partition) for partition in range(start, end)]
            start = end
    return assignment


class _TopicShares:
    """A topic during its assignment: unassigned partitions and the remaining quota of each member."""

    def __init__(self, topic: str, partitions: int, members: Sequence[Member], racks: Sequence[Iterable[str]]) -> None:
        self.topic = topic
        self.partitions = partitions
        self.consumers: dict[str, str | None] = {member.member_id: member.rack or None for member in members}
        self.unassigned = dict.fromkeys(range(partitions))
        self.assigned = dict.fromkeys(self.consumers, 0)
        self.quota, self.extras = divmod(partitions, len(members))
        has_racks = any(self.consumers.values())
        self.racks = [frozenset(racks[partition] if partition < len(racks) else ()) for partition in range(partitions if has_racks else 0)]
        self.rack_aware = rack_aware((rack for rack in self.consumers.values() if rack is not None), self.racks)

    def on_rack(self, consumer: str, partition: int) -> bool:
        rack = self.consumers[consumer]
        return rack is None or rack in self.racks[partition]

    def remaining_quota(self, consumer: str) -> int:
        return max(0, self.quota + (self.extras > 0) - self.assigned[consumer])

    def assign(self, consumer: str, partitions: Sequence[int], assignment: Assignment) -> None:
        assignment[consumer] += [(self.topic, partition) for partition in partitions]
        self.assigned[consumer] += len(partitions)
        self.extras -= self.assigned[consumer] > self.quota
        for partition in partitions:
            self.unassigned.pop(partition, None)

    def assign_ranges(self, assignment: Assignment, may_take: Callable[[str, int], bool]) -> None:
        for consumer in self.consumers:
            chosen = [partition for partition in self.unassigned if may_take(consumer, partition)][: self.remaining_quota(consumer)]
            if chosen:
                self.assign(consumer, chosen, assignment)


def _assign_by_rack(shares: list[_TopicShares], assignment: Assignment) -> None:
    co_partitioned: dict[tuple[frozenset[tuple[str, str | None]], int], list[_TopicShares]] = {}
    for share in shares:
        co_partitioned.setdefault((frozenset(share.consumers.items()), len(share.racks)), []).append(share)
    for group in co_partitioned.values():
        if len(group) > 1:
            _assign_co_partitioned(group, assignment)
        elif group[0].rack_aware:
            group[0].assign_ranges(assignment, group[0].on_rack)
    for share in shares:
        share.assign_ranges(assignment, lambda consumer, partition: True)
    for owned in assignment.values():
        owned.sort(key=lambda partition: (string_order(partition[0]), partition[1]))


def _assign_co_partitioned(group: list[_TopicShares], assignment: Assignment) -> None:
    remaining = dict.fromkeys(group[0].consumers)
    for partition in range(len(group[0].racks)):
        for consumer in remaining:
            if all(share.on_rack(consumer, partition) and share.remaining_quota(consumer) > 0 for share in group):
                for share in group:
                    share.assign(consumer, [partition], assignment)
                if not any(share.remaining_quota(consumer) > 0 for share in group):
                    del remaining[consumer]
                break
