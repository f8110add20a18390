"""An order for a rolling restart in which no partition stops accepting acks=all writes or loses its leader.

A broker that shuts down cleanly leaves every ISR (ReplicationControlManager.handleBrokerInControlledShutdown, KRaft 4.1 to 4.3;
KafkaController.doControlledShutdown, ZooKeeper 2.0 to 3.9). After its return, and once it has caught up, it is in the ISR of all its
partitions, also of those where it lagged before. So a restart leaves ISRs as they were or larger, and a broker that may stop now may also
stop later. The order is therefore found greedily: each time, the first broker that may stop.

    >>> lagging = RestartConstraint(replicas=frozenset({1, 2}), isr=frozenset({1}), min_insync_replicas=1)
    >>> restart_order([1, 2], [lagging])
    RestartOrder(order=(2, 1), blocked=())

A partition that would be under min.insync.replicas even with all its live replicas in sync is affected by every order, so it does not
constrain the order:

    >>> lone = RestartConstraint(replicas=frozenset({1}), isr=frozenset({1}), min_insync_replicas=1)
    >>> lone.unavoidable, restart_order([1, 2], [lagging, lone])
    (True, RestartOrder(order=(2, 1), blocked=()))
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RestartConstraint:
    """A partition's live replicas, those in sync, and its effective min.insync.replicas (1 or more)."""

    replicas: frozenset[int]
    isr: frozenset[int]
    min_insync_replicas: int

    @property
    def unavoidable(self) -> bool:
        """Return whether a stop leaves fewer than min.insync.replicas even if all live replicas are in sync."""
        return len(self.replicas) <= self.min_insync_replicas


@dataclass(frozen=True, slots=True)
class RestartOrder:
    """The brokers that can restart, in order, and those whose restart would stop writes to some partition."""

    order: tuple[int, ...]
    blocked: tuple[int, ...]


def restart_order(brokers: Collection[int], partitions: Iterable[RestartConstraint]) -> RestartOrder:
    """Compute a restart order of the live brokers; of several that may stop, the lowest id comes first.

    Partitions with enough replicas in sync for any stop may be left out.
    """
    constraints: dict[int, list[RestartConstraint]] = {broker: [] for broker in brokers}
    for partition in set(partitions):
        if not partition.unavoidable:
            for broker in partition.isr & constraints.keys():
                constraints[broker].append(partition)
    waiting, order = sorted(constraints), list[int]()
    while free := [broker for broker in waiting if all(_may_lose_one(partition, order) for partition in constraints[broker])][:1]:
        order += free
        waiting.remove(free[0])
    return RestartOrder(tuple(order), tuple(waiting))


def _may_lose_one(partition: RestartConstraint, restarted: Collection[int]) -> bool:
    in_sync = partition.isr | partition.replicas.intersection(restarted)
    return len(in_sync) - 1 >= partition.min_insync_replicas
