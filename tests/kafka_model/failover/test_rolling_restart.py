"""An order of restarts is found exactly where trying every order finds one, by deaths and returns as the model has them."""

import random
from itertools import permutations

from kafka_model.failover.broker_failure import Partition, shut_down
from kafka_model.failover.rolling_restart import Tight, plan


def falls(partition: Partition, order: tuple[int, ...], live: set[int]) -> set[int]:
    """The stops of this order that leave too few in sync; each broker is back in sync before the next."""
    fatal = set()
    for broker in order:
        after = shut_down(partition, broker, live - {broker}, controller="kraft", elr=False, unclean=False)
        in_sync = [id for id in after.isr if id != broker]
        if broker in partition.isr and (after.leader is None or len(in_sync) < partition.min_insync_replicas):
            fatal.add(broker)
        back = tuple(id for id in partition.replicas if id in {*in_sync, broker})
        partition = Partition(partition.replicas, after.leader or broker, back, min_insync_replicas=partition.min_insync_replicas)
    return fatal


def test_an_order_is_found_if_any_order_serves() -> None:
    draw = random.Random(11)
    found = []
    for _ in range(400):
        brokers = list(range(draw.randint(2, 4)))
        live = set(brokers)
        partitions = []
        for _ in range(draw.randint(1, 4)):
            replicas = draw.sample(brokers, k=draw.randint(1, len(brokers)))
            isr = draw.sample(replicas, k=draw.randint(1, len(replicas)))
            partitions.append(Partition(tuple(replicas), isr[0], tuple(isr), min_insync_replicas=draw.randint(1, 3)))
        tight = [Tight(frozenset(p.replicas), frozenset(p.isr), p.min_insync_replicas) for p in partitions]
        bound = [p for p, t in zip(partitions, tight, strict=True) if not t.falls_anyway]
        serving = [order for order in permutations(brokers) if not any(falls(p, order, live) for p in bound)]
        told = plan(brokers, tight)
        assert bool(serving) == (told.stuck == ()), (tight, told)
        assert told.stuck or told.order in serving
        found.append((bool(serving), len(serving) < len(list(permutations(brokers)))))
        always = [p for p, t in zip(partitions, tight, strict=True) if t.falls_anyway]
        assert all(falls(p, order, live) for p in always for order in permutations(brokers))
    assert {(True, True), (True, False), (False, True)} <= set(found)  # all kinds were met
