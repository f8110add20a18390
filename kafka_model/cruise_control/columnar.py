"""The goals of kafka_model.cruise_control.verdicts on a cluster in arrays: the same verdicts, of millions of replicas at once.

>>> cluster = Cluster.of({1: "a", 2: "b"}, [("t", 0, (1, 2), 1, 10.0), ("t", 1, (1,), 1, 10.0)])
>>> judged(cluster, cluster.replicas, cluster.leader, Thresholds())["RackAwareGoal"].verdict
'satisfied'
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kafka_model.cruise_control import verdicts as goal
from kafka_model.cruise_control.verdicts import Breach, Thresholds, Verdict

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


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
    loads: Mapping[str, Floats] = field(default_factory=dict)  # of each partition's leader, in the units of verdicts.py; nan: not told
    capacities: Mapping[str, Floats] = field(default_factory=dict)  # of each broker, likewise
    rack_names: tuple[str, ...] = ()

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
            rack_names=tuple(names),
        )


def judged(cluster: Cluster, replicas: Ints, leader: Ints, thresholds: Thresholds) -> dict[str, Verdict]:
    """Every goal's verdict on these replicas and leaders. Partitions without a leader are left out."""
    led = np.flatnonzero(leader >= 0)
    rows, leader, brokers = replicas[led], leader[led], len(cluster.broker_ids)
    of, slot = np.nonzero(rows >= 0)
    at = rows[of, slot]
    leads = at == leader[of]
    load = {name: told(cluster.loads, name, len(replicas))[led][of] for name in goal.RESOURCES}
    into, out, cpu = load[goal.NETWORK_IN], load[goal.NETWORK_OUT], load[goal.CPU]
    copied = follower_cpu(cpu, into, out)
    capacities = {name: told(cluster.capacities, name, brokers) for name in goal.RESOURCES}
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
    if not cluster.live.any():
        return verdicts
    spread = _Spread(cluster, rows, leader, led, thresholds)
    counts = {name: len(breaches) for name, breaches in spread.breaches().items()}
    racks = len(spread.live_racks) if cluster.racks_told else None
    return verdicts | goal.judge_spread(counts, racks, factor, spread.partitions_needed(), thresholds)


def spread_breaches(cluster: Cluster, replicas: Ints, leader: Ints, thresholds: Thresholds) -> Iterator[tuple[str, Breach]]:
    """Who is outside the limits of the goals of racks, topics and leaders, which `judged` counts."""
    led = np.flatnonzero(leader >= 0)
    if not cluster.live.any():
        return
    spread = _Spread(cluster, replicas[led], leader[led], led, thresholds)
    for name, found in spread.breaches().items():
        for each in found:
            yield name, spread.explained(name, each)


def net_imbalance(counts: Ints, places: int) -> Ints:
    """For each row of counts, how many must move until any two of so many places have as many, to within one; places without any may be
    left out: the columnar twin of kafka_model.cruise_control.reassignment.net_imbalance.

        >>> net_imbalance(np.array([[3, 2, 3, 4, 3], [9, 0, 0, 0, 0]]), 5).tolist()
        [1, 7]
    """
    mean, over = np.divmod(counts.sum(axis=1), places)
    ranked = -np.sort(-counts, axis=1) - mean[:, None] - (np.arange(counts.shape[1]) < over[:, None])
    return np.asarray(np.maximum(ranked, 0).sum(axis=1))


def of_topics(cluster: Cluster, replicas: Ints, topic: Ints) -> Ints:
    """How many replicas of each topic each broker has, of partitions with these topics."""
    topics, brokers = len(cluster.topics), len(cluster.broker_ids)
    of, slot = np.nonzero(replicas >= 0)
    return np.bincount(topic[of] * brokers + replicas[of, slot], minlength=topics * brokers).reshape(topics, brokers)


def on_racks(cluster: Cluster, replicas: Ints) -> Ints:
    """Of each replica, how many of its partition are on its rack, itself too; 0 where there is none."""
    racks = np.where(replicas >= 0, cluster.racks[replicas], -1)
    return np.where(racks >= 0, (racks[:, :, None] == racks[:, None, :]).sum(axis=2), 0)


