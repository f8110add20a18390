"""Step of a reassignment for Cruise Control's DiskUsageDistributionGoal (2.5 of August 2026).

The search is our own. From the fullest broker to the emptiest goes the smallest replica that is enough, otherwise the largest that fits. If
the counts of replicas must stay, two replicas are exchanged.

    >>> from kafka_model.cruise_control.plan_state import Cluster, DiskSpace, PlanRequest, Thresholds
    >>> rows = [("t", number, (3, 1 if number < 2 else 2), 3, size) for number, size in enumerate([9.0, 9.0, 1.0, 1.0])]
    >>> cluster = Cluster.from_rows({1: "a", 2: "a", 3: "b"}, rows, disk_capacity={1: 100.0, 2: 100.0, 3: 200.0})
    >>> thresholds = Thresholds(replica_count_balance_threshold=1.0, disk_balance_threshold=1.5)
    >>> state = PlanState(cluster, PlanRequest(), thresholds, DiskSpace.from_share(cluster, 1.0))
    >>> balance_disks(state)
    >>> state.disk_bytes.tolist()
    [10.0, 10.0, 20.0]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from kafka_model.cruise_control.columnar import Floats, Ints
from kafka_model.cruise_control.limits import utilization_limits
from kafka_model.cruise_control.load_balance import repeat_until_stuck, sources_and_destinations
from kafka_model.cruise_control.plan import REASON_DISKS
from kafka_model.cruise_control.plan_state import DISK, PlanState, ReplicaArrays
from kafka_model.cruise_control.replica_balance import replica_count_limits

_CANDIDATES = 64  # replicas that are tried, and as many in exchange for each


class _Transfer(NamedTuple):
    """Bytes to move: at least `needed` to bring one of the two brokers within its limits, at most `maximum` to keep both within them."""

    source: int
    destination: int
    needed: float
    maximum: float


def balance_disks(state: PlanState) -> None:
    """Move or exchange replicas until all disks are within their limits or no change is allowed, if all capacities are known."""
    eligible_brokers = np.flatnonzero(state.eligible_brokers)
    capacity = state.cluster.disk_capacity
    if not len(eligible_brokers) or not (capacity[eligible_brokers] > 0).all() or state.disk_bytes.sum() == 0:
        return
    cluster_bytes, cluster_capacity = float(state.disk_bytes.sum()), float(capacity[eligible_brokers].sum())
    thresholds = state.thresholds
    low, high = utilization_limits(
        cluster_bytes, cluster_capacity, thresholds.disk_balance_threshold, thresholds.disk_low_utilization_threshold
    )
    lower, upper = capacity * low, np.minimum(capacity * high, state.upper_limits[:, DISK])

    def transfer(source: int, destination: int) -> bool:
        stored = state.disk_bytes
        needed = float(max(stored[source] - upper[source], lower[destination] - stored[destination]))
        maximum = float(min(stored[source] - lower[source], upper[destination] - stored[destination]))
        wanted = _Transfer(source, destination, needed, maximum)
        return maximum > 0 and (_move(state, wanted) or _exchange(state, wanted))

    def pairs() -> Iterator[tuple[int, int]]:
        stored = state.disk_bytes
        return sources_and_destinations(stored / capacity, stored > upper, stored < lower, eligible_brokers)

    repeat_until_stuck(pairs, transfer, len(capacity))
    state.keep_within(DISK, lower, upper)


def _move(state: PlanState, transfer: _Transfer) -> bool:
    """Move one follower, if the counts of replicas allow it, and return whether there was one."""
    source, destination = transfer.source, transfer.destination
    limits = replica_count_limits(state)
    if state.replica_counts[source] <= limits.lower or state.replica_counts[destination] >= limits.upper:
        return False
    partitions, slots = state.movable_replicas(source)
    order = _by_sufficiency(state.cluster.size[partitions], transfer)[:_CANDIDATES]
    partitions, slots = partitions[order], slots[order]
    is_allowed = (slots > 0) & state.can_accept(destination, partitions, slots) & state.may_add_to_topic(partitions, destination)
    is_allowed &= state.may_transfer(state.replica_loads(partitions, slots), source, destination)
    if not is_allowed.any():
        return False
    chosen = int(is_allowed.argmax())
    state.set_replica(int(partitions[chosen]), int(slots[chosen]), destination, REASON_DISKS)
    return True


def _by_sufficiency(sizes: Floats, transfer: _Transfer) -> Ints:
    """Return the order in which ascending sizes are tried: those that are enough, then the others from the largest on."""
    smallest, end = np.searchsorted(sizes, [0.0, transfer.maximum], side="right").tolist()
    sufficient = int(np.searchsorted(sizes, transfer.needed))
    return np.concatenate([np.arange(max(smallest, sufficient), end), np.arange(smallest, min(sufficient, end))[::-1]])


def _exchange(state: PlanState, transfer: _Transfer) -> bool:
    """Exchange a large follower of the source for a small one of the destination, and return whether there were two."""
    source, destination, size = transfer.source, transfer.destination, state.cluster.size
    partitions, slots = state.movable_replicas(source)
    given_partitions, given_slots = _exchangeable(state, partitions[::-1][:_CANDIDATES], slots[::-1][:_CANDIDATES], destination)
    partitions, slots = state.movable_replicas(destination)
    taken_partitions, taken_slots = _exchangeable(state, partitions[:_CANDIDATES], slots[:_CANDIDATES], source)
    for partition, slot in zip(given_partitions.tolist(), given_slots.tolist(), strict=True):
        gain = size[partition] - size[taken_partitions]
        net_loads = state.replica_load(partition, slot) - state.replica_loads(taken_partitions, taken_slots)
        is_allowed = (gain > 0) & (gain <= transfer.maximum) & state.may_transfer(net_loads, source, destination)
        if is_allowed.any():
            chosen = int(is_allowed.argmax())
            state.set_replica(partition, slot, destination, REASON_DISKS)
            state.set_replica(int(taken_partitions[chosen]), int(taken_slots[chosen]), source, REASON_DISKS)
            return True
    return False


def _exchangeable(state: PlanState, partitions: Ints, slots: Ints, broker: int) -> ReplicaArrays:
    """Return the followers among these replicas that a broker may have."""
    is_allowed = (slots > 0) & state.can_accept(broker, partitions, slots) & state.may_add_to_topic(partitions, broker)
    return ReplicaArrays(partitions[is_allowed], slots[is_allowed])
