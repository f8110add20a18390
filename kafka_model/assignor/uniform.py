"""Uniform: the coordinator's even assignment (KIP-848; org.apache.kafka.coordinator.group.assignor.UniformAssignor, 4.0 to 4.3).

A and B hold three partitions each, C joins; each of the three is due two, so A and B keep the first two of what Kafka's HashSet lists:

    A: T0 T1 T2      A: T0 T1
    B: T3 T4 T5  ->  B: T3 T4
                     C: T2 T5

A group is homogeneous if every topic that anybody names is named by all, whether the topic exists or not. Then quotas decide
(`_by_quota`); otherwise partitions are dealt to the least loaded subscribers, topic by topic, and topics are balanced one after another
(`_Balance`). Racks play no part. An answer is a set for each member: here what it keeps comes first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, repeat

from kafka_model.assignor.group import Assignment, BrokenClaims, Member, TopicPartition, UnknownTopic, hash_map_of
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
from kafka_model.release import LATEST, UnknownVersion, release

_MOST_PASSES = 16


def assign(partitions: Mapping[str, int], topic_ids: Mapping[str, str], members: Sequence[Member], *, version: str = LATEST) -> Assignment:
    """The target assignment, given the partition counts of the topics that exist, their ids as Kafka prints them, and the current target
    as `owned`.

    `owned` is in the order of the target assignment's record, if more than one topic of it is to be given up in part. In 4.0 the first
    members get what does not divide evenly; since, those that hold it already go first.
    """
    if release(version) < (4, 0):
        raise UnknownVersion(f"the uniform assignor of Kafka {version} is not modelled: the first is 4.0's")
    listed = hash_map_of(members)
    if not any(topic in partitions for member in listed for topic in member.topics):
        return {member.member_id: [] for member in members}
    if homogeneous(listed):
        return _by_quota(partitions, topic_ids, listed, keep_extras=release(version) >= (4, 1))
    return _Balance(partitions, topic_ids, listed).build()


def homogeneous(members: Sequence[Member]) -> bool:
    """Whether each topic that is named at all is named by every member (ModernGroup.subscriptionType)."""
    subscriptions = {member.topics for member in members}
    common = set(members[0].topics) if members else set()
    return all(common == set(topics) for topics in subscriptions)


def subscribed_order(member: Member, partitions: Mapping[str, int]) -> list[str]:
    """The topics of a subscription that exist, in the order of Kafka's HashSet of their names."""
    names = dict.fromkeys(member.topics)
    order = hash_map_order(names, string_hashes, initial=copied_capacity(len(names)), tie=string_order)
    return [topic for topic in order if topic in partitions]


def topic_id_order(topics: Iterable[str], topic_ids: Mapping[str, str], *, initial: int = DEFAULT_CAPACITY) -> list[str]:
    """Topics in the order of a HashMap by their ids."""

    def hashes(topics: Sequence[str]) -> list[int]:
        return [uuid_hash(topic_ids[topic]) for topic in topics]

    try:
        return hash_map_order(topics, hashes, initial=initial, tie=lambda topic: uuid_order(topic_ids[topic]))
    except KeyError as unknown:
        raise UnknownTopic(f"no topic id of {unknown.args[0]}: the order of topics goes by their ids") from None


