"""The state of a reassignment while its steps run: replicas, the load of each broker, and the limits to respect.

No class of Kafka or Cruise Control. The load of a broker has a column for each quantity that some goal limits. A change is allowed if it
takes no broker beyond a limit, and no broker that is beyond a limit already still further. The upper limits start as those of the hard
goals; each balancing step adds the limits that it has reached, so that later steps keep them.

    >>> cluster = Cluster.from_rows({1: "a", 2: "b", 3: "c"}, [("t", 0, (1, 2), 1, 10.0)])
    >>> state = PlanState(cluster, PlanRequest(), Thresholds(), DiskSpace.from_share(cluster, 1.0))
    >>> state.destinations(0, 1).tolist()
    [False, False, True]
    >>> state.set_replica(0, 1, 2, "replicas")
    >>> state.replicas.tolist(), state.load[:, DISK].tolist()
    ([[0, 2]], [10.0, 0.0, 10.0])
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kafka_model.cruise_control import limits
from kafka_model.cruise_control.columnar import Bools, Cluster, Floats, Ints, follower_cpu, topic_replica_counts
from kafka_model.cruise_control.limits import Thresholds, min_topic_leaders
from kafka_model.cruise_control.plan import Blocked, PlanRequest, pad_slots

# The columns of a load.
REPLICAS, LEADERS, DISK, NETWORK_IN, NETWORK_OUT, CPU, LEADER_NETWORK_IN, POTENTIAL_NETWORK_OUT = QUANTITIES = range(8)
RESOURCE_OF = {NETWORK_IN: limits.NETWORK_IN, NETWORK_OUT: limits.NETWORK_OUT, CPU: limits.CPU}


@dataclass(frozen=True, slots=True, eq=False)
class DiskSpace:
    """Disk space in bytes. A new copy takes space from the start of its wave; a deletion frees space at the end of its wave."""

    limit: Floats  # by broker; infinite: the capacity is unknown
    used: Floats  # by broker, before the plan
    replica_sizes: Floats  # by partition and slot, as Cluster.replicas
    copy_sizes: Floats  # by partition: the size of a new replica

    @classmethod
    def from_share(cls, cluster: Cluster, share: float) -> DiskSpace:
        """Limit each broker to a share of its capacity; each replica has its partition's size."""
        has_replica = cluster.replicas >= 0
        replica_sizes = np.where(has_replica, cluster.size[:, None], 0.0)
        used = np.bincount(cluster.replicas[has_replica], replica_sizes[has_replica], len(cluster.broker_ids))
        limit = cluster.disk_capacity * share
        return cls(np.where(np.isnan(limit), math.inf, limit), np.asarray(used, dtype=np.float64), replica_sizes, cluster.size)


class ReplicaArrays(NamedTuple):
    """Replicas as two arrays of equal length."""

    partitions: Ints
    slots: Ints


