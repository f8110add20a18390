"""The smallest reassignment that brings a cluster within Cruise Control's limits, hard ones before soft ones.

In this order, and never giving up what an earlier step has won:

1. what is asked: replicas of a topic more or fewer; brokers that are to be drained hold nothing
2. replicas leave dead and drained brokers, and racks that hold another replica of the partition while some rack holds fewer
3. no broker has more than `max.replicas.per.broker`, nor a fuller disk than allowed, where room is left elsewhere
4. live brokers are within the limits of replicas (ReplicaDistributionGoal): as many moves as some broker has too many or too few
5. no broker has more of a topic than allowed (TopicReplicaDistributionGoal): by a move, else by an exchange with another topic
6. leaders are within theirs: by leadership alone, along the shortest chain of brokers from one with too many to one with too few
7. disks are within theirs (DiskUsageDistributionGoal): by moves that fit, else by exchanges, the largest replica that fits first

A replica goes to a live broker that holds none of its partition, on a rack with the fewest of them; of these to the one with the
fewest replicas, then the fewest of the topic, then the least bytes, then the lowest index. Nothing is left to chance.

    >>> cluster = Cluster.of({1: "a", 2: "b", 3: "c"}, [("t", 0, (1, 2), 1, 10.0), ("t", 1, (1, 3), 1, 10.0), ("t", 2, (1, 2), 1, 10.0)])
    >>> plan(cluster).replicas[:, :2].tolist()
    [[0, 1], [0, 2], [1, 0]]

Broker 1 leads all three, where two are allowed: the last partition is led by its other replica then, which moves no data.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from kafka_model import goal
from kafka_model.goal import Thresholds, Verdict, count_limits, topic_limits, usage_limits

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
_TRIED = 64  # replicas that an exchange is sought for, and as many to exchange each with


@dataclass(frozen=True, slots=True, eq=False)
class Cluster:
    """A cluster in arrays: brokers and topics by their place, sizes in bytes, a capacity that is not told is nan."""

    broker_ids: Ints
    racks: Ints
    live: NDArray[np.bool_]
    disk_capacity: Floats
    topics: tuple[str, ...]
    topic: Ints  # of each partition, as the next
    partition: Ints
    replicas: Ints  # places of brokers, the preferred leader first, -1 behind the last
    leader: Ints  # -1: none
    size: Floats
    racks_told: bool = True

    @classmethod
    def of(
        cls,
        racks: Mapping[int, str],
        partitions: Sequence[tuple[str, int, Sequence[int], int | None, float]],
        *,
        dead: Collection[int] = (),
        disk_capacity: Mapping[int, float] | None = None,
    ) -> Cluster:
        """From brokers by their ids, and partitions (topic, number, replicas, leader, size)."""
        ids = sorted(racks)
        place = {id: at for at, id in enumerate(ids)}
        names = {rack: at for at, rack in enumerate(sorted(set(racks.values())))}
        topics = sorted({topic for topic, *_ in partitions})
        topic_at = {topic: at for at, topic in enumerate(topics)}
        width = max((len(replicas) for _, _, replicas, _, _ in partitions), default=1)
        assigned = np.full((len(partitions), width), -1, dtype=np.int64)
        for at, (_, _, replicas, _, _) in enumerate(partitions):
            assigned[at, : len(replicas)] = [place[id] for id in replicas]
        return cls(
            np.array(ids, dtype=np.int64),
            np.array([names[racks[id]] for id in ids], dtype=np.int64),
            np.array([id not in dead for id in ids]),
            np.array([(disk_capacity or {}).get(id, math.nan) for id in ids]),
            tuple(topics),
            np.array([topic_at[topic] for topic, *_ in partitions], dtype=np.int64),
            np.array([number for _, number, *_ in partitions], dtype=np.int64),
            assigned,
            np.array([-1 if leader is None else place[leader] for _, _, _, leader, _ in partitions], dtype=np.int64),
            np.array([size for *_, size in partitions], dtype=np.float64),
        )


@dataclass(frozen=True, slots=True)
class Asked:
    """What else a plan is to do. `balance` False: only that, and what dead brokers and racks ask for."""

    drained: frozenset[int] = frozenset()  # ids of brokers
    replication_factor: Mapping[str, int] = field(default_factory=dict)  # of topics
    topics: frozenset[str] = frozenset()  # that alone may be changed; none: all
    balance: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The replicas that each partition is to have, the new leader first, and what asked for the change: empty, if it is not changed."""

    cluster: Cluster
    replicas: Ints
    reason: NDArray[np.object_]

    @property
    def changed(self) -> Ints:
        """The partitions that get other replicas, or the same in another order."""
        return np.flatnonzero((self.replicas != _wide(self.cluster.replicas, self.replicas.shape[1])).any(axis=1))

    @property
    def added(self) -> Ints:
        """How many replicas each partition gets that it does not have: each is copied whole."""
        return np.array((_new(self.cluster.replicas, self.replicas)).sum(axis=1), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much a wave may move: bytes in all, and replicas to or from a broker."""

    wave_bytes: float = math.inf
    moves_per_broker: int = 1_000_000


def plan(cluster: Cluster, asked: Asked = Asked(), thresholds: Thresholds = Thresholds()) -> Plan:
    """The replicas that partitions should have."""
    state = _State(cluster, asked, thresholds)
    state.change_factors()
    state.leave_dead_brokers()
    state.leave_shared_racks()
    if asked.balance and not asked.topics:
        state.within_capacity()
        state.even_replicas()
        state.even_topics()
        state.even_leaders()
        state.even_disks()
    return Plan(cluster, state.replicas, state.reason)


def waves(of: Plan, bounds: Bounds) -> Ints:
    """The wave of each changed partition (in the order of `changed`): 0 for leadership alone, then as early as its bytes and brokers allow.

    A wave that is empty takes a partition of any size. What hard limits ask for goes before what soft ones do.
    """
    changed = of.changed
    before = _wide(of.cluster.replicas, of.replicas.shape[1])
    # In the order of the steps; of one step the partitions that have the fewest replicas on live brokers first: they are nearest to loss.
    live = np.where(before >= 0, of.cluster.live[before], False).sum(axis=1)
    order = sorted(range(len(changed)), key=lambda at: (_ORDER[str(of.reason[changed[at]])], live[changed[at]], changed[at]))
    wave = np.zeros(len(changed), dtype=np.int64)
    used_bytes: list[float] = []
    used_moves: list[Ints] = []
    first_open = 0
    for at in order:
        p = changed[at]
        gains = set(of.replicas[p][of.replicas[p] >= 0].tolist()) - set(before[p].tolist())
        if not gains:
            continue
        loses = set(before[p][before[p] >= 0].tolist()) - set(of.replicas[p].tolist())
        touched = np.array(sorted(gains | loses), dtype=np.int64)
        size = float(of.cluster.size[p]) * len(gains)
        number = first_open
        while True:
            if number == len(used_bytes):
                used_bytes.append(0.0)
                used_moves.append(np.zeros(len(of.cluster.broker_ids), dtype=np.int64))
            empty = used_bytes[number] == 0 and not used_moves[number].any()
            fits = used_bytes[number] + size <= bounds.wave_bytes and bool((used_moves[number][touched] < bounds.moves_per_broker).all())
            if empty or fits:
                break
            number += 1
        used_bytes[number] += size
        used_moves[number][touched] += 1
        wave[at] = number + 1
        while first_open < len(used_bytes) and used_bytes[first_open] >= bounds.wave_bytes:
            first_open += 1
    return wave


def judged(
    cluster: Cluster, replicas: Ints, leader: Ints, loads: Mapping[str, Floats], capacities: Mapping[str, Floats], thresholds: Thresholds
) -> dict[str, Verdict]:
    """Every goal's verdict on these replicas and leaders; loads of each partition and capacities of each broker in Cruise Control's units,
    nan where they are not told. Partitions without a leader are left out.
    """
    led = np.flatnonzero(leader >= 0)
    rows, leader, brokers = replicas[led], leader[led], len(cluster.broker_ids)
    of, slot = np.nonzero(rows >= 0)
    at = rows[of, slot]
    leads = at == leader[of]
    load = {name: loads[name][led][of] for name in goal.RESOURCES}
    into, out, cpu = load[goal.NETWORK_IN], load[goal.NETWORK_OUT], load[goal.CPU]
    with np.errstate(invalid="ignore", divide="ignore"):
        copied = np.where((into == 0) & (out == 0), 0.0, cpu * (0.15 * into) / (0.7 * into + 0.15 * out))  # goal.follower_cpu
    parts = {
        goal.DISK: load[goal.DISK],
        goal.NETWORK_IN: into,
        goal.NETWORK_OUT: np.where(leads, out, out * 0),
        goal.CPU: np.where(leads, cpu, copied),
        "leader_network_in": np.where(leads, into, into * 0),
        "potential_network_out": out,
    }
    sums = {name: np.bincount(at, weights=part, minlength=brokers) for name, part in parts.items()}
    count, led_by = np.bincount(at, minlength=brokers), np.bincount(leader, minlength=brokers)
    known = [b for b in range(brokers) if cluster.live[b] or count[b]]
    of_goal = [
        goal.Broker(
            int(cluster.broker_ids[b]), str(cluster.racks[b]), str(b), bool(cluster.live[b]),
            {name: _told(capacities[name][b]) for name in goal.RESOURCES},
        )
        for b in known
    ]  # fmt: skip
    use = {
        int(cluster.broker_ids[b]): goal.Use(
            int(count[b]), int(led_by[b]), {name: _told(sums[name][b]) for name in goal.RESOURCES},
            _told(sums["leader_network_in"][b]), _told(sums["potential_network_out"][b]),
        )
        for b in known
    }  # fmt: skip
    factor = int((rows >= 0).sum(axis=1).max(initial=1))
    verdicts = goal.judge_brokers(of_goal, use, thresholds, partitions=len(led), max_replication_factor=factor)
    spread = _spread_breaches(cluster, rows, leader, at, of, led, thresholds)
    spread["MinTopicLeadersPerBrokerGoal"], needed = _topic_leaders(cluster, leader, led, thresholds)
    racks = len(np.unique(cluster.racks[cluster.live])) if cluster.racks_told else None
    return verdicts | goal.judge_spread(spread, racks, factor, needed, thresholds)


def _spread_breaches(cluster: Cluster, rows: Ints, leader: Ints, at: Ints, of: Ints, led: Ints, thresholds: Thresholds) -> dict[str, int]:
    """How many breaches the goals of racks, topics and leaders have."""
    live_racks = np.unique(cluster.racks[cluster.live])
    racks = np.where(rows >= 0, cluster.racks[rows], -1)
    on_rack = np.zeros((len(rows), int(cluster.racks.max(initial=0)) + 1), dtype=np.int64)
    np.add.at(on_rack, (of, cluster.racks[at]), 1)
    most = on_rack.max(axis=1, initial=0)
    least = np.where(on_rack > 0, on_rack, rows.shape[1] + 1).min(axis=1, initial=rows.shape[1] + 1)
    uneven = (most > 1) & (((on_rack > 0).sum(axis=1) < len(live_racks)) | (most - least > 1))
    of_topic = np.zeros((len(cluster.topics), len(cluster.broker_ids)), dtype=np.int64)
    np.add.at(of_topic, (cluster.topic[led][of], at), 1)
    totals = of_topic.sum(axis=1)
    limits = np.array([goal.topic_limits(int(total), int(cluster.live.sum()), thresholds) for total in totals]).reshape(-1, 2)
    outside = ((of_topic > limits[:, 1:]) | (of_topic < limits[:, :1])) & (of_topic > 0) & cluster.live
    return {
        "RackAwareGoal": int(_shares(racks).sum()),
        "RackAwareDistributionGoal": int(uneven.sum()),
        "PreferredLeaderElectionGoal": int((cluster.live[rows[:, 0]] & (leader != rows[:, 0])).sum()),
        "TopicReplicaDistributionGoal": int(outside.sum()),
    }


def _topic_leaders(cluster: Cluster, leader: Ints, led: Ints, thresholds: Thresholds) -> tuple[int, int | None]:
    """Live brokers short of leaders of a topic, and how many partitions a topic needs that cannot give each its least."""
    pattern, live = thresholds.topics_with_min_leaders_per_broker, int(cluster.live.sum())
    short, needed = 0, []
    for at, topic in enumerate(cluster.topics):
        of_topic = leader[cluster.topic[led] == at] if pattern and re.fullmatch(pattern, topic) else leader[:0]
        if len(of_topic):
            least = goal.least_topic_leaders(len(of_topic), live, thresholds)
            counts = np.bincount(of_topic, minlength=len(cluster.broker_ids))[cluster.live]
            short += int((counts < least).sum())
            needed += [least * live] if len(of_topic) < least * live else []
    return short, max(needed, default=None)


def _told(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def net_imbalance(counts: Iterable[int]) -> int:
    """The least number of things that must move until any two have as many, to within one (Yelp's kafka-utils)."""
    sorted_counts = sorted(counts, reverse=True)
    mean, over = divmod(sum(sorted_counts), len(sorted_counts))
    return sum(max(0, count - mean - (place < over)) for place, count in enumerate(sorted_counts))


# Which step asked for a change, and its place in the order of waves.
FACTOR, DEAD, RACK, CAPACITY, REPLICAS, TOPICS, LEADERS, DISKS = (
    "replication factor", "dead or drained broker", "shared rack", "capacity", "replicas", "topic replicas", "leaders", "disks"
)  # fmt: skip
_ORDER = {DEAD: 0, RACK: 1, FACTOR: 2, CAPACITY: 3, REPLICAS: 4, TOPICS: 5, LEADERS: 6, DISKS: 7, "": 8}


class _State:
    """Where replicas are while a plan is made, and what brokers hold of them."""

    def __init__(self, cluster: Cluster, asked: Asked, thresholds: Thresholds) -> None:
        self.cluster, self.asked, self.thresholds = cluster, asked, thresholds
        factors = [asked.replication_factor.get(topic, 0) for topic in cluster.topics]
        self.replicas = _wide(cluster.replicas, max([cluster.replicas.shape[1], *factors])).copy()
        self.reason = np.full(len(cluster.size), "", dtype=object)
        self.open = cluster.live & ~np.isin(cluster.broker_ids, sorted(asked.drained))
        self.open_racks = np.unique(cluster.racks[self.open])
        self.room = cluster.disk_capacity * thresholds.disk_capacity_threshold
        mine = [not asked.topics or topic in asked.topics for topic in cluster.topics]
        # Without a live leader there is nothing to copy from.
        led = (cluster.leader >= 0) & cluster.live[cluster.leader]
        self.mine = np.array(mine, dtype=np.bool_)[cluster.topic] & led
        brokers = len(cluster.broker_ids)
        held, of = self.replicas[self.replicas >= 0], np.nonzero(self.replicas >= 0)[0]
        self.count = np.bincount(held, minlength=brokers)
        self.bytes = np.bincount(held, weights=cluster.size[of], minlength=brokers)
        self.of_topic = np.zeros((len(cluster.topics), brokers), dtype=np.int64)
        np.add.at(self.of_topic, (cluster.topic[of], held), 1)

    # ------------------------------------------------------------ one replica
    def held(self, b: int) -> tuple[Ints, Ints]:
        """The partitions and slots of a broker's replicas that may be changed."""
        ps, slots = np.nonzero((self.replicas == b) & self.mine[:, None])
        return ps, slots

    def targets(self, p: int, slot: int | None) -> NDArray[np.bool_]:
        """The brokers that may take the replica of that slot (None: another one), by rack and by what they hold."""
        others = [int(b) for at, b in enumerate(self.replicas[p]) if b >= 0 and at != slot]
        allowed = self.open.copy()
        allowed[[b for b in self.replicas[p] if b >= 0]] = False
        on_rack = np.bincount(self.cluster.racks[others], minlength=int(self.cluster.racks.max()) + 1)
        fewest = on_rack[self.open_racks].min() if len(self.open_racks) else 0
        return np.asarray(allowed & (on_rack[self.cluster.racks] == fewest))

    def roomy(self, p: int) -> NDArray[np.bool_]:
        """Who could take the partition and stay within the hard limits; a disk that is not told has room."""
        return np.asarray(~(self.bytes + self.cluster.size[p] > self.room) & (self.count < self.thresholds.max_replicas_per_broker))

    def best(self, p: int, among: NDArray[np.bool_]) -> int | None:
        """Of those that have room for it, if any has, the one that holds the least."""
        roomy = among & self.roomy(p)
        places = np.flatnonzero(roomy if roomy.any() else among)
        if not len(places):
            return None
        keys = (places, self.bytes[places], self.of_topic[self.cluster.topic[p], places], self.count[places])
        return int(places[np.lexsort(keys)[0]])

    def put(self, p: int, slot: int, broker: int, reason: str) -> None:
        """Let the slot have this broker; -1: none."""
        before, size, topic = int(self.replicas[p, slot]), self.cluster.size[p], self.cluster.topic[p]
        for at, sign in ((before, -1), (broker, 1)):
            if at >= 0:
                self.count[at] += sign
                self.bytes[at] += sign * size
                self.of_topic[topic, at] += sign
        self.replicas[p, slot] = broker
        if self.reason[p] == "":
            self.reason[p] = reason

    def lead(self, p: int, slot: int, reason: str) -> None:
        """Make the replica of that slot the preferred leader; the others keep their order."""
        row = self.replicas[p]
        self.replicas[p] = [row[slot], *(b for at, b in enumerate(row) if at != slot)]
        if self.reason[p] == "":
            self.reason[p] = reason

    # ------------------------------------------------------------ what is asked, and what is hard
    def change_factors(self) -> None:
        for name, factor in sorted(self.asked.replication_factor.items()):
            of_topic = np.flatnonzero((self.cluster.topic == self.cluster.topics.index(name)) & self.mine)
            for p in of_topic.tolist():
                while (held := int((self.replicas[p] >= 0).sum())) < factor:
                    target = self.best(p, self.targets(p, None))
                    if target is None:
                        break
                    self.put(p, held, target, FACTOR)
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
        self.put(p, slot, -1, FACTOR)
        self.replicas[p] = [*(b for b in self.replicas[p] if b >= 0), *(-1 for b in self.replicas[p] if b < 0)]

    def leave_dead_brokers(self) -> None:
        gone = (self.replicas >= 0) & ~self.open[self.replicas] & self.mine[:, None]
        for p, slot in np.argwhere(gone).tolist():
            target = self.best(p, self.targets(p, slot))
            if target is not None:
                self.put(p, slot, target, DEAD)

    def leave_shared_racks(self) -> None:
        racks = np.where(self.replicas >= 0, self.cluster.racks[self.replicas], -1)
        for p in np.flatnonzero(_shares(racks) & self.mine).tolist():
            for _ in range(racks.shape[1]):
                slot = self.crowded(p)
                target = None if slot is None else self.best(p, self.targets(p, slot))
                if slot is None or target is None:
                    break
                self.put(p, slot, target, RACK)

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
        most = self.thresholds.max_replicas_per_broker
        for b in np.flatnonzero(self.open & ((self.count > most) | (self.bytes > self.room))).tolist():
            ps, slots = self.held(b)
            stays = np.ones(len(ps), dtype=np.bool_)
            while self.count[b] > most or self.bytes[b] > self.room[b]:
                excess = self.bytes[b] - self.room[b] if self.bytes[b] > self.room[b] else 0.0
                left = np.flatnonzero(stays)
                sizes = self.cluster.size[ps[left]]
                order = left[np.lexsort((ps[left], np.where(sizes >= excess, sizes, -sizes), sizes < excess))]
                gone = next((at for at in order[: 4 * _TRIED].tolist() if self.shed(int(ps[at]), int(slots[at]))), None)
                if gone is None:
                    break
                stays[gone] = False

    def shed(self, p: int, slot: int) -> bool:
        """The replica to a broker that has room for it, if there is one."""
        target = self.best(p, self.targets(p, slot) & self.roomy(p))
        if target is not None:
            self.put(p, slot, target, CAPACITY)
        return target is not None

    # ------------------------------------------------------------ what is soft
    def even_replicas(self) -> None:
        open = np.flatnonzero(self.open)
        if not len(open):
            return
        lower, upper = count_limits(int(self.count.sum()), len(open), self.thresholds.replica_count_balance_threshold)
        upper = min(upper, self.thresholds.max_replicas_per_broker)
        while True:
            over = [b for b in open.tolist() if self.count[b] > upper]
            under = [b for b in open.tolist() if self.count[b] < lower]
            if not over and not under:
                return
            moved = sum(self.give(b, int(self.count[b]) - upper, lower, upper) for b in over)
            if not moved:
                donors = sorted((b for b in open.tolist() if self.count[b] > lower), key=lambda b: (-int(self.count[b]), b))
                for donor in donors:
                    need = sum(lower - int(self.count[b]) for b in under)
                    spare = min(int(self.count[donor]) - lower, -(-need // len(donors)))
                    moved += self.give(donor, spare, lower, lower) if spare > 0 and need > 0 else 0
            if not moved:
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
            takers = (self.count < upper) & self.roomy(p)
            if (self.count[self.open] < lower).any() and upper > lower:
                wanting = self.targets(p, slot) & takers & (self.count < lower)
                target = self.best(p, wanting if wanting.any() else self.targets(p, slot) & takers)
            else:
                target = self.best(p, self.targets(p, slot) & takers)
            if target is not None:
                self.put(p, slot, target, REPLICAS)
                done += 1
        return done

    def even_topics(self) -> None:
        """Fewer of a topic on the brokers that have too many of it, and as many replicas in all as before or as the limits allow."""
        brokers = int(self.open.sum())
        if not brokers:
            return
        totals = self.of_topic.sum(axis=1)
        most = np.array([topic_limits(int(total), brokers, self.thresholds)[1] for total in totals], dtype=np.int64)
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
                target = self.best(p, takers & (self.count < upper) & self.roomy(p)) if self.count[b] > lower else None
                if target is not None:
                    self.put(p, slot, target, TOPICS)
                else:
                    self.exchange(p, slot, np.flatnonzero(takers), most)

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
                if p != q and self.targets(q, back)[b] and self.bears(b, self.cluster.size[q] - self.cluster.size[p]) \
                        and self.bears(other, self.cluster.size[p] - self.cluster.size[q]):  # fmt: skip
                    self.put(p, slot, other, TOPICS)
                    self.put(q, back, b, TOPICS)
                    return

    def bears(self, b: int, more: float) -> bool:
        """Whether the broker's disk may get so much fuller."""
        return bool(more <= 0 or not self.bytes[b] + more > self.room[b])

    def even_leaders(self) -> None:
        """Leadership alone, along the shortest chain: each broker between gets one and gives one."""
        open, brokers = np.flatnonzero(self.open), len(self.cluster.broker_ids)
        if not len(open):
            return
        leaders = np.bincount(self.replicas[:, 0], minlength=brokers)
        lower, upper = count_limits(len(self.replicas), len(open), self.thresholds.leader_replica_count_balance_threshold)
        led: dict[tuple[int, int], list[int]] = {}
        for slot in range(1, self.replicas.shape[1]):
            ps = np.flatnonzero((self.replicas[:, slot] >= 0) & self.mine)
            for p, one, other in zip(ps.tolist(), self.replicas[ps, 0].tolist(), self.replicas[ps, slot].tolist(), strict=True):
                led.setdefault((one, other), []).append(p)

        def usable(one: int, other: int) -> int | None:
            """A partition that `one` leads and `other` may."""
            waiting = led.get((one, other), [])
            while waiting and not (self.replicas[waiting[-1], 0] == one and (self.replicas[waiting[-1]] == other).any()):
                waiting.pop()
            return waiting[-1] if waiting else None

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
            over = [b for b in range(brokers) if leaders[b] > (upper if self.open[b] else 0)]
            under = {b for b in open.tolist() if leaders[b] < lower}
            if over:
                over.sort(key=lambda b: (-int(leaders[b]), b))
                path = chain(over[:1], under or {b for b in open.tolist() if leaders[b] < upper})
                path = path or chain(over[:1], {b for b in open.tolist() if leaders[b] < upper})
            elif under:
                rich = sorted((b for b in open.tolist() if leaders[b] > lower), key=lambda b: (-int(leaders[b]), b))
                path = chain(rich, under)
            else:
                return
            if path is None:
                return
            for one, other in pairwise(path):
                given = usable(one, other)
                if given is None:
                    return
                self.lead(given, int(np.flatnonzero(self.replicas[given] == other)[0]), LEADERS)
                leaders[one] -= 1
                leaders[other] += 1
                for b in self.replicas[given, 1:].tolist():
                    if b >= 0:
                        led.setdefault((other, b), []).append(given)

    def even_disks(self) -> None:
        """Where capacities are told: from the fullest to the emptiest, until all are within the limits or nothing fits."""
        open = np.flatnonzero(self.open)
        capacity = self.cluster.disk_capacity
        if not len(open) or not (capacity[open] > 0).all() or self.bytes.sum() == 0:
            return
        low, high = usage_limits(
            float(self.bytes.sum()),
            float(capacity[open].sum()),
            self.thresholds.disk_balance_threshold,
            self.thresholds.disk_low_utilization_threshold,
        )
        least, most = capacity * low, np.minimum(capacity * high, self.room)
        stuck: set[tuple[int, int]] = set()
        while True:
            use = self.bytes / capacity
            full = sorted(open.tolist(), key=lambda b: (-use[b], b))
            pairs = [
                (one, other)
                for one in full
                for other in reversed(full)
                if one != other
                and use[one] > use[other]
                and (self.bytes[one] > most[one] or self.bytes[other] < least[other])
                and (one, other) not in stuck
            ]
            for one, other in pairs:
                if self.shift(one, other, least, most):
                    stuck = {pair for pair in stuck if one not in pair and other not in pair}
                    break
                stuck.add((one, other))
            else:
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
            for at in order[:_TRIED].tolist():
                p, slot = int(ps[at]), int(slots[at])
                if slot > 0 and self.targets(p, slot)[other]:
                    self.put(p, slot, other, DISKS)
                    return True
        largest = np.lexsort((ps, -sizes))[:_TRIED]
        back_ps, back_slots = self.held(other)
        smallest = np.lexsort((back_ps, self.cluster.size[back_ps]))[:_TRIED]
        for at in largest.tolist():
            p, slot = int(ps[at]), int(slots[at])
            if slot == 0 or not self.targets(p, slot)[other]:
                continue
            for back in smallest.tolist():
                q, back_slot = int(back_ps[back]), int(back_slots[back])
                gain = self.cluster.size[p] - self.cluster.size[q]
                if 0 < gain <= bearable and back_slot > 0 and p != q and self.targets(q, back_slot)[one]:
                    self.put(p, slot, other, DISKS)
                    self.put(q, back_slot, one, DISKS)
                    return True
        return False


def _wide(replicas: Ints, width: int) -> Ints:
    """With -1 behind, so many columns."""
    return np.pad(replicas, ((0, 0), (0, width - replicas.shape[1])), constant_values=-1)


def _new(before: Ints, after: Ints) -> NDArray[np.bool_]:
    """Which of the replicas after were none before."""
    return np.asarray((after >= 0) & ~(after[:, :, None] == before[:, None, :]).any(axis=2))


def _shares(racks: Ints) -> NDArray[np.bool_]:
    """Which partitions have two replicas on a rack."""
    ordered = np.sort(racks, axis=1)
    return np.asarray(((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any(axis=1))
