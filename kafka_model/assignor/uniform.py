"""The uniform assignor of the group coordinator.

Reproduces org.apache.kafka.coordinator.group.assignor.UniformAssignor (KIP-848), 4.0 to 4.4.

A and B own three partitions each, then C joins. The quota is two, so A and B keep the first two partitions of Kafka's HashSet:

    >>> def owner(name: str, *numbers: int) -> Member:
    ...     return Member(name, ("T",), owned=tuple(("T", number) for number in numbers))
    >>> assign({"T": 6}, {"T": "AAAAAAAAAAEAAAAAAAAAAQ"}, [owner("A", 0, 1, 2), owner("B", 3, 4, 5), owner("C")])
    {'A': [('T', 0), ('T', 1)], 'B': [('T', 3), ('T', 4)], 'C': [('T', 2), ('T', 5)]}

A group is homogeneous if all members subscribe to the same topics, existing or not. Then quotas decide (`_assign_by_quota`). Otherwise
partitions are assigned to the least loaded subscribers, topic by topic, and topics are balanced one after the other
(`_HeterogeneousAssignment`). Racks are ignored. Kafka's answer is a set for each member; here the kept partitions come first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, repeat

from kafka_model.assignor.group import Assignment, BrokenClaims, Member, TopicPartition, UnknownTopic, in_hash_map_order
from kafka_model.java.hash_map import (
    DEFAULT_CAPACITY,
    copied_capacity,
    filled_capacity,
    hash_map_order,
    may_have_tree,
    spread,
    string_hashes,
    string_order,
    uuid_hash,
    uuid_order,
)
from kafka_model.release import LATEST, Release, UnknownVersion

# The first release of each form of the algorithm.
RULES_SINCE = (Release(4, 0, 0), Release(4, 0, 1))
_MAX_ROUNDS = 16


def assign(
    partitions: Mapping[str, int], topic_ids: Mapping[str, str], members: Sequence[Member], *, version: Release = LATEST
) -> Assignment:
    """Compute the target assignment.

    `partitions` are the partition counts of the topics that exist, `topic_ids` their ids as Kafka prints them. A member's `owned` is its
    current target; its order must be that of the target's record if partitions of several topics are revoked. In 4.0.0 the first members
    get the remainder; since 4.0.1, members that already own one partition more keep it.
    """
    first, with_kept_extras = RULES_SINCE
    if version < first:
        raise UnknownVersion(f"the uniform assignor of Kafka {version} is not modelled: use 4.0.0 or later")
    listed = in_hash_map_order(members)
    if not any(topic in partitions for member in listed for topic in member.topics):
        return {member.member_id: [] for member in members}
    if homogeneous(listed):
        return _assign_by_quota(partitions, topic_ids, listed, keep_extras=version >= with_kept_extras)
    return _HeterogeneousAssignment(partitions, topic_ids, listed).build()


def homogeneous(members: Sequence[Member]) -> bool:
    """Return whether all members subscribe to the same topics (ModernGroup.subscriptionType)."""
    subscriptions = {member.topics for member in members}
    common = set(members[0].topics) if members else set()
    return all(common == set(topics) for topics in subscriptions)


def subscribed_order(member: Member, partitions: Mapping[str, int]) -> list[str]:
    """Order the existing topics of a subscription as Kafka's HashSet of their names."""
    names = dict.fromkeys(member.topics)
    order = hash_map_order(names, string_hashes, initial=copied_capacity(len(names)), tie=string_order)
    return [topic for topic in order if topic in partitions]


def topic_id_order(topics: Iterable[str], topic_ids: Mapping[str, str], *, initial: int = DEFAULT_CAPACITY) -> list[str]:
    """Order topics as a HashMap by topic id."""

    def hashes(topics: Sequence[str]) -> list[int]:
        return [uuid_hash(topic_ids[topic]) for topic in topics]

    try:
        return hash_map_order(topics, hashes, initial=initial, tie=lambda topic: uuid_order(topic_ids[topic]))
    except KeyError as unknown:
        raise UnknownTopic(f"no topic id of {unknown.args[0]}: give the id, because the order of topics depends on it") from None


