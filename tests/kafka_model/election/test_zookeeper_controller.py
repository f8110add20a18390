"""Reassignment and topic deletion, step by step. The golden files contain Kafka's own answers."""

from __future__ import annotations

from kafka_model.election.partition import Partition
from kafka_model.election.state_machines import PartitionState, ReplicaState
from kafka_model.election.zookeeper_controller import (
    Context,
    on_broker_startup,
    on_isr_change,
    on_reassignment,
    on_replicas_deleted,
    on_topic_deletion,
    shut_down,
    start_up,
)

ORDERS = ("orders", 0)


def started(live: set[int]) -> Context:
    recorded = {ORDERS: Partition(replicas=(1, 2), leader=1, isr=(1, 2))}
    return start_up(Context(partitions=recorded, live=frozenset(live))).context


def test_seed_002_a_controller_that_shuts_down_clears_its_context() -> None:
    context = shut_down(started({1, 2}))
    assert (context.partitions, context.partition_states, context.replica_states, context.live) == ({}, {}, {}, frozenset())


def test_reassignment_completes_once_the_added_replicas_are_in_sync() -> None:
    moving = on_reassignment(started({1, 2, 3}), ORDERS, [3, 2]).context
    assert moving.partitions[ORDERS].replicas == (3, 2, 1)
    assert (moving.partitions[ORDERS].adding_replicas, moving.partitions[ORDERS].removing_replicas) == ((3,), (1,))
    assert moving.replica_states[ORDERS, 3] is ReplicaState.NEW
    moved = on_isr_change(moving, ORDERS, [1, 2, 3]).context
    assert (moved.partitions[ORDERS].replicas, moved.partitions[ORDERS].leader, moved.partitions[ORDERS].isr) == ((3, 2), 3, (2, 3))
    assert (ORDERS, 1) not in moved.replica_states
    assert not moved.reassigning


def test_topic_deletion_completes_when_all_brokers_have_responded() -> None:
    deleting = on_topic_deletion(started({1, 2}), ["orders", "unknown"]).context
    assert deleting.partition_states[ORDERS] is PartitionState.NON_EXISTENT
    one_response = on_replicas_deleted(deleting, 1, failed=False).context
    assert one_response.deleting == {"orders"}
    deleted = on_replicas_deleted(one_response, 2, failed=False).context
    assert not deleted.deleting
    assert not deleted.partitions
    assert not deleted.replica_states


def test_topic_deletion_waits_for_a_dead_broker() -> None:
    waiting = on_replicas_deleted(on_topic_deletion(started({1}), ["orders"]).context, 1, failed=False).context
    assert waiting.deletion_halted == {"orders"}
    back = on_broker_startup(waiting, [2]).context
    assert back.replica_states[ORDERS, 2] is ReplicaState.DELETION_STARTED
    assert not on_replicas_deleted(back, 2, failed=False).context.partitions


def test_first_deletion_request_does_not_wait_for_a_reassignment() -> None:
    moving = on_reassignment(started({1, 2, 3}), ORDERS, [3, 2]).context
    assert on_topic_deletion(moving, ["orders"]).context.deletion_started == {"orders"}
