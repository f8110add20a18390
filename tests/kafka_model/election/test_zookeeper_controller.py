"""Partitions that move and topics that go, one step after the other (Kafka's own answers are in the golden files)."""

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
    start_up,
)

ORDERS = ("orders", 0)


def up(live: set[int]) -> Context:
    recorded = {ORDERS: Partition(replicas=(1, 2), leader=1, isr=(1, 2))}
    return start_up(Context(partitions=recorded, live=frozenset(live))).context


def test_a_partition_moves_once_its_new_replicas_are_in_sync() -> None:
    moving = on_reassignment(up({1, 2, 3}), ORDERS, [3, 2]).context
    assert moving.partitions[ORDERS].replicas == (3, 2, 1)
    assert (moving.partitions[ORDERS].adding_replicas, moving.partitions[ORDERS].removing_replicas) == ((3,), (1,))
    assert moving.replica_states[ORDERS, 3] is ReplicaState.NEW
    moved = on_isr_change(moving, ORDERS, [1, 2, 3]).context
    assert (moved.partitions[ORDERS].replicas, moved.partitions[ORDERS].leader, moved.partitions[ORDERS].isr) == ((3, 2), 3, (2, 3))
    assert (ORDERS, 1) not in moved.replica_states
    assert not moved.reassigning


def test_a_topic_is_gone_when_all_brokers_have_answered() -> None:
    going = on_topic_deletion(up({1, 2}), ["orders", "unheard-of"]).context
    assert going.partition_states[ORDERS] is PartitionState.NON_EXISTENT
    half = on_replicas_deleted(going, 1, failed=False).context
    assert half.deleting == {"orders"}
    gone = on_replicas_deleted(half, 2, failed=False).context
    assert not gone.deleting
    assert not gone.partitions
    assert not gone.replica_states


def test_a_topic_waits_for_a_dead_broker() -> None:
    waiting = on_replicas_deleted(on_topic_deletion(up({1}), ["orders"]).context, 1, failed=False).context
    assert waiting.deletion_halted == {"orders"}
    back = on_broker_startup(waiting, [2]).context
    assert back.replica_states[ORDERS, 2] is ReplicaState.DELETION_STARTED
    assert not on_replicas_deleted(back, 2, failed=False).context.partitions


def test_a_topic_that_moves_does_not_wait_unless_it_was_queued_before_as_in_kafka() -> None:
    moving = on_reassignment(up({1, 2, 3}), ORDERS, [3, 2]).context
    assert on_topic_deletion(moving, ["orders"]).context.deletion_started == {"orders"}
