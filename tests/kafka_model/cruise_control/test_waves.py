"""The waves of a reassignment: limits of bytes, moves and disk space."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from kafka_model.cruise_control import plan as obstacles
from kafka_model.cruise_control.columnar import Cluster, Ints
from kafka_model.cruise_control.plan import Plan, PlanRequest
from kafka_model.cruise_control.plan_state import DiskSpace
from kafka_model.cruise_control.reassignment import plan_reassignment
from kafka_model.cruise_control.waves import WaveLimits, assign_waves, schedule
from tests.kafka_model.cruise_control.clusters import (
    THREE_RACKS,
    broker_ids,
    cluster_without_loads,
    partitions,
    random_case,
    replicas_by_id,
)

GIB = 2.0**30


@pytest.fixture(scope="module")
def thirty_moves() -> Plan:
    return plan_reassignment(Cluster.from_rows(dict.fromkeys((1, 2, 3), "a"), partitions(*[(1,)] * 30, size=4.0)))


def test_no_wave_copies_more_than_its_bytes(thirty_moves: Plan) -> None:
    waves = assign_waves(thirty_moves, WaveLimits(bytes_per_wave=10.0, moves_per_broker=5))
    assert max(Counter(waves.tolist()).values()) == 2  # of 4 bytes each


def test_no_wave_moves_more_replicas_of_a_broker_than_allowed(thirty_moves: Plan) -> None:
    waves = assign_waves(thirty_moves, WaveLimits(bytes_per_wave=1e9, moves_per_broker=5))
    assert max(Counter(waves.tolist()).values()) == 5  # all of them leave broker 1
    assert sorted(set(waves.tolist())) == list(range(1, max(waves) + 1))


def test_changes_of_leadership_alone_are_wave_0() -> None:
    plan = plan_reassignment(Cluster.from_rows(THREE_RACKS, partitions(*[(1, 2)] * 6)))
    waves = assign_waves(plan, WaveLimits())
    copies_nothing = plan.added_replicas[plan.changed_partitions] == 0
    assert copies_nothing.any()
    assert (~copies_nothing).any()
    assert ((waves == 0) == copies_nothing).all()


def on_wrong_racks(count: int, size: float) -> Cluster:
    """Build two racks of two brokers with disks of 100 GiB, and partitions with both replicas on one rack."""
    rows = [("t", number, (1, 2) if number % 2 else (3, 4), 1 if number % 2 else 3, size) for number in range(count)]
    return Cluster.from_rows({1: "a", 2: "a", 3: "b", 4: "b"}, rows, disk_capacity=dict.fromkeys(range(1, 5), 100 * GIB))


def full_destinations(plan: Plan, waves: Ints, share: float) -> list[tuple[int, int]]:
    """Replay the waves with plain dictionaries; return (wave, broker id) where a broker that gains a replica is over its share."""
    cluster, sizes = plan.cluster, plan.cluster.size.tolist()
    limits = dict(zip(cluster.broker_ids.tolist(), (cluster.disk_capacity * share).tolist(), strict=True))
    before, after = broker_ids(cluster, cluster.replicas), replicas_by_id(plan)
    stored = dict.fromkeys(limits, 0.0)
    for row, size in zip(before, sizes, strict=True):
        for broker_id in row:
            stored[broker_id] += size
    over_at_first = {broker_id for broker_id in limits if stored[broker_id] > limits[broker_id]}
    wave_of = dict(zip(plan.changed_partitions.tolist(), waves.tolist(), strict=True))
    full = []
    for wave in sorted(set(wave_of.values())):
        moved = [partition for partition, number in wave_of.items() if number == wave]
        destinations = set()
        for partition in moved:
            for broker_id in set(after[partition]) - set(before[partition]):
                stored[broker_id] += sizes[partition]
                destinations.add(broker_id)
        full += [(wave, to) for to in sorted(destinations) if stored[to] > limits[to] + 1e-6 or to in over_at_first]
        for partition in moved:
            for broker_id in set(before[partition]) - set(after[partition]):
                stored[broker_id] -= sizes[partition]
    return full


def test_no_wave_fills_a_disk_with_old_and_new_copies() -> None:
    cluster = on_wrong_racks(156, GIB)  # 78 on each broker
    disk_space = DiskSpace.from_share(cluster, 0.9)
    plan, waves = schedule(plan_reassignment(cluster, disk_space=disk_space), WaveLimits(), disk_space)
    assert full_destinations(plan, waves, 0.9) == []
    assert plan.blocked == ()
    assert all({1, 2} & set(row) and {3, 4} & set(row) for row in replicas_by_id(plan))
    assert max(waves) > 1  # later waves use the space that earlier ones have freed


def test_moves_that_fit_into_no_wave_are_blocked_with_the_reason() -> None:
    cluster = on_wrong_racks(4, 39 * GIB)
    disk_space = DiskSpace.from_share(cluster, 0.9)
    plan, waves = schedule(plan_reassignment(cluster, disk_space=disk_space), WaveLimits(), disk_space)
    assert (plan.added_replicas.sum(), len(waves)) == (0, 0)
    assert {(blocked.partition, blocked.reason) for blocked in plan.blocked} == {(number, "shared rack") for number in range(4)}
    assert {blocked.obstacle for blocked in plan.blocked} <= {obstacles.NO_DISK, obstacles.NO_WAVE}


@pytest.mark.parametrize("drained", [{2}, {2, 3}])
def test_broker_over_its_disk_limit_gets_no_replica(drained: set[int]) -> None:
    rows = [("t", number, (1,), 1, 31.0) for number in range(3)] + [("u", 0, (2,), 2, 1.0)]
    cluster = Cluster.from_rows(dict.fromkeys((1, 2, 3), "a"), rows, disk_capacity=dict.fromkeys((1, 2, 3), 100.0))
    disk_space = DiskSpace.from_share(cluster, 0.9)
    plan, waves = schedule(plan_reassignment(cluster, PlanRequest(frozenset(drained)), disk_space=disk_space), WaveLimits(), disk_space)
    assert full_destinations(plan, waves, 0.9) == []
    if drained == {2, 3}:  # then only broker 1, which is over its limit, is left
        assert replicas_by_id(plan)[3] == [2]
        assert [(each.reason, each.replicas, each.obstacle) for each in plan.blocked] == [("dead or drained broker", 1, obstacles.NO_DISK)]


@pytest.mark.parametrize("share", [0.5, 0.8, 0.9])
@pytest.mark.parametrize("number", range(60))
def test_no_wave_of_a_random_plan_fills_a_disk(number: int, share: float) -> None:
    cluster = cluster_without_loads(random_case(f"plan/{number}"))
    rng = random.Random(int(cluster.size.sum()))
    has_replica = cluster.replicas >= 0
    stored = np.bincount(cluster.replicas[has_replica], np.repeat(cluster.size, has_replica.sum(axis=1)), len(cluster.broker_ids))
    for mean_utilization in (0.4, 0.7, 0.88):
        capacity = np.full(len(stored), max(float(stored.mean()) / mean_utilization, 1.0))
        full_cluster = replace(cluster, disk_capacity=capacity)
        drained = frozenset(rng.sample(full_cluster.broker_ids.tolist(), len(stored) > 3))
        disk_space = DiskSpace.from_share(full_cluster, share)
        unscheduled = plan_reassignment(full_cluster, PlanRequest(drained), disk_space=disk_space)
        plan, waves = schedule(unscheduled, WaveLimits(moves_per_broker=5), disk_space)
        assert full_destinations(plan, waves, share) == []
        assert (waves > 0).sum() == (plan.added_replicas[plan.changed_partitions] > 0).sum()
