"""Generated fleets, for trials, tests and benchmarks of any size.

    dumps.py    the dumps of each cluster, which ingest reads
    tables.py   the tables that ingest writes, computed by Spark; for fleets whose dumps would not fit on a disk

Kafka's own algorithm places the topics: StripedReplicaPlacer in KRaft clusters, AdminUtils in the others. Some topics are then skewed, as
after an unbalanced reassignment. Every third cluster has a dead broker: it answers no tool, leads no partition and is in no ISR. Partition
counts, keys and groups follow power laws.
"""

from __future__ import annotations

from dataclasses import dataclass

FACTORS = ((3, 2), (3, 2), (3, 1), (2, 1), (1, 1), (3, 3))  # replication factor and min.insync.replicas; the common pair appears twice


@dataclass(frozen=True, slots=True)
class Fleet:
    """The size of a generated fleet, and the seed of its random choices."""

    clusters: int
    brokers: int  # in each cluster
    racks: int  # in each cluster
    topics: int  # in each cluster
    groups: int  # in each cluster
    partitions: int  # average of a topic
    keys: int  # in each topic's key sample
    seed: int


def racks_of(fleet: Fleet) -> dict[int, str]:
    """Return the rack of each broker; the first rack has twice as many brokers as any other."""
    return {id: f"rack-{chr(97 + id % (fleet.racks + 1) % fleet.racks)}" for id in range(fleet.brokers)} if fleet.racks else {}
