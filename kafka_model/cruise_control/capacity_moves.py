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
        waiting = _Replicas(state.cluster.size[partitions], partitions)
        # Only this broker loses replicas here, so a replica that fits nowhere now fits nowhere later.
        fits_nowhere: set[int] = set()
        while state.replica_counts[broker] > max_replicas or state.disk_bytes[broker] > disk_limits[broker]:
            excess = max(float(state.disk_bytes[broker] - disk_limits[broker]), 0.0)
            for index in waiting.by_sufficiency(excess):
                if index not in fits_nowhere and _move(state, int(partitions[index]), int(slots[index])):
                    waiting.remove(index)
                    break
                fits_nowhere.add(index)
            else:
                break


class _Replicas:
    """Replicas of a broker, sorted once to be in the order of `_by_sufficiency` for each excess."""

    def __init__(self, loads: Floats, partitions: Ints) -> None:
        self._loads = loads
        self._ascending, self._descending = np.lexsort((partitions, loads)), np.lexsort((partitions, -loads))
        self._is_left = np.ones(len(partitions), dtype=np.bool_)

    def by_sufficiency(self, excess: float) -> list[int]:
        """Return the first replicas that are tried."""
        self._ascending = self._ascending[self._is_left[self._ascending]]
        self._descending = self._descending[self._is_left[self._descending]]
        sufficient = self._ascending[np.searchsorted(self._loads[self._ascending], excess) :]
        others = self._descending[np.searchsorted(-self._loads[self._descending], -excess, side="right") :]
        first: list[int] = np.concatenate([sufficient[:_MOVE_CANDIDATES], others[:_MOVE_CANDIDATES]])[:_MOVE_CANDIDATES].tolist()
        return first

    def remove(self, index: int) -> None:
        self._is_left[index] = False


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
