"""In which order brokers can be restarted one after the other, so that no partition stops to accept acks=all or loses its leader.

A broker that stops in order leaves each ISR that it is in (ReplicationControlManager.handleBrokerInControlledShutdown;
KafkaController.doControlledShutdown), and once it is back, and has caught up, it is in the ISR of all its partitions, also of those that
it lagged behind in before. So each restart leaves ISRs as they were or larger: what may be stopped now may be stopped later too, and the
order is found by stopping, each time, the first broker that may be.

    >>> lagging = Tight(replicas=frozenset({1, 2}), isr=frozenset({1}), min_insync_replicas=1)
    >>> plan([1, 2], [lagging])
    Plan(order=(2, 1), stuck=())

A partition that would fall under min.insync.replicas even with all its live replicas in sync falls in any order, and does not bind it:

    >>> lone = Tight(replicas=frozenset({1}), isr=frozenset({1}), min_insync_replicas=1)
    >>> lone.falls_anyway, plan([1, 2], [lagging, lone])
    (True, Plan(order=(2, 1), stuck=()))
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tight:
    """A partition's live replicas, which of them are in sync, and min.insync.replicas in force (1 or more)."""

    replicas: frozenset[int]
    isr: frozenset[int]
    min_insync_replicas: int

    @property
    def falls_anyway(self) -> bool:
        """Whether some stop leaves fewer than min.insync.replicas however many are in sync."""
        return len(self.replicas) <= self.min_insync_replicas


@dataclass(frozen=True, slots=True)
class Plan:
    """The brokers that can be restarted, in order, and those that cannot be without a partition that falls and need not."""

    order: tuple[int, ...]
    stuck: tuple[int, ...]


def plan(brokers: Collection[int], partitions: Iterable[Tight]) -> Plan:
    """An order for these live brokers, the lowest id first where several may go. Partitions with enough in sync for any stop may be
    left out.
    """
    holding: dict[int, list[Tight]] = {broker: [] for broker in brokers}
    for partition in set(partitions):
        if not partition.falls_anyway:
            for broker in partition.isr & holding.keys():
                holding[broker].append(partition)
    waiting, order = sorted(holding), list[int]()
    while free := [broker for broker in waiting if all(_may_lose_one(held, order) for held in holding[broker])][:1]:
        order += free
        waiting.remove(free[0])
    return Plan(tuple(order), tuple(waiting))


def _may_lose_one(partition: Tight, restarted: Collection[int]) -> bool:
    in_sync = partition.isr | partition.replicas.intersection(restarted)
    return len(in_sync) - 1 >= partition.min_insync_replicas
