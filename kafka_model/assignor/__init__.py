"""Who in a group reads which partition: Kafka's assignors, each a plain function over the members.

The client's assignors (range, round_robin, sticky, cooperative_sticky) run at the group's leader, the coordinator's (uniform, server_range,
share_simple) in the broker. All take the members in the order in which the group lists them; where Kafka keeps them in a hash map, so does the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kafka_model.java_hash import hash_map_order, string_hash

TopicPartition = tuple[str, int]
Assignment = dict[str, list[TopicPartition]]


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


def hash_map_of(members: Sequence[Member]) -> list[Member]:
    """The members in the order of the HashMap by member id that Kafka puts them into, one by one."""
    by_id = {member.member_id: member for member in members}
    return [by_id[member_id] for member_id in hash_map_order(by_id, string_hash)]


def in_order_of_ids(members: Iterable[Member]) -> list[Member]:
    """Static members first, by group.instance.id, then the others by member id: the order of Kafka's MemberInfo."""
    return sorted(members, key=_static_then_member_id)


def _static_then_member_id(member: Member) -> tuple[bool, bytes]:
    if member.group_instance_id is None:
        return True, java_string_order(member.member_id)
    return False, java_string_order(member.group_instance_id)


def java_string_order(text: str) -> bytes:
    """A sort key by UTF-16 code units, as String.compareTo: astral characters come before U+E000 to U+FFFF, unlike in Python's own order."""
    return text.encode("utf-16-be", "surrogatepass")


def subscribers(members: Sequence[Member]) -> dict[str, list[Member]]:
    """Of each topic that somebody subscribes to, the members that do, in the order given."""
    by_topic: dict[str, list[Member]] = {}
    for member in members:
        for topic in dict.fromkeys(member.topics):
            by_topic.setdefault(topic, []).append(member)
    return by_topic
