"""Restart orders, compared with all permutations simulated by the model of broker failures."""

import random
from itertools import permutations

from kafka_model.election.partition import Partition
from kafka_model.failover.broker_failure import fail_brokers
from kafka_model.failover.rolling_restart import RestartConstraint, restart_order


def stops_under_min_isr(partition: Partition, order: tuple[int, ...], live: set[int]) -> set[int]:
    """Simulate the order, with each broker back in sync before the next stop, and list the stops that leave too few in sync."""
    fatal = set()
    for broker in order:
        stopped = fail_brokers(partition, [broker], live, controller="kraft", elr=False, unclean=False, controlled_shutdown=True).partition
        in_sync = [replica for replica in stopped.isr if replica != broker]
        if broker in partition.isr and (stopped.leader is None or len(in_sync) < partition.min_insync_replicas):
            fatal.add(broker)
        isr = tuple(replica for replica in partition.replicas if replica in {*in_sync, broker})
        partition = Partition(partition.replicas, stopped.leader or broker, isr, min_insync_replicas=partition.min_insync_replicas)
    return fatal


def test_an_order_is_found_exactly_if_some_permutation_is_safe() -> None:
    rng = random.Random(11)
    kinds = []
    for _ in range(400):
        brokers = list(range(rng.randint(2, 4)))
        live = set(brokers)
        partitions = []
        for _ in range(rng.randint(1, 4)):
            replicas = rng.sample(brokers, k=rng.randint(1, len(brokers)))
            isr = rng.sample(replicas, k=rng.randint(1, len(replicas)))
            partitions.append(Partition(tuple(replicas), isr[0], tuple(isr), min_insync_replicas=rng.randint(1, 3)))
        constraints = [RestartConstraint(frozenset(p.replicas), frozenset(p.isr), p.min_insync_replicas) for p in partitions]
        avoidable = [p for p, constraint in zip(partitions, constraints, strict=True) if not constraint.unavoidable]
        safe = [order for order in permutations(brokers) if not any(stops_under_min_isr(p, order, live) for p in avoidable)]
        computed = restart_order(brokers, constraints)
        assert bool(safe) == (computed.blocked == ()), (constraints, computed)
        assert computed.blocked or computed.order in safe
        kinds.append((bool(safe), len(safe) < len(list(permutations(brokers)))))
        unavoidable = [p for p, constraint in zip(partitions, constraints, strict=True) if constraint.unavoidable]
        assert all(stops_under_min_isr(p, order, live) for p in unavoidable for order in permutations(brokers))
    assert {(True, True), (True, False), (False, True)} <= set(kinds)  # the draws cover all kinds
