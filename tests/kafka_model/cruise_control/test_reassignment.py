"""Plans: by hand where one can see the smallest, and on made-up clusters what every plan must keep."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from kafka_model.cruise_control import goals, load_balance, reassignment
from kafka_model.cruise_control import limits as goal
from kafka_model.cruise_control.cluster_load import Broker, Partition, follower_cpu
from kafka_model.cruise_control.columnar import Cluster, evaluate
from kafka_model.cruise_control.limits import Thresholds, count_limits
from kafka_model.cruise_control.plan_state import Disks
from kafka_model.cruise_control.reassignment import Asked, Bounds, Plan, net_imbalance, plan, schedule, waves
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


GIB = 2.0**30


def in_wrong_racks(partitions: int, size: float) -> Cluster:
    """Two racks of two brokers with disks of 100 GiB; every partition has both replicas in one rack."""
    rows = [("t", n, (1, 2) if n % 2 else (3, 4), 1 if n % 2 else 3, size) for n in range(partitions)]
    return Cluster.of({1: "a", 2: "a", 3: "b", 4: "b"}, rows, disk_capacity=dict.fromkeys(range(1, 5), 100 * GIB))


def overfull(made: Plan, wave: np.ndarray, limit: float) -> list[tuple[int, int]]:
    """Play the waves with dictionaries: (wave, broker) where a broker that gains a replica holds more than `limit` of its capacity."""
    ids = made.cluster.broker_ids.tolist()
    sizes = made.cluster.size.tolist()
    capacity = dict(zip(ids, made.cluster.disk_capacity.tolist(), strict=True))
    before = [[ids[b] for b in row if b >= 0] for row in made.cluster.replicas.tolist()]
    disk = dict.fromkeys(ids, 0.0)
    for row, size in zip(before, sizes, strict=True):
        for id in row:
            disk[id] += size
    already = {id for id in ids if disk[id] > capacity[id] * limit}
    found = []
    moves = dict(zip(made.changed.tolist(), wave.tolist(), strict=True))
    for number in sorted(set(moves.values())):
        after = [(p, held(made)[p]) for p, of in moves.items() if of == number]
        targets = set()
        for p, row in after:
            for id in set(row) - set(before[p]):
                disk[id] += sizes[p]
                targets.add(id)
        found += [(number, id) for id in sorted(targets) if disk[id] > capacity[id] * limit + 1e-6 or id in already]
        for p, row in after:
            for id in set(before[p]) - set(row):
                disk[id] -= sizes[p]
    return found


def test_no_wave_fills_a_disk_with_old_and_new_copies() -> None:
    cluster = in_wrong_racks(156, GIB)  # 78 on each broker
    made, wave = schedule(plan(cluster, disks=Disks.of(cluster, 0.9)), Bounds(), Disks.of(cluster, 0.9))
    assert overfull(made, wave, 0.9) == []
    assert made.blocked == ()
    assert all({1, 2} & set(row) and {3, 4} & set(row) for row in held(made))
    assert max(wave) > 1  # later waves use the space that earlier ones have freed


def test_what_no_order_of_moves_can_place_is_blocked_with_its_reason() -> None:
    cluster = in_wrong_racks(4, 39 * GIB)
    disks = Disks.of(cluster, 0.9)
    made, wave = schedule(plan(cluster, disks=disks), Bounds(), disks)
    assert (made.added.sum(), len(wave)) == (0, 0)
    assert {(each.partition, each.step) for each in made.blocked} == {(p, "shared rack") for p in range(4)}
    assert {each.obstacle for each in made.blocked} <= {reassignment.NO_DISK, reassignment.NO_WAVE}


def test_a_broker_over_its_limit_only_loses_data() -> None:
    capacity = {1: 100.0, 2: 100.0, 3: 100.0}
    cluster = Cluster.of(dict.fromkeys(capacity, "a"), [("t", n, (1,), 1, 31.0) for n in range(3)] + [("u", 0, (2,), 2, 1.0)],
                         disk_capacity=capacity)  # fmt: skip
    disks = Disks.of(cluster, 0.9)
    for drained in (frozenset({2}), frozenset({2, 3})):
        made, wave = schedule(plan(cluster, Asked(drained), disks=disks), Bounds(), disks)
        assert overfull(made, wave, 0.9) == []
    assert held(made)[3] == [2]
    assert [(each.step, each.replicas, each.obstacle) for each in made.blocked] == [("dead or drained broker", 1, reassignment.NO_DISK)]


@pytest.mark.parametrize("limit", [0.5, 0.8, 0.9])
def test_no_wave_of_any_made_up_plan_fills_a_disk(made_up: tuple[Cluster, list, dict], limit: float) -> None:
    cluster, _, _ = made_up
    rng = random.Random(int(cluster.size.sum()))
    at = cluster.replicas[cluster.replicas >= 0]
    stored = np.bincount(at, np.repeat(cluster.size, (cluster.replicas >= 0).sum(axis=1)), len(cluster.broker_ids))
    for tightness in (0.4, 0.7, 0.88):  # the mean broker is so full
        capacity = np.full(len(stored), max(float(stored.mean()) / tightness, 1.0))
        tight = replace(cluster, disk_capacity=capacity)
        drained = frozenset(rng.sample(tight.broker_ids.tolist(), len(stored) > 3))
        disks = Disks.of(tight, limit)
        made, wave = schedule(plan(tight, Asked(drained), disks=disks), Bounds(moves_per_broker=5), disks)
        assert overfull(made, wave, limit) == []
        assert (wave > 0).sum() == (made.added[made.changed] > 0).sum()


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
        Broker(id, rack, str(id), alive, dict(zip(resources, capacity, strict=True)))
        for id, rack, _, alive, *capacity in sorted(case["brokers"])
    ]
    held_by = {id for _, _, replicas, *_ in case["partitions"] for id in replicas}
    brokers = [broker for broker in brokers if broker.alive or broker.broker_id in held_by]
    thresholds = Thresholds(topics_with_min_leaders_per_broker="t0|t2", min_topic_leaders_per_broker=len(case["brokers"]) % 3)
    model = goals.evaluate(brokers, [Partition(*row) for row in case["partitions"]], thresholds)
    columns = np.array([row[4:] for row in case["partitions"]], dtype=np.float64).T
    loads = dict(zip(resources, columns, strict=True))
    ordered = sorted(case["brokers"])
    capacities = {name: np.array([row[4 + at] for row in ordered], dtype=np.float64) for at, name in enumerate(resources)}
    told = replace(cluster, loads=loads, capacities=capacities)
    ours = evaluate(told, told.replicas, told.leader, thresholds)
    for name, verdict in model.items():
        if not ours[name].is_close:
            count = ours[name].breach_count
            assert (name, ours[name].verdict, count) == (name, verdict.verdict, len(verdict.breaches))
    assert not math.isnan(sum(loads[goal.DISK]))


LAX = Thresholds(
    replica_count_balance_threshold=99,
    leader_replica_count_balance_threshold=99,
    network_inbound_balance_threshold=99,
    network_outbound_balance_threshold=99,
    cpu_balance_threshold=99,
)
RESOURCES = (goal.DISK, goal.CPU, goal.NETWORK_IN, goal.NETWORK_OUT)


def loaded(cluster: Cluster, capacity: float = 100.0, **loads: list[float]) -> Cluster:
    """With the network and cpu that partitions' leaders take; what is not given is nought."""
    none = np.zeros(len(cluster.size))
    told = {name: np.array(loads[name], dtype=np.float64) if name in loads else none for name in RESOURCES}
    return replace(cluster, loads=told, capacities={name: np.full(len(cluster.broker_ids), capacity) for name in RESOURCES})


