"""Plans: by hand where one can see the smallest, and on made-up clusters what every plan must keep."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from kafka_model import goal
from kafka_model.goal import Thresholds, count_limits
from kafka_model.reassignment import Asked, Bounds, Cluster, Plan, judged, net_imbalance, plan, waves
from tests.oracle.algorithms import cruise_control_goals as oracle

RACKS = {1: "a", 2: "b", 3: "c"}


def held(made: Plan) -> list[list[int]]:
    """Replicas by their ids."""
    return [made.cluster.broker_ids[row[row >= 0]].tolist() for row in made.replicas]


def of(*replicas: tuple[int, ...], size: float = 1.0) -> list[tuple[str, int, tuple[int, ...], int, float]]:
    return [("t", number, row, row[0], size) for number, row in enumerate(replicas)]


def test_a_cluster_within_its_limits_is_left_alone() -> None:
    made = plan(Cluster.of(RACKS, of((1, 2), (2, 3), (3, 1))))
    assert (made.changed.tolist(), made.added.sum()) == ([], 0)


def test_a_dead_broker_is_left_for_the_broker_that_holds_least() -> None:
    made = plan(Cluster.of(RACKS | {4: "c"}, of((1, 2, 3), (2, 1, 3), (1, 2, 4)), dead=[3]), Asked(balance=False))
    assert held(made) == [[1, 2, 4], [2, 1, 4], [1, 2, 4]]
    assert set(made.reason[[0, 1]]) == {"dead or drained broker"}


def test_a_partition_without_a_live_leader_has_nothing_to_be_copied_from() -> None:
    lost = [("t", 0, (3, 4), None, 1.0), ("t", 1, (3, 1), 3, 1.0)]
    assert held(plan(Cluster.of(RACKS | {4: "c"}, lost, dead=[3, 4]))) == [[3, 4], [3, 1]]


def test_a_replica_leaves_a_shared_rack_and_the_leader_stays() -> None:
    made = plan(Cluster.of({1: "a", 2: "a", 3: "b"}, of((1, 2))), Asked(balance=False))
    assert held(made) == [[1, 3]]


def test_racks_that_cannot_be_had_are_not_asked_for() -> None:
    made = plan(Cluster.of({1: "a", 2: "a", 3: "b"}, of((1, 2, 3))), Asked(balance=False))
    assert made.changed.tolist() == []


def test_counts_take_as_many_moves_as_brokers_have_too_many() -> None:
    # Twelve replicas on three brokers: 3 to 5 each, where broker 1 has 9 and broker 3 none.
    made = plan(Cluster.of({1: "a", 2: "a", 3: "a"}, of(*[(1,)] * 9, *[(2,)] * 3)))
    assert made.added.sum() == 4
    assert Counter(broker for (broker,) in held(made)) == {1: 5, 2: 4, 3: 3}


def test_leaders_are_evened_without_moving_data_along_a_chain() -> None:
    # Broker 1 leads all five that it shares with broker 2, which shares others with broker 3: 1 -> 2 -> 3.
    partitions = of(*[(1, 2)] * 5, *[(2, 3)] * 2, (3, 2))
    made = plan(Cluster.of(RACKS, partitions), thresholds=Thresholds(replica_count_balance_threshold=10))
    assert made.added.sum() == 0
    lower, upper = count_limits(8, 3, 1.1)
    leaders = Counter(row[0] for row in held(made))
    assert all(lower <= leaders[id] <= upper for id in RACKS)
    assert [sorted(row) for row in held(made)] == [sorted(row) for _, _, row, _, _ in partitions]


def test_disks_are_evened_by_an_exchange_where_counts_must_stay() -> None:
    sizes = [9.0, 9.0, 1.0, 1.0]
    partitions = [("t", n, (3, 1 if n < 2 else 2), 3, size) for n, size in enumerate(sizes)]
    strict = Thresholds(replica_count_balance_threshold=1.0, disk_balance_threshold=1.5, leader_replica_count_balance_threshold=99)
    made = plan(Cluster.of({1: "a", 2: "a", 3: "b"}, partitions, disk_capacity={1: 100.0, 2: 100.0, 3: 200.0}), thresholds=strict)
    bytes_of = Counter()
    for row, size in zip(held(made), sizes, strict=True):
        for id in row:
            bytes_of[id] += size
    assert bytes_of == {1: 10.0, 2: 10.0, 3: 20.0}
    assert made.added.sum() == 2


def test_a_topic_leaves_the_broker_that_has_too_many_of_it_in_exchange_for_another() -> None:
    # Of eight replicas of a topic on three brokers, three may be on one: brokers 1 and 2 have four. Broker 3 is alone on its rack.
    partitions = [("t" if id == 1 else "u", n, (3, id), 3, 1.0) for id in (1, 2) for n in range(4)]
    tight = Thresholds(
        topic_replica_count_balance_threshold=1.0, topic_replica_count_balance_min_gap=0, topic_replica_count_balance_max_gap=0
    )
    cluster = Cluster.of({1: "a", 2: "a", 3: "b"}, partitions)
    strict = replace(tight, replica_count_balance_threshold=1.0)  # not one replica more or fewer
    made = plan(cluster, thresholds=strict)
    of_topic = Counter((topic, id) for (topic, *_), row in zip(partitions, held(made), strict=True) for id in row)
    assert {at: count for at, count in of_topic.items() if at[1] != 3} == {("t", 1): 3, ("t", 2): 1, ("u", 1): 1, ("u", 2): 3}
    assert made.added.sum() == 2
    assert (
        plan(cluster, thresholds=replace(strict, topic_replica_count_balance_min_gap=1, topic_replica_count_balance_max_gap=1)).added.sum()
        == 0
    )


def test_a_drained_broker_holds_nothing_and_a_new_one_its_share() -> None:
    partitions = of(*[(1 + n % 3,) for n in range(12)])
    drained = plan(Cluster.of(RACKS, partitions), Asked(drained=frozenset({3})))
    assert Counter(broker for (broker,) in held(drained)) == {1: 6, 2: 6}
    grown = plan(Cluster.of(RACKS | {4: "d"}, partitions))
    assert Counter(broker for (broker,) in held(grown))[4] == 2  # the least of 2 to 4


def test_a_factor_is_raised_on_other_racks_and_lowered_where_it_is_missed_least() -> None:
    raised = plan(Cluster.of(RACKS, of((1,), (2,))), Asked(replication_factor={"t": 3}, balance=False))
    assert [sorted(row) for row in held(raised)] == [[1, 2, 3], [1, 2, 3]]
    assert [row[0] for row in held(raised)] == [1, 2]
    lowered = plan(Cluster.of(RACKS, of((1, 2, 3), (1, 3, 2)), dead=[2]), Asked(replication_factor={"t": 2}, balance=False))
    assert held(lowered) == [[1, 3], [1, 3]]


def test_a_plan_of_a_topic_changes_no_other() -> None:
    partitions = [("t", 0, (1, 2), 1, 1.0), ("u", 0, (1, 2), 1, 1.0)]
    made = plan(Cluster.of({1: "a", 2: "a", 3: "b"}, partitions), Asked(topics=frozenset({"u"})))
    assert held(made) == [[1, 2], [1, 3]]


def test_hard_limits_are_not_traded_for_soft_ones() -> None:
    # Broker 3 is alone on its rack, and each partition needs it: its count cannot be evened.
    made = plan(Cluster.of({1: "a", 2: "a", 3: "b"}, of(*[(1, 3)] * 10)))
    assert all(3 in row for row in held(made))
    # Six to eight are asked of each: broker 2 gets what broker 1 can give.
    assert Counter(id for row in held(made) for id in row) == {3: 10, 1: 6, 2: 4}


def test_a_full_disk_is_relieved_by_the_smallest_that_will_do() -> None:
    partitions = [("t", n, (1,), 1, size) for n, size in enumerate([50.0, 30.0, 15.0])] + [("t", 3, (2,), 2, 5.0)]
    lax = Thresholds(disk_balance_threshold=9, replica_count_balance_threshold=9, leader_replica_count_balance_threshold=9)
    made = plan(Cluster.of({1: "a", 2: "b"}, partitions, disk_capacity={1: 100.0, 2: 100.0}), thresholds=lax)
    assert held(made) == [[1], [1], [2], [2]]


def test_waves_hold_no_more_than_their_bytes_and_moves() -> None:
    made = plan(Cluster.of({1: "a", 2: "a", 3: "a"}, of(*[(1,)] * 30, size=4.0)))
    wave = waves(made, Bounds(wave_bytes=10.0, moves_per_broker=5))
    assert Counter(wave.tolist()).most_common(1)[0][1] == 2  # of four bytes each
    wave = waves(made, Bounds(wave_bytes=1e9, moves_per_broker=5))
    assert max(Counter(wave.tolist()).values()) == 5  # all of them leave broker 1
    assert sorted(set(wave.tolist())) == list(range(1, max(wave) + 1))


def test_leadership_alone_goes_before_any_data() -> None:
    made = plan(Cluster.of(RACKS, of(*[(1, 2)] * 6)))
    wave = waves(made, Bounds())
    alone = made.added[made.changed] == 0
    assert alone.any()
    assert (~alone).any()
    assert ((wave == 0) == alone).all()


def test_net_imbalance_is_what_must_move() -> None:
    assert [net_imbalance(counts) for counts in ([3, 2, 3, 4, 3], [3, 3, 2], [9, 0, 0], [4])] == [1, 0, 6, 0]


@pytest.fixture(scope="module", params=range(60))
def made_up(request: pytest.FixtureRequest) -> tuple[Cluster, list, dict]:
    case = oracle.case(random.Random(f"plan/{request.param}"))
    case["partitions"] = [(topic, number, tuple(replicas), *rest) for topic, number, replicas, *rest in case["partitions"]]
    capacity = {id: float(disk) for id, _, _, _, disk, *_ in case["brokers"]}
    cluster = Cluster.of(
        {id: rack for id, rack, *_ in case["brokers"]},
        [(topic, number, replicas, leader, disk) for topic, number, replicas, leader, disk, *_ in case["partitions"]],
        dead=[id for id, _, _, alive, *_ in case["brokers"] if not alive],
        disk_capacity=capacity,
    )
    return cluster, case["partitions"], case


def test_every_plan_keeps_replicas_apart_and_takes_nothing_from_a_hard_goal(made_up: tuple[Cluster, list, dict]) -> None:
    cluster, partitions, _ = made_up
    made = plan(cluster)
    assert (plan(cluster).replicas == made.replicas).all()
    rack = dict(zip(cluster.broker_ids.tolist(), cluster.racks.tolist(), strict=True))
    live = set(cluster.broker_ids[cluster.live].tolist())
    live_racks = {rack[id] for id in live}
    counts = Counter(id for row in held(made) for id in row)
    bytes_of = Counter()
    for (_, _, before, leader, size, *_), now in zip(partitions, held(made), strict=True):
        assert len(set(now)) == len(now) == len(before)
        shared = len(now) - len({rack[id] for id in now})
        assert shared <= max(len(before) - len({rack[id] for id in before}), max(0, len(now) - len(live_racks)))
        if leader not in live:
            assert now == list(before)  # there is nothing to copy from
        elif len(now) <= len(live):
            assert set(now) <= live
        if leader in live and set(now) <= live and len(now) <= len(live_racks):
            assert shared == 0
        for id in now:
            bytes_of[id] += size
    was = Counter()
    for _, _, before, _, size, *_ in partitions:
        for id in before:
            was[id] += size
    room = dict(zip(cluster.broker_ids.tolist(), (cluster.disk_capacity * 0.8).tolist(), strict=True))
    if not np.isin(made.reason, ["dead or drained broker", "shared rack"]).any():  # which go before a full disk
        assert all(bytes_of[id] <= max(room[id], was[id]) + 1e-6 for id in live)
    lower, upper = count_limits(sum(counts.values()), len(live), 1.1)
    # Unless every broker is on a rack of its own with others, counts come within their limits.
    if (
        max(len(row) for row in held(made)) == 1
        and all(set(row) <= live for row in held(made))
        and not any(was[id] > room[id] for id in was)
    ):
        assert all(lower <= counts[id] <= upper for id in live)


def test_the_plans_verdicts_are_those_of_the_goals(made_up: tuple[Cluster, list, dict]) -> None:
    cluster, _, case = made_up
    resources = (goal.DISK, goal.CPU, goal.NETWORK_IN, goal.NETWORK_OUT)
    brokers = [
        goal.Broker(id, rack, str(id), alive, dict(zip(resources, capacity, strict=True)))
        for id, rack, _, alive, *capacity in sorted(case["brokers"])
    ]
    held_by = {id for _, _, replicas, *_ in case["partitions"] for id in replicas}
    brokers = [broker for broker in brokers if broker.alive or broker.broker_id in held_by]
    thresholds = Thresholds(topics_with_min_leaders_per_broker="t0|t2", min_topic_leaders_per_broker=len(case["brokers"]) % 3)
    model = goal.judge(brokers, [goal.Partition(*row) for row in case["partitions"]], thresholds)
    columns = np.array([row[4:] for row in case["partitions"]], dtype=np.float64).T
    loads = dict(zip(resources, columns, strict=True))
    ordered = sorted(case["brokers"])
    capacities = {name: np.array([row[4 + at] for row in ordered], dtype=np.float64) for at, name in enumerate(resources)}
    ours = judged(cluster, cluster.replicas, cluster.leader, loads, capacities, thresholds)
    for name, verdict in model.items():
        if not ours[name].close:
            count = len(ours[name].breaches) + (ours[name].count or 0)
            assert (name, ours[name].verdict, count) == (name, verdict.verdict, len(verdict.breaches))
    assert not math.isnan(sum(loads[goal.DISK]))
