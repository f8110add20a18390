"""The cooperative sticky assignor: sticky, but a partition is not reassigned before its owner has given it up.

Reproduces org.apache.kafka.clients.consumer.CooperativeStickyAssignor, 3.5.0 to 4.4. Older versions are refused, see `sticky`.

A and B own three partitions each, then C joins. In the first round A and B keep two each and C gets none. When A and B have given up
partitions 4 and 5, the second round assigns them to C:

    >>> def owner(name: str, owned: Sequence[TopicPartition]) -> Member:
    ...     return Member(name, ("T",), owned=tuple(owned), generation=1)
    >>> before = {"A": [("T", 0), ("T", 2), ("T", 4)], "B": [("T", 1), ("T", 3), ("T", 5)], "C": []}
    >>> first = assign({"T": 6}, [owner(*member) for member in before.items()])
    >>> first
    {'A': [('T', 0), ('T', 2)], 'B': [('T', 1), ('T', 3)], 'C': []}
    >>> assign({"T": 6}, [owner(*member) for member in first.items()])["C"]
    [('T', 4), ('T', 5)]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from kafka_model.assignor.group import Assignment, Member, Racks, TopicPartition
from kafka_model.assignor.sticky import assign_and_transfer
from kafka_model.java.hash_map import string_order
from kafka_model.release import LATEST, Release


def assign(
    partitions: Mapping[str, int],
    members: Sequence[Member],
    *,
    racks: Racks | None = None,
    subscription_generations: Mapping[str, int | None] | None = None,
    version: Release = LATEST,
) -> Assignment:
    """Assign partitions to members. `partitions` are the partition counts of the topics; a topic without a count is skipped.

    A member's `generation` is that of its user data. A generation in `subscription_generations` (3.2 and later) replaces it.
    """
    generations = subscription_generations or {}
    current = [
        member if generations.get(member.member_id) is None else replace(member, generation=generations[member.member_id])
        for member in members
    ]
    assignment, transferred = assign_and_transfer(
        partitions, current, racks=racks, subscription_generations=subscription_generations, version=version
    )
    if transferred is None:
        transferred = _transferred(members, assignment)
    for partition, consumer in transferred.items():
        assignment[consumer].remove(partition)
    return assignment


def pack(owned: Iterable[TopicPartition]) -> tuple[TopicPartition, ...]:
    """Order a member's partitions as its subscription lists them: by topic and number (ConsumerProtocol.serializeSubscription, 3.0 and later).

    This is `Member.owned` of a member that keeps its assignment until the next one.
    """
    numbers: dict[str, list[int]] = {}
    for topic, number in owned:
        numbers.setdefault(topic, []).append(number)
    return tuple((topic, number) for topic in sorted(numbers, key=string_order) for number in sorted(numbers[topic]))


def _transferred(members: Sequence[Member], assignment: Assignment) -> dict[TopicPartition, str]:
    """Find the partitions that move from their owner to another member, with that member."""
    owned = {member.member_id: set(member.owned) for member in members}
    added = {partition: consumer for consumer, assigned in assignment.items() for partition in assigned if partition not in owned[consumer]}
    revoked = {partition for consumer, assigned in assignment.items() for partition in owned[consumer].difference(assigned)}
    return {partition: consumer for partition, consumer in added.items() if partition in revoked}
