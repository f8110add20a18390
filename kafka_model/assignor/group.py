"""Who in a group reads which partition: Kafka's assignors, each a plain function over the members.

`range`, `round_robin`, `sticky` and `cooperative_sticky` run in the client that leads the group; `uniform` and `share_simple` in the
broker that coordinates it, whose own range (KIP-848) answers as `range` without racks. Members come in the order in which Kafka puts them
into its HashMap by member id: that order matters only between members whose ids fall into one bin of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from kafka_model.java.hash_map import HashTable, hash_map_order, string_hash, string_hashes, string_order
from kafka_model.release import LATEST, release

TopicPartition = tuple[str, int]
Assignment = dict[str, list[TopicPartition]]
Racks = Mapping[str, Sequence[Iterable[str]]]
"""Of each topic, for each partition, the racks of its replicas (of those that have one)."""


@dataclass(frozen=True, slots=True)
class Member:
    """A consumer as its subscription tells it: `owned` is what it held in `generation` (None: it tells no generation)."""

    member_id: str
    topics: tuple[str, ...]
    group_instance_id: str | None = None
    rack: str | None = None
    owned: tuple[TopicPartition, ...] = ()
    generation: int | None = None


class EmptyGroup(ValueError):
    """A group without members, at which round robin and both sticky assignors of Kafka throw."""


class BrokenClaims(ValueError):
    """Members claim partitions (in numbers that a topic no longer has, or from a topic they left) such that Kafka's assignor throws."""


class UnknownTopic(ValueError):
    """A topic whose id the members hold, but of which the group's metadata knows no partitions."""


class NobodyToShare(ValueError):
    """A share group's partitions have places left, but all its members are full."""


def hash_map_of(members: Sequence[Member]) -> list[Member]:
    """The members in the order of the HashMap by member id that Kafka puts them into, one by one."""
    by_id = {member.member_id: member for member in members}
    return [by_id[member_id] for member_id in hash_map_order(by_id, string_hashes, tie=string_order)]


def in_order_of_ids(members: Iterable[Member], *, version: str = LATEST) -> list[Member]:
    """Static members first, by group.instance.id, then the others by member id: the order of Kafka's MemberInfo. Before 2.4: by member id
    alone.
    """
    if release(version) < (2, 4):
        return sorted(members, key=lambda member: string_order(member.member_id))
    return sorted(members, key=_static_then_member_id)


def _static_then_member_id(member: Member) -> tuple[bool, bytes]:
    if member.group_instance_id is None:
        return True, string_order(member.member_id)
    return False, string_order(member.group_instance_id)


def subscribers(members: Sequence[Member]) -> dict[str, list[Member]]:
    """Of each topic that somebody subscribes to, the members that do, in the order given."""
    if len(subscriptions := {member.topics for member in members}) == 1:
        every = list(members)
        return {topic: every for topic in subscriptions.pop()}
    by_topic: dict[str, list[Member]] = {}
    for member in members:
        for topic in dict.fromkeys(member.topics):
            by_topic.setdefault(topic, []).append(member)
    return by_topic


def metadata_order(partitions: Mapping[str, int], members: Iterable[Member]) -> list[str]:
    """The subscribed topics that have partitions, in the order of Kafka's HashMap of them, filled from a HashSet of the names."""
    subscriptions = dict.fromkeys(member.topics for member in members)
    subscribed = hash_map_order(chain.from_iterable(subscriptions), string_hashes, tie=string_order)
    return hash_map_order((topic for topic in subscribed if partitions.get(topic)), string_hashes, tie=string_order)


def topics_as_met(members: Iterable[Member]) -> list[str]:
    """The subscribed topics in the order of a HashMap that took them up member by member, by computeIfAbsent."""
    table = HashTable(string_hash, tie=string_order)
    for member in members:
        for topic in member.topics:
            table.compute_if_absent(topic)
    return list(table)


def rack_aware(consumer_racks: Iterable[str], partition_racks: Sequence[frozenset[str]]) -> bool:
    """Whether racks make a difference: some rack has both a consumer and a replica, and some partition is not on all the racks."""
    all_racks = frozenset[str]().union(*partition_racks)
    return not all_racks.isdisjoint(consumer_racks) and any(racks != all_racks for racks in partition_racks)
