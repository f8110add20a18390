"""Sticky: a balanced assignment that moves as few partitions as it can
(org.apache.kafka.clients.consumer.StickyAssignor over internals.AbstractStickyAssignor, 3.5.2 to 4.3; racks (KIP-881) since 3.5).

Older versions are refused: 2.0 to 2.3, 2.4 to 2.8 and 3.0 to 3.5.1 are other algorithms, which share out as evenly but not to the same
members. Since 3.7.1 a member keeps its lowest partition numbers (KAFKA-16277), before it kept those that it named first.

A and B hold three partitions each, C joins; each keeps two, by partition number, and C takes what they let go:

    A: T0 T2 T4      A: T0 T2
    B: T1 T3 T5  ->  B: T1 T3
                     C: T4 T5

Where all members subscribe alike, a quota says who keeps what (`_by_quota`); otherwise partitions are dealt to the least loaded and then
moved while that helps (`_General`). Subscriptions count as alike even if the first members of Kafka's HashMap subscribe to nothing: then
they are dealt partitions like the rest. A claim by two members goes to the higher generation; of two of one generation, to neither.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heapreplace
from itertools import chain, groupby
from operator import itemgetter

from kafka_model.assignor.group import (
    Assignment,
    BrokenClaims,
    EmptyGroup,
    Member,
    Racks,
    TopicPartition,
    hash_map_of,
    metadata_order,
    rack_aware,
)
from kafka_model.java.hash_map import HashTable, string_hash, string_order
from kafka_model.release import LATEST, UnknownVersion, release

NO_GENERATION = -1


def assign(
    partitions: Mapping[str, int],
    members: Sequence[Member],
    *,
    racks: Racks | None = None,
    subscription_generations: Mapping[str, int | None] | None = None,
    version: str = LATEST,
) -> Assignment:
    """The partitions of each member, given the partition counts of the topics; a topic without a count has no metadata and is left out.

    A member's `owned` and `generation` are those of its user data. Where its subscription tells another generation (none at all before
    3.2), `subscription_generations` says which: a clash looks at that of the member met first.
    """
    return assign_and_transfer(partitions, members, racks=racks, subscription_generations=subscription_generations, version=version)[0]


def assign_and_transfer(
    partitions: Mapping[str, int],
    members: Sequence[Member],
    *,
    racks: Racks | None,
    subscription_generations: Mapping[str, int | None] | None,
    version: str = LATEST,
) -> tuple[Assignment, dict[TopicPartition, str] | None]:
    """The assignment, and who takes over a partition that another gave up (None where the algorithm does not keep account of it)."""
    if release(version) < (3, 5, 2):
        raise UnknownVersion(f"the sticky assignors of Kafka {version} are not modelled: the first is 3.5.2")
    if not members:
        raise EmptyGroup("sticky has no answer for a group without members")
    listed = hash_map_of(members)
    known = {topic: partitions[topic] for topic in metadata_order(partitions, listed)}
    claims = _claims(known, listed, subscription_generations or {})
    aware = _Racks.of(known, listed, racks)
    if claims.subscribed_alike:
        return _by_quota(known, claims, aware, by_number=release(version) >= (3, 7, 1))
    return _General(known, listed, claims, aware).build(), None


@dataclass(slots=True)
class _Claims:
    """What each member may be taken to own, after claims that clash; and the partitions that two claimed in one generation."""

    owned: dict[str, list[TopicPartition]] = field(default_factory=dict)
    disputed: set[TopicPartition] = field(default_factory=set)
    subscribed_alike: bool = True
    generation: int = NO_GENERATION


def _claims(known: Mapping[str, int], listed: Sequence[Member], subscription_generations: Mapping[str, int | None]) -> _Claims:
    claims = _Claims()
    generations = {member.member_id: _generation(member.generation) for member in listed}
    told = generations | {member: max(_generation(generation), NO_GENERATION) for member, generation in subscription_generations.items()}
    owner: dict[TopicPartition, str] = {}
    common: tuple[str, ...] = ()
    for member in listed:
        consumer, generation = member.member_id, generations[member.member_id]
        if not common:
            common = member.topics
        elif member.topics != common and (len(member.topics) != len(common) or set(member.topics) != set(common)):
            claims.subscribed_alike = False
        claims.generation = max(claims.generation, generation)
        owned = claims.owned[consumer] = []
        for partition in member.owned:
            if partition[0] not in known:
                continue
            other = owner.get(partition)
            if other is None:
                owned.append(partition)
            elif generation == told[other]:
                claims.disputed.add(partition)
                _remove(claims.owned[other], partition)
            elif generation > told[other]:
                owned.append(partition)
                _remove(claims.owned[other], partition)
            else:
                continue
            owner[partition] = consumer
    return claims


def _generation(told: int | None) -> int:
    return NO_GENERATION if told is None else told


def _remove(partitions: list[TopicPartition], partition: TopicPartition) -> None:
    if partition in partitions:
        partitions.remove(partition)


@dataclass(frozen=True, slots=True)
class _Racks:
    """The racks of consumers and of partitions' replicas, both empty where racks make no difference."""

    of_consumer: dict[str, str]
    of_partition: dict[TopicPartition, frozenset[str]]
    consumers_near: dict[TopicPartition, int]

    @classmethod
    def of(cls, known: Mapping[str, int], listed: Sequence[Member], racks: Racks | None) -> _Racks:
        of_consumer = {member.member_id: member.rack for member in listed if member.rack}
        if not of_consumer:
            return cls({}, {}, {})
        told = racks or {}
        of_partition = {
            (topic, partition): frozenset(told[topic][partition] if partition < len(told.get(topic, ())) else ())
            for topic, count in known.items()
            for partition in range(count)
        }
        if not rack_aware(of_consumer.values(), list(of_partition.values())):
            return cls({}, {}, {})
        on_rack: dict[str, int] = {}
        for rack in of_consumer.values():
            on_rack[rack] = on_rack.get(rack, 0) + 1
        near = {partition: sum(on_rack.get(rack, 0) for rack in of_replicas) for partition, of_replicas in of_partition.items()}
        return cls(of_consumer, of_partition, near)

    def mismatch(self, consumer: str, partition: TopicPartition) -> bool:
        rack = self.of_consumer.get(consumer)
        return rack is not None and rack not in self.of_partition.get(partition, ())

    def next_near(self, partition: TopicPartition, consumers: Sequence[str], start: int) -> int | None:
        racks = self.of_partition[partition]
        for position in chain(range(start, len(consumers)), range(start)):
            if self.of_consumer.get(consumers[position]) in racks:
                return position
        return None


