"""The sticky assignor: a balanced assignment that moves few partitions.

Reproduces org.apache.kafka.clients.consumer.StickyAssignor with internals.AbstractStickyAssignor, 3.5.0 to 4.4, with racks (KIP-881).
Older versions are refused: 2.0 to 2.3, 2.4 to 2.8 and 3.0 to 3.4 have other algorithms, which are as balanced but choose other members.
Before 3.5.2 two members can get the same partition if three claimed it, and a partition can move back to an earlier owner that no longer
subscribes to it.
Since 3.7.1 a member keeps its lowest partition numbers (KAFKA-16277); before, it kept those that it listed first.

A and B own three partitions each, then C joins. A and B keep two each, by partition number, and C gets the rest:

    >>> def owner(name: str, *numbers: int) -> Member:
    ...     return Member(name, ("T",), owned=tuple(("T", number) for number in numbers), generation=1)
    >>> assign({"T": 6}, [owner("A", 0, 2, 4), owner("B", 1, 3, 5), Member("C", ("T",))])
    {'A': [('T', 0), ('T', 2)], 'B': [('T', 1), ('T', 3)], 'C': [('T', 4), ('T', 5)]}

If all members have equal subscriptions, quotas decide (`_assign_by_quota`, Kafka's ConstrainedAssignmentBuilder). Otherwise partitions
are assigned to the least loaded members and then moved while that improves the balance (`_GeneralAssignment`, GeneralAssignmentBuilder).
Subscriptions also count as equal if the first members of Kafka's HashMap subscribe to nothing; these members then get partitions like
the others. A partition claimed by two members belongs to the one with the higher generation, and to neither if the generations are equal.
"""

from __future__ import annotations

from collections import Counter, deque
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
    in_hash_map_order,
    metadata_order,
    rack_aware,
)
from kafka_model.java.hash_map import HashTable, string_hash, string_order
from kafka_model.release import LATEST, Release, UnknownVersion

NO_GENERATION = -1


def assign(
    partitions: Mapping[str, int],
    members: Sequence[Member],
    *,
    racks: Racks | None = None,
    subscription_generations: Mapping[str, int | None] | None = None,
    version: Release = LATEST,
) -> Assignment:
    """Assign partitions to members. `partitions` are the partition counts of the topics; a topic without a count is skipped.

    A member's `owned` and `generation` are those of its user data. `subscription_generations` contains the generation of its subscription
    (None before 3.2) where it differs: conflicting claims compare that of the member visited first.
    """
    return assign_and_transfer(partitions, members, racks=racks, subscription_generations=subscription_generations, version=version)[0]


def pack(owned: Sequence[TopicPartition]) -> tuple[TopicPartition, ...]:
    """Order a member's partitions as its user data lists them: topics in HashMap order (CollectionUtils.groupPartitionsByTopic), numbers as given.

    This is `Member.owned` of a member that keeps its assignment until the next one.

    >>> pack([("refunds", 0), ("orders", 4), ("refunds", 1)])
    (('orders', 4), ('refunds', 0), ('refunds', 1))
    """
    numbers: dict[str, list[int]] = {}
    for topic, number in owned:
        numbers.setdefault(topic, []).append(number)
    topics = HashTable(string_hash, tie=string_order)
    calls = numbers if len(numbers) == 1 else (topic for topic, _ in owned)
    for topic in calls:
        topics.compute_if_absent(topic)
    return tuple((topic, number) for topic in topics for number in numbers[topic])


