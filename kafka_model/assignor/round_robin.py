"""The round robin assignor, which assigns each partition to the next member of a ring that subscribes to its topic.

Reproduces org.apache.kafka.clients.consumer.RoundRobinAssignor, 2.0 to 4.4. Static members order the ring since 2.4. T1 has 4
partitions and T2 has 6; C1 subscribes to T1, C2 to both, C3 to T2:

    >>> answer = assign({"T1": 4, "T2": 6}, [Member("C1", ("T1",)), Member("C2", ("T1", "T2")), Member("C3", ("T2",))])
    >>> for member, partitions in answer.items():
    ...     print(member, *(f"{topic}-{partition}" for topic, partition in partitions))
    C1 T1-0 T1-2
    C2 T1-1 T1-3 T2-1 T2-3 T2-5
    C3 T2-0 T2-2 T2-4
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import repeat

from kafka_model.assignor.group import Assignment, EmptyGroup, Member, in_hash_map_order, in_order_of_ids
from kafka_model.java.hash_map import string_order
from kafka_model.release import LATEST, Release


def assign(partitions: Mapping[str, int], members: Sequence[Member], *, version: Release = LATEST) -> Assignment:
    """Assign partitions to members. `partitions` are the partition counts of the topics; a topic without a count is skipped.

    Before 2.4 the client has no static members.
    """
    if not members:
        raise EmptyGroup("the round robin assignor cannot assign partitions to a group without members")
    ring = in_order_of_ids(in_hash_map_order(members), version=version)
    seats: dict[str, list[int]] = {}
    for seat, member in enumerate(ring):
        for topic in dict.fromkeys(member.topics):
            seats.setdefault(topic, []).append(seat)
    assignment: Assignment = {member.member_id: [] for member in members}
    assignment_by_seat = [assignment[member.member_id] for member in ring]
    next_seat = 0
    for topic in sorted(seats, key=string_order):
        subscribed_seats = seats[topic]
        first = bisect_left(subscribed_seats, next_seat)
        count, members_of_topic = partitions.get(topic, 0), len(subscribed_seats)
        for turn in range(min(count, members_of_topic)):
            seat = subscribed_seats[(first + turn) % members_of_topic]
            assignment_by_seat[seat] += zip(repeat(topic), range(turn, count, members_of_topic))
        if count:
            next_seat = subscribed_seats[(first + count - 1) % members_of_topic] + 1
    return assignment