def _unassigned(every: Sequence[TopicPartition], assigned: Sequence[TopicPartition], counts: Mapping[str, int]) -> list[TopicPartition]:
    """Every partition, less the assigned ones: but Kafka goes through both in step, and sees no more of them after one that does not exist.

    `assigned` is in the order of `every`.
    """
    seen: set[TopicPartition] = set()
    for partition in assigned:
        if not 0 <= partition[1] < counts[partition[0]]:
            break
        seen.add(partition)
    return [partition for partition in every if partition not in seen]


# ---------------------------------------------------------------- all members subscribe alike
def _by_quota(known: Mapping[str, int], claims: _Claims, racks: _Racks, *, by_number: bool) -> tuple[Assignment, dict[TopicPartition, str]]:
    quota, extras = divmod(sum(known.values()), len(claims.owned))
    topics = sorted(known, key=string_order)
    rank = {topic: position for position, topic in enumerate(topics)}
    assignment: Assignment = {}
    let_go: dict[TopicPartition, str] = {}
    under: list[str] = []
    level: deque[str] = deque()
    above = 0
    for consumer, claimed in claims.owned.items():
        owned = []
        for partition in claimed:
            if racks.of_consumer and racks.mismatch(consumer, partition):
                if by_number:
                    let_go[partition] = consumer
            elif partition not in claims.disputed:
                owned.append(partition)
        if by_number:
            owned.sort(key=lambda partition: (partition[1], rank[partition[0]]))
        if len(owned) < quota:
            under.append(consumer)
        elif len(owned) > quota and above < extras:
            above += 1
            if above == extras:
                level.clear()
            let_go.update(dict.fromkeys(owned[quota + 1 :], consumer))
            del owned[quota + 1 :]
        else:
            let_go.update(dict.fromkeys(owned[quota:], consumer))
            del owned[quota:]
            if above < extras:
                level.append(consumer)
        assignment[consumer] = owned
    kept = sorted(chain.from_iterable(assignment.values()), key=lambda partition: (rank[partition[0]], partition[1]))
    unassigned = _unassigned([(topic, partition) for topic in topics for partition in range(known[topic])], kept, known)
    under.sort(key=string_order)
    level = deque(sorted(level, key=string_order))
    given: list[tuple[TopicPartition, str]] = []
    if racks.of_consumer:
        unassigned.sort(key=racks.consumers_near.__getitem__)
        unassigned = _fill_near(
            unassigned,
            assignment,
            given,
            under,
            level,
            racks,
            quota=quota,
            uneven=extras > 0,
            free_extras=extras - above if by_number else None,
        )
    _fill(unassigned, assignment, given, under, level, quota=quota)
    transferred = {
        partition: consumer
        for partition, consumer in given
        if partition in claims.disputed or (partition in let_go and not (by_number and let_go[partition] == consumer))
    }
    return assignment, transferred