class _Spread:
    """The goals of racks, topics and leaders on partitions that are led: of each breach its place among them, or its topic and broker."""

    def __init__(self, cluster: Cluster, rows: Ints, leader: Ints, led: Ints, thresholds: Thresholds) -> None:
        self.cluster, self.rows, self.leader, self.led, self.thresholds = cluster, rows, leader, led, thresholds
        self.live_racks = np.unique(cluster.racks[cluster.live])
        self.topic = cluster.topic[led]
        self._live = int(cluster.live.sum())
        self._of_topic = of_topics(cluster, rows, self.topic)
        totals = self._of_topic.sum(axis=1).tolist()
        self._limits = np.array([goal.topic_limits(total, self._live, thresholds) for total in totals], dtype=np.int64).reshape(-1, 2)
        self._on_rack = on_racks(cluster, rows) if cluster.racks_told else np.zeros_like(rows)
        pattern = thresholds.topics_with_min_leaders_per_broker
        named = [at for at, topic in enumerate(cluster.topics) if pattern and re.fullmatch(pattern, topic)]
        of_named = {at: leader[self.topic == at] for at in named}
        self._leads = {at: np.bincount(leads, minlength=len(cluster.broker_ids)) for at, leads in of_named.items() if len(leads)}
        self._least = {at: goal.least_topic_leaders(int(counts.sum()), self._live, thresholds) for at, counts in self._leads.items()}

    def breaches(self) -> dict[str, Ints]:
        """Of each goal, the partitions that breach it, or pairs of a topic and a broker."""
        rows, on_rack, live = self.rows, self._on_rack, self.cluster.live
        most = on_rack.max(axis=1, initial=0)
        least = np.where(on_rack > 0, on_rack, rows.shape[1] + 1).min(axis=1, initial=rows.shape[1] + 1)
        racks = (1 / np.where(on_rack > 0, on_rack, math.inf)).sum(axis=1).round()
        uneven = (most > 1) & ((racks < len(self.live_racks)) | (most - least > 1))
        outside = ((self._of_topic > self._limits[:, 1:]) | (self._of_topic < self._limits[:, :1])) & (self._of_topic > 0) & live
        short = [(at, b) for at, counts in self._leads.items() for b in np.flatnonzero(live & (counts < self._least[at])).tolist()]
        first = rows[:, 0] if rows.shape[1] else self.leader
        return {
            "RackAwareGoal": np.flatnonzero(most > 1),
            "RackAwareDistributionGoal": np.flatnonzero(uneven),
            "PreferredLeaderElectionGoal": np.flatnonzero((first >= 0) & live[first] & (self.leader != first)),
            "TopicReplicaDistributionGoal": np.argwhere(outside),
            "MinTopicLeadersPerBrokerGoal": np.array(short, dtype=np.int64).reshape(-1, 2),
        }

    def partitions_needed(self) -> int | None:
        """How many partitions a topic needs that cannot give each broker its least."""
        needed = [self._least[at] * self._live for at, counts in self._leads.items() if counts.sum() < self._least[at] * self._live]
        return max(needed, default=None)

    def explained(self, name: str, of: Ints) -> Breach:
        """A breach with its value, its limit and the smallest change that clears it."""
        ids = self.cluster.broker_ids
        if name in ("TopicReplicaDistributionGoal", "MinTopicLeadersPerBrokerGoal"):
            topic, b = of.tolist()
            where = {"broker_id": int(ids[b]), "topic": self.cluster.topics[topic]}
            if name == "MinTopicLeadersPerBrokerGoal":
                least = self._least[topic]
                return goal.count_breach(int(self._leads[topic][b]), least, f"leaders of the topic >= {least}", "leaders", **where)
            count, (lower, upper) = int(self._of_topic[topic, b]), self._limits[topic].tolist()
            over = count > upper
            return goal.count_breach(count, upper if over else lower, goal.topic_formula(over=over), "replicas", **where)
        p = int(of)
        topic, number = self.cluster.topics[self.topic[p]], int(self.cluster.partition[self.led[p]])
        held = self.rows[p][self.rows[p] >= 0]
        if name == "PreferredLeaderElectionGoal":
            leader, first = int(ids[self.leader[p]]), int(ids[held[0]])
            return Breach(leader, first, "the first replica leads", f"elect broker {first}", None, topic, number)
        racks = self.cluster.racks[held]
        if name == "RackAwareGoal":
            shared, free = len(racks) - len(np.unique(racks)), np.setdiff1d(self.live_racks, racks)
            names = ", ".join(self.cluster.rack_names[rack] for rack in free)
            change = f"move {shared} to racks without one: {names}" if len(free) >= shared else "add racks: there are fewer than replicas"
            return Breach(shared, 0, "replicas that share a rack = 0", change, None, topic, number)
        most, even = int(self._on_rack[p].max()), math.ceil(len(racks) / len(self.live_racks))
        change = f"move {most - even} from the rack that holds {most} to emptier racks"
        return Breach(most, even, "replicas on a rack are as even as can be", change, None, topic, number)


def told(of: Mapping[str, Floats], name: str, length: int) -> Floats:
    """The values of that name; nan, if they are not there."""
    return of[name] if name in of else np.full(length, math.nan)


def follower_cpu(cpu: Floats, network_in: Floats, network_out: Floats) -> Floats:
    """goal.follower_cpu."""
    with np.errstate(invalid="ignore", divide="ignore"):
        shared = cpu * (0.15 * network_in) / (0.7 * network_in + 0.15 * network_out)
    return np.asarray(np.where((network_in == 0) & (network_out == 0), 0.0, shared))


def _told(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def shares_rack(racks: Ints) -> NDArray[np.bool_]:
    """Which partitions have two replicas on a rack."""
    ordered = np.sort(racks, axis=1)
    return np.asarray(((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any(axis=1))
