"""The life of a partition and of a replica, as the ZooKeeper controller's state machines allow it (Kafka 2.0.0 to 3.9.2).

A partition is created (New), led (Online), without a leader (Offline), and gone (NonExistent). Online may follow Online: a new leader is
elected.

    >>> may_enter(PartitionState.ONLINE, PartitionState.ONLINE), may_enter(PartitionState.ONLINE, PartitionState.NON_EXISTENT)
    (True, False)

KRaft's controller keeps no such machine; of its partitions, a led one is Online and one without a leader is Offline.
"""

from __future__ import annotations

from enum import Enum


class IllegalTransition(ValueError):
    """The state may not be entered from where the partition or replica is; Kafka logs it and changes nothing."""


class PartitionState(Enum):
    """Kafka's name of each state of a partition."""

    NEW = "NewPartition"
    ONLINE = "OnlinePartition"
    OFFLINE = "OfflinePartition"
    NON_EXISTENT = "NonExistentPartition"


class ReplicaState(Enum):
    """Kafka's name of each state of a replica."""

    NEW = "NewReplica"
    ONLINE = "OnlineReplica"
    OFFLINE = "OfflineReplica"
    DELETION_STARTED = "ReplicaDeletionStarted"
    DELETION_SUCCESSFUL = "ReplicaDeletionSuccessful"
    DELETION_INELIGIBLE = "ReplicaDeletionIneligible"
    NON_EXISTENT = "NonExistentReplica"


# The whole machine: each state, and the states that it may be entered from.
ENTERED_FROM: dict[PartitionState, frozenset[PartitionState]] = {
    PartitionState.NEW: frozenset({PartitionState.NON_EXISTENT}),
    PartitionState.ONLINE: frozenset({PartitionState.NEW, PartitionState.ONLINE, PartitionState.OFFLINE}),
    PartitionState.OFFLINE: frozenset({PartitionState.NEW, PartitionState.ONLINE, PartitionState.OFFLINE}),
    PartitionState.NON_EXISTENT: frozenset({PartitionState.OFFLINE}),
}
_WAS_UP = frozenset({ReplicaState.NEW, ReplicaState.ONLINE, ReplicaState.OFFLINE, ReplicaState.DELETION_INELIGIBLE})
REPLICA_ENTERED_FROM: dict[ReplicaState, frozenset[ReplicaState]] = {
    ReplicaState.NEW: frozenset({ReplicaState.NON_EXISTENT}),
    ReplicaState.ONLINE: _WAS_UP,
    ReplicaState.OFFLINE: _WAS_UP,
    ReplicaState.DELETION_STARTED: frozenset({ReplicaState.OFFLINE}),
    ReplicaState.DELETION_SUCCESSFUL: frozenset({ReplicaState.DELETION_STARTED}),
    ReplicaState.DELETION_INELIGIBLE: frozenset({ReplicaState.OFFLINE, ReplicaState.DELETION_STARTED}),
    ReplicaState.NON_EXISTENT: frozenset({ReplicaState.DELETION_SUCCESSFUL}),
}
# Until 2.2, only a deletion under way could prove ineligible.
REPLICA_ENTERED_FROM_2_0: dict[ReplicaState, frozenset[ReplicaState]] = {
    **REPLICA_ENTERED_FROM,
    ReplicaState.DELETION_INELIGIBLE: frozenset({ReplicaState.DELETION_STARTED}),
}

Transition = tuple[PartitionState, PartitionState]


def may_enter(state: PartitionState, target: PartitionState) -> bool:
    """Whether a partition in `state` may go to `target`."""
    return state in ENTERED_FROM[target]


def enter(state: PartitionState, target: PartitionState) -> PartitionState:
    """The target, if it may be entered."""
    if not may_enter(state, target):
        raise IllegalTransition(f"{target.value} may not follow {state.value}")
    return target


def replica_may_enter(state: ReplicaState, target: ReplicaState, *, since_2_3: bool = True) -> bool:
    """Whether a replica in `state` may go to `target`, by the table of Kafka 2.3 and later, or of 2.0 to 2.2."""
    return state in (REPLICA_ENTERED_FROM if since_2_3 else REPLICA_ENTERED_FROM_2_0)[target]


def enter_replica(state: ReplicaState, target: ReplicaState, *, since_2_3: bool = True) -> ReplicaState:
    """The target, if a replica may enter it."""
    if not replica_may_enter(state, target, since_2_3=since_2_3):
        raise IllegalTransition(f"{target.value} may not follow {state.value}")
    return target