def _fill_near(
    unassigned: list[TopicPartition],
    assignment: Assignment,
    given: list[tuple[TopicPartition, str]],
    under: list[str],
    level: deque[str],
    racks: _Racks,
    *,
    quota: int,
    uneven: bool,
    free_extras: int | None,
) -> list[TopicPartition]:
    """Deal partitions to members on a rack of theirs, within the quotas; what is left has none. Before 3.7.1 (no `free_extras`) nobody
    counted how many members went above the quota.
    """
    left = []
    turn = 0
    for partition in unassigned:
        position = racks.next_near(partition, under, turn)
        if position is not None:
            consumer = under[position]
            if len(assignment[consumer]) + 1 >= quota:
                del under[position]
                if free_extras or (free_extras is None and uneven):
                    level.append(consumer)
            else:
                position += 1
            turn = position % len(under) if under else 0
        else:
            position = racks.next_near(partition, level, 0)
            if position is None:
                left.append(partition)
                continue
            consumer = level[position]
            del level[position]
            if free_extras is not None:
                free_extras -= 1
                if not free_extras:
                    level.clear()
        assignment[consumer].append(partition)
        given.append((partition, consumer))
    return left


def _fill(
    unassigned: list[TopicPartition],
    assignment: Assignment,
    given: list[tuple[TopicPartition, str]],
    under: list[str],
    level: deque[str],
    *,
    quota: int,
) -> None:
    """Deal partitions in rounds to the members under the quota (since 3.7.1 there are enough for these), then one each to those at it."""
    rest = iter(unassigned)
    while under:
        still_under: list[str] = []
        for consumer in under:
            partition = next(rest, None)
            if partition is None:
                raise BrokenClaims(f"no partition is left for {consumer}: others are above their quota")
            assignment[consumer].append(partition)
            given.append((partition, consumer))
            if len(assignment[consumer]) < quota:
                still_under.append(consumer)
            else:
                level.append(consumer)
        under = still_under
    for partition in rest:
        if not level:
            raise BrokenClaims(f"no member can take {partition}: all are at their quota, some by partitions that do not exist")
        consumer = level.popleft()
        assignment[consumer].append(partition)
        given.append((partition, consumer))