def numbers_by_topic(owned: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Group partition numbers by topic, in the given order."""
    numbers: dict[str, list[int]] = {}
    for topic, partition in owned:
        if topic in numbers:
            numbers[topic].append(partition)
        else:
            numbers[topic] = [partition]
    return numbers


def set_order(numbers: Sequence[int]) -> list[int]:
    """Order partition numbers as the HashSet that Kafka creates from such a list."""
    return hash_map_order(numbers, list, initial=copied_capacity(len(numbers)), tie=int)


def single_partition_order(owned: Sequence[TopicPartition], spreads: Mapping[str, int]) -> list[TopicPartition] | None:
    """Order a member's partitions as its map by topic id, if it owns at most one partition of each topic and no bin may be a tree.

    None otherwise. `spreads` are the hashes of the topic ids in that map.
    """
    mask = filled_capacity(len(owned)) - 1
    bins = [spreads[topic] & mask for topic, _ in owned]
    if len({topic for topic, _ in owned}) < len(owned) or may_have_tree(bins):
        return None
    return [owned[index] for index in sorted(range(len(owned)), key=bins.__getitem__)]


# ---------------------------------------------------------------- equal subscriptions
def _assign_by_quota(
    partitions: Mapping[str, int], topic_ids: Mapping[str, str], listed: Sequence[Member], *, keep_extras: bool
) -> Assignment:
    names = subscribed_order(listed[0], partitions)
    capacity = copied_capacity(len(set(listed[0].topics)))
    topics = topic_id_order(names, topic_ids, initial=capacity)
    assigned = set(chain.from_iterable(member.owned for member in listed))
    unassigned = [pair for topic in topics for pair in zip(repeat(topic), range(partitions[topic])) if pair not in assigned]
    min_quota, extras = divmod(sum(partitions[topic] for topic in topics), len(listed))
    subscribed = set(topics)
    # Usually no partition is owned twice, and all owned partitions are subscribed.
    usual = len(assigned) == sum(len(member.owned) for member in listed) and {topic for topic, _ in assigned} <= subscribed
    spreads = {topic: spread(uuid_hash(topic_ids[topic])) for topic in topics}
    assignment: Assignment = {}
    unfilled: list[tuple[str, int]] = []
    for position, member in enumerate(listed):
        extra = extras > 0
        quota = min_quota + extra
        kept_partitions = list(member.owned) if usual else [pair for pair in dict.fromkeys(member.owned) if pair[0] in subscribed]
        if len(kept_partitions) > quota:
            ordered = single_partition_order(kept_partitions, spreads) if usual else None
            if ordered is not None:
                unassigned += ordered[quota:]
                assignment[member.member_id] = ordered[:quota]
                extras -= extra
                continue
            numbers = numbers_by_topic(kept_partitions)
            owned_topics = numbers if usual else dict.fromkeys(topic for topic, _ in member.owned)
            kept_partitions, revoked = _split_at_quota(numbers, owned_topics, quota, topic_ids, spreads)
            unassigned += revoked
        assignment[member.member_id] = kept_partitions
        quota -= len(kept_partitions)
        if keep_extras and quota > 0 and extra and len(listed) - position > extras:
            quota -= 1
            extra = False
        if quota > 0:
            unfilled.append((member.member_id, quota))
        extras -= extra
    start = 0
    for member_id, quota in unfilled:
        assignment[member_id] += unassigned[start : start + quota]
        start += quota
    if start < len(unassigned):
        unassigned_count = len(unassigned) - start
        raise BrokenClaims(f"{unassigned_count} partitions would have no member: some members claim partitions that do not exist")
    return assignment


def _split_at_quota(
    numbers: Mapping[str, Sequence[int]],
    owned_topics: Collection[str],
    quota: int,
    topic_ids: Mapping[str, str],
    spreads: Mapping[str, int],
) -> tuple[list[TopicPartition], list[TopicPartition]]:
    """Split a member's partitions into those that it keeps and those revoked, in the order in which Kafka iterates over its maps."""
    mask = filled_capacity(len(owned_topics)) - 1
    if may_have_tree([spreads[topic] & mask for topic in numbers]):
        topics = [topic for topic in topic_id_order(owned_topics, topic_ids) if topic in numbers]
    else:
        topics = sorted(numbers, key=lambda topic: spreads[topic] & mask)
    ordered: list[TopicPartition] = []
    for topic in topics:
        topic_numbers = numbers[topic]
        ordered += zip(repeat(topic), set_order(topic_numbers) if len(topic_numbers) > 1 else topic_numbers)
    return ordered[:quota], ordered[quota:]


# ---------------------------------------------------------------- different subscriptions
class _HeterogeneousAssignment:
    """The state of the heterogeneous algorithm (UniformHeterogeneousAssignmentBuilder). Members are numbered."""

    def __init__(self, partitions: Mapping[str, int], topic_ids: Mapping[str, str], listed: Sequence[Member]) -> None:
        self.partitions = partitions
        self.listed = listed
        known = set(partitions)
        subscribers_by_topic: dict[str, list[int]] = {topic: [] for topic in partitions}
        for index, member in enumerate(listed):
            for topic in known.intersection(member.topics):
                subscribers_by_topic[topic].append(index)
        self.subscribers = {topic: indices for topic, indices in subscribers_by_topic.items() if indices}
        sorted_topics = sorted(topic_id_order(self.subscribers, topic_ids), key=lambda topic: uuid_order(topic_ids[topic]))
        self.id_rank = {topic: position for position, topic in enumerate(sorted_topics)}
        self.owner: dict[str, list[int | None]] = {topic: [None] * partitions[topic] for topic in self.subscribers}
        self.loads = [0] * len(listed)
        self.owned: list[dict[TopicPartition, None]] = []

    def build(self) -> Assignment:
        for index, member in enumerate(self.listed):
            topics = self.subscribers.keys() & member.topics if member.owned else ()
            kept_partitions = dict.fromkeys(partition for partition in member.owned if partition[0] in topics)
            for topic, number in kept_partitions:
                if not 0 <= number < self.partitions[topic]:
                    raise BrokenClaims(f"{member.member_id} claims partition {number} of {topic}, which has {self.partitions[topic]}")
                self.owner[topic][number] = index
            self.loads[index] = len(kept_partitions)
            self.owned.append(kept_partitions)
        self._assign_free_partitions()
        self._balance()
        return {member.member_id: list(owned) for member, owned in zip(self.listed, self.owned, strict=True)}

    def _sorted(self, topics: Iterable[str]) -> list[str]:
        """Sort topics: most partitions per subscriber first, then fewest subscribers, then by id."""

        def sort_key(topic: str) -> tuple[float, int, int]:
            subscribers = len(self.subscribers[topic])
            return -self.partitions[topic] / subscribers, subscribers, self.id_rank[topic]

        return sorted(topics, key=sort_key)

    def _assign_free_partitions(self) -> None:
        free = {topic: [number for number, owner in enumerate(owners) if owner is None] for topic, owners in self.owner.items()}
        for topic in self._sorted(topic for topic, numbers in free.items() if numbers):
            least_loaded, owner = _LoadRanges(self.subscribers[topic], self.loads).least_loaded, self.owner[topic]
            for number in free[topic]:
                index = least_loaded()
                owner[number] = index
                self.owned[index][topic, number] = None
                self.loads[index] += 1

    def _balance(self) -> None:
        """Balance topic after topic until a whole round changes nothing."""
        topics = self._sorted(topic for topic, subscribers in self.subscribers.items() if len(subscribers) > 1)
        last_changed: int | None = None
        for _ in range(_MAX_ROUNDS):
            for position, topic in enumerate(topics):
                if position == last_changed:
                    return
                if self._balance_topic(topic) or last_changed is None:
                    last_changed = position

    def _balance_topic(self, topic: str) -> bool:
        """Move partitions from the most to the least loaded subscribers, highest numbers first, and report whether any moved."""
        subscribers = self.subscribers[topic]
        loads = [self.loads[index] for index in subscribers]
        if max(loads) - min(loads) <= 1:
            return False
        owned_numbers: dict[int, list[int]] = {}
        for number, owner in enumerate(self.owner[topic]):
            if owner is not None:
                owned_numbers.setdefault(owner, []).append(number)
        ranges = _LoadRanges(subscribers, self.loads)
        moved = False
        while not ranges.balanced():
            source = ranges.most_loaded()
            while source is not None and not owned_numbers.get(source):
                ranges.exclude_most_loaded()
                source = ranges.most_loaded()
            if source is None:
                break
            number = owned_numbers[source].pop()
            target = ranges.least_loaded()
            if ranges.balanced():
                break
            self.loads[source] -= 1
            self.owned[source].pop((topic, number), None)
            self.owner[topic][number] = target
            self.owned[target][topic, number] = None
            self.loads[target] += 1
            moved = True
        return moved


class _LoadRanges:
    """The least loaded members from below and the most loaded members from above (Kafka's MemberAssignmentBalancer).

    Members are sorted by load. Each range covers the members at one load, its level. When a range is used up, the low level rises by one
    and the high level falls by one.
    """

    def __init__(self, members: Sequence[int], loads: Sequence[int]) -> None:
        self.loads = loads
        self.members = sorted(members, key=loads.__getitem__)
        self.low_end, self.low_next, self.low_level = 0, 0, loads[self.members[0]] - 1
        self.high_start = self.high_end = len(self.members)
        self.high_next, self.high_level = len(self.members) - 1, loads[self.members[-1]] + 1

    def balanced(self) -> bool:
        return self.high_level - self.low_level <= 1

    def least_loaded(self) -> int:
        if self.low_next >= self.low_end:
            self.low_level += 1
            while self.low_end < len(self.members) and self.loads[self.members[self.low_end]] == self.low_level:
                self.low_end += 1
            self.low_next = 0
        self.low_next += 1
        return self.members[self.low_next - 1]

    def most_loaded(self) -> int | None:
        """Return the next most loaded member, or None if all are excluded."""
        if self.high_next < self.high_start:
            if self.high_end <= self.high_start and self.high_start > 0:
                self.high_level = self.loads[self.members[self.high_start - 1]]
            else:
                self.high_level -= 1
            while self.high_start > 0 and self.loads[self.members[self.high_start - 1]] == self.high_level:
                self.high_start -= 1
            self.high_next = self.high_end - 1
        if self.high_next < 0:
            return None
        self.high_next -= 1
        return self.members[self.high_next + 1]

    def exclude_most_loaded(self) -> None:
        """Remove the member returned last from the high range: swap it with the last one, and end the range before it."""
        current, last = self.high_next + 1, self.high_end - 1
        self.members[current], self.members[last] = self.members[last], self.members[current]
        self.high_end -= 1