def assign_and_transfer(
    partitions: Mapping[str, int],
    members: Sequence[Member],
    *,
    racks: Racks | None,
    subscription_generations: Mapping[str, int | None] | None,
    version: Release = LATEST,
) -> tuple[Assignment, dict[TopicPartition, str] | None]:
    """Compute the assignment, and the new member of each partition that another gave up (None if the algorithm does not record it)."""
    if version < Release(3, 5, 0):
        raise UnknownVersion(f"the sticky assignors of Kafka {version} are not modelled: use 3.5.0 or later")
    if not members:
        raise EmptyGroup("the sticky assignors cannot assign partitions to a group without members")
    listed = in_hash_map_order(members)
    known = {topic: partitions[topic] for topic in metadata_order(partitions, listed)}
    claims = _resolve_claims(known, listed, subscription_generations or {}, latest_claimant=version < Release(3, 5, 2))
    rack_info = _Racks.create(known, listed, racks)
    if claims.equal_subscriptions:
        return _assign_by_quota(known, claims, rack_info, keep_lowest=version >= Release(3, 7, 1))
    balanced_difference = 1 if version >= Release(3, 5, 2) else 0
    return _GeneralAssignment(known, listed, claims, rack_info, balanced_difference).build(), None


@dataclass(slots=True)
class _Claims:
    """The partitions that each member owns after conflicting claims are resolved, and those claimed twice in one generation.

    Before 3.5.2 two members may still own a partition.
    """

    owned: dict[str, list[TopicPartition]] = field(default_factory=dict)
    disputed: set[TopicPartition] = field(default_factory=set)
    equal_subscriptions: bool = True
    generation: int = NO_GENERATION


def _resolve_claims(
    known: Mapping[str, int], listed: Sequence[Member], subscription_generations: Mapping[str, int | None], *, latest_claimant: bool
) -> _Claims:
    """Resolve conflicting claims. Each claim is compared with the owner, or with `latest_claimant` with the one before, even if that lost."""
    claims = _Claims()
    generations = {member.member_id: _generation(member.generation) for member in listed}
    compared = generations | {
        member: max(_generation(generation), NO_GENERATION) for member, generation in subscription_generations.items()
    }
    owner: dict[TopicPartition, str] = {}
    common: tuple[str, ...] = ()
    for member in listed:
        consumer, generation = member.member_id, generations[member.member_id]
        if not common:
            common = member.topics
        elif member.topics != common and (len(member.topics) != len(common) or set(member.topics) != set(common)):
            claims.equal_subscriptions = False
        claims.generation = max(claims.generation, generation)
        owned = claims.owned[consumer] = []
        for partition in member.owned:
            if partition[0] not in known:
                continue
            claimant = owner.get(partition)
            if latest_claimant:
                owner[partition] = consumer
            if claimant is None:
                owned.append(partition)
            elif generation == compared[claimant]:
                claims.disputed.add(partition)
                _remove(claims.owned[claimant], partition)
            elif generation > compared[claimant]:
                owned.append(partition)
                _remove(claims.owned[claimant], partition)
            else:
                continue
            owner[partition] = consumer
    return claims


def _generation(generation: int | None) -> int:
    return NO_GENERATION if generation is None else generation


def _remove(partitions: list[TopicPartition], partition: TopicPartition) -> None:
    if partition in partitions:
        partitions.remove(partition)


@dataclass(frozen=True, slots=True)
class _Racks:
    """The racks of consumers and of partitions' replicas. All fields are empty if racks make no difference."""

    consumer_racks: dict[str, str]
    partition_racks: dict[TopicPartition, frozenset[str]]
    consumers_on_racks: dict[TopicPartition, int]  # number of consumers on one of the partition's racks

    @classmethod
    def create(cls, known: Mapping[str, int], listed: Sequence[Member], racks: Racks | None) -> _Racks:
        consumer_racks = {member.member_id: member.rack for member in listed if member.rack}
        if not consumer_racks:
            return cls({}, {}, {})
        topic_racks = racks or {}
        partition_racks = {
            (topic, partition): frozenset(topic_racks[topic][partition] if partition < len(topic_racks.get(topic, ())) else ())
            for topic, count in known.items()
            for partition in range(count)
        }
        if not rack_aware(consumer_racks.values(), list(partition_racks.values())):
            return cls({}, {}, {})
        on_rack = Counter(consumer_racks.values())
        return cls(
            consumer_racks, partition_racks, {partition: sum(on_rack[rack] for rack in own) for partition, own in partition_racks.items()}
        )

    def mismatch(self, consumer: str, partition: TopicPartition) -> bool:
        rack = self.consumer_racks.get(consumer)
        return rack is not None and rack not in self.partition_racks.get(partition, ())

    def next_on_rack(self, partition: TopicPartition, consumers: Sequence[str], start: int) -> int | None:
        racks = self.partition_racks[partition]
        for position in chain(range(start, len(consumers)), range(start)):
            if self.consumer_racks.get(consumers[position]) in racks:
                return position
        return None


