"""Range: of each topic, neighbouring partitions go to neighbouring members
(org.apache.kafka.clients.consumer.RangeAssignor, 2.0.0 to 4.3.1: static members since 2.4, racks (KIP-881) since 3.5; and the
coordinator's own org.apache.kafka.coordinator.group.assignor.RangeAssignor, 4.0 to 4.3, which knows no racks).

Ten partitions P1 to P10 and four members share out as ten divided by four, the first two (the remainder) taking one more:

    C1: P1 P2 P3    C2: P4 P5 P6    C3: P7 P8    C4: P9 P10

Topics are shared out one by one, so the first members get the remainder of each. Where racks make a difference, partitions first go to
members on a rack of theirs, within the same shares; topics with as many partitions and the same members (co-partitioned) keep together,
partition by partition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from kafka_model.assignor.group import (
    Assignment,
    Member,
    Racks,
    hash_map_of,
    in_order_of_ids,
    metadata_order,
    rack_aware,
    subscribers,
    topics_as_met,
)
from kafka_model.java.hash_map import string_order
from kafka_model.release import LATEST, release


def assign(partitions: Mapping[str, int], members: Sequence[Member], *, racks: Racks | None = None, version: str = LATEST) -> Assignment:
    """The partitions of each member, given the partition counts of the topics; a topic without a count has no metadata and is left out.

    Before `version` 2.4 the client knew no static members, before 3.5 no racks, and put each member's topics in another order.
    """
    listed = hash_map_of(members)
    by_topic = subscribers(in_order_of_ids(listed, version=version))
    topics = metadata_order(partitions, listed)
    if release(version) < (3, 5):
        racks = None
        topics = [topic for topic in topics_as_met(listed) if partitions.get(topic)]
    assignment: Assignment = {member.member_id: [] for member in members}
    if racks is not None and any(member.rack for member in members):
        shares = [_Share(topic, partitions[topic], by_topic[topic], racks.get(topic, ())) for topic in topics]
        if any(share.rack_aware for share in shares):
            _assign_by_rack(shares, assignment)
            return assignment
    for topic in topics:
        share, remainder = divmod(partitions[topic], len(by_topic[topic]))
        start = 0
        for position, member in enumerate(by_topic[topic] if share else by_topic[topic][:remainder]):
            end = start + share + (position < remainder)
            assignment[member.member_id] += [(topic, partition) for partition in range(start, end)]
            start = end
    return assignment


class _Share:
    """A topic while it is shared out: who may still take how much."""

    def __init__(self, topic: str, partitions: int, members: Sequence[Member], racks: Sequence[Iterable[str]]) -> None:
        self.topic = topic
        self.partitions = partitions
        self.consumers: dict[str, str | None] = {member.member_id: member.rack or None for member in members}
        self.unassigned = dict.fromkeys(range(partitions))
        self.assigned = dict.fromkeys(self.consumers, 0)
        self.quota, self.extras = divmod(partitions, len(members))
        told = any(self.consumers.values())
        self.racks = [frozenset(racks[partition] if partition < len(racks) else ()) for partition in range(partitions if told else 0)]
        self.rack_aware = rack_aware((rack for rack in self.consumers.values() if rack is not None), self.racks)

    def on_rack(self, consumer: str, partition: int) -> bool:
        rack = self.consumers[consumer]
        return rack is None or rack in self.racks[partition]

    def room(self, consumer: str) -> int:
        return max(0, self.quota + (self.extras > 0) - self.assigned[consumer])

    def give(self, consumer: str, partitions: Sequence[int], assignment: Assignment) -> None:
        assignment[consumer] += [(self.topic, partition) for partition in partitions]
        self.assigned[consumer] += len(partitions)
        self.extras -= self.assigned[consumer] > self.quota
        for partition in partitions:
            self.unassigned.pop(partition, None)

    def give_ranges(self, assignment: Assignment, may_take: Callable[[str, int], bool]) -> None:
        for consumer in self.consumers:
            takes = [partition for partition in self.unassigned if may_take(consumer, partition)][: self.room(consumer)]
            if takes:
                self.give(consumer, takes, assignment)


def _assign_by_rack(shares: list[_Share], assignment: Assignment) -> None:
    together: dict[tuple[frozenset[tuple[str, str | None]], int], list[_Share]] = {}
    for share in shares:
        together.setdefault((frozenset(share.consumers.items()), len(share.racks)), []).append(share)
    for group in together.values():
        if len(group) > 1:
            _assign_co_partitioned(group, assignment)
        elif group[0].rack_aware:
            group[0].give_ranges(assignment, group[0].on_rack)
    for share in shares:
        share.give_ranges(assignment, lambda consumer, partition: True)
    for owned in assignment.values():
        owned.sort(key=lambda partition: (string_order(partition[0]), partition[1]))


def _assign_co_partitioned(group: list[_Share], assignment: Assignment) -> None:
    remaining = dict.fromkeys(group[0].consumers)
    for partition in range(len(group[0].racks)):
        for consumer in remaining:
            if all(share.on_rack(consumer, partition) and share.room(consumer) > 0 for share in group):
                for share in group:
                    share.give(consumer, [partition], assignment)
                if not any(share.room(consumer) > 0 for share in group):
                    del remaining[consumer]
                break
