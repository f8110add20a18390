"""What the requests of an administrator do to a partition: AlterPartitionReassignments and IncrementalAlterConfigs of a KRaft controller.

Added replicas join the ISR when they have caught up. Then the removed replicas leave, and a leader among them is replaced.

    >>> led = Partition(replicas=(1, 2, 3), leader=1, isr=(1, 2, 3), min_insync_replicas=2)
    >>> moved = complete_reassignment(led, (4, 2, 3), live={1, 2, 3, 4}, elr=False)
    >>> moved.replicas, moved.leader, moved.isr
    ((4, 2, 3), 4, (2, 3, 4))
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from kafka_model.election.partition import Partition
from kafka_model.election.partition_change import Reassignment, change
from kafka_model.release import LATEST, Release


def complete_reassignment(
    partition: Partition, target: Sequence[int], *, live: Collection[int], elr: bool, version: Release = LATEST
) -> Partition | None:
    """Compute the partition after its reassignment to these brokers; None: the reassignment cannot complete.

    Live added replicas catch up if the partition has a leader. Other replicas stay in or out of the ISR as they are. A ZooKeeper controller
    completes a reassignment as KRaft's of 3.8 does: when all replicas that stay are in the ISR. Partition 0 needs the topic_replication_factor
    None: while it is reassigned, all its replicas count for min.insync.replicas, so a removed one may stay in the ELR.
    """
    removing = tuple(replica for replica in partition.replicas if replica not in target)
    adding = tuple(replica for replica in target if replica not in partition.replicas)
    requested = replace(partition, replicas=(*target, *removing), adding_replicas=adding, removing_replicas=removing)
    caught_up = tuple(replica for replica in adding if replica in live) if partition.leader is not None else ()
    reassigned = change(
        requested,
        isr=(*partition.isr, *caught_up),
        acceptable=live,
        elr=elr,
        reassignment=Reassignment(requested.replicas, adding, removing),
        version=version,
    )
    return None if reassigned.adding_replicas or reassigned.removing_replicas else reassigned


def change_min_isr(partition: Partition, min_insync_replicas: int) -> Partition:
    """Compute the partition after its topic gets this min.insync.replicas. A new value clears the ELR (ClearElrRecord, Kafka 4.0 to 4.4)."""
    if min_insync_replicas == partition.min_insync_replicas:
        return partition
    return replace(partition, min_insync_replicas=min_insync_replicas, elr=(), last_known_elr=())