def _unassigned(
    partitions: Sequence[TopicPartition], assigned: Sequence[TopicPartition], counts: Mapping[str, int]
) -> list[TopicPartition]:
    """List the partitions that are not assigned. `assigned` is in the order of `partitions`.

    Kafka merges both lists, and ignores the rest of `assigned` after a partition that does not exist or that is there twice.
    """
    seen: set[TopicPartition] = set()
    for partition in assigned:
        if partition in seen or not 0 <= partition[1] < counts[partition[0]]:
            break
        seen.add(partition)
    return [partition for partition in partitions if partition not in seen]


# ---------------------------------------------------------------- equal subscriptions
def _assign_by_quota(
    known: Mapping[str, int], claims: _Claims, racks: _Racks, *, keep_lowest: bool
) -> tuple[Assignment, dict[TopicPartition, str]]:
    quota, extras = divmod(sum(known.values()), len(claims.owned))
    topics = sorted(known, key=string_order)
    rank = {topic: position for position, topic in enumerate(topics)}
    assignment: Assignment = {}
    revoked: dict[TopicPartition, str] = {}
    under: list[str] = []  # members with fewer partitions than the quota
    level: deque[str] = deque()  # members at the quota that may get one more
    above = 0  # members above the quota
    for consumer, claimed in claims.owned.items():
        owned = []
        for partition in claimed:
            if racks.consumer_racks and racks.mismatch(consumer, partition):
                if keep_lowest:
                    revoked[partition] = consumer
            elif partition not in claims.disputed:
                owned.append(partition)
        if keep_lowest:
            owned.sort(key=lambda partition: (partition[1], rank[partition[0]]))
        if len(owned) < quota:
            under.append(consumer)
        elif len(owned) > quota and above < extras:
            above += 1
            if above == extras:
                level.clear()
            revoked.update(dict.fromkeys(owned[quota + 1 :], consumer))
            del owned[quota + 1 :]
        else:
            revoked.update(dict.fromkeys(owned[quota:], consumer))
            del owned[quota:]
            if above < extras:
                level.append(consumer)
        assignment[consumer] = owned
    kept_partitions = sorted(chain.from_iterable(assignment.values()), key=lambda partition: (rank[partition[0]], partition[1]))
    unassigned = _unassigned([(topic, partition) for topic in topics for partition in range(known[topic])], kept_partitions, known)
    under.sort(key=string_order)
    level = deque(sorted(level, key=string_order))
    added: list[tuple[TopicPartition, str]] = []
    if racks.consumer_racks:
        unassigned.sort(key=racks.consumers_on_racks.__getitem__)
        unassigned = _assign_on_racks(
            unassigned,
            assignment,
            added,
            under,
            level,
            racks,
            quota=quota,
            uneven=extras > 0,
            free_extras=extras - above if keep_lowest else None,
        )
    _assign_rest(unassigned, assignment, added, under, level, quota=quota)
    transferred = {
        partition: consumer
        for partition, consumer in added
        if partition in claims.disputed or (partition in revoked and not (keep_lowest and revoked[partition] == consumer))
    }
    return assignment, transferred


