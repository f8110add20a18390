"""The goals of kafka_model.goal on a cluster in arrays: the same verdicts, of millions of replicas at once.

    >>> cluster = Cluster.of({1: "a", 2: "b"}, [("t", 0, (1, 2), 1, 10.0), ("t", 1, (1,), 1, 10.0)])
    >>> judged(cluster, cluster.replicas, cluster.leader, Thresholds())["RackAwareGoal"].verdict
    'satisfied'
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kafka_model import goal
from kafka_model.goal import Thresholds, Verdict

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
    loads: Mapping[str, Floats] = field(default_factory=dict)  # of each partition's leader, in the units of kafka_model.goal; nan: not told
    capacities: Mapping[str, Floats] = field(default_factory=dict)  # of each broker, likewise

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
    spread = _spread_breaches(cluster, rows, leader, at, of, led, thresholds)
    spread["MinTopicLeadersPerBrokerGoal"], needed = _topic_leaders(cluster, leader, led, thresholds)
    racks = len(np.unique(cluster.racks[cluster.live])) if cluster.racks_told else None
    return verdicts | goal.judge_spread(spread, racks, factor, needed, thresholds)


def told(of: Mapping[str, Floats], name: str, length: int) -> Floats:
    """The values of that name; nan, if they are not there."""
    return of[name] if name in of else np.full(length, math.nan)


def follower_cpu(cpu: Floats, network_in: Floats, network_out: Floats) -> Floats:
    """goal.follower_cpu."""
    with np.errstate(invalid="ignore", divide="ignore"):
        shared = cpu * (0.15 * network_in) / (0.7 * network_in + 0.15 * network_out)
    return np.asarray(np.where((network_in == 0) & (network_out == 0), 0.0, shared))


def _spread_breaches(cluster: Cluster, rows: Ints, leader: Ints, at: Ints, of: Ints, led: Ints, thresholds: Thresholds) -> dict[str, int]:
    """How many breaches the goals of racks, topics and leaders have."""
    live_racks = np.unique(cluster.racks[cluster.live])
    racks = np.where(rows >= 0, cluster.racks[rows], -1)
    on_rack = np.where(racks >= 0, (racks[:, :, None] == racks[:, None, :]).sum(axis=2), 0)  # of each replica, those on its rack
    most = on_rack.max(axis=1, initial=0)
    least = np.where(on_rack > 0, on_rack, rows.shape[1] + 1).min(axis=1, initial=rows.shape[1] + 1)
    held_racks = (1 / np.where(on_rack > 0, on_rack, math.inf)).sum(axis=1).round()
    uneven = (most > 1) & ((held_racks < len(live_racks)) | (most - least > 1))
    topics, brokers = len(cluster.topics), len(cluster.broker_ids)
    of_topic = np.bincount(cluster.topic[led][of] * brokers + at, minlength=topics * brokers).reshape(topics, brokers)
    totals = of_topic.sum(axis=1)
    limits = np.array([goal.topic_limits(int(total), int(cluster.live.sum()), thresholds) for total in totals]).reshape(-1, 2)
    outside = ((of_topic > limits[:, 1:]) | (of_topic < limits[:, :1])) & (of_topic > 0) & cluster.live
    return {
        "RackAwareGoal": int(shares_rack(racks).sum()),
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



def shares_rack(racks: Ints) -> NDArray[np.bool_]:
    """Which partitions have two replicas on a rack."""
    ordered = np.sort(racks, axis=1)
    return np.asarray(((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any(axis=1))
