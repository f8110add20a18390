"""Members of a group, and the orders in which Kafka's assignors visit them (AbstractPartitionAssignor and relatives, Kafka 2.0 to 4.4).

Callers give the members in the order in which Kafka puts them into its HashMap by member id. That order matters only for members whose
ids are in the same bin.

    >>> members = [Member("b", ("orders",)), Member("a", ("orders",)), Member("c", ("orders",), group_instance_id="1")]
    >>> [member.member_id for member in in_order_of_ids(members)]
    ['c', 'a', 'b']
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from kafka_model.java.hash_map import HashTable, hash_map_order, string_hash, string_hashes, string_order
from kafka_model.release import LATEST, Release

TopicPartition = tuple[str, int]
Assignment = dict[str, list[TopicPartition]]
Racks = Mapping[str, Sequence[Iterable[str]]]
"""The racks of each partition's replicas, by topic and partition number. Replicas without a rack are left out."""


@dataclass(frozen=True, slots=True)
class Member:
    """A consumer's subscription. `owned` are its partitions in `generation`, which is None if the subscription has no generation."""

    member_id: str
    topics: tuple[str, ...]
    group_instance_id: str | None = None
    rack: str | None = None
    owned: tuple[TopicPartition, ...] = ()
    generation: int | None = None


class EmptyGroup(ValueError):
    """The group has no members: Kafka's round robin and sticky assignors throw."""


class BrokenClaims(ValueError):
    """Members claim partitions that do not exist or that they no longer subscribe to, in a way that makes Kafka's assignor throw."""


class UnknownTopic(ValueError):
    """The id of a topic of the group is unknown."""


class NobodyToShare(ValueError):
    """Partitions of a share group have places left, but all members are full: Kafka's assignor throws."""


def in_hash_map_order(members: Sequence[Member]) -> list[Member]:
    """Order the members as Kafka's HashMap by member id does."""
    by_id = {member.member_id: member for member in members}
    return [by_id[member_id] for member_id in hash_map_order(by_id, string_hashes, tie=string_order)]


def in_order_of_ids(members: Iterable[Member], *, version: Release = LATEST) -> list[Member]:
    """Order the members as Kafka's MemberInfo: static members by group.instance.id, then the others by member id.

    Before 2.4, all members are ordered by member id.
    """
    if version < Release(2, 4, 0):
        return sorted(members, key=lambda member: string_order(member.member_id))
    return sorted(members, key=_static_then_member_id)


def _static_then_member_id(member: Member) -> tuple[bool, bytes]:
    if member.group_instance_id is None:
        return True, string_order(member.member_id)
    return False, string_order(member.group_instance_id)


def subscribers(members: Sequence[Member]) -> dict[str, list[Member]]:
    """List the subscribed members of each topic, in the given order."""
    if len(subscriptions := {member.topics for member in members}) == 1:
        all_members = list(members)
        return {topic: all_members for topic in subscriptions.pop()}
    members_by_topic: dict[str, list[Member]] = {}
    for member in members:
        for topic in dict.fromkeys(member.topics):
            members_by_topic.setdefault(topic, []).append(member)
    return members_by_topic


def metadata_order(partitions: Mapping[str, int], members: Iterable[Member]) -> list[str]:
    """Order the subscribed topics with partitions as Kafka's HashMap of them, which is filled from a HashSet of the names."""
    subscriptions = dict.fromkeys(member.topics for member in members)
    subscribed = hash_map_order(chain.from_iterable(subscriptions), string_hashes, tie=string_order)
    return hash_map_order((topic for topic in subscribed if partitions.get(topic)), string_hashes, tie=string_order)


def topics_by_member_order(members: Iterable[Member], *, version: Release = LATEST) -> list[str]:
    """Order the subscribed topics as a HashMap that is filled member by member, with put before 2.1 and with computeIfAbsent since."""
    table = HashTable(string_hash, tie=string_order)
    add = table.put if version < Release(2, 1, 0) else table.compute_if_absent
    for member in members:
        for topic in member.topics:
            add(topic)
    return list(table)


def rack_aware(consumer_racks: Iterable[str], partition_racks: Sequence[frozenset[str]]) -> bool:
    """Return whether racks make a difference: some rack has both a consumer and a replica, and some partition is not on all racks."""
    all_racks = frozenset[str]().union(*partition_racks)
    return not all_racks.isdisjoint(consumer_racks) and any(racks != all_racks for racks in partition_racks)
