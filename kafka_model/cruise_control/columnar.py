"""The goals of kafka_model.cruise_control.goals in columns: the same verdicts, for millions of replicas at once.

`evaluate` is the columnar form of goals.evaluate, `placement_breaches` of placement_goals.placement_breaches, `follower_cpu` of
cluster_load.follower_cpu, and `net_imbalance` of reassignment.net_imbalance. Loads are added up in 64 bits and each broker is a host of its
own; `Verdict.near_limit` marks the verdicts that Cruise Control, which computes in 32 bits, may decide otherwise.

    >>> cluster = Cluster.from_rows({1: "a", 2: "b"}, [("t", 0, (1, 2), 1, 10.0), ("t", 1, (1,), 1, 10.0)])
    >>> evaluate(cluster, cluster.replicas, cluster.leader, Thresholds())["RackAwareGoal"].verdict
    'satisfied'
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kafka_model.cruise_control.broker_goals import count_breach, count_with_noun, evaluate_broker_goals
from kafka_model.cruise_control.cluster_load import Broker, ClusterLoad, ReplicaLoad, sum_brokers
from kafka_model.cruise_control.limits import (
    CPU,
    DISK,
    NETWORK_IN,
    NETWORK_OUT,
    RESOURCES,
    Thresholds,
    min_topic_leaders,
    topic_replica_limits,
)
from kafka_model.cruise_control.placement_goals import partitions_needed, placement_verdicts, topic_replica_formula
from kafka_model.cruise_control.verdicts import Breach, Verdict

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Cluster:
    """A cluster in arrays. Brokers, racks and topics are indexes; sizes are in bytes; an unknown load or capacity is NaN."""

    # By broker.
    broker_ids: Ints
    racks: Ints
    live: Bools
    disk_capacity: Floats
    topics: tuple[str, ...]  # by topic
    # By partition.
    topic: Ints
    partition: Ints
    replicas: Ints  # a row of brokers, the preferred leader first, then -1 up to the width of the matrix
    leader: Ints  # -1: none
    size: Floats
    racks_known: bool = True
    loads: Mapping[str, Floats] = field(
        default_factory=dict
    )  # the load of the leader by resource, by partition, in the units of limits.UNITS
    capacities: Mapping[str, Floats] = field(default_factory=dict)  # by resource, by broker, in the units of limits.UNITS
    rack_names: tuple[str, ...] = ()  # by rack
    hosts: tuple[str, ...] = ()  # the name of each broker's host, by broker; empty: each broker has a host of its own

    @classmethod
    def from_rows(
        cls,
        racks: Mapping[int, str],
        partitions: Sequence[tuple[str, int, Sequence[int], int | None, float]],
        *,
        dead: Collection[int] = (),
        disk_capacity: Mapping[int, float] | None = None,
    ) -> Cluster:
        """Build a small cluster from the racks by broker id and from partitions (topic, number, replicas, leader, size)."""
        broker_ids = sorted(racks)
        broker_index = {broker_id: index for index, broker_id in enumerate(broker_ids)}
        rack_index = {rack: index for index, rack in enumerate(sorted(set(racks.values())))}
        topics = sorted({topic for topic, *_ in partitions})
        topic_index = {topic: index for index, topic in enumerate(topics)}
        width = max((len(replicas) for _, _, replicas, _, _ in partitions), default=1)
        matrix = np.full((len(partitions), width), -1, dtype=np.int64)
        for row, (_, _, replicas, _, _) in enumerate(partitions):
            matrix[row, : len(replicas)] = [broker_index[broker_id] for broker_id in replicas]
        return cls(
            np.array(broker_ids, dtype=np.int64),
            np.array([rack_index[racks[broker_id]] for broker_id in broker_ids], dtype=np.int64),
            np.array([broker_id not in dead for broker_id in broker_ids]),
            np.array([(disk_capacity or {}).get(broker_id, math.nan) for broker_id in broker_ids]),
            tuple(topics),
            np.array([topic_index[topic] for topic, *_ in partitions], dtype=np.int64),
            np.array([number for _, number, *_ in partitions], dtype=np.int64),
            matrix,
            np.array([-1 if leader is None else broker_index[leader] for _, _, _, leader, _ in partitions], dtype=np.int64),
            np.array([size for *_, size in partitions], dtype=np.float64),
            rack_names=tuple(rack_index),
        )

    def load(self, resource: str) -> Floats:
        """Return the load of each partition's leader; NaN: unknown."""
        return self.loads[resource] if resource in self.loads else np.full(len(self.leader), math.nan)

    def capacity(self, resource: str) -> Floats:
        """Return the capacity of each broker; NaN: unknown."""
        return self.capacities[resource] if resource in self.capacities else np.full(len(self.broker_ids), math.nan)


