"""Cooperative sticky: the sticky assignment, but a partition that changes hands is given to nobody until its owner has let it go
(org.apache.kafka.clients.consumer.CooperativeStickyAssignor, 3.5.2 to 4.3; older ones are refused, see
`sticky`).

A and B hold three partitions each, C joins. In the first round A and B keep two each and C gets nothing; once A and B have given up T4
and T5, the next round hands them over:

    A: T0 T2 T4      A: T0 T2      A: T0 T2
    B: T1 T3 T5  ->  B: T1 T3  ->  B: T1 T3
                     C:            C: T4 T5
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kafka_model.assignor.group import Assignment, Member, Racks, TopicPartition
from kafka_model.assignor.sticky import assign_and_transfer
from kafka_model.release import LATEST


def assign(
    partitions: Mapping[str, int],
    members: Sequence[Member],
    *,
    racks: Racks | None = None,
    subscription_generations: Mapping[str, int | None] | None = None,
    version: str = LATEST,
) -> Assignment:
    """The partitions of each member, given the partition counts of the topics; a topic without a count has no metadata and is left out.

    A member's `generation` is that of its user data, unless `subscription_generations` names one of its subscription (3.2 and later):
    that one counts.
    """
    told = subscription_generations or {}
    current = [member if told.get(member.member_id) is None else replace(member, generation=told[member.member_id]) for member in members]
    assignment, transferred = assign_and_transfer(
        partitions, current, racks=racks, subscription_generations=subscription_generations, version=version
    )
    if transferred is None:
        transferred = _changing_hands(members, assignment)
    for partition, consumer in transferred.items():
        assignment[consumer].remove(partition)
    return assignment


def _changing_hands(members: Sequence[Member], assignment: Assignment) -> dict[TopicPartition, str]:
    """The partitions that a member gets and another, which owned it, does not."""
    owned = {member.member_id: set(member.owned) for member in members}
    added = {partition: consumer for consumer, given in assignment.items() for partition in given if partition not in owned[consumer]}
    revoked = {partition for consumer, given in assignment.items() for partition in owned[consumer].difference(given)}
    return {partition: consumer for partition, consumer in added.items() if partition in revoked}
