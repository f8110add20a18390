"""The simple assignor of share groups, in which several members may share a partition.

Reproduces org.apache.kafka.coordinator.group.assignor.SimpleAssignor (KIP-932), 4.2 to 4.4. 4.0 and 4.1 have another algorithm and are
refused.

With more members than partitions, each partition has enough places that every member gets one. Four members on three partitions: two
places per partition make six places, and the members get 2, 1, 2 and 1 of them, in the order of Kafka's HashMap of partitions:

    >>> members = [Member(name, ("T",)) for name in "ABCD"]
    >>> assign({"T": 3}, {"T": "AAAAAAAAAAEAAAAAAAAAAQ"}, members)
    {'A': [('T', 0), ('T', 2)], 'B': [('T', 0)], 'C': [('T', 1), ('T', 2)], 'D': [('T', 1)]}

Members keep their partitions within those numbers. If all members have equal subscriptions, places are counted over all topics together,
otherwise topic by topic. In that case a member also keeps its partitions of a topic without subscribers, deleted or not. Kafka's answer
is a set for each member.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain, groupby
from operator import itemgetter

from kafka_model.assignor.group import Assignment, Member, NobodyToShare, TopicPartition, in_hash_map_order, subscribers
from kafka_model.assignor.uniform import (
    homogeneous,
    numbers_by_topic,
    set_order,
    single_partition_order,
    subscribed_order,
    topic_id_order,
)
from kafka_model.java.hash_map import computed_order, hash_map_order, spread, table_size_for, uuid_hash
from kafka_model.release import LATEST, Release, UnknownVersion


def assign(
    partitions: Mapping[str, int],
    topic_ids: Mapping[str, str],
    members: Sequence[Member],
    *,
    assignable: Mapping[str, Collection[int]] | None = None,
    version: Release = LATEST,
) -> Assignment:
    """Compute the target assignment.

    `partitions` are the partition counts of the topics that exist, `topic_ids` their ids as Kafka prints them, also for deleted topics
    that members still own. A member's `owned` is its current target. `assignable` are the partitions that may be assigned (default: all).
    """
    if version < Release(4, 2, 0):
        raise UnknownVersion(f"the share assignor of Kafka {version} is not modelled: use 4.2 or later")
    listed = in_hash_map_order(members)
    members_by_topic = subscribers(listed)
    targets = {topic: _assignable(topic, partitions[topic], assignable) for topic in members_by_topic if topic in partitions}
    if not targets:
        return {member.member_id: [] for member in members}
    spreads = {topic: spread(uuid_hash(topic_id)) for topic, topic_id in topic_ids.items()}
    current = [_in_target_order(member, topic_ids, spreads) for member in listed]
    number = {member.member_id: index for index, member in enumerate(listed)}
    subscribed = {topic: [number[member.member_id] for member in members_by_topic[topic]] for topic in targets}
    if homogeneous(listed):
        ordered_targets = [pair for topic in subscribed_order(listed[0], partitions) for pair in targets[topic]]
        owned_targets = {index: [pair for pair in pairs if pair[0] in targets] for index, pairs in enumerate(current)}
        hashes = {topic: 31 * uuid_hash(topic_ids[topic]) for topic in topic_id_order(targets, topic_ids)}
        shared = _share(
            ordered_targets, owned_targets, range(len(listed)), lambda pairs: [hashes[topic] + number for topic, number in pairs]
        )
        return {member.member_id: list(shared[index]) for index, member in enumerate(listed)}
    assignment = [[pair for pair in pairs if pair[0] not in targets] for pairs in current]
    owned_by_topic: dict[str, dict[int, list[TopicPartition]]] = {topic: {} for topic in targets}
    for index, pairs in enumerate(current):
        for topic, topic_pairs in groupby(pairs, key=itemgetter(0)):
            if topic in targets:
                owned_by_topic[topic][index] = list(topic_pairs)
    for topic, topic_targets in targets.items():
        shares = _share(topic_targets, owned_by_topic[topic], subscribed[topic], lambda pairs: [number for _, number in pairs])
        for index, owned in shares.items():
            assignment[index] += owned
    return {member.member_id: owned for member, owned in zip(listed, assignment, strict=True)}


def _assignable(topic: str, partitions: int, assignable: Mapping[str, Collection[int]] | None) -> list[TopicPartition]:
    return [(topic, number) for number in range(partitions) if assignable is None or number in assignable.get(topic, ())]


def _in_target_order(member: Member, topic_ids: Mapping[str, str], spreads: Mapping[str, int]) -> list[TopicPartition]:
    """Order a member's partitions as Kafka iterates over the maps of its target assignment."""
    if spreads.keys() >= {topic for topic, _ in member.owned} and (ordered := single_partition_order(member.owned, spreads)) is not None:
        return ordered
    numbers = numbers_by_topic(dict.fromkeys(member.owned))
    return [(topic, number) for topic in topic_id_order(numbers, topic_ids) for number in set_order(numbers[topic])]