class PlanState:
    """Replicas, loads and limits, which the steps of a plan change.

    Brokers, topics and partitions are indexes into the cluster's arrays; a slot is a column of `replicas`. `eligible_brokers` are alive
    and not drained; of these, `target_brokers` may take new replicas, because they are not cordoned. The request may change `movable_partitions`, which have a live leader to copy from, and `leaderless_partitions`, which
    have none.
    """

    def __init__(self, cluster: Cluster, request: PlanRequest, thresholds: Thresholds, disk_space: DiskSpace) -> None:
        self.cluster, self.request, self.thresholds, self.disk_space = cluster, request, thresholds, disk_space
        requested = np.array([not request.topics or topic in request.topics for topic in cluster.topics], dtype=np.bool_)[cluster.topic]
        has_live_leader = (cluster.leader >= 0) & cluster.live[cluster.leader]
        self.movable_partitions, self.leaderless_partitions = requested & has_live_leader, requested & ~has_live_leader
        self.eligible_brokers = cluster.live & ~np.isin(cluster.broker_ids, sorted(request.drained_brokers))
        self.target_brokers = self.eligible_brokers & ~np.isin(cluster.broker_ids, sorted(request.cordoned_brokers))
        self.target_racks = np.unique(cluster.racks[self.target_brokers])
        self._accepting = self.target_brokers & (disk_space.used <= disk_space.limit)
        width = max([cluster.replicas.shape[1], *(request.replication_factors.get(topic, 0) for topic in cluster.topics)])
        self.replicas = pad_slots(cluster.replicas, width).copy()
        self.reasons = np.full(len(cluster.size), "", dtype=object)
        self.blocked: list[Blocked] = []
        self._init_loads()
        self._init_limits()
        self._init_topics()
        self._init_replicas_by_broker()

    def _init_loads(self) -> None:
        cluster, brokers = self.cluster, len(self.cluster.broker_ids)
        has_leader = cluster.leader >= 0
        loads = {resource: cluster.load(resource) for resource in RESOURCE_OF.values()}
        load_known = {resource: not np.isnan(load[has_leader]).any() for resource, load in loads.items()}
        load_known[limits.CPU] &= load_known[limits.NETWORK_IN] and load_known[limits.NETWORK_OUT]  # a follower's cpu depends on them
        self.capacity = {resource: cluster.capacity(resource) for resource in RESOURCE_OF.values()}
        self.is_known = {
            resource: bool(
                self.eligible_brokers.any() and (self.capacity[resource][self.eligible_brokers] > 0).all() and load_known[resource]
            )
            for resource in loads
        }
        self.is_leader_network_in_known = load_known[limits.NETWORK_IN]
        self.leader_load, self.follower_load = self._loads_by_role(loads, has_leader)
        row, slot = np.nonzero(self.replicas >= 0)
        self.load = np.zeros((brokers, len(QUANTITIES)))
        for quantity in QUANTITIES:
            replica_loads = np.where(slot == 0, self.leader_load[row, quantity], self.follower_load[row, quantity])
            self.load[:, quantity] = np.bincount(self.replicas[row, slot], weights=replica_loads, minlength=brokers)
        self.replica_counts, self.disk_bytes = self.load[:, REPLICAS], self.load[:, DISK]
        self._stored_bytes = self.disk_space.used.copy()

    def _loads_by_role(self, loads: dict[str, Floats], has_leader: Bools) -> tuple[Floats, Floats]:
        """Return the load of a leader and of a follower of each partition.

        It is 0 for a quantity that is not known, and for a partition without a leader.
        """
        partitions = len(has_leader)
        known = {resource: load if self.is_known[resource] else np.zeros(partitions) for resource, load in loads.items()}
        network_in, network_out, cpu = (np.where(has_leader, known[resource], 0.0) for resource in RESOURCE_OF.values())
        leader_in = np.where(has_leader, loads[limits.NETWORK_IN], 0.0) if self.is_leader_network_in_known else np.zeros(partitions)
        cpu_of_follower = follower_cpu(cpu, np.nan_to_num(loads[limits.NETWORK_IN]), np.nan_to_num(loads[limits.NETWORK_OUT]))
        one, zero, size = np.ones(partitions), np.zeros(partitions), self.cluster.size
        leader = np.column_stack([one, one, size, network_in, network_out, cpu, leader_in, network_out])
        return leader, np.column_stack([one, zero, size, network_in, zero, cpu_of_follower, zero, network_out])

    def _init_limits(self) -> None:
        self.upper_limits = np.full(self.load.shape, math.inf)
        self.lower_limits = np.full(self.load.shape, -math.inf)
        self.upper_limits[:, REPLICAS] = self.thresholds.max_replicas_per_broker
        disk_limit = self.cluster.disk_capacity * self.thresholds.disk_capacity_threshold
        other_files = np.maximum(self.disk_space.used - self.disk_bytes, 0.0)  # on the disk, but no replica of these partitions
        disk_limit = np.where(np.isnan(disk_limit), math.inf, disk_limit)
        self.upper_limits[:, DISK] = np.minimum(disk_limit, self.disk_space.limit - other_files)
        for quantity, resource in RESOURCE_OF.items():
            if self.is_known[resource]:
                self.upper_limits[:, quantity] = self.capacity[resource] * self.thresholds.capacity(resource)

    def _init_topics(self) -> None:
        cluster, brokers = self.cluster, len(self.cluster.broker_ids)
        self.topic_counts = topic_replica_counts(cluster, self.replicas, cluster.topic)
        self.topic_upper_limits: Ints | None = None  # by topic, once the topics are balanced
        self._min_topic_leaders = self._min_leaders_by_topic()
        leader = self.replicas[:, 0]
        self._topic_leaders = {topic: np.bincount(leader[cluster.topic == topic], minlength=brokers) for topic in self._min_topic_leaders}

    def _min_leaders_by_topic(self) -> dict[int, int]:
        """Return how many leaders each live broker must have of each topic that MinTopicLeadersPerBrokerGoal applies to."""
        cluster, pattern = self.cluster, self.thresholds.topics_with_min_leaders_per_broker
        live_brokers = int(cluster.live.sum())
        if not pattern or not live_brokers:
            return {}
        leaders = np.bincount(cluster.topic[cluster.leader >= 0], minlength=len(cluster.topics)).tolist()
        return {
            topic: min_topic_leaders(leaders[topic], live_brokers, self.thresholds)
            for topic, name in enumerate(cluster.topics)
            if re.fullmatch(pattern, name)
        }

    def _init_replicas_by_broker(self) -> None:
        partitions, slots = np.nonzero((self.replicas >= 0) & self.movable_partitions[:, None])
        holders, brokers = self.replicas[partitions, slots], len(self.cluster.broker_ids)
        by_size = np.argsort(self.cluster.size, kind="stable")
        self._size_rank = np.empty_like(by_size)
        self._size_rank[by_size] = np.arange(len(by_size))
        order = np.lexsort((self._size_rank[partitions], holders))
        ends = np.cumsum(np.bincount(holders, minlength=brokers))[:-1]
        by_broker = zip(np.split(partitions[order], ends), np.split(slots[order], ends), strict=True)
        self._movable_replicas = [ReplicaArrays(*arrays) for arrays in by_broker]
        # The partitions whose replica on the broker has come, gone or changed its slot since its arrays were computed.
        self._changed_partitions: list[set[int]] = [set() for _ in range(brokers)]

    # ------------------------------------------------------------ possible changes
    def movable_replicas(self, broker: int) -> ReplicaArrays:
        """Return the replicas on a broker that may be changed, in the order of the partitions' sizes, then of the partitions."""
        if self._changed_partitions[broker]:
            changed = np.array(sorted(self._changed_partitions[broker], key=self._size_rank.__getitem__), dtype=np.int64)
            self._changed_partitions[broker].clear()
            partitions, slots = self._movable_replicas[broker]
            is_unchanged = np.isin(partitions, changed, invert=True)
            partitions, slots = partitions[is_unchanged], slots[is_unchanged]
            is_here = (self.replicas[changed] == broker) & self.movable_partitions[changed, None]
            changed, changed_slots = changed[is_here.any(axis=1)], np.nonzero(is_here)[1]
            index = np.searchsorted(self._size_rank[partitions], self._size_rank[changed])
            self._movable_replicas[broker] = ReplicaArrays(np.insert(partitions, index, changed), np.insert(slots, index, changed_slots))
        return self._movable_replicas[broker]

    def destinations(self, partition: int, slot: int | None, *, any_rack: bool = False) -> Bools:
        """Return the brokers that may have the replica of a slot (None: an additional replica) by their racks and replicas.

        They are on a rack with the fewest other replicas of the partition. With `any_rack`, racks whose brokers all have a replica of the
        partition do not count.
        """
        row = self.replicas[partition]
        candidates = self.target_brokers.copy()
        candidates[row[row >= 0]] = False
        others = [broker for index, broker in enumerate(row.tolist()) if broker >= 0 and index != slot]
        on_rack = np.bincount(self.cluster.racks[others], minlength=int(self.cluster.racks.max(initial=0)) + 1)
        racks = np.unique(self.cluster.racks[candidates]) if any_rack else self.target_racks
        fewest = on_rack[racks].min() if len(racks) else 0
        return np.asarray(candidates & (on_rack[self.cluster.racks] == fewest))

    def can_accept(self, broker: int, partitions: Ints, slots: Ints) -> Bools:
        """Return which of these replicas a broker may have, by the rule of `destinations` and its disk limit."""
        if not self._accepting[broker]:
            return np.zeros(len(partitions), dtype=np.bool_)
        replicas = np.ascontiguousarray(self.replicas[partitions].T)  # by slot, because numpy reduces a few long rows fastest
        is_free = (replicas != broker).all(axis=0)
        is_other = (replicas >= 0) & (np.arange(len(replicas))[:, None] != slots)
        racks = np.where(is_other, self.cluster.racks[replicas], -1)
        is_on_rack = racks == self.cluster.racks[broker]
        if len(self.target_racks) > len(replicas) - 1:  # then some rack has no other replica
            return np.asarray(is_free & ~is_on_rack.any(axis=0))
        fewest = np.min([(racks == rack).sum(axis=0) for rack in self.target_racks], axis=0)
        return np.asarray(is_free & (is_on_rack.sum(axis=0) == fewest))

    def replica_load(self, partition: int, slot: int | None) -> Floats:
        """Return the load of the replica of a slot (None: a follower), by quantity."""
        return np.asarray(self.leader_load[partition] if slot == 0 else self.follower_load[partition])

    def replica_loads(self, partitions: Ints, slots: Ints) -> Floats:
        """Return the load of each of these replicas, by quantity."""
        return np.where((slots == 0)[:, None], self.leader_load[partitions], self.follower_load[partitions])

    def within_limits(self, partition: int, slot: int | None) -> Bools:
        """Return the brokers that stay within their upper limits with the replica of a slot."""
        load = self.replica_load(partition, slot)
        return np.asarray(((self.load + load <= self.upper_limits) | (load <= 0)).all(axis=1))

    def may_transfer(self, loads: Floats, source: int, destination: int) -> Bools:
        """Return which of these loads may go from one broker to another. A negative quantity goes the other way."""
        source_load, destination_load = self.load[source] - loads, self.load[destination] + loads
        exceeds = (loads > 0) & ((destination_load > self.upper_limits[destination]) | (source_load < self.lower_limits[source]))
        exceeds_back = (loads < 0) & ((source_load > self.upper_limits[source]) | (destination_load < self.lower_limits[destination]))
        return np.asarray(~(exceeds | exceeds_back).any(axis=1))

    def may_stop_leading(self, partitions: Ints, leader: int) -> Bools:
        """Return which of these partitions their leader may cease to lead by MinTopicLeadersPerBrokerGoal."""
        if not self._min_topic_leaders:
            return np.ones(len(partitions), dtype=np.bool_)
        minimums = self._min_topic_leaders
        topics = self.cluster.topic[partitions].tolist()
        return np.array([topic not in minimums or self._topic_leaders[topic][leader] > minimums[topic] for topic in topics], dtype=np.bool_)

    def may_relocate_leadership(self, partition: int, leader: int, follower: int) -> bool:
        """Return whether a follower may lead the partition in place of its leader."""
        extra_load = self.leader_load[partition] - self.follower_load[partition]
        within_limits = ((self.load[follower] + extra_load <= self.upper_limits[follower]) | (extra_load <= 0)).all()
        return bool(within_limits) and bool(self.may_stop_leading(np.array([partition]), leader)[0])

    def limits_leadership(self) -> bool:
        """Return whether `may_relocate_leadership` can be False."""
        return bool(self._min_topic_leaders) or bool(np.isfinite(self.upper_limits[self.eligible_brokers][:, [NETWORK_OUT, CPU]]).any())

    def may_add_to_topic(self, partitions: Ints, broker: int) -> Bools:
        """Return for which of these partitions a broker may have one more replica of the topic."""
        if self.topic_upper_limits is None:
            return np.ones(len(partitions), dtype=np.bool_)
        topics = self.cluster.topic[partitions]
        return np.asarray(self.topic_counts[topics, broker] < self.topic_upper_limits[topics])

    def best_destination(self, partition: int, slot: int | None, candidates: Bools) -> int | None:
        """Return the candidate with the fewest replicas, then the fewest of the topic, then the least bytes, then the lowest index.

        Candidates that would exceed their disk limit are left out, and those that would exceed another limit if some would not.
        """
        has_disk_space = self._stored_bytes + self.disk_space.copy_sizes[partition] <= self.disk_space.limit
        candidates = candidates & self._accepting & has_disk_space
        within_limits = candidates & self.within_limits(partition, slot)
        brokers = np.flatnonzero(within_limits if within_limits.any() else candidates)
        if not len(brokers):
            return None
        topic_counts = self.topic_counts[self.cluster.topic[partition], brokers]
        return int(brokers[np.lexsort((brokers, self.disk_bytes[brokers], topic_counts, self.replica_counts[brokers]))[0]])

    # ------------------------------------------------------------ changes
    def set_replica(self, partition: int, slot: int, broker: int, reason: str) -> None:
        """Put the replica of a slot on a broker; -1: remove it. The first reason for a change of the partition is kept."""
        previous, load, topic = int(self.replicas[partition, slot]), self.replica_load(partition, slot), int(self.cluster.topic[partition])
        for changed, sign in ((previous, -1), (broker, 1)):
            if changed >= 0:
                self._changed_partitions[changed].add(partition)
                self.load[changed] += sign * load
                self.topic_counts[topic, changed] += sign
                self._stored_bytes[changed] += sign * self._stored_size(partition, changed)
                if slot == 0 and topic in self._topic_leaders:
                    self._topic_leaders[topic][changed] += sign
        self.replicas[partition, slot] = broker
        self._set_reason(partition, reason)

    def _stored_size(self, partition: int, broker: int) -> float:
        """Return the bytes of the partition on a broker: of the replica it had before the plan, otherwise of a new copy."""
        slots = np.flatnonzero(self.cluster.replicas[partition] == broker)
        return float(self.disk_space.replica_sizes[partition, slots[0]] if len(slots) else self.disk_space.copy_sizes[partition])

    def relocate_leadership(self, partition: int, slot: int, reason: str) -> None:
        """Make the replica of a slot the preferred leader. The other replicas keep their order."""
        row = self.replicas[partition]
        extra_load = self.leader_load[partition] - self.follower_load[partition]
        self.load[row[0]] -= extra_load
        self.load[row[slot]] += extra_load
        if (leaders := self._topic_leaders.get(int(self.cluster.topic[partition]))) is not None:
            leaders[row[0]] -= 1
            leaders[row[slot]] += 1
        self.reorder_replicas(partition, [row[slot], *(broker for index, broker in enumerate(row) if index != slot)])
        self._set_reason(partition, reason)

    def reorder_replicas(self, partition: int, row: Sequence[int]) -> None:
        """Give the partition the same replicas in another order."""
        self.replicas[partition] = row
        for broker in row:
            if broker >= 0:
                self._changed_partitions[broker].add(partition)

    def _set_reason(self, partition: int, reason: str) -> None:
        if self.reasons[partition] == "":
            self.reasons[partition] = reason

    def keep_within(self, quantity: int, lower: Floats | float, upper: Floats | float) -> None:
        """Add limits for the steps to come. A broker beyond them may stay there, but not go further."""
        load = self.load[:, quantity]
        self.upper_limits[:, quantity] = np.fmin(self.upper_limits[:, quantity], np.fmax(upper, load))
        self.lower_limits[:, quantity] = np.fmin(lower, load)
