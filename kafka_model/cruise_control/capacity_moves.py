"""Steps of a reassignment for Cruise Control's capacity goals: ReplicaCapacityGoal and the four CapacityGoals (2.5 of August 2026).

The search is our own. From each broker over a limit goes the smallest replica that clears the excess, otherwise the largest.

    >>> from kafka_model.cruise_control.plan_state import Cluster, DiskSpace, PlanRequest, Thresholds
    >>> partitions = [("t", number, (1,), 1, size) for number, size in enumerate([50.0, 30.0, 15.0])]
    >>> cluster = Cluster.from_rows({1: "a", 2: "b"}, partitions, disk_capacity={1: 100.0, 2: 100.0})
    >>> state = PlanState(cluster, PlanRequest(), Thresholds(), DiskSpace.from_share(cluster, 1.0))
    >>> relieve_replicas_and_disks(state)
    >>> state.replicas.tolist()
    [[0], [0], [1]]

Broker 1 stores 95 of 100 and may store 80.
"""

from __future__ import annotations

import numpy as np

from kafka_model.cruise_control.columnar import Floats, Ints
from kafka_model.cruise_control.load_balance import relieve_by_leadership
from kafka_model.cruise_control.plan import REASON_CAPACITY
from kafka_model.cruise_control.plan_state import CPU, DISK, NETWORK_IN, NETWORK_OUT, PlanState

_MOVE_CANDIDATES = 256  # replicas that are tried on a broker before it is left over its limit


def relieve_replicas_and_disks(state: PlanState) -> None:
    """Move replicas off brokers with too many replicas or bytes."""
    max_replicas, disk_limits = state.thresholds.max_replicas_per_broker, state.upper_limits[:, DISK].copy()
    is_over = (state.replica_counts > max_replicas) | (state.disk_bytes > disk_limits)
    for broker in np.flatnonzero(state.eligible_brokers & is_over).tolist():
        partitions, slots = state.movable_replicas(broker)
        is_left = np.ones(len(partitions), dtype=np.bool_)
        while state.replica_counts[broker] > max_replicas or state.disk_bytes[broker] > disk_limits[broker]:
            left = np.flatnonzero(is_left)
            excess = max(float(state.disk_bytes[broker] - disk_limits[broker]), 0.0)
            order = left[_by_sufficiency(state.cluster.size[partitions[left]], excess, partitions[left])]
            candidates = order[:_MOVE_CANDIDATES].tolist()
            moved = next((index for index in candidates if _move(state, int(partitions[index]), int(slots[index]))), None)
            if moved is None:
                break
            is_left[moved] = False


def relieve_network_and_cpu(state: PlanState) -> None:
    """Move leadership, and where that is not enough replicas, off brokers with too much network or cpu load."""
    for quantity in (NETWORK_IN, NETWORK_OUT, CPU):
        for broker in np.flatnonzero(state.eligible_brokers & (state.load[:, quantity] > state.upper_limits[:, quantity])).tolist():
            while not relieve_by_leadership(state, quantity, broker, REASON_CAPACITY):
                partitions, slots = state.movable_replicas(broker)
                loads = state.replica_loads(partitions, slots)[:, quantity]
                excess = float(state.load[broker, quantity] - state.upper_limits[broker, quantity])
                order = _by_sufficiency(loads, excess, partitions)
                candidates = order[loads[order] > 0][:_MOVE_CANDIDATES].tolist()
                if not any(_move(state, int(partitions[index]), int(slots[index])) for index in candidates):
                    break


def _by_sufficiency(loads: Floats, excess: float, partitions: Ints) -> Ints:
    """Return the order in which replicas are tried: the smallest load that clears the excess first, then the largest of the others."""
    is_sufficient = loads >= excess
    return np.asarray(np.lexsort((partitions, np.where(is_sufficient, loads, -loads), ~is_sufficient)))


def _move(state: PlanState, partition: int, slot: int) -> bool:
    """Move the replica to a broker that stays within its limits, and return whether there is one."""
    candidates = state.destinations(partition, slot) & state.within_limits(partition, slot)
    destination = state.best_destination(partition, slot, candidates)
    if destination is not None:
        state.set_replica(partition, slot, destination, REASON_CAPACITY)
    return destination is not None