# ---------------------------------------------------------------- members subscribe to different topics
class _General:
    """The assignment on its way: dealt to the least loaded, then moved from those with more to those with less."""

    def __init__(self, known: Mapping[str, int], listed: Sequence[Member], claims: _Claims, racks: _Racks) -> None:
        self.known = known
        self.racks = racks
        self.owned = claims.owned
        self.topics_of = {member.member_id: dict.fromkeys(topic for topic in member.topics if topic in known) for member in listed}
        self.subscribers: dict[str, list[str]] = {topic: [] for topic in known}
        for consumer, topics in self.topics_of.items():
            for topic in topics:
                self.subscribers[topic].append(consumer)
        by_name = sorted(self.owned, key=string_order)
        self.rank = {consumer: position for position, consumer in enumerate(by_name)}
        self.owner: dict[TopicPartition, str] = {}
        self.previous = _previous_owners(listed, claims.generation)
        self.moves = _Moves()
        topic_order = sorted(known, key=lambda topic: (len(self.subscribers[topic]), string_order(topic)))
        self.topic_rank = {topic: position for position, topic in enumerate(topic_order)}
        self.partitions = [(topic, partition) for topic in topic_order for partition in range(known[topic])]
        self.active = set(self.owned)
        self.sound = True
        self.witness: tuple[str, TopicPartition] | None = None

    def build(self) -> Assignment:
        kept, revoked = self._keep()
        unassigned = _unassigned(self.partitions, kept, self.known)
        self.sound = len(kept) + len(unassigned) == len(self.partitions)
        fresh = not any(self.owned.values())
        undealt = self._deal(unassigned, by_rack=True) if self.racks.of_consumer else unassigned
        self._deal(undealt, by_rack=False)
        movable = [partition for partition in self.partitions if len(self.subscribers[partition[0]]) > 1]
        self.active = {consumer for consumer in self.owned if self._may_change(consumer)}
        before = {consumer: list(self.owned[consumer]) for consumer in self.active}
        if not revoked:
            self._move([partition for partition in unassigned if len(self.subscribers[partition[0]]) > 1])
        if self._move(movable) and not fresh and _imbalance(self._active_lists()) >= _imbalance(before.values()):
            self.owned.update(before)
        return self.owned

    def load(self, consumer: str) -> int:
        return len(self.owned[consumer])

    def _order(self, consumer: str) -> tuple[int, int]:
        return len(self.owned[consumer]), self.rank[consumer]

    def _active_lists(self) -> list[list[TopicPartition]]:
        return [self.owned[consumer] for consumer in self.active]

    def _keep(self) -> tuple[list[TopicPartition], bool]:
        """What members keep of their claims, in the order of partitions; and whether they lose any for their subscription or their rack."""
        revoked = False
        for consumer, claimed in self.owned.items():
            kept = []
            for partition in claimed:
                self.owner[partition] = consumer
                if partition[0] in self.topics_of[consumer] and not self.racks.mismatch(consumer, partition):
                    kept.append(partition)
                else:
                    revoked = True
            self.owned[consumer] = kept
        every = chain.from_iterable(self.owned.values())
        return sorted(every, key=lambda partition: (self.topic_rank[partition[0]], partition[1])), revoked

    def _deal(self, partitions: Sequence[TopicPartition], *, by_rack: bool) -> list[TopicPartition]:
        """Give each partition to the least loaded subscriber (on a rack of its, or on none); what nobody took."""
        left = []
        for topic, run in groupby(partitions, key=itemgetter(0)):
            waiting: dict[str | None, list[tuple[int, int, str]]] = {}
            for consumer in self.subscribers[topic]:
                rack = self.racks.of_consumer.get(consumer) if by_rack else None
                waiting.setdefault(rack, []).append((*self._order(consumer), consumer))
            for queue in waiting.values():
                heapify(queue)
            for partition in run:
                near = (None, *self.racks.of_partition[partition]) if by_rack else (None,)
                queues = [waiting[rack] for rack in near if rack in waiting]
                if not queues:
                    left.append(partition)
                    continue
                queue = min(queues, key=itemgetter(0))
                load, rank, consumer = queue[0]
                heapreplace(queue, (load + 1, rank, consumer))
                self.owned[consumer].append(partition)
                self.owner[partition] = consumer
        return left

    def _may_change(self, consumer: str) -> bool:
        return self.load(consumer) < self._most(consumer) or any(len(self.subscribers[topic]) > 1 for topic, _ in self.owned[consumer])

    def _most(self, consumer: str) -> int:
        return sum(self.known[topic] for topic in self.topics_of[consumer])

    def _move(self, partitions: Sequence[TopicPartition]) -> bool:
        """Go through the partitions until no move helps; whether one was made."""
        moved_any = False
        moved = True
        while moved:
            moved = False
            balanced = None
            for partition in partitions:
                balanced = self._balanced() if balanced is None else balanced
                if balanced:
                    break
                taker = self._taker(partition)
                if taker is not None:
                    self._reassign(partition, taker)
                    moved = moved_any = True
                    balanced = None
        return moved_any

    def _taker(self, partition: TopicPartition) -> str | None:
        """Who should have the partition instead: its owner of an earlier generation, or else its least loaded subscriber."""
        load = self._active_load(self.owner[partition])
        previous = self.previous.get(partition)
        if previous is not None and load > self._active_load(previous) + 1:
            return previous
        for consumer in self.subscribers[partition[0]]:
            if load > self._active_load(consumer) + 1:
                return min((other for other in self.subscribers[partition[0]] if other in self.active), key=self._order)
        return None

    def _active_load(self, consumer: str) -> int:
        if consumer not in self.active:
            raise BrokenClaims(f"{consumer} has a claim to partitions, but none of those that may move")
        return self.load(consumer)

    def _balanced(self) -> bool:
        """Whether no member lacks a partition whose owner has two or more partitions above it."""
        loads = [len(owned) for owned in self._active_lists()]
        if min(loads) >= max(loads) - 1:
            return True
        return self._balanced_if_sound() if self.sound else self._balanced_by_lists()

    def _balanced_if_sound(self) -> bool:
        if self.witness is not None:
            consumer, partition = self.witness
            if self.load(consumer) + 1 < self.load(self.owner[partition]) and self.load(consumer) != self._most(consumer):
                return False
        for topic, consumers in self.subscribers.items():
            if len(consumers) < 2:
                continue
            needy = min((consumer for consumer in consumers if self.load(consumer) != self._most(consumer)), key=self.load, default=None)
            if needy is None:
                continue
            fullest = max(range(self.known[topic]), key=lambda number: self.load(self.owner[topic, number]))
            if self.load(needy) + 1 < self.load(self.owner[topic, fullest]):
                self.witness = needy, (topic, fullest)
                return False
        return True

    def _balanced_by_lists(self) -> bool:
        """The same, where claims to partitions that do not exist have left some in two lists: Kafka then takes the last of the lists."""
        held = {partition: consumer for consumer in self._in_map_order() for partition in self.owned[consumer]}
        for consumer in sorted(self.active, key=self._order):
            if self.load(consumer) == self._most(consumer):
                continue
            own = set(self.owned[consumer])
            for topic in self.topics_of[consumer]:
                for partition in ((topic, number) for number in range(self.known[topic])):
                    if partition in own:
                        continue
                    if partition not in held:
                        raise BrokenClaims(f"{partition} is with no member that may change")
                    if self.load(consumer) + 1 < self.load(held[partition]):
                        return False
        return True

    def _in_map_order(self) -> list[str]:
        return [consumer for consumer in self.owned if consumer in self.active]

    def _reassign(self, partition: TopicPartition, taker: str) -> None:
        """Move the partition, or rather one of its topic that moved the other way before."""
        partition = self.moves.instead_of(partition, self.owner[partition], taker)
        giver = self.owner[partition]
        self.moves.add(partition, giver, taker)
        _remove(self.owned[giver], partition)
        self.owned[taker].append(partition)
        self.owner[partition] = taker


