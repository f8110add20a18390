"""States of partitions and replicas: PartitionState and ReplicaState of the ZooKeeper controller (Kafka 2.0.0 to 3.9.2).

A partition is created (New), has a leader (Online), has no leader (Offline), or is deleted (NonExistent). Online may follow Online when
a new leader is elected.

    >>> may_enter(PartitionState.ONLINE, PartitionState.ONLINE), may_enter(PartitionState.ONLINE, PartitionState.NON_EXISTENT)
    (True, False)

The KRaft controller has no state machine. For its partitions, Online means with a leader and Offline without one.
"""

from __future__ import annotations

from enum import Enum

from kafka_model.release import LATEST, Release


class IllegalTransition(ValueError):
    """The current state does not allow this transition. Kafka logs it and changes nothing."""


class PartitionState(Enum):
    """States of a partition, with Kafka's names."""

    NEW = "NewPartition"
    ONLINE = "OnlinePartition"
    OFFLINE = "OfflinePartition"
    NON_EXISTENT = "NonExistentPartition"


class ReplicaState(Enum):
    """States of a replica, with Kafka's names."""

    NEW = "NewReplica"
    ONLINE = "OnlineReplica"
    OFFLINE = "OfflineReplica"
    DELETION_STARTED = "ReplicaDeletionStarted"
    DELETION_SUCCESSFUL = "ReplicaDeletionSuccessful"
    DELETION_INELIGIBLE = "ReplicaDeletionIneligible"
    NON_EXISTENT = "NonExistentReplica"


# The valid previous states of each state.
ENTERED_FROM: dict[PartitionState, frozenset[PartitionState]] = {
    PartitionState.NEW: frozenset({PartitionState.NON_EXISTENT}),
    PartitionState.ONLINE: frozenset({PartitionState.NEW, PartitionState.ONLINE, PartitionState.OFFLINE}),
    PartitionState.OFFLINE: frozenset({PartitionState.NEW, PartitionState.ONLINE, PartitionState.OFFLINE}),
    PartitionState.NON_EXISTENT: frozenset({PartitionState.OFFLINE}),
}
_WAS_UP = frozenset({ReplicaState.NEW, ReplicaState.ONLINE, ReplicaState.OFFLINE, ReplicaState.DELETION_INELIGIBLE})
_REPLICA_ENTERED_FROM: dict[ReplicaState, frozenset[ReplicaState]] = {
    ReplicaState.NEW: frozenset({ReplicaState.NON_EXISTENT}),
    ReplicaState.ONLINE: _WAS_UP,
    ReplicaState.OFFLINE: _WAS_UP,
    ReplicaState.DELETION_STARTED: frozenset({ReplicaState.OFFLINE}),
    ReplicaState.DELETION_SUCCESSFUL: frozenset({ReplicaState.DELETION_STARTED}),
    ReplicaState.DELETION_INELIGIBLE: frozenset({ReplicaState.OFFLINE, ReplicaState.DELETION_STARTED}),
    ReplicaState.NON_EXISTENT: frozenset({ReplicaState.DELETION_SUCCESSFUL}),
}
# Until 2.2, DeletionIneligible could follow only DeletionStarted.
_REPLICA_ENTERED_FROM_2_0: dict[ReplicaState, frozenset[ReplicaState]] = {
    **_REPLICA_ENTERED_FROM,
    ReplicaState.DELETION_INELIGIBLE: frozenset({ReplicaState.DELETION_STARTED}),
}

Transition = tuple[PartitionState, PartitionState]


def may_enter(state: PartitionState, target: PartitionState) -> bool:
    """Return whether a partition may change from `state` to `target`."""
    return state in ENTERED_FROM[target]


def enter(state: PartitionState, target: PartitionState) -> PartitionState:
    """Return the target state of a partition if the transition is allowed."""
    if not may_enter(state, target):
        raise IllegalTransition(f"{target.value} may not follow {state.value}")
    return target


def replica_entered_from(target: ReplicaState, *, version: Release = LATEST) -> frozenset[ReplicaState]:
    """Return the valid previous states of a replica's state."""
    return (_REPLICA_ENTERED_FROM if version >= Release(2, 3, 0) else _REPLICA_ENTERED_FROM_2_0)[target]


def enter_replica(state: ReplicaState, target: ReplicaState, *, version: Release = LATEST) -> ReplicaState:
    """Return the target state of a replica if the transition is allowed."""
    if state not in replica_entered_from(target, version=version):
        raise IllegalTransition(f"{target.value} may not follow {state.value}")
    return target