def evaluate(cluster: Cluster, replicas: Ints, leader: Ints, thresholds: Thresholds) -> dict[str, Verdict]:
    """Return the verdict of every goal on these replicas and leaders, by the goal's name.

    Partitions without a leader are left out. Breaches of the placement goals are counted, not listed: `placement_breaches` lists them.
    """
    led = np.flatnonzero(leader >= 0)
    brokers, load = _broker_loads(cluster, replicas[led], leader[led], led)
    verdicts = evaluate_broker_goals(brokers, load, thresholds, partitions=len(led))
    if not cluster.live.any():
        return verdicts
    placement = _Placement(cluster, replicas[led], leader[led], led, thresholds)
    counts = {goal: len(breaches) for goal, breaches in placement.breaches().items()}
    live_racks = len(placement.live_racks) if cluster.racks_known else None
    max_replication_factor = int((replicas[led] >= 0).sum(axis=1).max(initial=1))
    return verdicts | placement_verdicts(counts, live_racks, max_replication_factor, placement.partitions_needed(), thresholds)


def placement_breaches(cluster: Cluster, replicas: Ints, leader: Ints, thresholds: Thresholds) -> Iterator[tuple[str, Breach]]:
    """Yield the breaches of the goals on racks, topics and leaders, each with its goal."""
    led = np.flatnonzero(leader >= 0)
    if not cluster.live.any():
        return
    placement = _Placement(cluster, replicas[led], leader[led], led, thresholds)
    for goal, breaches in placement.breaches().items():
        for breach in placement.describe(goal, breaches):
            yield goal, breach


def net_imbalance(counts: Ints, groups: int) -> Ints:
    """Return for each row of counts how many must move until any two of so many groups have the same count, or differ by one.

    Groups with a count of 0 may be left out of the rows. This is the columnar form of reassignment.net_imbalance.

        >>> net_imbalance(np.array([[3, 2, 3, 4, 3], [9, 0, 0, 0, 0]]), 5).tolist()
        [1, 7]
    """
    mean, remainder = np.divmod(counts.sum(axis=1), groups)
    excess = -np.sort(-counts, axis=1) - mean[:, None] - (np.arange(counts.shape[1]) < remainder[:, None])
    return np.asarray(np.maximum(excess, 0).sum(axis=1))


def topic_replica_counts(cluster: Cluster, replicas: Ints, topic: Ints) -> Ints:
    """Count the replicas of each topic on each broker, of partitions with these replicas and topics."""
    topics, brokers = len(cluster.topics), len(cluster.broker_ids)
    row, slot = np.nonzero(replicas >= 0)
    return np.bincount(topic[row] * brokers + replicas[row, slot], minlength=topics * brokers).reshape(topics, brokers)


def replicas_on_same_rack(cluster: Cluster, replicas: Ints) -> Ints:
    """Count for each replica how many replicas of its partition are on its rack, itself included; 0 where there is no replica."""
    racks = np.where(replicas >= 0, cluster.racks[replicas], -1)
    return np.where(racks >= 0, (racks[:, :, None] == racks[:, None, :]).sum(axis=2), 0)


