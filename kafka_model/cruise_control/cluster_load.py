"""The load of brokers, hosts and the cluster (com.linkedin.kafka.cruisecontrol.model, 2.5 of August 2026: ClusterModel, Load, ModelUtils).

Units are Cruise Control's: MiB, KiB/s, and percent of one core. Cruise Control rounds every load to 32 bits and adds up disks in 32 bits,
which `sum_partitions` does too. A sum in 64 bits may differ near a limit; `is_within_float32_error` finds such values.

A leader sends what its consumers and followers fetch; a follower sends nothing and uses a part of its leader's cpu:

    >>> brokers = [Broker(1, "a", "h1"), Broker(2, "b", "h2")]
    >>> load = sum_partitions(brokers, [Partition("t", 0, (1, 2), 1, disk=10.0, cpu=20.0, network_in=100.0, network_out=200.0)])
    >>> [round(load.brokers[1].utilization[resource], 3) for resource in RESOURCES]
    [10.0, 100.0, 200.0, 20.0]
    >>> [round(load.brokers[2].utilization[resource], 3) for resource in RESOURCES]
    [10.0, 100.0, 0.0, 3.0]
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from kafka_model.cruise_control.limits import CPU, DISK, NETWORK_IN, NETWORK_OUT, RESOURCES

DEAD_BROKER_CAPACITY = -1.0  # Broker.DEAD_BROKER_CAPACITY


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition with its leader's load; None: unknown. Cruise Control leaves out partitions without a leader."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    leader: int
    disk: float | None = None
    cpu: float | None = None
    network_in: float | None = None
    network_out: float | None = None


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker with its capacities by resource; an unknown capacity is None or left out."""

    broker_id: int
    rack: str
    host: str
    alive: bool = True
    capacity: Mapping[str, float | None] = field(default_factory=dict)

    def capacity_for(self, resource: str) -> float:
        """Return the capacity that Cruise Control uses: 0 if it is unknown, -1 if the broker is dead."""
        return (self.capacity.get(resource) or 0.0) if self.alive else DEAD_BROKER_CAPACITY


@dataclass(frozen=True, slots=True)
class ReplicaLoad:
    """The number and the load of the replicas of a broker, a host or the cluster; None: unknown."""

    replicas: int = 0
    leaders: int = 0
    utilization: Mapping[str, float | None] = field(default_factory=dict)  # by resource
    leader_network_in: float | None = None
    potential_network_out: float | None = None


class ClusterLoad(NamedTuple):
    """The load of each broker by its id, of each host by its name, and of the cluster by resource."""

    brokers: Mapping[int, ReplicaLoad]
    hosts: Mapping[str, ReplicaLoad]
    cluster: Mapping[str, float | None]


def sum_partitions(brokers: Sequence[Broker], partitions: Iterable[Partition]) -> ClusterLoad:
    """Add up the partitions' loads as Cruise Control does: disks in 32 bits, in the order of the partitions."""
    host_of = {broker.broker_id: broker.host for broker in brokers}
    sums_by_broker: defaultdict[int, _LoadSum] = defaultdict(_LoadSum)
    sums_by_host: defaultdict[str, _LoadSum] = defaultdict(_LoadSum)
    cluster = _LoadSum()
    for partition in partitions:
        for broker_id in partition.replicas:
            is_leader = broker_id == partition.leader
            for load_sum in (sums_by_broker[broker_id], sums_by_host[host_of[broker_id]], cluster):
                load_sum.add(partition, is_leader=is_leader)
    return ClusterLoad(
        {broker.broker_id: sums_by_broker[broker.broker_id].load() for broker in brokers},
        {host: sums_by_host[host].load() for host in set(host_of.values())},
        cluster.load().utilization,
    )


