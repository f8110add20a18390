"""The smallest reassignment that brings a cluster within Cruise Control's limits, hard ones before soft ones.

In this order, and never giving up what an earlier step has won:

1. what is asked: replicas of a topic more or fewer; brokers that are to be drained hold nothing
2. replicas leave dead and drained brokers, and racks that hold another replica of the partition while some rack holds fewer
3. no broker has more than `max.replicas.per.broker`, nor a fuller disk than allowed, nor more network or cpu in use, where room is
   left elsewhere; bytes out and cpu by leadership alone where that is enough
4. live brokers are within the limits of replicas (ReplicaDistributionGoal): as many moves as some broker has too many or too few
5. no broker has more of a topic than allowed (TopicReplicaDistributionGoal): by a move, else by an exchange with another topic
6. leaders are within theirs: by leadership alone, along the shortest chain of brokers from one with too many to one with too few
7. disks are within theirs (DiskUsageDistributionGoal): by moves that fit, else by exchanges, the largest replica that fits first
8. network and cpu are within theirs (PotentialNwOutGoal, the three usage distributions, LeaderBytesInDistributionGoal): by
   kafka_model.cruise_control.load_balance

A replica goes to a live broker that holds none of its partition, on a rack with the fewest of them; of these to the one with the
fewest replicas, then the fewest of the topic, then the least bytes, then the lowest index. Nothing is left to chance.

    >>> cluster = Cluster.of({1: "a", 2: "b", 3: "c"}, [("t", 0, (1, 2), 1, 10.0), ("t", 1, (1, 3), 1, 10.0), ("t", 2, (1, 2), 1, 10.0)])
    >>> plan(cluster).replicas[:, :2].tolist()
    [[0, 1], [0, 2], [1, 0]]

Broker 1 leads all three, where two are allowed: the last partition is led by its other replica then, which moves no data.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafka_model.cruise_control import load_balance
from kafka_model.cruise_control.columnar import Cluster, Floats, Ints, share_rack
from kafka_model.cruise_control.limits import Thresholds, count_limits, topic_replica_limits, utilization_limits
from kafka_model.cruise_control.load_balance import pairs
from kafka_model.cruise_control.plan_state import CPU, DISK, LEADERS, NETWORK_IN, NETWORK_OUT, REPLICAS, Disks, Held, wide

_TRIED = 64  # replicas that an exchange is sought for, and as many to exchange each with


@dataclass(frozen=True, slots=True)
class Asked:
    """What else a plan is to do. `balance` False: only that, and what dead brokers and racks ask for."""

    drained: frozenset[int] = frozenset()  # ids of brokers
    replication_factor: Mapping[str, int] = field(default_factory=dict)  # of topics
    topics: frozenset[str] = frozenset()  # that alone may be changed; none: all
    balance: bool = True


class Blocked(NamedTuple):
    """Replicas of a partition (its place) that should move, or be added, and cannot."""

    partition: int
    step: str
    replicas: int
    obstacle: str


NO_LEADER = "no live leader to copy from"
NO_BROKER = "every live broker that may take it has a replica of the partition"
NO_RACK = "fewer live racks than replicas"
NO_DISK = "no suitable broker stays under its disk limit"
NO_WAVE = "in no wave do old and new copies together stay under the disk limit"


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The replicas that each partition is to have, the new leader first, and what asked for the change: empty, if it is not changed."""

    cluster: Cluster
    replicas: Ints
    reason: NDArray[np.object_]
    blocked: tuple[Blocked, ...] = ()

    @property
    def changed(self) -> Ints:
        """The partitions that get other replicas, or the same in another order."""
        return np.flatnonzero((self.replicas != wide(self.cluster.replicas, self.replicas.shape[1])).any(axis=1))

    @property
    def added(self) -> Ints:
        """How many replicas each partition gets that it does not have: each is copied whole."""
        return np.array((_new(self.cluster.replicas, self.replicas)).sum(axis=1), dtype=np.int64)

    def without(self, partitions: Ints, obstacle: str) -> Plan:
        """The plan that leaves these partitions as they are."""
        replicas, reason = self.replicas.copy(), self.reason.copy()
        added = self.added[partitions].tolist()
        places = zip(partitions.tolist(), added, strict=True)
        blocked = tuple(Blocked(p, str(reason[p]), count, obstacle) for p, count in places)
        replicas[partitions] = wide(self.cluster.replicas, replicas.shape[1])[partitions]
        reason[partitions] = ""
        return Plan(self.cluster, replicas, reason, (*self.blocked, *blocked))


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much a wave may move: bytes in all, and replicas to or from a broker."""

    wave_bytes: float = math.inf
    moves_per_broker: int = 1_000_000


def plan(
    cluster: Cluster,
    asked: Asked = Asked(),
    thresholds: Thresholds = Thresholds(),
    disks: Disks | None = None,
    *,
    balancing: int | None = None,
) -> Plan:
    """The replicas that partitions should have; `balancing`: only the first so many of BALANCING."""
    state = _State(cluster, asked, thresholds, Disks.of(cluster, math.inf) if disks is None else disks)
    state.change_factors()
    state.leave_dead_brokers()
    state.leave_shared_racks()
    if asked.balance and not asked.topics:
        for step in list(BALANCING.values())[:balancing]:
            step(state)
    return Plan(cluster, state.replicas, state.reason, tuple(state.blocked))


def schedule(of: Plan, bounds: Bounds, disks: Disks) -> tuple[Plan, Ints]:
    """The plan without the partitions that no wave can take, and the wave of each partition that it changes."""
    wave = waves(of, bounds, disks)
    return of.without(of.changed[wave < 0], NO_WAVE), wave[wave >= 0]


def waves(of: Plan, bounds: Bounds, disks: Disks | None = None) -> Ints:
    """The wave of each changed partition (in the order of `changed`): 0 for leadership alone, then as early as its bytes and brokers allow.

    A wave that is empty takes a partition of any size. What hard limits ask for goes before what soft ones do. In every wave old and new
    copies together stay under the disk limits: what has to wait for a deletion is tried again, and -1 stands for what no wave can take.
    """
    changed = of.changed
    before = wide(of.cluster.replicas, of.replicas.shape[1])
    # In the order of the steps; of one step the partitions that have the fewest replicas on live brokers first: they are nearest to loss.
    live = np.where(before >= 0, of.cluster.live[before], False).sum(axis=1)
    order = sorted(range(len(changed)), key=lambda at: (_ORDER[str(of.reason[changed[at]])], live[changed[at]], changed[at]))
    wave = np.zeros(len(changed), dtype=np.int64)
    brokers = len(of.cluster.broker_ids)
    used_bytes, used_moves = np.zeros(64), np.zeros((64, brokers), dtype=np.int64)
    opened = 0
    first_open = np.zeros(brokers + 1, dtype=np.int64)  # of each broker, and of the bytes: all waves before it are full
    space = _Space(Disks.of(of.cluster, math.inf) if disks is None else disks)

    def place(at: int) -> bool:
        """Give the partition a wave, if its targets have the space."""
        nonlocal opened, used_bytes, used_moves
        p = changed[at]
        gains = set(of.replicas[p][of.replicas[p] >= 0].tolist()) - set(before[p].tolist())
        loses = {b: slot for slot, b in enumerate(before[p].tolist()) if b >= 0 and b not in of.replicas[p]}
        if not gains:
            space.take(p, gains, loses, -1)
            return True
        if not space.has_room(p, gains):
            return False
        touched = [*sorted(gains | loses.keys()), brokers]
        size = float(of.cluster.size[p]) * len(gains)
        first = int(first_open[touched].max())
        fits = used_bytes[first:opened] + size <= bounds.wave_bytes
        for b in touched[:-1]:
            fits &= used_moves[first:opened, b] < bounds.moves_per_broker
        fits &= space.fits(p, gains, first, opened)
        number = first + int(fits.argmax()) if fits.any() else opened
        if number == opened:
            opened += 1
            if opened > len(used_bytes):
                used_bytes, used_moves = np.pad(used_bytes, (0, opened)), np.pad(used_moves, ((0, opened), (0, 0)))
        space.take(p, gains, loses, number)
        used_bytes[number] += size
        used_moves[number, touched[:-1]] += 1
        wave[at] = number + 1
        while first_open[-1] < opened and used_bytes[first_open[-1]] >= bounds.wave_bytes:
            first_open[-1] += 1
        for b in touched[:-1]:
            while first_open[b] < opened and used_moves[first_open[b], b] >= bounds.moves_per_broker:
                first_open[b] += 1
        return True

    while waiting := [at for at in order if not place(at)]:
        if len(waiting) == len(order):
            wave[waiting] = -1
            break
        order = waiting
    return wave


class _Space:
    """What each disk holds in each wave: what it held before, and the copies that come in it; deletions count from the next wave."""

    def __init__(self, disks: Disks) -> None:
        self._disks = disks
        self._limited = set(np.flatnonzero(np.isfinite(disks.most)).tolist())
        self._held = np.zeros((64, len(disks.most)))
        self._opened = 0
        self._end = disks.used.tolist()  # after the last wave

    def has_room(self, p: int, gains: Collection[int]) -> bool:
        """Whether the targets have room in a wave after all that there are."""
        copied = self._disks.copied[p]
        return all(self._end[b] + copied <= self._disks.most[b] for b in gains if b in self._limited)

    def fits(self, p: int, gains: Collection[int], first: int, opened: int) -> NDArray[np.bool_]:
        """In which waves the targets have room, then and in every later one."""
        found = np.ones(opened - first, dtype=np.bool_)
        for b in gains:
            if b in self._limited:
                later = np.maximum.accumulate(self._held[first:opened, b][::-1])[::-1]
                found &= later + self._disks.copied[p] <= self._disks.most[b]
        return found

    def take(self, p: int, gains: Collection[int], loses: Mapping[int, int], wave: int) -> None:
        """Copy in this wave, and delete the replicas of these brokers and slots at its end."""
        while wave >= self._opened:
            if self._opened == len(self._held):
                self._held = np.pad(self._held, ((0, self._opened), (0, 0)))
            self._held[self._opened] = self._end
            self._opened += 1
        for b in gains:
            self._held[wave : self._opened, b] += self._disks.copied[p]
            self._end[b] += float(self._disks.copied[p])
        for b, slot in loses.items():
            self._held[wave + 1 : self._opened, b] -= self._disks.stored[p, slot]
            self._end[b] -= float(self._disks.stored[p, slot])


def net_imbalance(counts: Iterable[int]) -> int:
    """The least number of things that must move until any two have as many, to within one (Yelp's kafka-utils)."""
    sorted_counts = sorted(counts, reverse=True)
    mean, over = divmod(sum(sorted_counts), len(sorted_counts))
    return sum(max(0, count - mean - (place < over)) for place, count in enumerate(sorted_counts))


# Which step asked for a change, and its place in the order of waves.
BY_FACTOR, BY_DEATH, BY_RACK, BY_CAPACITY, BY_REPLICAS, BY_TOPICS, BY_LEADERS, BY_DISKS = STEPS = (
    "replication factor", "dead or drained broker", "shared rack", "capacity", "replicas", "topic replicas", "leaders", "disks"
)  # fmt: skip
REQUIRED = (BY_FACTOR, BY_DEATH, BY_RACK)  # by what is asked, or by what puts partitions at risk; all others are balancing
_ORDER = {reason: place for place, reason in enumerate((BY_DEATH, BY_RACK, BY_FACTOR, *STEPS[3:], *load_balance.REASONS.values(), ""))}


class _State(Held):
    """The steps of a plan."""

    def __init__(self, cluster: Cluster, asked: Asked, thresholds: Thresholds, disks: Disks) -> None:
        self.asked = asked
        self.blocked: list[Blocked] = []
        factors = [asked.replication_factor.get(topic, 0) for topic in cluster.topics]
        mine = np.array([not asked.topics or topic in asked.topics for topic in cluster.topics], dtype=np.bool_)[cluster.topic]
        # Without a live leader there is nothing to copy from.
        led = (cluster.leader >= 0) & cluster.live[cluster.leader]
        open = cluster.live & ~np.isin(cluster.broker_ids, sorted(asked.drained))
        self.unled = mine & ~led
        super().__init__(cluster, open, mine & led, max([cluster.replicas.shape[1], *factors]), thresholds, disks)

    # ------------------------------------------------------------ what is asked, and what is hard
    def change_factors(self) -> None:
        for name, factor in sorted(self.asked.replication_factor.items()):
            of_topic = self.cluster.topic == self.cluster.topics.index(name)
            for p in np.flatnonzero(of_topic & self.unled).tolist():
                if different := abs(factor - int((self.replicas[p] >= 0).sum())):
                    self.blocked.append(Blocked(p, BY_FACTOR, different, NO_LEADER))
            for p in np.flatnonzero(of_topic & self.mine).tolist():
                while (held := int((self.replicas[p] >= 0).sum())) < factor:
                    targets = self.targets(p, None, must=True)
                    target = self.best(p, None, targets)
                    if target is None:
                        self.blocked.append(Blocked(p, BY_FACTOR, factor - held, NO_DISK if targets.any() else NO_BROKER))
                        break
                    self.put(p, held, target, BY_FACTOR)
                while (held := int((self.replicas[p] >= 0).sum())) > factor:
                    self.remove(p, held)

    def remove(self, p: int, held: int) -> None:
        """Take away the replica that is missed least: on a dead broker, on a shared rack, on the fullest broker; the leader's last."""
        racks = self.cluster.racks[self.replicas[p, :held]]
        order = [
            (bool(self.open[b]), slot == 0, int((racks == racks[slot]).sum()) == 1, -int(self.count[b]), -slot)
            for slot, b in enumerate(self.replicas[p, :held].tolist())
        ]
        slot = order.index(min(order))
        if slot == 0:
            self.lead(p, 1, BY_FACTOR)
            slot = 1
        self.put(p, slot, -1, BY_FACTOR)
        self.reorder(p, [*(b for b in self.replicas[p] if b >= 0), *(-1 for b in self.replicas[p] if b < 0)])

    def leave_dead_brokers(self) -> None:
        gone = (self.replicas >= 0) & ~self.open[self.replicas]
        stuck = {(p, NO_LEADER): count for p, count in enumerate((gone & self.unled[:, None]).sum(axis=1).tolist()) if count}
        for p, slot in np.argwhere(gone & self.mine[:, None]).tolist():
            targets = self.targets(p, slot, must=True)
            target = self.best(p, slot, targets)
            if target is not None:
                self.put(p, slot, target, BY_DEATH)
            else:
                key = p, NO_DISK if targets.any() else NO_BROKER
                stuck[key] = stuck.get(key, 0) + 1
        self.blocked += [Blocked(p, BY_DEATH, count, obstacle) for (p, obstacle), count in stuck.items()]

    def leave_shared_racks(self) -> None:
        racks = np.where(self.replicas >= 0, self.cluster.racks[self.replicas], -1)
        for p in np.flatnonzero(share_rack(racks) & self.mine).tolist():
            for _ in range(racks.shape[1]):
                slot = self.crowded(p)
                if slot is None:
                    break
                targets = self.targets(p, slot)
                target = self.best(p, slot, targets)
                if target is None:
                    if targets.any():
                        self.blocked.append(Blocked(p, BY_RACK, 1, NO_DISK))
                    break
                self.put(p, slot, target, BY_RACK)
        if self.asked.topics:  # to be rack-safe is what is asked of these
            racks = np.where(self.replicas >= 0, self.cluster.racks[self.replicas], -1)
            replicas = (self.replicas >= 0).sum(axis=1)
            for p in np.flatnonzero(share_rack(racks) & self.mine & (replicas > len(self.open_racks))).tolist():
                self.blocked.append(Blocked(p, BY_RACK, int(replicas[p]) - len(self.open_racks), NO_RACK))

    def crowded(self, p: int) -> int | None:
        """The replica that should leave its rack: of the rack with the most, if another could have two fewer; the leader last."""
        held = [b for b in self.replicas[p].tolist() if b >= 0]
        racks = self.cluster.racks[held]
        on_rack = np.bincount(racks, minlength=int(self.cluster.racks.max()) + 1)
        most = int(on_rack.max())
        if most < 2 or most - int(on_rack[self.open_racks].min(initial=most)) < 2:
            # Two replicas on a rack are one too many only if some rack has none.
            return None
        slots = [slot for slot, rack in enumerate(racks.tolist()) if on_rack[rack] == most]
        return max(slots, key=lambda slot: (slot != 0, int(self.count[held[slot]]), slot))

    def within_capacity(self) -> None:
        """Off brokers that hold too many replicas or bytes: the smallest that clears the excess, failing that the largest."""
        most, room = self.thresholds.max_replicas_per_broker, self.ceiling[:, DISK].copy()
        for b in np.flatnonzero(self.open & ((self.count > most) | (self.bytes > room))).tolist():
            ps, slots = self.held(b)
            stays = np.ones(len(ps), dtype=np.bool_)
            while self.count[b] > most or self.bytes[b] > room[b]:
                excess = self.bytes[b] - room[b] if self.bytes[b] > room[b] else 0.0
                left = np.flatnonzero(stays)
                sizes = self.cluster.size[ps[left]]
                order = left[np.lexsort((ps[left], np.where(sizes >= excess, sizes, -sizes), sizes < excess))]
                gone = next((at for at in order[: 4 * _TRIED].tolist() if self.shed(int(ps[at]), int(slots[at]))), None)
                if gone is None:
                    break
                stays[gone] = False

    def within_rates(self) -> None:
        """Off brokers that use too much network or cpu: leaders, then replicas, the smallest that is enough, failing that the largest."""
        for quantity in (NETWORK_IN, NETWORK_OUT, CPU):
            for b in np.flatnonzero(self.open & (self.use[:, quantity] > self.ceiling[:, quantity])).tolist():
                while not load_balance.relieve(self, quantity, b, BY_CAPACITY):
                    ps, slots = self.held(b)
                    weights = self.weights(ps, slots)[:, quantity]
                    excess = self.use[b, quantity] - self.ceiling[b, quantity]
                    order = np.lexsort((ps, np.where(weights >= excess, weights, -weights), weights < excess))
                    order = order[weights[order] > 0]
                    if not any(self.shed(int(ps[at]), int(slots[at])) for at in order[: 4 * _TRIED].tolist()):
                        break

    def shed(self, p: int, slot: int) -> bool:
        """The replica to a broker that has room for it, if there is one."""
        target = self.best(p, slot, self.targets(p, slot) & self.roomy(p, slot))
        if target is not None:
            self.put(p, slot, target, BY_CAPACITY)
        return target is not None

    # ------------------------------------------------------------ what is soft
    def even_replicas(self) -> None:
        """Counts within their limits."""
        open = np.flatnonzero(self.open)
        if not len(open):
            return
        lower, upper = count_limits(int(self.count.sum()), len(open), self.thresholds.replica_count_balance_threshold)
        upper = min(upper, self.thresholds.max_replicas_per_broker)
        while True:
            over = [b for b in open.tolist() if self.count[b] > upper]
            under = [b for b in open.tolist() if self.count[b] < lower]
            moved = sum(self.give(b, int(self.count[b]) - upper, lower, upper) for b in over)
            if (over or under) and not moved:
                donors = sorted((b for b in open.tolist() if self.count[b] > lower), key=lambda b: (-int(self.count[b]), b))
                for donor in donors:
                    need = sum(lower - int(self.count[b]) for b in under)
                    spare = min(int(self.count[donor]) - lower, -(-need // len(donors)))
                    moved += self.give(donor, spare, lower, lower) if spare > 0 and need > 0 else 0
            if not moved:
                self.keep(REPLICAS, lower, upper)
                return

    def give(self, b: int, moves: int, lower: int, upper: int) -> int:
        """So many replicas off the broker to those that have fewer than `upper`: followers, and small ones, first."""
        ps, slots = self.held(b)
        order = np.lexsort((ps, self.cluster.size[ps], -self.of_topic[self.cluster.topic[ps], b], slots == 0))
        done = 0
        for at in order.tolist():
            if done == moves or not (self.count[self.open] < upper).any():
                break
            p, slot = int(ps[at]), int(slots[at])
            takers = (self.count < upper) & self.roomy(p, slot)
            if (self.count[self.open] < lower).any() and upper > lower:
                wanting = self.targets(p, slot) & takers & (self.count < lower)
                target = self.best(p, slot, wanting if wanting.any() else self.targets(p, slot) & takers)
            else:
                target = self.best(p, slot, self.targets(p, slot) & takers)
            if target is not None:
                self.put(p, slot, target, BY_REPLICAS)
                done += 1
        return done

    def even_topics(self) -> None:
        """Fewer of a topic on the brokers that have too many of it, and as many replicas in all as before or as the limits allow."""
        brokers = int(self.open.sum())
        if not brokers:
            return
        totals = self.of_topic.sum(axis=1)
        most = np.array([topic_replica_limits(int(total), brokers, self.thresholds)[1] for total in totals], dtype=np.int64)
        lower, upper = count_limits(int(self.count.sum()), brokers, self.thresholds.replica_count_balance_threshold)
        for topic, b in np.argwhere((self.of_topic > most[:, None]) & self.open).tolist():
            ps, slots = self.held(b)
            of_topic = self.cluster.topic[ps] == topic
            ps, slots = ps[of_topic], slots[of_topic]
            order = np.lexsort((ps, self.cluster.size[ps], slots == 0))
            for at in order.tolist():
                if self.of_topic[topic, b] <= most[topic]:
                    break
                p, slot = int(ps[at]), int(slots[at])
                takers = self.targets(p, slot) & (self.of_topic[topic] < most[topic])
                target = self.best(p, slot, takers & (self.count < upper) & self.roomy(p, slot)) if self.count[b] > lower else None
                if target is not None:
                    self.put(p, slot, target, BY_TOPICS)
                else:
                    self.exchange(p, slot, np.flatnonzero(takers), most)
        self.most_of_topic = most

    def exchange(self, p: int, slot: int, takers: Ints, most: Ints) -> None:
        """The replica for one of another topic, of the broker with the least of this one that has such a one to give."""
        b, topic = int(self.replicas[p, slot]), self.cluster.topic[p]
        for other in takers[np.lexsort((takers, self.of_topic[topic, takers]))].tolist():
            ps, slots = self.held(other)
            topics = self.cluster.topic[ps]
            fits = np.flatnonzero((slots > 0) & (self.of_topic[topics, b] < most[topics]) & (topics != topic))
            # The nearest in size: the exchange should leave the disks as they are.
            order = fits[np.lexsort((ps[fits], abs(self.cluster.size[ps[fits]] - self.cluster.size[p])))]
            for at in order[:_TRIED].tolist():
                q, back = int(ps[at]), int(slots[at])
                net = self.weight(p, slot) - self.weight(q, back)
                if p != q and self.targets(q, back)[b] and self.allowed(net[None, :], b, other)[0]:
                    self.put(p, slot, other, BY_TOPICS)
                    self.put(q, back, b, BY_TOPICS)
                    return

    def even_leaders(self) -> None:
        """Leadership alone, along the shortest chain: each broker between gets one and gives one."""
        open, brokers = np.flatnonzero(self.open), len(self.cluster.broker_ids)
        if not len(open):
            return
        leaders = np.bincount(self.replicas[:, 0], minlength=brokers)
        lower, upper = count_limits(len(self.replicas), len(open), self.thresholds.leader_replica_count_balance_threshold)
        limited = self.limits_leaders()
        led: dict[tuple[int, int], list[int]] = {}
        for slot in range(1, self.replicas.shape[1]):
            ps = np.flatnonzero((self.replicas[:, slot] >= 0) & self.mine)
            for p, one, other in zip(ps.tolist(), self.replicas[ps, 0].tolist(), self.replicas[ps, slot].tolist(), strict=True):
                led.setdefault((one, other), []).append(p)

        def usable(one: int, other: int) -> int | None:
            """A partition that `one` leads and `other` may."""
            waiting = led.get((one, other), [])
            while waiting and not fits(waiting[-1], one, other):
                waiting.pop()
            if not limited or not waiting:
                return waiting[-1] if waiting else None
            for at in range(len(waiting) - 1, max(len(waiting) - 1 - _TRIED, -1), -1):
                if fits(waiting[at], one, other) and self.may_lead(waiting[at], one, other):
                    waiting.append(waiting.pop(at))
                    return waiting[-1]
            return None

        def fits(p: int, one: int, other: int) -> bool:
            return bool(self.replicas[p, 0] == one and (self.replicas[p] == other).any())

        def chain(starts: Sequence[int], ends: Collection[int]) -> list[int] | None:
            came: dict[int, int | None] = dict.fromkeys(starts)
            queue = deque(starts)
            while queue:
                b = queue.popleft()
                for other in sorted(open.tolist(), key=lambda at: (int(leaders[at]), at)):
                    if other not in came and usable(b, other) is not None:
                        came[other] = b
                        queue.append(other)
                        if other in ends:
                            path = [other]
                            while (previous := came[path[-1]]) is not None:
                                path.append(previous)
                            return path[::-1]
            return None

        while True:
            over = np.flatnonzero(leaders > np.where(self.open, upper, 0)).tolist()
            under = set(open[leaders[open] < lower].tolist())
            if over:
                over.sort(key=lambda b: (-int(leaders[b]), b))
                path = chain(over[:1], under or set(open[leaders[open] < upper].tolist()))
                path = path or chain(over[:1], set(open[leaders[open] < upper].tolist()))
            else:
                rich = sorted(open[leaders[open] > lower].tolist(), key=lambda b: (-int(leaders[b]), b))
                path = chain(rich, under) if under else None
            found = [] if path is None else [(other, usable(one, other)) for one, other in pairwise(path)]
            given = [(other, p) for other, p in found if p is not None]
            if not given or len(given) < len(found):
                self.keep(LEADERS, lower, upper)
                return
            for other, p in given:
                one = int(self.replicas[p, 0])
                self.lead(p, int(np.flatnonzero(self.replicas[p] == other)[0]), BY_LEADERS)
                leaders[one] -= 1
                leaders[other] += 1
                for b in self.replicas[p, 1:].tolist():
                    if b >= 0:
                        led.setdefault((other, b), []).append(p)

    def even_disks(self) -> None:
        """Where capacities are told: from the fullest to the emptiest, until all are within the limits or nothing fits."""
        open = np.flatnonzero(self.open)
        capacity = self.cluster.disk_capacity
        if not len(open) or not (capacity[open] > 0).all() or self.bytes.sum() == 0:
            return
        low, high = utilization_limits(
            float(self.bytes.sum()),
            float(capacity[open].sum()),
            self.thresholds.disk_balance_threshold,
            self.thresholds.disk_low_utilization_threshold,
        )
        least, most = capacity * low, np.minimum(capacity * high, self.ceiling[:, DISK])
        changes = np.zeros(len(most), dtype=np.int64)
        stuck: dict[tuple[int, int], tuple[int, int]] = {}
        while True:
            for one, other in pairs(self.bytes / capacity, self.bytes > most, self.bytes < least, open):
                now = int(changes[one]), int(changes[other])
                if stuck.get((one, other)) == now:
                    continue
                if self.shift(one, other, least, most):
                    changes[[one, other]] += 1
                    break
                stuck[one, other] = now
            else:
                self.keep(DISK, least, most)
                return

    def shift(self, one: int, other: int, least: Floats, most: Floats) -> bool:
        """Bring the two nearer to their limits by one move, else by one exchange, of at most what both can bear."""
        wanted = max(self.bytes[one] - most[one], least[other] - self.bytes[other])
        bearable = min(self.bytes[one] - least[one], most[other] - self.bytes[other])
        if bearable <= 0:
            return False
        lower, upper = count_limits(int(self.count.sum()), int(self.open.sum()), self.thresholds.replica_count_balance_threshold)
        ps, slots = self.held(one)
        sizes = self.cluster.size[ps]
        if self.count[one] > lower and self.count[other] < upper:
            fits = np.flatnonzero((sizes > 0) & (sizes <= bearable))
            # The smallest that is enough; failing that the largest.
            order = fits[
                np.lexsort((ps[fits], slots[fits] == 0, np.where(sizes[fits] >= wanted, sizes[fits], -sizes[fits]), sizes[fits] < wanted))
            ]
            order = order[:_TRIED]
            may = self.takes(ps[order], slots[order], other) & (slots[order] > 0) & self.fresh(ps[order], other)
            may &= self.allowed(self.weights(ps[order], slots[order]), one, other)
            if may.any():
                at = order[may.argmax()]
                self.put(int(ps[at]), int(slots[at]), other, BY_DISKS)
                return True
        largest = np.lexsort((ps, -sizes))[:_TRIED]
        largest = largest[(slots[largest] > 0) & self.takes(ps[largest], slots[largest], other) & self.fresh(ps[largest], other)]
        back_ps, back_slots = self.held(other)
        smallest = np.lexsort((back_ps, self.cluster.size[back_ps]))[:_TRIED]
        may = (back_slots[smallest] > 0) & self.takes(back_ps[smallest], back_slots[smallest], one) & self.fresh(back_ps[smallest], one)
        smallest = smallest[may]
        for at in largest.tolist():
            gain = self.cluster.size[ps[at]] - self.cluster.size[back_ps[smallest]]
            net = self.weights(ps[[at]], slots[[at]]) - self.weights(back_ps[smallest], back_slots[smallest])
            fits = (gain > 0) & (gain <= bearable) & self.allowed(net, one, other)
            if fits.any():
                back = smallest[fits.argmax()]
                self.put(int(ps[at]), int(slots[at]), other, BY_DISKS)
                self.put(int(back_ps[back]), int(back_slots[back]), one, BY_DISKS)
                return True
        return False


# The steps after what is asked and what dead brokers and shared racks ask for, in their order.
BALANCING: dict[str, Callable[[_State], None]] = {
    "capacity": _State.within_capacity,
    "network and cpu capacity": _State.within_rates,
    "replicas": _State.even_replicas,
    "topic replicas": _State.even_topics,
    "leaders": _State.even_leaders,
    "disks": _State.even_disks,
    "network and cpu": load_balance.even_loads,
}


def _new(before: Ints, after: Ints) -> NDArray[np.bool_]:
    """Which of the replicas after were none before."""
    return np.asarray((after >= 0) & ~(after[:, :, None] == before[:, None, :]).any(axis=2))