def share_rack(racks: Ints) -> Bools:
    """Return for each row of racks (-1: none) whether two replicas are on one rack: the negation of placement_goals.is_rack_aware."""
    ordered = np.sort(racks, axis=1)
    return np.asarray(((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any(axis=1))


def follower_cpu(cpu: Floats, network_in: Floats, network_out: Floats) -> Floats:
    """Return the followers' cpu by the loads of their leaders: the columnar form of cluster_load.follower_cpu."""
    with np.errstate(invalid="ignore", divide="ignore"):
        cpu_of_follower = cpu * (0.15 * network_in) / (0.7 * network_in + 0.15 * network_out)
    return np.asarray(np.where((network_in == 0) & (network_out == 0), 0.0, cpu_of_follower))


def _broker_loads(cluster: Cluster, replicas: Ints, leader: Ints, led: Ints) -> tuple[list[Broker], ClusterLoad]:
    """Add up the loads of each broker that is alive or has a replica. `led` are the indexes of these partitions."""
    brokers = len(cluster.broker_ids)
    row, slot = np.nonzero(replicas >= 0)
    broker_of_replica = replicas[row, slot]
    is_leader = broker_of_replica == leader[row]
    load = {resource: cluster.load(resource)[led][row] for resource in RESOURCES}
    network_in, network_out, cpu = load[NETWORK_IN], load[NETWORK_OUT], load[CPU]
    # An unknown load is NaN and makes the sums NaN; multiplied by 0 it stays NaN.
    replica_loads = {
        DISK: load[DISK],
        NETWORK_IN: network_in,
        NETWORK_OUT: np.where(is_leader, network_out, network_out * 0),
        CPU: np.where(is_leader, cpu, follower_cpu(cpu, network_in, network_out)),
        "leader_network_in": np.where(is_leader, network_in, network_in * 0),
        "potential_network_out": network_out,
    }
    sums = {name: np.bincount(broker_of_replica, weights=loads, minlength=brokers) for name, loads in replica_loads.items()}
    replica_counts = np.bincount(broker_of_replica, minlength=brokers)
    leader_counts = np.bincount(leader, minlength=brokers)
    capacities = {resource: cluster.capacity(resource) for resource in RESOURCES}
    known_brokers, loads_by_id = [], {}
    for broker in np.flatnonzero(cluster.live | (replica_counts > 0)).tolist():
        broker_id, rack, is_live = int(cluster.broker_ids[broker]), str(cluster.racks[broker]), bool(cluster.live[broker])
        capacity = {resource: _none_if_nan(capacities[resource][broker]) for resource in RESOURCES}
        host = cluster.hosts[broker] if cluster.hosts else str(broker)
        known_brokers.append(Broker(broker_id, rack, host, is_live, capacity))
        loads_by_id[broker_id] = ReplicaLoad(
            int(replica_counts[broker]),
            int(leader_counts[broker]),
            {resource: _none_if_nan(sums[resource][broker]) for resource in RESOURCES},
            _none_if_nan(sums["leader_network_in"][broker]),
            _none_if_nan(sums["potential_network_out"][broker]),
        )
    return known_brokers, sum_brokers(known_brokers, loads_by_id)


def _none_if_nan(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


class _Placement:
    """The placement goals on the partitions that have a leader. `led` are their indexes in the cluster."""

    def __init__(self, cluster: Cluster, replicas: Ints, leader: Ints, led: Ints, thresholds: Thresholds) -> None:
        self.cluster, self.replicas, self.leader, self.led, self.thresholds = cluster, replicas, leader, led, thresholds
        self.live_racks = np.unique(cluster.racks[cluster.live])
        self.topic = cluster.topic[led]
        self._live_brokers = int(cluster.live.sum())
        self._topic_counts = topic_replica_counts(cluster, replicas, self.topic)
        totals = self._topic_counts.sum(axis=1).tolist()
        limits = [topic_replica_limits(total, self._live_brokers, thresholds) for total in totals]
        self._topic_limits = np.array(limits, dtype=np.int64).reshape(-1, 2)
        self._on_same_rack = replicas_on_same_rack(cluster, replicas) if cluster.racks_known else np.zeros_like(replicas)
        self._leader_counts = self._count_topic_leaders()
        self._min_leaders = {
            topic: min_topic_leaders(int(counts.sum()), self._live_brokers, thresholds) for topic, counts in self._leader_counts.items()
        }

    def _count_topic_leaders(self) -> dict[int, Ints]:
        """Count the leaders on each broker, for each topic that MinTopicLeadersPerBrokerGoal applies to and that has a leader."""
        pattern, brokers = self.thresholds.topics_with_min_leaders_per_broker, len(self.cluster.broker_ids)
        topics = [index for index, topic in enumerate(self.cluster.topics) if pattern and re.fullmatch(pattern, topic)]
        counts = {topic: np.bincount(self.leader[self.topic == topic], minlength=brokers) for topic in topics}
        return {topic: topic_counts for topic, topic_counts in counts.items() if topic_counts.any()}

    def breaches(self) -> dict[str, Ints]:
        """Return for each goal the rows of the partitions that breach it, or the pairs of a topic and a broker."""
        width, live = self.replicas.shape[1], self.cluster.live
        return {
            "RackAwareGoal": np.flatnonzero(self._on_same_rack.max(axis=1, initial=0) > 1),
            "RackAwareDistributionGoal": np.flatnonzero(self._unevenly_distributed()),
            "PreferredLeaderElectionGoal": np.flatnonzero(self._not_led_by(self.replicas[:, 0] if width else self.leader)),
            "TopicReplicaDistributionGoal": np.argwhere(
                ((self._topic_counts > self._topic_limits[:, 1:]) | (self._topic_counts < self._topic_limits[:, :1]))
                & (self._topic_counts > 0)
                & live
            ),
            "MinTopicLeadersPerBrokerGoal": np.array(
                [
                    (topic, broker)
                    for topic, counts in self._leader_counts.items()
                    for broker in np.flatnonzero(live & (counts < self._min_leaders[topic])).tolist()
                ],
                dtype=np.int64,
            ).reshape(-1, 2),
        }

    def _unevenly_distributed(self) -> Bools:
        """Return whether each partition breaks RackAwareDistributionGoal: the negation of placement_goals.is_evenly_distributed."""
        on_same_rack, no_replica = self._on_same_rack, self.replicas.shape[1] + 1
        highest_count = on_same_rack.max(axis=1, initial=0)
        lowest_count = np.where(on_same_rack > 0, on_same_rack, no_replica).min(axis=1, initial=no_replica)
        # Each of the n replicas on a rack counts as 1 / n of that rack.
        racks = (1 / np.where(on_same_rack > 0, on_same_rack, math.inf)).sum(axis=1).round()
        return np.asarray((highest_count > 1) & ((racks < len(self.live_racks)) | (highest_count - lowest_count > 1)))

    def _not_led_by(self, preferred: Ints) -> Bools:
        return np.asarray((preferred >= 0) & self.cluster.live[preferred] & (self.leader != preferred))

    def partitions_needed(self) -> int | None:
        """Return the most partitions that a topic needs for its minimum of leaders (placement_goals.partitions_needed)."""
        leaders = {self.cluster.topics[topic]: int(counts.sum()) for topic, counts in self._leader_counts.items()}
        return partitions_needed(leaders, self._live_brokers, self.thresholds)

    def describe(self, goal: str, breaches: Ints) -> Iterator[Breach]:
        """Describe the elements of `breaches`, each with its value, its limit and the smallest change that clears it."""
        if goal in ("TopicReplicaDistributionGoal", "MinTopicLeadersPerBrokerGoal"):
            return (self._describe_topic(goal, topic, broker) for topic, broker in breaches.tolist())
        topics, numbers = self.topic[breaches].tolist(), self.cluster.partition[self.led[breaches]].tolist()
        described = self._preferred_leaders(breaches) if goal == "PreferredLeaderElectionGoal" else self._shared_racks(goal, breaches)
        return (
            breach._replace(topic=self.cluster.topics[topic], partition=number)
            for breach, topic, number in zip(described, topics, numbers, strict=True)
        )

    def _describe_topic(self, goal: str, topic: int, broker: int) -> Breach:
        broker_id, name = int(self.cluster.broker_ids[broker]), self.cluster.topics[topic]
        if goal == "MinTopicLeadersPerBrokerGoal":
            minimum, count = self._min_leaders[topic], int(self._leader_counts[topic][broker])
            return count_breach(count, minimum, f"leaders of the topic >= {minimum}", "leaders", broker_id=broker_id, topic=name)
        count, (lower, upper) = int(self._topic_counts[topic, broker]), self._topic_limits[topic].tolist()
        formula = topic_replica_formula(is_over=count > upper)
        return count_breach(count, upper if count > upper else lower, formula, "replicas", broker_id=broker_id, topic=name)

    def _preferred_leaders(self, rows: Ints) -> Iterator[Breach]:
        """Describe partitions that another broker leads, without their names."""
        leaders, preferred = (self.cluster.broker_ids[brokers] for brokers in (self.leader[rows], self.replicas[rows, :1].ravel()))
        for leader, first in zip(leaders.tolist(), preferred.tolist(), strict=True):
            yield Breach(leader, first, "the first replica leads", f"elect broker {first}")

    def _shared_racks(self, goal: str, rows: Ints) -> Iterator[Breach]:
        """Describe partitions that breach a goal on racks, without their names. Many partitions have their replicas on the same racks."""
        replicas, described = self.replicas[rows], dict[tuple[int, ...], Breach]()
        for racks in map(tuple, np.where(replicas >= 0, self.cluster.racks[replicas], -1).tolist()):
            if racks not in described:
                described[racks] = self._shared_rack(goal, [rack for rack in racks if rack >= 0])
            yield described[racks]

    def _shared_rack(self, goal: str, racks: Sequence[int]) -> Breach:
        """Describe a partition with replicas on these racks."""
        if goal == "RackAwareGoal":
            shared, free = len(racks) - len(set(racks)), np.setdiff1d(self.live_racks, racks)
            names = ", ".join(self.cluster.rack_names[rack] for rack in free)
            change = (
                f"move {count_with_noun(shared, 'replica')} to racks without one: {names}"
                if len(free) >= shared
                else "add racks: there are fewer than replicas"
            )
            return Breach(shared, 0, "replicas that share a rack = 0", change)
        highest_count, limit = max(Counter(racks).values()), math.ceil(len(racks) / len(self.live_racks))
        change = f"move {count_with_noun(highest_count - limit, 'replica')} from the rack that holds {highest_count} to emptier racks"
        return Breach(highest_count, limit, "replicas on a rack are as even as can be", change)