def _assign_on_racks(
    unassigned: list[TopicPartition],
    assignment: Assignment,
    added: list[tuple[TopicPartition, str]],
    under: list[str],
    level: deque[str],
    racks: _Racks,
    *,
    quota: int,
    uneven: bool,
    free_extras: int | None,
) -> list[TopicPartition]:
    """Assign partitions to members on one of their racks, within the quotas, and return the partitions without such a member.

    `free_extras` is the number of members that may still go above the quota; before 3.7.1 Kafka did not count them (None).
    """
    left = []
    turn = 0
    for partition in unassigned:
        position = racks.next_on_rack(partition, under, turn)
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
            position = racks.next_on_rack(partition, level, 0)
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
        added.append((partition, consumer))
    return left


def _assign_rest(
    unassigned: list[TopicPartition],
    assignment: Assignment,
    added: list[tuple[TopicPartition, str]],
    under: list[str],
    level: deque[str],
    *,
    quota: int,
) -> None:
    """Assign partitions in rounds to members under the quota, then one each to members at the quota.

    Since 3.7.1 there are enough partitions for the members under the quota.
    """
    rest = iter(unassigned)
    while under:
        still_under: list[str] = []
        for consumer in under:
            partition = next(rest, None)
            if partition is None:
                raise BrokenClaims(f"no partition is left for {consumer}: other members are above their quota")
            assignment[consumer].append(partition)
            added.append((partition, consumer))
            if len(assignment[consumer]) < quota:
                still_under.append(consumer)
            else:
                level.append(consumer)
        under = still_under
    for partition in rest:
        if not level:
            raise BrokenClaims(f"no member can take {partition}: all are at their quota, some with partitions that do not exist")
        consumer = level.popleft()
        assignment[consumer].append(partition)
        added.append((partition, consumer))


