"""Simple: who shares which partitions of a share group (KIP-932; org.apache.kafka.coordinator.group.assignor.SimpleAssignor, 4.2 and
4.3; 4.0 and 4.1 dealt otherwise, and are refused).

A partition may go to several members. With more members than partitions each partition is shared by as many as it takes for every member
to have one; four members on three partitions of a topic whose id has the hash 0 (partitions are dealt in the order of a HashMap):

    T0: A B    T1: C D    T2: A C      (two a partition: six places, of which members get 2, 1, 2, 1 in turn)

What members hold is kept within those numbers. Where all subscribe alike, the places are counted over all topics together, otherwise
topic by topic; there a member also keeps what it holds of a topic that nobody subscribes to any more, deleted or not. An answer is a set
for each member.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain, groupby
from operator import itemgetter

from kafka_model.assignor.group import Assignment, Member, NobodyToShare, TopicPartition, hash_map_of, subscribers
from kafka_model.assignor.uniform import (
    by_topic,
    homogeneous,
    one_each,
    set_order,
    subscribed_order,
    topic_id_order,
)
from kafka_model.java.hash_map import computed_order, hash_map_order, spread, table_size_for, uuid_hash
from kafka_model.release import LATEST, UnknownVersion, release


def assign(
    partitions: Mapping[str, int],
    topic_ids: Mapping[str, str],
    members: Sequence[Member],
    *,
    assignable: Mapping[str, Collection[int]] | None = None,
    version: str = LATEST,
) -> Assignment:
    """The target assignment, given the partition counts of the topics that exist, their ids as Kafka prints them (those of deleted topics
    that members still hold, too), the current target as `owned`, and the partitions that may be assigned (all, if not told).
    """
    if release(version) < (4, 2):
        raise UnknownVersion(f"the share assignor of Kafka {version} is not modelled: the first is 4.2's")
    listed = hash_map_of(members)
    by_name = subscribers(listed)
    targets = {topic: _assignable(topic, partitions[topic], assignable) for topic in by_name if topic in partitions}
    if not targets:
        return {member.member_id: [] for member in members}
    spreads = {topic: spread(uuid_hash(topic_id)) for topic, topic_id in topic_ids.items()}
    held = [_held(member, topic_ids, spreads) for member in listed]
    number = {member.member_id: index for index, member in enumerate(listed)}
    subscribed = {topic: [number[member.member_id] for member in by_name[topic]] for topic in targets}
    if homogeneous(listed):
        in_order = [pair for topic in subscribed_order(listed[0], partitions) for pair in targets[topic]]
        kept = {index: [pair for pair in pairs if pair[0] in targets] for index, pairs in enumerate(held)}
        hashes = {topic: 31 * uuid_hash(topic_ids[topic]) for topic in topic_id_order(targets, topic_ids)}
        shared = _share(in_order, kept, range(len(listed)), lambda pairs: [hashes[topic] + number for topic, number in pairs])
        return {member.member_id: list(shared[index]) for index, member in enumerate(listed)}
    assignment = [[pair for pair in pairs if pair[0] not in targets] for pairs in held]
    holders: dict[str, dict[int, list[TopicPartition]]] = {topic: {} for topic in targets}
    for index, pairs in enumerate(held):
        for topic, of_topic in groupby(pairs, key=itemgetter(0)):
            if topic in targets:
                holders[topic][index] = list(of_topic)
    for topic, in_order in targets.items():
        for index, owned in _share(in_order, holders[topic], subscribed[topic], lambda pairs: [number for _, number in pairs]).items():
            assignment[index] += owned
    return {member.member_id: owned for member, owned in zip(listed, assignment, strict=True)}


def _assignable(topic: str, partitions: int, assignable: Mapping[str, Collection[int]] | None) -> list[TopicPartition]:
    return [(topic, number) for number in range(partitions) if assignable is None or number in assignable.get(topic, ())]


def _held(member: Member, topic_ids: Mapping[str, str], spreads: Mapping[str, int]) -> list[TopicPartition]:
    """What the member holds, in the order in which Kafka goes through the maps of its target assignment."""
    if spreads.keys() >= {topic for topic, _ in member.owned} and (through := one_each(member.owned, spreads)) is not None:
        return through
    numbers = by_topic(dict.fromkeys(member.owned))
    return [(topic, number) for topic in topic_id_order(numbers, topic_ids) for number in set_order(numbers[topic])]


def _share(
    targets: Sequence[TopicPartition],
    held: Mapping[int, Sequence[TopicPartition]],
    subscribers: Sequence[int],
    hashes: Callable[[Sequence[TopicPartition]], Sequence[int]],
) -> dict[int, dict[TopicPartition, None]]:
    """What each member gets of the target partitions, given what it holds; `hashes` are those of the keys in Kafka's map of partitions."""
    sharing = -(-len(subscribers) // len(targets)) if targets else 0
    due = _places(sharing * len(targets) / len(subscribers), subscribers)
    shared: dict[int, dict[TopicPartition, None]] = {index: {} for index in subscribers}
    sharers: dict[TopicPartition, dict[int, None]] = {}
    for index, pairs in held.items():
        surplus = len(pairs) - due.get(index, 0)
        shared[index] = dict.fromkeys(pairs)
        if surplus > 0:
            for pair in hash_map_order(pairs, hashes)[:surplus]:
                del shared[index][pair]
        for pair in pairs:
            if pair in sharers:
                sharers[pair][index] = None
            else:
                sharers[pair] = {index: None}
    for pair, claimed in sharers.items():
        if len(claimed) == 1:
            [index] = claimed
            if pair not in shared[index]:
                claimed.clear()
            continue
        remaining = [index for index in claimed if pair in shared[index]]
        surplus = max(0, len(remaining) - sharing)
        revoked_from = [index for index in hash_map_order(claimed, list) if pair in shared[index]][:surplus] if surplus else ()
        for index in revoked_from:
            del shared[index][pair]
        sharers[pair] = dict.fromkeys(index for index in remaining if index not in revoked_from)
    calls = chain(chain.from_iterable(held.values()), targets)
    order = computed_order(calls, hashes, initial=table_size_for((len(targets) + 1) * 4 // 3 + 1))
    if sharing == 1:
        _deal(order, sharers, shared, due)
    else:
        _fill(order, sharers, shared, due, sharing)
    return shared


def _places(precise: float, subscribers: Sequence[int]) -> dict[int, int]:
    """How many partitions each member is due, so that the places add up: Kafka rounds up the running total, in floating point."""
    totals = [math.ceil(precise * position) for position in range(len(subscribers) + 1)]
    return {index: after - before for index, before, after in zip(subscribers, totals, totals[1:], strict=False)}


def _deal(
    order: Iterable[TopicPartition],
    sharers: Mapping[TopicPartition, Collection[int]],
    shared: Mapping[int, dict[TopicPartition, None]],
    due: Mapping[int, int],
) -> None:
    """What _fill does where nobody shares: each free partition goes to the next member that is due more."""
    missing = {index: places - len(shared[index]) for index, places in due.items()}
    free = (pair for pair in order if not sharers.get(pair))
    for taken in range(max(missing.values())):
        for index, pair in zip([index for index, places in missing.items() if places > taken], free):
            shared[index][pair] = None


def _fill(
    order: Iterable[TopicPartition],
    sharers: Mapping[TopicPartition, Collection[int]],
    shared: Mapping[int, dict[TopicPartition, None]],
    due: Mapping[int, int],
    sharing: int,
) -> None:
    """Deal the free places to the members that are due more, in turn; a turn that gives nobody anything is the last."""
    unfilled = [index for index, places in due.items() if len(shared[index]) < places]
    turn, given = 0, False
    for pair in order:
        if not unfilled:
            return
        have = sharers.get(pair, ())
        places = sharing - len(have)
        while places > 0:
            if turn == len(unfilled):
                if not given:
                    break
                turn, given = 0, False
                if not unfilled:
                    raise NobodyToShare(f"{places} places of {pair} are left, and no member is due any more: Kafka's assignor throws")
            index = unfilled[turn]
            turn += 1
            if index not in have:
                shared[index][pair] = None
                places -= 1
                given = True
                if len(shared[index]) >= due[index]:
                    turn -= 1
                    del unfilled[turn]
