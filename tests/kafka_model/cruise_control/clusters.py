"""Clusters for the tests of this folder: small ones by hand, and the oracle's random cases."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np

from kafka_model.cruise_control.columnar import Cluster, Ints
from kafka_model.cruise_control.limits import CPU, DISK, NETWORK_IN, NETWORK_OUT, Thresholds
from kafka_model.cruise_control.plan import Plan
from tests.oracle.algorithms import cruise_control_goals as oracle

RESOURCES = (DISK, CPU, NETWORK_IN, NETWORK_OUT)  # in the order of the oracle's cases
THREE_RACKS = {1: "a", 2: "b", 3: "c"}
# Without limits on counts and loads, so that a test sees the step that it is about.
LAX = Thresholds(
    replica_count_balance_threshold=99,
    leader_replica_count_balance_threshold=99,
    network_inbound_balance_threshold=99,
    network_outbound_balance_threshold=99,
    cpu_balance_threshold=99,
)


def partitions(*replicas: tuple[int, ...], size: float = 1.0) -> list[tuple[str, int, tuple[int, ...], int, float]]:
    """Return the partitions of topic t with these replicas. The first replica leads."""
    return [("t", number, brokers, brokers[0], size) for number, brokers in enumerate(replicas)]


def replicas_by_id(plan: Plan) -> list[list[int]]:
    return broker_ids(plan.cluster, plan.replicas)


def broker_ids(cluster: Cluster, replicas: Ints) -> list[list[int]]:
    return [cluster.broker_ids[row[row >= 0]].tolist() for row in replicas]


def with_loads(cluster: Cluster, capacity: float = 100.0, **loads: list[float]) -> Cluster:
    """Add the loads of the partitions' leaders; a resource without loads has loads of 0."""
    zeros = np.zeros(len(cluster.size))
    by_resource = {resource: np.array(loads[resource], dtype=np.float64) if resource in loads else zeros for resource in RESOURCES}
    capacities = {resource: np.full(len(cluster.broker_ids), capacity) for resource in RESOURCES}
    return replace(cluster, loads=by_resource, capacities=capacities)


def random_case(seed: str) -> dict[str, Any]:
    return oracle.case(random.Random(seed))


def cluster_without_loads(case: dict[str, Any]) -> Cluster:
    return Cluster.from_rows(
        {broker_id: rack for broker_id, rack, *_ in case["brokers"]},
        [(topic, number, replicas, leader, disk) for topic, number, replicas, leader, disk, *_ in case["partitions"]],
        dead=[broker_id for broker_id, _, _, alive, *_ in case["brokers"] if not alive],
        disk_capacity={broker_id: float(disk) for broker_id, _, _, _, disk, *_ in case["brokers"]},
    )


def cluster_with_loads(case: dict[str, Any]) -> Cluster:
    loads = np.array([row[4:] for row in case["partitions"]], dtype=np.float64).T
    capacities = np.array([row[4:] for row in sorted(case["brokers"])], dtype=np.float64).T
    return replace(
        cluster_without_loads(case),
        hosts=tuple(host for _, _, host, *_ in sorted(case["brokers"])),
        loads=dict(zip(RESOURCES, loads, strict=True)),
        capacities=dict(zip(RESOURCES, capacities, strict=True)),
    )
