"""A complete reassignment of a ZooKeeper controller: its state machines, which the golden files compare with KafkaController, decide."""

from __future__ import annotations

import random

from kafka_model.election.alterations import complete_reassignment
from kafka_model.election.partition import Partition
from kafka_model.election.zookeeper_controller import Context, on_isr_change, on_reassignment, start_up
from kafka_model.release import Release

NAME = ("t", 0)


def by_the_state_machines(partition: Partition, target: list[int], live: frozenset[int]) -> Partition | None:
    """Reassign, let live added replicas join the ISR, and return the partition; None: the reassignment is not complete."""
    context = on_reassignment(start_up(Context(partitions={NAME: partition}, live=live)).context, NAME, target).context
    if NAME in context.reassigning and partition.leader is not None:
        added = [broker for broker in target if broker not in partition.replicas and broker in live]
        context = on_isr_change(context, NAME, [*context.partitions[NAME].isr, *added]).context
    return None if NAME in context.reassigning else context.partitions[NAME]


def test_a_zookeeper_controller_completes_a_reassignment_as_its_state_machines_do() -> None:
    rng, completed, incomplete = random.Random(7), 0, 0
    for _ in range(2_000):
        brokers = range(1, 8)
        live = frozenset(rng.sample(brokers, rng.randint(3, 7)))
        replicas = tuple(rng.sample(brokers, rng.randint(1, 4)))
        in_sync = [broker for broker in replicas if broker in live and rng.random() < 0.85]
        if not in_sync:
            continue
        partition = Partition(replicas=replicas, leader=rng.choice(in_sync), isr=tuple(in_sync))
        target = rng.sample(brokers, rng.randint(1, 4))
        expected = by_the_state_machines(partition, target, live)
        reassigned = complete_reassignment(partition, target, live=live, elr=False, version=Release(3, 8, 0))
        assert (reassigned is None) == (expected is None), (partition, target, live)
        if reassigned is None or expected is None:
            incomplete += 1
        else:
            completed += 1
            assert (reassigned.replicas, reassigned.leader) == (expected.replicas, expected.leader)
            assert sorted(reassigned.isr) == sorted(expected.isr)
    assert min(completed, incomplete) > 100
