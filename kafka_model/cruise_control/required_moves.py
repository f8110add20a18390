"""Steps of a reassignment that are not a matter of balance: replication factors, dead and drained brokers, and shared racks.

No class of Kafka or Cruise Control. Changes that no broker can take are recorded as blocked.

    >>> from kafka_model.cruise_control.plan_state import Cluster, DiskSpace, PlanRequest, Thresholds
    >>> cluster = Cluster.from_rows({1: "a", 2: "b", 3: "c"}, [("t", 0, (1, 2), 1, 10.0)], dead=[2])
    >>> state = PlanState(cluster, PlanRequest(), Thresholds(), DiskSpace.from_share(cluster, 1.0))
    >>> leave_dead_brokers(state)
    >>> state.replicas.tolist(), state.reasons.tolist()
    ([[0, 2]], ['dead or drained broker'])
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from kafka_model.cruise_control.columnar import Ints, share_rack
from kafka_model.cruise_control.plan import (
    NO_BROKER,
    NO_DISK,
    NO_LEADER,
    NO_RACK,
    REASON_DEAD_BROKER,
    REASON_REPLICATION_FACTOR,
    REASON_SHARED_RACK,
    Blocked,
)
from kafka_model.cruise_control.plan_state import PlanState


def change_replication_factors(state: PlanState) -> None:
    """Add and remove replicas until each partition has the requested replication factor of its topic."""
    for name, replication_factor in sorted(state.request.replication_factors.items()):
        is_of_topic = state.cluster.topic == state.cluster.topics.index(name)
        for partition in np.flatnonzero(is_of_topic & state.leaderless_partitions).tolist():
            if difference := abs(replication_factor - _replica_count(state, partition)):
                state.blocked.append(Blocked(partition, REASON_REPLICATION_FACTOR, difference, NO_LEADER))
        for partition in np.flatnonzero(is_of_topic & state.movable_partitions).tolist():
            _add_replicas(state, partition, replication_factor)
            while (count := _replica_count(state, partition)) > replication_factor:
                _remove_replica(state, partition, count)


def leave_dead_brokers(state: PlanState) -> None:
    """Replace each replica on a dead or drained broker."""
    must_leave = (state.replicas >= 0) & ~state.eligible_brokers[state.replicas]
    on_leaderless = (must_leave & state.leaderless_partitions[:, None]).sum(axis=1)
    blocked = Counter({(partition, NO_LEADER): count for partition, count in enumerate(on_leaderless.tolist()) if count})
    for partition, slot in np.argwhere(must_leave & state.movable_partitions[:, None]).tolist():
        candidates = state.destinations(partition, slot, any_rack=True)
        destination = state.best_destination(partition, slot, candidates)
        if destination is not None:
            state.set_replica(partition, slot, destination, REASON_DEAD_BROKER)
        else:
            blocked[partition, NO_DISK if candidates.any() else NO_BROKER] += 1
    state.blocked += [Blocked(partition, REASON_DEAD_BROKER, count, obstacle) for (partition, obstacle), count in blocked.items()]


def leave_shared_racks(state: PlanState) -> None:
    """Move replicas off racks with two or more replicas of a partition, while another rack has two fewer."""
    for partition in np.flatnonzero(share_rack(_racks(state)) & state.movable_partitions).tolist():
        for _ in range(state.replicas.shape[1]):
            slot = _slot_on_fullest_rack(state, partition)
            if slot is None:
                break
            candidates = state.destinations(partition, slot)
            destination = state.best_destination(partition, slot, candidates)
            if destination is None:
                if candidates.any():
                    state.blocked.append(Blocked(partition, REASON_SHARED_RACK, 1, NO_DISK))
                break
            state.set_replica(partition, slot, destination, REASON_SHARED_RACK)
    if state.request.topics:  # then the request is to make these topics rack-aware
        racks = len(state.target_racks)
        counts = (state.replicas >= 0).sum(axis=1)
        for partition in np.flatnonzero(share_rack(_racks(state)) & state.movable_partitions & (counts > racks)).tolist():
            state.blocked.append(Blocked(partition, REASON_SHARED_RACK, int(counts[partition]) - racks, NO_RACK))


def _add_replicas(state: PlanState, partition: int, replication_factor: int) -> None:
    while (count := _replica_count(state, partition)) < replication_factor:
        candidates = state.destinations(partition, None, any_rack=True)
        destination = state.best_destination(partition, None, candidates)
        if destination is None:
            obstacle = NO_DISK if candidates.any() else NO_BROKER
            state.blocked.append(Blocked(partition, REASON_REPLICATION_FACTOR, replication_factor - count, obstacle))
            return
        state.set_replica(partition, count, destination, REASON_REPLICATION_FACTOR)


def _remove_replica(state: PlanState, partition: int, count: int) -> None:
    """Remove a replica on a dead broker, otherwise on a shared rack, otherwise on the broker with the most replicas; the leader last."""
    brokers = state.replicas[partition, :count]
    racks = state.cluster.racks[brokers]
    order = [
        (bool(state.eligible_brokers[broker]), slot == 0, int((racks == racks[slot]).sum()) == 1, -int(state.replica_counts[broker]), -slot)
        for slot, broker in enumerate(brokers.tolist())
    ]
    slot = order.index(min(order))
    if slot == 0:
        state.relocate_leadership(partition, 1, REASON_REPLICATION_FACTOR)
        slot = 1
    state.set_replica(partition, slot, -1, REASON_REPLICATION_FACTOR)
    row = state.replicas[partition]
    state.reorder_replicas(partition, [*row[row >= 0], *row[row < 0]])


def _slot_on_fullest_rack(state: PlanState, partition: int) -> int | None:
    """Return the slot that should leave the rack with the most replicas, on the broker with the most replicas, the leader last.

    None: no rack has two replicas fewer, so that a move would gain nothing.
    """
    row = state.replicas[partition]
    brokers = row[row >= 0]
    racks = state.cluster.racks[brokers]
    on_rack = np.bincount(racks, minlength=int(state.cluster.racks.max()) + 1)
    highest_count = int(on_rack.max())
    if highest_count < 2 or highest_count - int(on_rack[state.target_racks].min(initial=highest_count)) < 2:
        return None
    slots = np.flatnonzero(on_rack[racks] == highest_count).tolist()
    return max(slots, key=lambda slot: (slot != 0, int(state.replica_counts[brokers[slot]]), slot))


def _racks(state: PlanState) -> Ints:
    return np.where(state.replicas >= 0, state.cluster.racks[state.replicas], -1)


def _replica_count(state: PlanState, partition: int) -> int:
    return int((state.replicas[partition] >= 0).sum())
