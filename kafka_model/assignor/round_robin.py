"""Round robin: all partitions of all topics in order, each to the next member of the ring that subscribes to its topic
(org.apache.kafka.clients.consumer.RoundRobinAssignor, 2.0.0 to 4.3.1; static members order the ring since 2.4).

T1 has partitions 1 to 4 and T2 has 5 to 10; C1 subscribes to T1, C2 to both, C3 to T2:

    C1: T1[1 3]    C2: T1[2 4] T2[6 8 10]    C3: T2[5 7 9]
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

from kafka_model.assignor.group import Assignment, EmptyGroup, Member, hash_map_of, in_order_of_ids
from kafka_model.java.hash_map import string_order
from kafka_model.release import LATEST


def assign(partitions: Mapping[str, int], members: Sequence[Member], *, version: str = LATEST) -> Assignment:
    """The partitions of each member, given the partition counts of the topics; a topic without a count has no metadata and is left out.

    Before `version` 2.4 the client knew no static members.
    """
    if not members:
        raise EmptyGroup("round robin has no answer for a group without members")
    ring = in_order_of_ids(hash_map_of(members), version=version)
    seats: dict[str, list[int]] = {}
    for seat, member in enumerate(ring):
        for topic in dict.fromkeys(member.topics):
            seats.setdefault(topic, []).append(seat)
    assignment: Assignment = {member.member_id: [] for member in members}
    given = [assignment[member.member_id] for member in ring]
    next_seat = 0
    for topic in sorted(seats, key=string_order):
        takers = seats[topic]
        first = bisect_left(takers, next_seat)
        for partition in range(partitions.get(topic, 0)):
            seat = takers[(first + partition) % len(takers)]
            given[seat].append((topic, partition))
            next_seat = seat + 1
    return assignment
