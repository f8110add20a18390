"""A reassignment plan: its request, the replicas that partitions are to have, and what it cannot do. No class of Kafka or Cruise Control.

    >>> cluster = Cluster.from_rows({1: "a", 2: "b", 3: "c"}, [("t", 0, (1, 2), 1, 10.0), ("t", 1, (1, 3), 1, 10.0)])
    >>> plan = Plan(cluster, np.array([[1, 0], [0, 1]]), np.array([REASON_LEADERS, REASON_REPLICAS], dtype=object))
    >>> plan.changed_partitions.tolist(), plan.added_replicas.tolist()
    ([0, 1], [0, 1])

Partition 0 gets the same replicas in another order, so that broker 2 (index 1) leads it. Partition 1 gets a replica on broker 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafka_model.cruise_control.columnar import Cluster, Ints

# The reasons for a change, in the order of the steps. The first three are required; the others balance.
(
    REASON_REPLICATION_FACTOR,
    REASON_DEAD_BROKER,
    REASON_SHARED_RACK,
    REASON_CAPACITY,
    REASON_REPLICAS,
    REASON_TOPIC_REPLICAS,
    REASON_LEADERS,
    REASON_DISKS,
    REASON_POTENTIAL_NETWORK_OUT,
    REASON_NETWORK_IN,
    REASON_NETWORK_OUT,
    REASON_CPU,
    REASON_LEADER_BYTES_IN,
) = REASONS = (
    "replication factor",
    "dead or drained broker",
    "shared rack",
    "capacity",
    "replicas",
    "topic replicas",
    "leaders",
    "disks",
    "potential network out",
    "network in",
    "network out",
    "cpu",
    "leader bytes in",
)
REQUIRED_REASONS = REASONS[:3]

# The obstacles to a change that is required.
NO_LEADER = "no live leader to copy from"
NO_BROKER = "every live broker that may take it has a replica of the partition"
NO_RACK = "fewer live racks than replicas"
NO_DISK = "no suitable broker stays under its disk limit"
NO_WAVE = "old and new copies together exceed a disk limit in every wave"


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What a plan is to do apart from replacing replicas on dead brokers and shared racks."""

    drained_brokers: frozenset[int] = frozenset()  # broker ids
    cordoned_brokers: frozenset[int] = frozenset()  # ids of brokers that keep their replicas and take no other (KIP-1066)
    replication_factors: Mapping[str, int] = field(default_factory=dict)  # by topic
    topics: frozenset[str] = frozenset()  # the only topics that may change; empty: all may
    balance: bool = True


class Blocked(NamedTuple):
    """The number of replicas of a partition (an index) that a step should move or add and cannot."""

    partition: int
    reason: str
    replicas: int
    obstacle: str


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The replicas that each partition is to have, the new leader first, and the reason for the change: empty if there is none."""

    cluster: Cluster
    replicas: Ints
    reasons: NDArray[np.object_]
    blocked: tuple[Blocked, ...] = ()

    @property
    def changed_partitions(self) -> Ints:
        """The indexes of the partitions that get other replicas, or the same replicas in another order."""
        return np.flatnonzero((self.replicas != pad_slots(self.cluster.replicas, self.replicas.shape[1])).any(axis=1))

    @property
    def added_replicas(self) -> Ints:
        """The number of new replicas of each partition. Each is a full copy."""
        has_before = (self.replicas[:, :, None] == self.cluster.replicas[:, None, :]).any(axis=2)
        return np.asarray(((self.replicas >= 0) & ~has_before).sum(axis=1), dtype=np.int64)

    def exclude(self, partitions: Ints, obstacle: str) -> Plan:
        """Return the plan that leaves these partitions unchanged, and reports them as blocked."""
        replicas, reasons = self.replicas.copy(), self.reasons.copy()
        added = self.added_replicas[partitions].tolist()
        blocked = [
            Blocked(partition, str(reasons[partition]), count, obstacle)
            for partition, count in zip(partitions.tolist(), added, strict=True)
        ]
        replicas[partitions] = pad_slots(self.cluster.replicas, replicas.shape[1])[partitions]
        reasons[partitions] = ""
        return Plan(self.cluster, replicas, reasons, (*self.blocked, *blocked))


def pad_slots(replicas: Ints, width: int) -> Ints:
    """Return the matrix of replicas with so many columns; -1 fills the new ones."""
    return np.pad(replicas, ((0, 0), (0, width - replicas.shape[1])), constant_values=-1)
