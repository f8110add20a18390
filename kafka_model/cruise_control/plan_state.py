"""Where replicas are while a plan is made, and what each broker carries of every quantity that some goal limits.

A replica weighs something of each quantity, and a leader's weighs more: what a broker carries is the sum. A change is allowed if it takes
nobody over a ceiling or under a floor, or further beyond it; ceilings start as the hard limits, and every step of a plan leaves its own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kafka_model.cruise_control import limits as goal
from kafka_model.cruise_control.columnar import Cluster, Floats, Ints, follower_cpu
from kafka_model.cruise_control.limits import Thresholds

Bools = NDArray[np.bool_]
# What a replica weighs, by column.
REPLICAS, LEADERS, DISK, NETWORK_IN, NETWORK_OUT, CPU, LEADER_NETWORK_IN, POTENTIAL_NETWORK_OUT = QUANTITIES = range(8)
RESOURCE = {NETWORK_IN: goal.NETWORK_IN, NETWORK_OUT: goal.NETWORK_OUT, CPU: goal.CPU}


@dataclass(frozen=True, slots=True, eq=False)
class Disks:
    """Disk space while replicas move, in bytes. A copy takes space from the start of its wave, and a deletion frees it at the wave's end."""

    most: Floats  # of each broker, what it may hold; inf: its capacity is unknown
    used: Floats  # of each broker, what it holds now
    stored: Floats  # of each replica, in the shape of Cluster.replicas
    copied: Floats  # of each partition, the size of a new replica

    @classmethod
    def of(cls, cluster: Cluster, limit: float) -> Disks:
        """Every replica has its partition's size, and a broker may hold `limit` of its capacity."""
        stored = np.where(cluster.replicas >= 0, cluster.size[:, None], 0.0)
        at = cluster.replicas >= 0
        used = np.asarray(np.bincount(cluster.replicas[at], stored[at], len(cluster.broker_ids)), dtype=np.float64)
        most = cluster.disk_capacity * limit
        return cls(np.where(np.isnan(most), math.inf, most), used, stored, cluster.size)


