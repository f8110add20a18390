"""The assignment of a group by an assignor of its protocol, or the input that the dumps lack for it.

    protocol   assignors                                      run by
    classic    range, roundrobin, sticky, cooperative-sticky  the member that leads the group, here with the newest client
    consumer   range, uniform (KIP-848)                       the coordinator, in the version of its cluster
    share      simple (KIP-932)                               the coordinator, in the version of its cluster
    streams    none of these: it assigns tasks (KIP-1071)     the coordinator

The sticky ones, uniform and simple start from the observed assignment.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from kafka_model.assignor import cooperative_sticky, round_robin, share_simple, sticky, uniform
from kafka_model.assignor import range as range_assignor
from kafka_model.assignor.group import Assignment, BrokenClaims, Member, NobodyToShare, Racks, TopicPartition, UnknownTopic
from kafka_model.release import Release, UnknownVersion

SHARE, STREAMS = "share", "streams"
_CLASSIC = ("range", "roundrobin", "sticky", "cooperative-sticky")
_BY_PROTOCOL: Mapping[str | None, Sequence[str]] = {
    "classic": _CLASSIC,
    "consumer": ("range", "uniform"),
    SHARE: ("simple",),
    STREAMS: (),
    None: (*_CLASSIC, "uniform"),
}
_COMPARED = ("range", "roundrobin")  # computed for classic and consumer groups, to compare the group's own assignor with
_FROM_OBSERVED = frozenset({"sticky", "cooperative-sticky", "uniform", "simple"})
_BY_TOPIC_ID = frozenset({"uniform", "simple"})
_STICKY_BY_RACK = frozenset({"sticky", "cooperative-sticky"})
_BY_CLIENT_RACK = _STICKY_BY_RACK | {"range"}
_RULES_SINCE = {"uniform": uniform.RULES_SINCE}  # the only one that differs between modelled releases of the coordinator
_GENERATION = 1  # of all observed assignments of a group
_MOST_ROUNDS = 10  # of a cooperative rebalance, which takes two

SUBSCRIPTIONS, PARTITIONS, STABLE_GROUP = "subscriptions", "partitions of topics", "stable assignment"
CLIENT_RACKS, REPLICA_RACKS = "client racks", "racks of replicas"
TOPIC_IDS, MODELLED_VERSION, ASSIGNOR_FAILS = "topic ids", "modelled version of Kafka", "assignor that does not fail"


class Undetermined(Exception):
    """The dumps do not determine the assignment; the message is the input that is missing."""


@dataclass(frozen=True)
class Group:
    """What the dumps contain about a group."""

    protocol: str | None
    assignor: str | None  # that the group reports
    stable: bool  # the observed assignment is not one in transition
    kafka_version: Release  # of the coordinator
    oldest_version: Release  # that the coordinator may have
    members: Sequence[Member]
    subscriptions_known: bool
    client_racks_known: bool
    partitions: Mapping[str, int]  # of the subscribed topics
    topic_ids: Mapping[str, str]
    rack_sets: Iterable[frozenset[str] | None]  # the racks that every partition of a topic is on; None: they differ, or are unknown
    racks: Racks  # empty lists if no member has a rack
    observed: Mapping[str, Sequence[TopicPartition]]  # by member, sorted

    @cached_property
    def has_all_partitions(self) -> bool:
        """Whether the subscribed topics have the observed partitions; otherwise the dumps contain only some of a topic's partitions."""
        subscribed = set[str]().union(*{member.topics for member in self.members})
        highest = (dict(assigned) for assigned in self.observed.values())  # partitions are sorted
        return all(number < self.partitions.get(topic, 0) for topics in highest for topic, number in topics.items() if topic in subscribed)

    @cached_property
    def owned(self) -> Mapping[str, tuple[TopicPartition, ...]]:
        """The observed partitions of each member, in the order in which it reports them to the group's own assignor."""
        pack = _PACK.get(self.own_assignor, tuple)
        return {member_id: pack(assigned) for member_id, assigned in self.observed.items()}

    @property
    def own_assignor(self) -> str | None:
        """The assignor that the group uses; None: unknown, or not one of Kafka's."""
        assignor = "simple" if self.protocol == SHARE else self.assignor
        return assignor if assignor in _BY_PROTOCOL.get(self.protocol, ()) else None

    @property
    def assignors(self) -> Iterable[str]:
        """The assignors to compute for the group."""
        compared = () if self.protocol in (SHARE, STREAMS) else _COMPARED
        return dict.fromkeys([*compared, *filter(None, [self.own_assignor])])


def assign(assignor: str, group: Group, members: Sequence[Member]) -> Assignment:
    """Return the assignment of the group with these members by one of its assignors; those with observed partitions own them."""
    if missing := _missing_input(assignor, group):
        raise Undetermined(missing)
    if assignor in _FROM_OBSERVED:
        members = [_with_owned(member, group.owned.get(member.member_id, ())) for member in members]
    try:
        return _ASSIGN[assignor](group, members)
    except UnknownTopic:
        raise Undetermined(TOPIC_IDS) from None
    except UnknownVersion:
        raise Undetermined(MODELLED_VERSION) from None
    except (BrokenClaims, NobodyToShare):
        raise Undetermined(ASSIGNOR_FAILS) from None