def sum_brokers(brokers: Sequence[Broker], loads: Mapping[int, ReplicaLoad]) -> ClusterLoad:
    """Add up the loads of brokers for their hosts and the cluster, in 64 bits."""
    loads_by_host: dict[str, list[ReplicaLoad]] = defaultdict(list)
    for broker in brokers:
        loads_by_host[broker.host].append(loads[broker.broker_id])
    return ClusterLoad(
        loads,
        {host: _sum_loads(host_loads) for host, host_loads in loads_by_host.items()},
        _sum_utilization([loads[broker.broker_id] for broker in brokers]),
    )


def follower_cpu(cpu: float, network_in: float, network_out: float) -> float:
    """Return a follower's cpu by the load of its leader (ModelUtils.getFollowerCpuUtilFromLeaderLoad)."""
    if network_in == 0 and network_out == 0:
        return 0.0
    return cpu * (0.15 * network_in) / (0.7 * network_in + 0.15 * network_out)


def is_within_float32_error(value: float, limit: float, replicas: int) -> bool:
    """Return whether 32-bit rounding could move the sum of so many replicas' loads to the other side of a limit.

    The error allowed is eight standard deviations of the rounding of that many values.
    """
    error = 8 * math.sqrt(max(replicas, 1)) * 2.0**-24
    return abs(value - limit) <= error * max(abs(value), abs(limit)) and max(abs(value), abs(limit)) > 0


@dataclass(slots=True)
class _LoadSum:
    """A running sum over replicas; None: some replica's value is unknown."""

    replicas: int = 0
    leaders: int = 0
    disk: float | None = 0.0
    leader_network_in: float | None = 0.0
    follower_network_in: float | None = 0.0
    network_out: float | None = 0.0
    cpu: float | None = 0.0
    potential_network_out: float | None = 0.0

    def add(self, partition: Partition, *, is_leader: bool) -> None:
        """Add the partition's leader or one of its followers."""
        self.replicas += 1
        self.leaders += is_leader
        disk, cpu, network_in, network_out = partition.disk, partition.cpu, partition.network_in, partition.network_out
        self.disk = None if self.disk is None or disk is None else _float32(self.disk + _float32(disk))
        if is_leader:
            self.leader_network_in = _add(self.leader_network_in, network_in)
            self.network_out = _add(self.network_out, network_out)
        else:
            self.follower_network_in = _add(self.follower_network_in, network_in)
            cpu = None if cpu is None or network_in is None or network_out is None else follower_cpu(cpu, network_in, network_out)
        self.cpu = _add(self.cpu, cpu)
        self.potential_network_out = _add(self.potential_network_out, network_out)

    def load(self) -> ReplicaLoad:
        """Return the sums, rounded to 32 bits."""
        leader_in, follower_in = _round(self.leader_network_in), _round(self.follower_network_in)
        network_in = None if leader_in is None or follower_in is None else leader_in + follower_in
        utilization = {DISK: self.disk, NETWORK_IN: network_in, NETWORK_OUT: _round(self.network_out), CPU: _round(self.cpu)}
        return ReplicaLoad(self.replicas, self.leaders, utilization, leader_in, _round(self.potential_network_out))


def _sum_loads(loads: Sequence[ReplicaLoad]) -> ReplicaLoad:
    if len(loads) == 1:
        return loads[0]
    return ReplicaLoad(sum(load.replicas for load in loads), sum(load.leaders for load in loads), _sum_utilization(loads))


def _sum_utilization(loads: Sequence[ReplicaLoad]) -> dict[str, float | None]:
    """Add up each resource; None if some load is unknown."""
    values = {resource: [load.utilization.get(resource) for load in loads] for resource in RESOURCES}
    known = {resource: [value for value in numbers if value is not None] for resource, numbers in values.items()}
    return {resource: math.fsum(known[resource]) if len(known[resource]) == len(numbers) else None for resource, numbers in values.items()}


def _float32(value: float) -> float:
    return float(np.float32(value))


def _round(value: float | None) -> float | None:
    return None if value is None else _float32(value)


def _add(total: float | None, value: float | None) -> float | None:
    return None if total is None or value is None else total + _float32(value)
