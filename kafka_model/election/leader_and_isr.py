"""Changes of leader and ISR that the ZooKeeper controller writes: kafka.controller.Election and removal from the ISR (Kafka 3.9.2).

Every write raises the leader epoch and the partition epoch (ZooKeeper's version of the node).

    >>> led = Partition(replicas=(1, 2, 3), leader=1, isr=(3, 1, 2))
    >>> elected = offline_election(led, {2, 3}, unclean=False)
    >>> elected.leader, elected.isr, elected.leader_epoch
    (2, (3, 2), 1)
    >>> leave_isr(elected, 3).isr, leave_isr(leave_isr(elected, 3), 2).isr
    ((2,), (2,))
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from kafka_model.election.leader_election import elect_controlled_shutdown, elect_offline, elect_preferred, elect_reassign
from kafka_model.election.partition import Partition


def first_leader(partition: Partition, live: Collection[int]) -> Partition | None:
    """Initialise a new partition: the first live replica leads, and all live replicas are in sync. None if no replica is live."""
    isr = tuple(broker for broker in partition.replicas if broker in live)
    return replace(partition, leader=isr[0], isr=isr) if isr else None


def offline_election(partition: Partition, live: Collection[int], *, unclean: bool) -> Partition | None:
    """Elect a live member of the ISR, which keeps its live members. None if there is no leader.

    An unclean election may elect a live replica outside the ISR, which becomes its only member.
    """
    unclean = unclean and not any(broker in live for broker in partition.isr)  # a live ISR member that is no replica also prevents it
    leader = elect_offline(partition.replicas, partition.isr, live, unclean=unclean)
    if leader is None:
        return None
    if leader not in partition.isr:
        return _with_leader(replace(partition, recovering=True), leader, (leader,))
    return _with_leader(partition, leader, tuple(broker for broker in partition.isr if broker in live))


def reassign_election(partition: Partition, live: Collection[int]) -> Partition | None:
    """Elect one of the replicas that stay after a reassignment. The ISR does not change."""
    staying = [broker for broker in partition.replicas if broker not in partition.removing_replicas]
    return _with_leader(partition, elect_reassign(staying, partition.isr, live), partition.isr)


def preferred_election(partition: Partition, live: Collection[int]) -> Partition | None:
    """Elect the first replica. The ISR does not change."""
    return _with_leader(partition, elect_preferred(partition.replicas, partition.isr, live), partition.isr)


def controlled_shutdown_election(partition: Partition, live: Collection[int], shutting_down: Collection[int]) -> Partition | None:
    """Elect a member of the ISR that is not shutting down. Members that are shutting down leave the ISR."""
    leader = elect_controlled_shutdown(partition.replicas, partition.isr, live, shutting_down)
    return _with_leader(partition, leader, tuple(broker for broker in partition.isr if broker not in shutting_down))


def leave_isr(partition: Partition, broker: int) -> Partition:
    """Take a replica offline: it leaves the ISR unless it is the last member, and no longer leads."""
    if broker not in partition.isr:
        return partition
    isr = tuple(other for other in partition.isr if other != broker) if len(partition.isr) > 1 else partition.isr
    leader = None if partition.leader == broker else partition.leader
    return replace(
        partition, leader=leader, isr=isr, leader_epoch=partition.leader_epoch + 1, partition_epoch=partition.partition_epoch + 1
    )


def _with_leader(partition: Partition, leader: int | None, isr: tuple[int, ...]) -> Partition | None:
    if leader is None:
        return None
    return replace(
        partition, leader=leader, isr=isr, leader_epoch=partition.leader_epoch + 1, partition_epoch=partition.partition_epoch + 1
    )
