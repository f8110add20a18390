"""How leadership goes back to the preferred replicas by itself in KRaft: ReplicationControlManager.maybeBalancePartitionLeaders (4.3.1,
asked of the real one).

Every leader.imbalance.check.interval.seconds, if auto.leader.rebalance.enable is on (as it is by default), each partition that its first
replica does not lead has a preferred election, up to 1,000 at a time. There is no threshold a broker:
leader.imbalance.per.broker.percentage is the ZooKeeper controller's alone (`zookeeper_controller.balance_leaders`).

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

MAX_ELECTIONS = 1_000

Name = TypeVar("Name", bound=Hashable)


def balance_leaders(
    partitions: Mapping[Name, Partition], *, acceptable: Collection[int], elr: bool, max_elections: int = MAX_ELECTIONS
) -> dict[Name, Partition]:
    """The partitions that change in one round. Which come first, where more could, is the order of a hash set in Kafka, and here the
    order given.
    """
    changed: dict[Name, Partition] = {}
    for name, partition in partitions.items():
        if partition.leader == partition.replicas[0]:
            continue
        after = change(partition, isr=partition.isr, acceptable=acceptable, elr=elr, election=Election.PREFERRED)
        if after is not partition:
            changed[name] = after
        if len(changed) >= max_elections:
            break
    return changed