class Held:
    """The replicas of a cluster, `width` for each partition at most, and what brokers hold of them; `open` may be given more, and of
    partitions only `mine` may be changed. A broker over its disk limit gets no replica.
    """

    def __init__(self, cluster: Cluster, open: Bools, mine: Bools, width: int, thresholds: Thresholds, disks: Disks) -> None:
        self.cluster, self.open, self.mine, self.thresholds = cluster, open, mine, thresholds
        self.takers = open & (disks.used <= disks.most)
        self.replicas = wide(cluster.replicas, width).copy()
        self.reason = np.full(len(cluster.size), "", dtype=object)
        self.open_racks = np.unique(cluster.racks[open])
        self._racks = int(cluster.racks.max(initial=0)) + 1
        brokers = len(cluster.broker_ids)
        self.capacity = {name: cluster.capacity(name) for name in goal.RESOURCES}
        led = cluster.leader >= 0
        loads = {name: cluster.load(name) for name in RESOURCE.values()}
        self.told = {
            name: bool(open.any() and (self.capacity[name][open] > 0).all() and not np.isnan(load[led]).any())
            for name, load in loads.items()
        }
        rates = (loads[goal.NETWORK_IN], loads[goal.NETWORK_OUT])
        self.leaders_told = not np.isnan(rates[0][led]).any()
        self.told[goal.CPU] &= not any(np.isnan(rate[led]).any() for rate in rates)  # by which a follower's is reckoned
        self.leader_weight, self.follower_weight = self._weights(loads, led)
        of, slot = np.nonzero(self.replicas >= 0)
        at = self.replicas[of, slot]
        self.use = np.zeros((brokers, len(QUANTITIES)))
        for quantity in QUANTITIES:
            weights = np.where(slot == 0, self.leader_weight[of, quantity], self.follower_weight[of, quantity])
            self.use[:, quantity] = np.bincount(at, weights=weights, minlength=brokers)
        self.count, self.bytes = self.use[:, REPLICAS], self.use[:, DISK]
        self._disks, self._stored = disks, disks.used.copy()
        topics = len(cluster.topics)
        self.of_topic = np.bincount(cluster.topic[of] * brokers + at, minlength=topics * brokers).reshape(topics, brokers)
        self.most_of_topic: Ints | None = None  # on a broker, once topics are even
        self.ceiling = np.full(self.use.shape, math.inf)
        self.ceiling[:, REPLICAS] = thresholds.max_replicas_per_broker
        room = cluster.disk_capacity * thresholds.disk_capacity_threshold
        other = np.maximum(disks.used - self.bytes, 0.0)  # on disk, but no replica of these partitions
        self.ceiling[:, DISK] = np.minimum(np.where(np.isnan(room), math.inf, room), disks.most - other)
        for quantity, name in RESOURCE.items():
            if self.told[name]:
                self.ceiling[:, quantity] = self.capacity[name] * thresholds.capacity(name)
        self.floor = np.full(self.use.shape, -math.inf)
        self._tied = self._topics_tied()
        first = self.replicas[:, 0]
        self._leads = {topic: np.bincount(first[cluster.topic == topic], minlength=brokers) for topic in self._tied}
        # A broker's partitions in their order, some of which may have left it since; and those that have come.
        order = np.argsort(at, kind="stable")
        self._on = np.split(of[order], np.cumsum(np.bincount(at, minlength=brokers))[:-1])
        self._came: list[list[int]] = [[] for _ in range(brokers)]
        self._held: list[tuple[Ints, Ints] | None] = [None] * brokers  # None: something has changed since

    def _weights(self, loads: dict[str, Floats], led: Bools) -> tuple[Floats, Floats]:
        """What a leader and what a follower of each partition weighs; nothing of what is not told, nor of a partition without a leader."""
        partitions = len(led)
        known = {name: load if self.told[name] else np.zeros(partitions) for name, load in loads.items()}
        into, out, cpu = (np.where(led, known[name], 0.0) for name in (goal.NETWORK_IN, goal.NETWORK_OUT, goal.CPU))
        all_in = np.where(led, loads[goal.NETWORK_IN], 0.0) if self.leaders_told else np.zeros(partitions)
        copied = follower_cpu(cpu, *(np.nan_to_num(loads[name]) for name in (goal.NETWORK_IN, goal.NETWORK_OUT)))
        one, none = np.ones(partitions), np.zeros(partitions)
        leader = np.column_stack([one, one, self.cluster.size, into, out, cpu, all_in, out])
        return leader, np.column_stack([one, none, self.cluster.size, into, none, copied, none, out])

    def _topics_tied(self) -> dict[int, int]:
        """Of each topic that asks for it, the partitions that a live broker must lead (MinTopicLeadersPerBrokerGoal)."""
        pattern, live = self.thresholds.topics_with_min_leaders_per_broker, int(self.cluster.live.sum())
        if not pattern or not live:
            return {}
        led = np.bincount(self.cluster.topic[self.cluster.leader >= 0], minlength=len(self.cluster.topics)).tolist()
        names = enumerate(self.cluster.topics)
        return {at: goal.min_topic_leaders(led[at], live, self.thresholds) for at, name in names if re.fullmatch(pattern, name)}

    # ------------------------------------------------------------ what may be done
    def held(self, b: int) -> tuple[Ints, Ints]:
        """The partitions and slots of a broker's replicas that may be changed."""
        if (known := self._held[b]) is not None:
            return known
        ps = self._on[b]
        if self._came[b]:
            ps = np.union1d(ps, np.array(self._came[b], dtype=np.int64))
            self._came[b] = []
        at = self.replicas[ps] == b
        stayed = at.any(axis=1)
        self._on[b] = ps = ps[stayed]
        mine = self.mine[ps]
        self._held[b] = found = ps[mine], at[stayed][mine].argmax(axis=1)
        return found

    def targets(self, p: int, slot: int | None, *, must: bool = False) -> Bools:
        """The brokers that may take the replica of that slot (None: another one), by rack and by what they hold.

        A replica that `must` find a broker goes to the next rack if all brokers of the emptiest rack have one.
        """
        row = self.replicas[p]
        allowed = self.open.copy()
        allowed[row[row >= 0]] = False
        others = [b for at, b in enumerate(row.tolist()) if b >= 0 and at != slot]
        on_rack = np.bincount(self.cluster.racks[others], minlength=self._racks)
        racks = np.unique(self.cluster.racks[allowed]) if must else self.open_racks
        fewest = on_rack[racks].min() if len(racks) else 0
        return np.asarray(allowed & (on_rack[self.cluster.racks] == fewest))

    def takes(self, ps: Ints, slots: Ints, b: int) -> Bools:
        """Which of these replicas the broker may take, likewise."""
        rows = self.replicas[ps]
        free = ~(rows == b).any(axis=1) & bool(self.takers[b])
        others = (rows >= 0) & (np.arange(rows.shape[1]) != slots[:, None])
        racks = np.where(others, self.cluster.racks[rows], -1)
        on_rack = (racks == self.cluster.racks[b]).sum(axis=1)
        if len(self.open_racks) > rows.shape[1] - 1:  # some rack has none
            return np.asarray(free & (on_rack == 0))
        fewest = np.min([(racks == rack).sum(axis=1) for rack in self.open_racks], axis=0)
        return np.asarray(free & (on_rack == fewest))

    def weight(self, p: int, slot: int | None) -> Floats:
        """What the replica of that slot weighs."""
        return np.asarray(self.leader_weight[p] if slot == 0 else self.follower_weight[p])

    def weights(self, ps: Ints, slots: Ints) -> Floats:
        """What each of these replicas weighs."""
        return np.where((slots == 0)[:, None], self.leader_weight[ps], self.follower_weight[ps])

    def roomy(self, p: int, slot: int | None) -> Bools:
        """Who could take the replica of that slot and stay under the ceilings; what is not told has room."""
        weight = self.weight(p, slot)
        return np.asarray(((self.use + weight <= self.ceiling) | (weight <= 0)).all(axis=1))

    def allowed(self, weights: Floats, one: int, other: int) -> Bools:
        """Which of these weights may go from the one to the other, and a negative one the other way."""
        more, less = weights > 0, weights < 0
        gained, left = self.use[other] + weights, self.use[one] - weights
        beyond = (more & ((gained > self.ceiling[other]) | (left < self.floor[one]))) | (
            less & ((left > self.ceiling[one]) | (gained < self.floor[other]))
        )
        return np.asarray(~beyond.any(axis=1))

    def spared(self, ps: Ints, leader: int) -> Bools:
        """Which of these partitions their leader may cease to lead."""
        if not self._tied:
            return np.ones(len(ps), dtype=np.bool_)
        topics = self.cluster.topic[ps].tolist()
        return np.array([t not in self._tied or self._leads[t][leader] > self._tied[t] for t in topics], dtype=np.bool_)

    def may_lead(self, p: int, one: int, other: int) -> bool:
        """Whether the other may lead the partition in the place of the one."""
        more = self.leader_weight[p] - self.follower_weight[p]
        return bool(((self.use[other] + more <= self.ceiling[other]) | (more <= 0)).all()) and bool(self.spared(np.array([p]), one)[0])

    def limits_leaders(self) -> bool:
        """Whether some leadership may be refused."""
        return bool(self._tied) or bool(np.isfinite(self.ceiling[self.open][:, [NETWORK_OUT, CPU]]).any())

    def fresh(self, ps: Ints, b: int) -> Bools:
        """Of which of these the broker may have one more of the topic."""
        if self.most_of_topic is None:
            return np.ones(len(ps), dtype=np.bool_)
        topics = self.cluster.topic[ps]
        return np.asarray(self.of_topic[topics, b] < self.most_of_topic[topics])

    def best(self, p: int, slot: int | None, among: Bools) -> int | None:
        """Of those that stay under their disk limit, and under the other ceilings if any does, the one that holds the least."""
        among = among & self.takers & (self._stored + self._disks.copied[p] <= self._disks.most)
        roomy = among & self.roomy(p, slot)
        places = np.flatnonzero(roomy if roomy.any() else among)
        if not len(places):
            return None
        keys = (places, self.bytes[places], self.of_topic[self.cluster.topic[p], places], self.count[places])
        return int(places[np.lexsort(keys)[0]])

    # ------------------------------------------------------------ what is done
    def put(self, p: int, slot: int, broker: int, reason: str) -> None:
        """Let the slot have this broker; -1: none."""
        before, weight, topic = int(self.replicas[p, slot]), self.weight(p, slot), int(self.cluster.topic[p])
        for at, sign in ((before, -1), (broker, 1)):
            if at >= 0:
                self._held[at] = None
                self.use[at] += sign * weight
                self.of_topic[topic, at] += sign
                self._stored[at] += sign * self._disk_bytes(p, at)
                if slot == 0 and topic in self._leads:
                    self._leads[topic][at] += sign
        self.replicas[p, slot] = broker
        if broker >= 0:
            self._came[broker].append(p)
        if self.reason[p] == "":
            self.reason[p] = reason

    def _disk_bytes(self, p: int, broker: int) -> float:
        """What the partition takes on the broker's disk: the replica that is there, or a new copy."""
        slots = np.flatnonzero(self.cluster.replicas[p] == broker)
        return float(self._disks.stored[p, slots[0]] if len(slots) else self._disks.copied[p])

    def lead(self, p: int, slot: int, reason: str) -> None:
        """Make the replica of that slot the preferred leader; the others keep their order."""
        row = self.replicas[p]
        more = self.leader_weight[p] - self.follower_weight[p]
        self.use[row[0]] -= more
        self.use[row[slot]] += more
        if (leads := self._leads.get(int(self.cluster.topic[p]))) is not None:
            leads[row[0]] -= 1
            leads[row[slot]] += 1
        self.reorder(p, [row[slot], *(b for at, b in enumerate(row) if at != slot)])
        if self.reason[p] == "":
            self.reason[p] = reason

    def reorder(self, p: int, row: Sequence[int]) -> None:
        """Give the partition's replicas another order."""
        self.replicas[p] = row
        for b in row:
            if b >= 0:
                self._held[b] = None

    def keep(self, quantity: int, least: Floats | float, most: Floats | float) -> None:
        """From now on nobody is taken beyond these limits, nor further beyond them."""
        use = self.use[:, quantity]
        self.ceiling[:, quantity] = np.fmin(self.ceiling[:, quantity], np.fmax(most, use))
        self.floor[:, quantity] = np.fmin(least, use)


def wide(replicas: Ints, width: int) -> Ints:
    """With -1 behind, so many columns."""
    return np.pad(replicas, ((0, 0), (0, width - replicas.shape[1])), constant_values=-1)