# ---------------------------------------------------------------- different subscriptions
class _GeneralAssignment:
    """The state of the general algorithm: assign partitions to the least loaded members, then move them to less loaded ones."""

    def __init__(
        self, known: Mapping[str, int], listed: Sequence[Member], claims: _Claims, racks: _Racks, balanced_difference: int
    ) -> None:
        self.balanced_difference = balanced_difference  # between the loads of two members, up to which no partition has to move
        self.known = known
        self.racks = racks
        self.owned = claims.owned
        self.topics_of = {member.member_id: dict.fromkeys(topic for topic in member.topics if topic in known) for member in listed}
        self.subscribers: dict[str, list[str]] = {topic: [] for topic in known}
        for consumer, topics in self.topics_of.items():
            for topic in topics:
                self.subscribers[topic].append(consumer)
        sorted_consumers = sorted(self.owned, key=string_order)
        self.rank = {consumer: position for position, consumer in enumerate(sorted_consumers)}
        self.owner: dict[TopicPartition, str] = {}
        self.previous = _previous_owners(listed, claims.generation)
        self.movements = _Movements()
        topic_order = sorted(known, key=lambda topic: (len(self.subscribers[topic]), string_order(topic)))
        self.topic_rank = {topic: position for position, topic in enumerate(topic_order)}
        self.partitions = [(topic, partition) for topic in topic_order for partition in range(known[topic])]
        self.active = set(self.owned)
        self.consistent = True  # every partition has exactly one owner
        self.imbalance: tuple[str, TopicPartition] | None = None  # a member and a partition that it lacks, found last

    def build(self) -> Assignment:
        kept_partitions, revoked = self._keep_owned()
        unassigned = _unassigned(self.partitions, kept_partitions, self.known)
        self.consistent = len(kept_partitions) + len(unassigned) == len(self.partitions)
        is_new = not any(self.owned.values())
        rest = self._assign_to_least_loaded(unassigned, on_racks_only=True) if self.racks.consumer_racks else unassigned
        self._assign_to_least_loaded(rest, on_racks_only=False)
        movable = [partition for partition in self.partitions if len(self.subscribers[partition[0]]) > 1]
        self.active = {consumer for consumer in self.owned if self._may_change(consumer)}
        owned_before = {consumer: list(self.owned[consumer]) for consumer in self.active}
        if not revoked:
            self._move([partition for partition in unassigned if len(self.subscribers[partition[0]]) > 1])
        if self._move(movable) and not is_new and _balance_score(self._active_lists()) >= _balance_score(owned_before.values()):
            self.owned.update(owned_before)
        return self.owned

    def load(self, consumer: str) -> int:
        return len(self.owned[consumer])

    def _order(self, consumer: str) -> tuple[int, int]:
        return len(self.owned[consumer]), self.rank[consumer]

    def _active_lists(self) -> list[list[TopicPartition]]:
        return [self.owned[consumer] for consumer in self.active]

    def _keep_owned(self) -> tuple[list[TopicPartition], bool]:
        """List the claimed partitions that members keep, in order, and report whether subscriptions or racks revoke any."""
        revoked = False
        for consumer, claimed in self.owned.items():
            kept_partitions = []
            for partition in claimed:
                self.owner[partition] = consumer
                if partition[0] in self.topics_of[consumer] and not self.racks.mismatch(consumer, partition):
                    kept_partitions.append(partition)
                else:
                    revoked = True
            self.owned[consumer] = kept_partitions
        all_kept = chain.from_iterable(self.owned.values())
        return sorted(all_kept, key=lambda partition: (self.topic_rank[partition[0]], partition[1])), revoked

    def _assign_to_least_loaded(self, partitions: Sequence[TopicPartition], *, on_racks_only: bool) -> list[TopicPartition]:
        """Assign each partition to its least loaded subscriber, and return those without one.

        With `on_racks_only`, only members on one of the partition's racks, or without a rack, qualify.
        """
        left = []
        for topic, topic_partitions in groupby(partitions, key=itemgetter(0)):
            waiting: dict[str | None, list[tuple[int, int, str]]] = {}
            for consumer in self.subscribers[topic]:
                rack = self.racks.consumer_racks.get(consumer) if on_racks_only else None
                waiting.setdefault(rack, []).append((*self._order(consumer), consumer))
            for queue in waiting.values():
                heapify(queue)
            for partition in topic_partitions:
                racks = (None, *self.racks.partition_racks[partition]) if on_racks_only else (None,)
                queues = [waiting[rack] for rack in racks if rack in waiting]
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
        return self.load(consumer) < self._max_load(consumer) or any(len(self.subscribers[topic]) > 1 for topic, _ in self.owned[consumer])

    def _max_load(self, consumer: str) -> int:
        return sum(self.known[topic] for topic in self.topics_of[consumer])

    def _move(self, partitions: Sequence[TopicPartition]) -> bool:
        """Move partitions until no move improves the balance, and report whether any moved."""
        moved_any = False
        moved = True
        while moved:
            moved = False
            balanced = None
            for partition in partitions:
                balanced = self._is_balanced() if balanced is None else balanced
                if balanced:
                    break
                target = self._better_owner(partition)
                if target is not None:
                    self._reassign(partition, target)
                    moved = moved_any = True
                    balanced = None
        return moved_any

    def _better_owner(self, partition: TopicPartition) -> str | None:
        """Find a less loaded owner: the partition's owner in an earlier generation, otherwise its least loaded subscriber."""
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
            raise BrokenClaims(f"{consumer} claims partitions, but none that may move")
        return self.load(consumer)

    def _is_balanced(self) -> bool:
        """Return whether no member lacks a partition whose owner has at least two partitions more."""
        loads = [len(owned) for owned in self._active_lists()]
        if min(loads) >= max(loads) - 1:
            return True
        return self._is_balanced_by_topic() if self.consistent else self._is_balanced_by_lists()

    def _lacks(self, consumer: str, owner: str) -> bool:
        return self.load(consumer) + self.balanced_difference < self.load(owner)

    def _is_balanced_by_topic(self) -> bool:
        if self.imbalance is not None:
            consumer, partition = self.imbalance
            if self._lacks(consumer, self.owner[partition]) and self.load(consumer) != self._max_load(consumer):
                return False
        for topic, consumers in self.subscribers.items():
            if len(consumers) < 2:
                continue
            with_room = (consumer for consumer in consumers if self.load(consumer) != self._max_load(consumer))
            least_loaded = min(with_room, key=self.load, default=None)
            if least_loaded is None:
                continue
            most_loaded_partition = max(range(self.known[topic]), key=lambda number: self.load(self.owner[topic, number]))
            if self._lacks(least_loaded, self.owner[topic, most_loaded_partition]):
                self.imbalance = least_loaded, (topic, most_loaded_partition)
                return False
        return True

    def _is_balanced_by_lists(self) -> bool:
        """Check the balance where claims to partitions that do not exist have left partitions with two owners.

        Kafka then counts the last owner.
        """
        last_owner = {partition: consumer for consumer in self._in_map_order() for partition in self.owned[consumer]}
        for consumer in sorted(self.active, key=self._order):
            if self.load(consumer) == self._max_load(consumer):
                continue
            own = set(self.owned[consumer])
            for topic in self.topics_of[consumer]:
                for partition in ((topic, number) for number in range(self.known[topic])):
                    if partition in own:
                        continue
                    if partition not in last_owner:
                        raise BrokenClaims(f"{partition} belongs to no member that may change")
                    if self._lacks(consumer, last_owner[partition]):
                        return False
        return True

    def _in_map_order(self) -> list[str]:
        return [consumer for consumer in self.owned if consumer in self.active]

    def _reassign(self, partition: TopicPartition, target: str) -> None:
        """Move the partition, or a partition of its topic that moved in the opposite direction before."""
        partition = self.movements.partition_to_move(partition, self.owner[partition], target)
        source = self.owner[partition]
        self.movements.add(partition, source, target)
        _remove(self.owned[source], partition)
        self.owned[target].append(partition)
        self.owner[partition] = target


