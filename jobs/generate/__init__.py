"""A made-up fleet: to try the audit on, to see it find what was planted, and to measure it at any size.

    dumps.py    as the dumps of its clusters, which ingest reads
    tables.py   as the tables that ingest writes, made by Spark: for fleets whose dumps no disk would hold

Topics are placed as AdminUtils places them; then a seeded few are skewed by hand, as old reassignments leave them, and in every third
cluster a broker is lost: it answers no tool, leads nothing and is in no ISR. Partition counts, keys and groups follow power laws.
"""

from __future__ import annotations

from dataclasses import dataclass

FACTORS = ((3, 2), (3, 2), (3, 1), (2, 1), (1, 1), (3, 3))  # replication factor and min.insync.replicas, the common ones twice


@dataclass(frozen=True, slots=True)
class Fleet:
    """How large, and by what chance."""

    clusters: int
    brokers: int  # of each cluster, as are the next three
    racks: int
    topics: int
    groups: int
    partitions: int  # on average, of each topic
    keys: int  # of each topic's sample
    seed: int


def racks_of(fleet: Fleet) -> dict[int, str]:
    """The rack of each broker; the first rack has twice as many as any other."""
    return {id: f"rack-{chr(97 + id % (fleet.racks + 1) % fleet.racks)}" for id in range(fleet.brokers)} if fleet.racks else {}
