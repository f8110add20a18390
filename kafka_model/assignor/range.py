"""Range: of each topic, neighbouring partitions go to neighbouring members (org.apache.kafka.clients.consumer.RangeAssignor, 2.0.0 to 4.3.1).

Ten partitions P1 to P10 and four members share out as ten divided by four, the first two (the remainder) taking one more:

    C1: P1 P2 P3    C2: P4 P5 P6    C3: P7 P8    C4: P9 P10

Topics are shared out one by one, so the first members get the remainder of each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafka_model.assignor import Assignment, Member, hash_map_of, in_order_of_ids, subscribers
from kafka_model.java_hash import hash_map_order, string_hash


def assign(partitions: Mapping[str, int], members: Sequence[Member]) -> Assignment:
    """The partitions of each member, given the partition counts of the topics; a topic without a count has no metadata and is left out."""
    by_topic = subscribers(hash_map_of(members))
    assignment: Assignment = {member.member_id: [] for member in members}
    for topic in hash_map_order((topic for topic in by_topic if partitions.get(topic)), string_hash):
        share, remainder = divmod(partitions[topic], len(by_topic[topic]))
        start = 0
        for position, member in enumerate(in_order_of_ids(by_topic[topic])):
            end = start + share + (position < remainder)
            assignment[member.member_id] += [(topic, partition) for partition in range(start, end)]
            start = end
    return assignment