def _previous_owners(listed: Sequence[Member], generation: int) -> dict[TopicPartition, str]:
    """Find the owner of each partition in the latest generation before the current one."""
    latest: dict[TopicPartition, tuple[int, str]] = {}
    for member in listed:
        owned_in = _generation(member.generation)
        if owned_in < generation:
            for partition in member.owned:
                if partition not in latest or owned_in > latest[partition][0]:
                    latest[partition] = owned_in, member.member_id
    return {partition: consumer for partition, (_, consumer) in latest.items()}


class _Movements:
    """Moved partitions by topic, source and target (Kafka's PartitionMovements).

    They prevent that two partitions of a topic move in opposite directions between two members.
    """

    def __init__(self) -> None:
        self._of_partition: dict[TopicPartition, tuple[str, str]] = {}
        self._of_topic: dict[str, dict[tuple[str, str], HashTable[int]]] = {}

    def partition_to_move(self, partition: TopicPartition, owner: str, target: str) -> TopicPartition:
        topic, _ = partition
        source = self._of_partition[partition][0] if partition in self._of_partition else owner
        moved_back = self._of_topic.get(topic, {}).get((target, source))
        return (topic, next(iter(moved_back))) if moved_back else partition

    def add(self, partition: TopicPartition, owner: str, target: str) -> None:
        topic, number = partition
        movements = self._of_topic.setdefault(topic, {})
        source = owner
        if partition in self._of_partition:
            pair = self._of_partition.pop(partition)
            movements[pair].discard(number)
            if not movements[pair]:
                del movements[pair]
            source = pair[0]
            if source == target:
                return
        self._of_partition[partition] = source, target
        if (source, target) not in movements:
            name = string_hash(topic)
            movements[source, target] = HashTable(lambda number: 31 * (31 + number) + name)
        movements[source, target].put(number)


def _balance_score(lists: Iterable[list[TopicPartition]]) -> int:
    """Sum the differences in length of all pairs of lists. Kafka counts in 32 bits; 0 is balanced."""
    ordered = sorted(map(len, lists))
    total = sum(load * (2 * position - len(ordered) + 1) for position, load in enumerate(ordered))
    return (total + 0x8000_0000) % 0x1_0000_0000 - 0x8000_0000
