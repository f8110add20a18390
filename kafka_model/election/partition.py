"""A partition as its controller records it: LeaderAndIsr (ZooKeeper, Kafka 2.0 to 3.9) and PartitionRegistration (KRaft, 3.5 to 4.4).

>>> Partition(replicas=(1, 2), leader=1, isr=(1, 2), min_insync_replicas=3).effective_min_isr
2
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Partition:
    """The replicas, leader and ISR of a partition. Only KRaft has an ELR; in ZooKeeper the partition epoch is the node's version."""

    replicas: tuple[int, ...]  # the preferred leader first
    leader: int | None
    isr: tuple[int, ...]
    elr: tuple[int, ...] = ()  # eligible leader replicas: left the ISR below min.insync.replicas, but have all committed records
    last_known_elr: tuple[int, ...] = ()  # the last leader of a partition without one
    min_insync_replicas: int = 1
    leader_epoch: int = 0
    partition_epoch: int = 0
    recovering: bool = False  # from an unclean election until the next change of the ISR
    adding_replicas: tuple[int, ...] = ()
    removing_replicas: tuple[int, ...] = ()
    topic_replication_factor: int | None = None  # replicas of the topic's partition 0; None if equal to this partition's

    @property
    def effective_min_isr(self) -> int:
        """min.insync.replicas as the ELR rules use it: at most the number of replicas of the topic's partition 0."""
        return min(self.min_insync_replicas, self.topic_replication_factor or len(self.replicas))