def rates(made: Plan, name: str) -> dict[int, float]:
    """What the leaders of each broker send, or what its replicas take in."""
    found: Counter[int] = Counter()
    for row, load in zip(held(made), made.cluster.loads[name].tolist(), strict=True):
        for id in row if name == goal.NETWORK_IN else row[:1]:
            found[id] += load
    return dict(found)


@pytest.mark.parametrize("name", [goal.NETWORK_OUT, goal.CPU])
def test_what_leaders_alone_use_leaves_a_full_broker_with_leadership_alone(name: str) -> None:
    # 80 of 100 may be sent, 70 of 100 computed: broker 1 has 95. The least that is enough is 30.
    made = plan(loaded(Cluster.of(RACKS, of((1, 2), (1, 3), (1, 2), (3, 2))), **{name: [10.0, 30.0, 55.0, 5.0]}), thresholds=LAX)
    assert (rates(made, name), made.added.sum()) == ({1: 65.0, 3: 35.0}, 0)
    assert made.reason.tolist() == ["", "capacity", "", ""]


def test_what_every_replica_takes_in_leaves_a_full_broker_with_data() -> None:
    cluster = Cluster.of(RACKS | {4: "a"}, of((1, 2), (1, 3), (1, 2), (1, 3)))
    made = plan(loaded(cluster, network_inbound=[10.0, 20.0, 30.0, 35.0]), thresholds=LAX)
    assert (held(made), made.added.sum()) == ([[1, 2], [4, 3], [1, 2], [1, 3]], 1)


def test_a_broker_that_would_send_too_much_if_it_led_all_gives_replicas_away() -> None:
    cluster = Cluster.of(RACKS | {4: "b"}, of((1, 2), (3, 2), (1, 2)))
    made = plan(loaded(cluster, network_outbound=[30.0, 30.0, 25.0]), thresholds=LAX)  # 85 where broker 2 can send 80
    assert held(made) == [[1, 2], [3, 2], [1, 4]]
    assert made.reason.tolist() == ["", "", "potential network out"]


def test_leaders_are_exchanged_where_their_counts_must_stay() -> None:
    strict = replace(LAX, leader_replica_count_balance_threshold=1.0, network_outbound_balance_threshold=1.3)
    cluster = Cluster.of({1: "a", 2: "b"}, of((1, 2), (1, 2), (2, 1), (2, 1)))
    made = plan(loaded(cluster, 1000.0, network_outbound=[50.0, 50.0, 10.0, 10.0]), thresholds=strict)
    assert (rates(made, goal.NETWORK_OUT), made.added.sum()) == ({1: 60.0, 2: 60.0}, 0)
    assert Counter(row[0] for row in held(made)) == {1: 2, 2: 2}


