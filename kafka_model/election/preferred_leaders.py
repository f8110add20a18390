"""Automatic return of leadership to preferred replicas in KRaft: ReplicationControlManager.maybeBalancePartitionLeaders (Kafka 4.0 to 4.4).

Every leader.imbalance.check.interval.seconds, if auto.leader.rebalance.enable is on (the default), each partition whose first replica
does not lead has a preferred election, at most 1,000 per round. There is no threshold per broker: only the ZooKeeper controller uses
leader.imbalance.per.broker.percentage (`zookeeper_controller.balance_leaders`).

    >>> led_by_2 = Partition(replicas=(1, 2), leader=2, isr=(1, 2))
    >>> balance_leaders({"orders-0": led_by_2}, acceptable={1, 2}, elr=True)["orders-0"].leader
    1
    >>> balance_leaders({"orders-0": led_by_2}, acceptable={2}, elr=True)
    {}
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import TypeVar

from kafka_model.election.partition import Partition
from kafka_model.election.partition_change import Election, change
from kafka_model.release import LATEST, Release

MAX_ELECTIONS = 1_000

Name = TypeVar("Name", bound=Hashable)


def balance_leaders(
    partitions: Mapping[Name, Partition],
    *,
    acceptable: Collection[int],
    elr: bool,
    max_elections: int = MAX_ELECTIONS,
    version: Release = LATEST,
) -> dict[Name, Partition]:
    """Compute the partitions that change in one round.

    If more could change, Kafka takes them in the order of a hash set; here it is the given order.
    """
    changed: dict[Name, Partition] = {}
    for name, partition in partitions.items():
        if partition.leader == partition.replicas[0]:
            continue
        elected = change(partition, isr=partition.isr, acceptable=acceptable, elr=elr, election=Election.PREFERRED, version=version)
        if elected is not partition:
            changed[name] = elected
        if len(changed) >= max_elections:
            break
    return changed