def depends_on_version(assignor: str, group: Group, members: Sequence[Member], assignment: Assignment) -> bool:
    """Return whether an older release that the coordinator may have assigns otherwise. Early-access releases do not count."""
    rules_since = _RULES_SINCE.get(assignor, ())
    older = (since for since, next_since in pairwise(rules_since) if group.oldest_version < next_since <= group.kafka_version)
    return any(_differences(assign(assignor, replace(group, kafka_version=release), members), assignment) for release in older)


def observed_differences(assignor: str, group: Group, assignment: Assignment) -> int | None:
    """Return the number of partitions with other members in the observed assignment than in this one, that of all members.

    A second rebalance by client racks may move partitions of an assignment that is as even. Such an assignment is right if it is the one
    from nothing; otherwise None: it may follow from an earlier one, which no dump contains.
    """
    differences = _differences(assignment, group.observed)
    if not differences or assignor not in _STICKY_BY_RACK or not any(member.rack for member in group.members):
        return differences
    if not _differences(_ASSIGN[assignor](group, group.members), group.observed):
        return 0
    sizes = (sorted(len(assigned.get(member.member_id, ())) for member in group.members) for assigned in (assignment, group.observed))
    return differences if operator.ne(*sizes) else None


def _differences(one: Mapping[str, Sequence[TopicPartition]], other: Mapping[str, Sequence[TopicPartition]]) -> int:
    differing: set[TopicPartition] = set()
    for member in one.keys() | other.keys():
        differing |= set(one.get(member, ())) ^ set(other.get(member, ()))
    return len(differing)


def _missing_input(assignor: str, group: Group) -> str | None:
    if not group.subscriptions_known:
        return SUBSCRIPTIONS
    if not group.has_all_partitions:
        return PARTITIONS
    if assignor in _FROM_OBSERVED and not group.stable:
        return STABLE_GROUP
    if assignor in _BY_TOPIC_ID and not group.topic_ids.keys() >= group.partitions.keys():
        return TOPIC_IDS
    return _missing_racks(assignor, group) if assignor in _BY_CLIENT_RACK and group.protocol != "consumer" else None


def _missing_racks(assignor: str, group: Group) -> str | None:
    if not group.client_racks_known:
        rack_sets = set(group.rack_sets)
        # Racks make no difference where all partitions are on the same ones: range compares a topic's partitions, sticky those of all topics.
        return CLIENT_RACKS if None in rack_sets or (assignor != "range" and len(rack_sets) > 1) else None
    if any(member.rack for member in group.members) and any(len(group.racks[topic]) < count for topic, count in group.partitions.items()):
        return REPLICA_RACKS
    return None


def _with_owned(member: Member, owned: tuple[TopicPartition, ...]) -> Member:
    return replace(member, owned=owned, generation=_GENERATION) if owned else member


def _range(group: Group, members: Sequence[Member]) -> Assignment:
    return range_assignor.assign(group.partitions, members, racks=None if group.protocol == "consumer" else group.racks)


def _round_robin(group: Group, members: Sequence[Member]) -> Assignment:
    return round_robin.assign(group.partitions, members)


def _sticky(group: Group, members: Sequence[Member]) -> Assignment:
    return sticky.assign(group.partitions, members, racks=group.racks)


def _cooperative_sticky(group: Group, members: Sequence[Member]) -> Assignment:
    """Rebalance until no partition waits for its owner to give it up."""
    total = sum(group.partitions.values())
    for _ in range(_MOST_ROUNDS):
        assignment = cooperative_sticky.assign(group.partitions, members, racks=group.racks)
        if sum(map(len, assignment.values())) == total:
            return assignment
        members = [
            replace(member, owned=cooperative_sticky.pack(assignment[member.member_id]), generation=_GENERATION) for member in members
        ]
    raise BrokenClaims("cooperative rebalances do not end")


def _uniform(group: Group, members: Sequence[Member]) -> Assignment:
    return uniform.assign(group.partitions, group.topic_ids, members, version=group.kafka_version)


def _simple(group: Group, members: Sequence[Member]) -> Assignment:
    return share_simple.assign(group.partitions, group.topic_ids, members, version=group.kafka_version)


_PACK: Mapping[str | None, Callable[[Sequence[TopicPartition]], tuple[TopicPartition, ...]]] = {
    "sticky": sticky.pack,
    "cooperative-sticky": cooperative_sticky.pack,
}
_ASSIGN: Mapping[str, Callable[[Group, Sequence[Member]], Assignment]] = {
    "range": _range,
    "roundrobin": _round_robin,
    "sticky": _sticky,
    "cooperative-sticky": _cooperative_sticky,
    "uniform": _uniform,
    "simple": _simple,
}