def _previous_owners(listed: Sequence[Member], generation: int) -> dict[TopicPartition, str]:
    """Who held a partition in the latest generation before the last one."""
    latest: dict[TopicPartition, tuple[int, str]] = {}
    for member in listed:
        held_in = _generation(member.generation)
        if held_in < generation:
            for partition in member.owned:
                if partition not in latest or held_in > latest[partition][0]:
                    latest[partition] = held_in, member.member_id
    return {partition: consumer for partition, (_, consumer) in latest.items()}


class _Moves:
    """Which partitions moved from whom to whom, by topic, so that none moves where another of its topic came from."""

    def __init__(self) -> None:
        self._of_partition: dict[TopicPartition, tuple[str, str]] = {}
        self._of_topic: dict[str, dict[tuple[str, str], HashTable[int]]] = {}

    def instead_of(self, partition: TopicPartition, giver: str, taker: str) -> TopicPartition:
        topic, _ = partition
        source = self._of_partition[partition][0] if partition in self._of_partition else giver
        moved_back = self._of_topic.get(topic, {}).get((taker, source))
        return (topic, next(iter(moved_back))) if moved_back else partition

    def add(self, partition: TopicPartition, giver: str, taker: str) -> None:
        topic, number = partition
        moves = self._of_topic.setdefault(topic, {})
        source = giver
        if partition in self._of_partition:
            pair = self._of_partition.pop(partition)
            moves[pair].discard(number)
            if not moves[pair]:
                del moves[pair]
            source = pair[0]
            if source == taker:
                return
        self._of_partition[partition] = source, taker
        if (source, taker) not in moves:
            name = string_hash(topic)
            moves[source, taker] = HashTable(lambda number: 31 * (31 + number) + name)
        moves[source, taker].put(number)


def _imbalance(lists: Iterable[list[TopicPartition]]) -> int:
    """The sum of the differences in length of all pairs, which Kafka counts in 32 bits."""
    ordered = sorted(map(len, lists))
    total = sum(load * (2 * position - len(ordered) + 1) for position, load in enumerate(ordered))
    return (total + 0x8000_0000) % 0x1_0000_0000 - 0x8000_0000