def _share(
    targets: Sequence[TopicPartition],
    owned: Mapping[int, Sequence[TopicPartition]],
    subscribers: Sequence[int],
    hashes: Callable[[Sequence[TopicPartition]], Sequence[int]],
) -> dict[int, dict[TopicPartition, None]]:
    """Assign the target partitions, given what each member owns. `hashes` computes the hashes of keys in Kafka's map of partitions."""
    places = -(-len(subscribers) // len(targets)) if targets else 0
    quotas = _quotas(places * len(targets) / len(subscribers), subscribers)
    shared: dict[int, dict[TopicPartition, None]] = {index: {} for index in subscribers}
    sharers: dict[TopicPartition, dict[int, None]] = {}
    for index, pairs in owned.items():
        surplus = len(pairs) - quotas.get(index, 0)
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
        surplus = max(0, len(remaining) - places)
        revoked_from = [index for index in hash_map_order(claimed, list) if pair in shared[index]][:surplus] if surplus else ()
        for index in revoked_from:
            del shared[index][pair]
        sharers[pair] = dict.fromkeys(index for index in remaining if index not in revoked_from)
    calls = chain(chain.from_iterable(owned.values()), targets)
    order = computed_order(calls, hashes, initial=table_size_for((len(targets) + 1) * 4 // 3 + 1))
    if places == 1:
        _fill_single_places(order, sharers, shared, quotas)
    else:
        _fill_places(order, sharers, shared, quotas, places)
    return shared


def _quotas(precise: float, subscribers: Sequence[int]) -> dict[int, int]:
    """Compute the partitions per member so that they add up: Kafka rounds up the running total, in floating point."""
    totals = [math.ceil(precise * position) for position in range(len(subscribers) + 1)]
    return {index: next_total - total for index, total, next_total in zip(subscribers, totals, totals[1:], strict=False)}


def _fill_single_places(
    order: Iterable[TopicPartition],
    sharers: Mapping[TopicPartition, Collection[int]],
    shared: Mapping[int, dict[TopicPartition, None]],
    quotas: Mapping[int, int],
) -> None:
    """Fill the free places where each partition has one: a faster form of `_fill_places` for one place per partition."""
    missing = {index: quota - len(shared[index]) for index, quota in quotas.items()}
    free = (pair for pair in order if not sharers.get(pair))
    for assigned in range(max(missing.values())):
        for index, pair in zip([index for index, count in missing.items() if count > assigned], free):
            shared[index][pair] = None


def _fill_places(
    order: Iterable[TopicPartition],
    sharers: Mapping[TopicPartition, Collection[int]],
    shared: Mapping[int, dict[TopicPartition, None]],
    quotas: Mapping[int, int],
    places: int,
) -> None:
    """Give the free places of each partition in turn to the members below their quota. A round without any assignment is the last."""
    unfilled = [index for index, quota in quotas.items() if len(shared[index]) < quota]
    turn, assigned_in_round = 0, False
    for pair in order:
        if not unfilled:
            return
        already = sharers.get(pair, ())
        free = places - len(already)
        while free > 0:
            if turn == len(unfilled):
                if not assigned_in_round:
                    break
                turn, assigned_in_round = 0, False
                if not unfilled:
                    raise NobodyToShare(f"{free} places of {pair} are left, and all members are at their quota: Kafka's assignor throws")
            index = unfilled[turn]
            turn += 1
            if index not in already:
                shared[index][pair] = None
                free -= 1
                assigned_in_round = True
                if len(shared[index]) >= quotas[index]:
                    turn -= 1
                    del unfilled[turn]