def by_topic(owned: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """The partition numbers of each topic, in the order given."""
    numbers: dict[str, list[int]] = {}
    for topic, partition in owned:
        if topic in numbers:
            numbers[topic].append(partition)
        else:
            numbers[topic] = [partition]
    return numbers


def set_order(numbers: Sequence[int]) -> list[int]:
    """Partition numbers in the order of the HashSet that Kafka makes of such a list."""
    return hash_map_order(numbers, list, initial=copied_capacity(len(numbers)), tie=int)


def one_each(owned: Sequence[TopicPartition], spreads: Mapping[str, int]) -> list[TopicPartition] | None:
    """What a member holds in the order of its map by topic id, whose spread hashes these are: if it holds one partition of a topic, and
    no bin is a tree. None otherwise.
    """
    mask = filled_capacity(len(owned)) - 1
    bins = [spreads[topic] & mask for topic, _ in owned]
    if len({topic for topic, _ in owned}) < len(owned) or may_have_tree(bins):
        return None
    return [owned[at] for at in sorted(range(len(owned)), key=bins.__getitem__)]


# ---------------------------------------------------------------- all members subscribe alike
def _by_quota(partitions: Mapping[str, int], topic_ids: Mapping[str, str], listed: Sequence[Member], *, keep_extras: bool) -> Assignment:
    names = subscribed_order(listed[0], partitions)
    room = copied_capacity(len(set(listed[0].topics)))
    topics = topic_id_order(names, topic_ids, initial=room)
    assigned = set(chain.from_iterable(member.owned for member in listed))
    unassigned = [pair for topic in topics for pair in zip(repeat(topic), range(partitions[topic])) if pair not in assigned]
    least, extras = divmod(sum(partitions[topic] for topic in topics), len(listed))
    subscribed = set(topics)
    plain = len(assigned) == sum(len(member.owned) for member in listed) and {topic for topic, _ in assigned} <= subscribed

    spreads = {topic: spread(uuid_hash(topic_ids[topic])) for topic in topics}

    assignment: Assignment = {}
    unfilled: list[tuple[str, int]] = []
    for position, member in enumerate(listed):
        extra = extras > 0
        quota = least + extra
        kept = list(member.owned) if plain else [pair for pair in dict.fromkeys(member.owned) if pair[0] in subscribed]
        if len(kept) > quota:
            through = one_each(kept, spreads) if plain else None
            if through is not None:
                unassigned += through[quota:]
                assignment[member.member_id] = through[:quota]
                extras -= extra
                continue
            numbers = by_topic(kept)
            held = numbers if plain else dict.fromkeys(topic for topic, _ in member.owned)
            kept, revoked = _first(numbers, held, quota, topic_ids, spreads)
            unassigned += revoked
        assignment[member.member_id] = kept
        quota -= len(kept)
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
        raise BrokenClaims(f"{len(unassigned) - start} partitions would be left to nobody: some members claim partitions that do not exist")
    return assignment


def _first(
    numbers: Mapping[str, Sequence[int]], held: Collection[str], quota: int, topic_ids: Mapping[str, str], spreads: Mapping[str, int]
) -> tuple[list[TopicPartition], list[TopicPartition]]:
    """The partitions that a member keeps within its quota, going through its maps as Kafka does, and those that it gives up."""
    mask = filled_capacity(len(held)) - 1
    if may_have_tree([spreads[topic] & mask for topic in numbers]):
        topics = [topic for topic in topic_id_order(held, topic_ids) if topic in numbers]
    else:
        topics = sorted(numbers, key=lambda topic: spreads[topic] & mask)
    through: list[TopicPartition] = []
    for topic in topics:
        of_topic = numbers[topic]
        through += zip(repeat(topic), set_order(of_topic) if len(of_topic) > 1 else of_topic)
    return through[:quota], through[quota:]


# ---------------------------------------------------------------- members subscribe to different topics
class _Balance:
    """The target assignment on its way; members and topics are numbered."""

    def __init__(self, partitions: Mapping[str, int], topic_ids: Mapping[str, str], listed: Sequence[Member]) -> None:
        self.partitions = partitions
        self.listed = listed
        known = set(partitions)
        by_name: dict[str, list[int]] = {topic: [] for topic in partitions}
        for index, member in enumerate(listed):
            for topic in known.intersection(member.topics):
                by_name[topic].append(index)
        self.subscribers = {topic: indices for topic, indices in by_name.items() if indices}
        by_id = sorted(topic_id_order(self.subscribers, topic_ids), key=lambda topic: uuid_order(topic_ids[topic]))
        self.id_rank = {topic: position for position, topic in enumerate(by_id)}
        self.owner: dict[str, list[int | None]] = {topic: [None] * partitions[topic] for topic in self.subscribers}
        self.loads = [0] * len(listed)
        self.owned: list[dict[TopicPartition, None]] = []

    def build(self) -> Assignment:
        for index, member in enumerate(self.listed):
            topics = self.subscribers.keys() & member.topics if member.owned else ()
            kept = dict.fromkeys(partition for partition in member.owned if partition[0] in topics)
            for topic, number in kept:
                if not 0 <= number < self.partitions[topic]:
                    raise BrokenClaims(f"{member.member_id} claims partition {number} of {topic}, which has {self.partitions[topic]}")
                self.owner[topic][number] = index
            self.loads[index] = len(kept)
            self.owned.append(kept)
        self._deal()
        self._balance()
        return {member.member_id: list(owned) for member, owned in zip(self.listed, self.owned, strict=True)}

    def _sorted(self, topics: Iterable[str]) -> list[str]:
        """Topics with the most partitions a subscriber first; then with the fewest subscribers; then by id."""

        def place(topic: str) -> tuple[float, int, int]:
            subscribers = len(self.subscribers[topic])
            return -self.partitions[topic] / subscribers, subscribers, self.id_rank[topic]

        return sorted(topics, key=place)

    def _deal(self) -> None:
        free = {topic: [number for number, owner in enumerate(owners) if owner is None] for topic, owners in self.owner.items()}
        for topic in self._sorted(topic for topic, numbers in free.items() if numbers):
            least_loaded, owner = _Ends(self.subscribers[topic], self.loads).least_loaded, self.owner[topic]
            for number in free[topic]:
                index = least_loaded()
                owner[number] = index
                self.owned[index][topic, number] = None
                self.loads[index] += 1

    def _balance(self) -> None:
        """Balance topic after topic, until a whole round changed nothing."""
        topics = self._sorted(topic for topic, subscribers in self.subscribers.items() if len(subscribers) > 1)
        last_changed: int | None = None
        for _ in range(_MOST_PASSES):
            for position, topic in enumerate(topics):
                if position == last_changed:
                    return
                if self._balance_topic(topic) or last_changed is None:
                    last_changed = position

    def _balance_topic(self, topic: str) -> bool:
        """Move partitions from the most to the least loaded subscribers, each giver's highest number first; whether any moved."""
        subscribers = self.subscribers[topic]
        loads = [self.loads[index] for index in subscribers]
        if max(loads) - min(loads) <= 1:
            return False
        held: dict[int, list[int]] = {}
        for number, owner in enumerate(self.owner[topic]):
            if owner is not None:
                held.setdefault(owner, []).append(number)
        ends = _Ends(subscribers, self.loads)
        moved = False
        while not ends.balanced():
            giver = ends.most_loaded()
            while giver is not None and not held.get(giver):
                ends.exclude_most_loaded()
                giver = ends.most_loaded()
            if giver is None:
                break
            number = held[giver].pop()
            taker = ends.least_loaded()
            if ends.balanced():
                break
            self.loads[giver] -= 1
            self.owned[giver].pop((topic, number), None)
            self.owner[topic][number] = taker
            self.owned[taker][topic, number] = None
            self.loads[taker] += 1
            moved = True
        return moved


class _Ends:
    """The least loaded of some members (in the order of their numbers), level by level from below, and the most loaded from above
    (MemberAssignmentBalancer).

    Each end is a range of the members in the order of their loads, whose level rises (or falls) by one each time that the range was gone
    through.
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
        """None once nobody is left who could give."""
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
        """The member just named leaves the range: it changes places with the last one, and the range ends before it."""
        here, last = self.high_next + 1, self.high_end - 1
        self.members[here], self.members[last] = self.members[last], self.members[here]
        self.high_end -= 1
