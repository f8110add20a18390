"""A partition as its controller records it: LeaderAndIsr of the ZooKeeper controller, PartitionRegistration of KRaft's."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Partition:
    """Who holds a partition, who leads it, who is in sync; the ELR and the epochs of the partition are KRaft's alone."""

    replicas: tuple[int, ...]  # the preferred leader first
    leader: int | None
    isr: tuple[int, ...]
    elr: tuple[int, ...] = ()  # eligible leader replicas: left the ISR below min.insync.replicas, yet have all that was committed
    last_known_elr: tuple[int, ...] = ()  # where a partition has no leader: its last one
    min_insync_replicas: int = 1
    leader_epoch: int = 0
    partition_epoch: int = 0
    recovering: bool = False  # led since an unclean election, until the ISR next changes
    adding_replicas: tuple[int, ...] = ()
    removing_replicas: tuple[int, ...] = ()
    topic_replication_factor: int | None = None  # replicas of the topic's partition 0; None: as many as this one has

    @property
    def effective_min_isr(self) -> int:
        """min.insync.replicas as the ELR counts: at most the replicas of the topic's partition 0."""
        return min(self.min_insync_replicas, self.topic_replication_factor or len(self.replicas))