def test_bytes_in_to_leaders_are_evened_by_leadership_and_never_by_data() -> None:
    cluster = Cluster.of({1: "a", 2: "b", 3: "c"}, of((1, 2), (1, 2), (2, 1), (3, 1)))
    cluster = loaded(cluster, 1000.0, network_inbound=[50.0, 40.0, 10.0, 50.0])
    made = plan(cluster, thresholds=replace(LAX, network_inbound_balance_threshold=1.6))
    # Leaders may take in 80 at most, the mean being 50; all replicas 46 to 154, the mean being 100.
    assert ([row[0] for row in held(made)], made.added.sum()) == ([1, 2, 2, 3], 0)


@pytest.mark.parametrize("lacking", ["loads", "capacities"])
def test_loads_that_are_not_told_of_all_are_not_evened(lacking: str) -> None:
    whole = loaded(Cluster.of(RACKS, of((1, 2), (1, 3), (1, 2), (3, 2))), network_outbound=[10.0, 30.0, 55.0, 5.0])
    part = {name: values.copy() for name, values in getattr(whole, lacking).items()}
    part[goal.NETWORK_OUT][1] = math.nan
    assert plan(whole, thresholds=LAX).changed.tolist() == [1]
    assert plan(replace(whole, **{lacking: part}), thresholds=LAX).changed.tolist() == []


def test_no_topic_loses_the_leaders_that_it_asks_for() -> None:
    partitions = [("t", 0, (1, 2), 1, 1.0), *(("u", n, row, row[0], 1.0) for n, row in enumerate([(1, 2), (2, 1), (3, 1)]))]
    cluster = loaded(Cluster.of(RACKS, partitions), network_outbound=[50.0, 45.0, 1.0, 1.0])
    assert plan(cluster, thresholds=LAX).changed.tolist() == [1]
    assert plan(cluster, thresholds=replace(LAX, topics_with_min_leaders_per_broker="u")).changed.tolist() == [0]


def measured(cluster: Cluster, replicas: np.ndarray) -> dict[int, dict[str, float]]:
    """What each broker carries, added up here; a partition without a leader is nobody's load."""
    found: dict[int, dict[str, float]] = {int(id): Counter() for id in cluster.broker_ids}
    for p, row in enumerate(replicas):
        if cluster.leader[p] < 0:
            continue
        load = {name: float(cluster.loads[name][p]) for name in RESOURCES}
        for slot, b in enumerate(row[row >= 0].tolist()):
            use = found[int(cluster.broker_ids[b])]
            use[goal.NETWORK_IN] += load[goal.NETWORK_IN]
            leads = slot == 0
            use[goal.NETWORK_OUT] += load[goal.NETWORK_OUT] if leads else 0
            use[goal.CPU] += load[goal.CPU] if leads else follower_cpu(load[goal.CPU], load[goal.NETWORK_IN], load[goal.NETWORK_OUT])
    return found


def full(made_up: tuple[Cluster, list, dict]) -> Cluster:
    """The made-up cluster with its loads."""
    cluster, partitions, case = made_up
    columns = np.array([row[4:] for row in partitions], dtype=np.float64).T
    ordered = sorted(case["brokers"])
    capacities = {name: np.array([row[4 + at] for row in ordered], dtype=np.float64) for at, name in enumerate(RESOURCES)}
    return replace(cluster, loads=dict(zip(RESOURCES, columns, strict=True)), capacities=capacities)


def test_no_step_for_loads_takes_a_broker_beyond_a_hard_limit_or_gives_up_what_counts_and_disks_have(
    made_up: tuple[Cluster, list, dict], monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = full(made_up)
    made = plan(cluster)
    assert (plan(cluster).replicas == made.replicas).all()
    with monkeypatch.context() as without:
        without.setattr(load_balance, "even_loads", lambda state: None)
        before = plan(cluster)
    thresholds = Thresholds()
    was, now = measured(cluster, before.replicas), measured(cluster, made.replicas)
    for b, id in enumerate(cluster.broker_ids.tolist()):
        for name in (goal.NETWORK_IN, goal.NETWORK_OUT, goal.CPU):
            limit = float(cluster.capacities[name][b]) * thresholds.capacity(name)
            assert not cluster.live[b] or now[id][name] <= max(limit, was[id][name]) * (1 + 1e-9)
    led = cluster.leader >= 0
    verdicts = [evaluate(cluster, each.replicas, np.where(led, each.replicas[:, 0], -1), thresholds) for each in (before, made)]
    for name in ("RackAwareGoal", "ReplicaDistributionGoal", "LeaderReplicaDistributionGoal", "TopicReplicaDistributionGoal",
                 "DiskCapacityGoal", "DiskUsageDistributionGoal"):  # fmt: skip
        one, other = (verdict[name].breach_count for verdict in verdicts)
        assert (name, other) <= (name, one)
