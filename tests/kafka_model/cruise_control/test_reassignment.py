"""Reassignments: the smallest plan by hand where it is visible, and the properties of every plan on random clusters."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from kafka_model.cruise_control import capacity_moves
from kafka_model.cruise_control.columnar import Cluster
from kafka_model.cruise_control.limits import Thresholds, count_limits
from kafka_model.cruise_control.plan import PlanRequest
from kafka_model.cruise_control.plan_state import DiskSpace, PlanState
from kafka_model.cruise_control.reassignment import net_imbalance, plan_by_step, plan_reassignment
from kafka_model.cruise_control.replica_balance import balance_topic_replicas
from tests.kafka_model.cruise_control.clusters import (
    THREE_RACKS,
    broker_ids,
    cluster_without_loads,
    partitions,
    random_case,
    replicas_by_id,
)

WITHOUT_BALANCING = PlanRequest(balance=False)


def test_cluster_within_its_limits_is_unchanged() -> None:
    plan = plan_reassignment(Cluster.from_rows(THREE_RACKS, partitions((1, 2), (2, 3), (3, 1))))
    assert (plan.changed_partitions.tolist(), plan.added_replicas.sum()) == ([], 0)


def test_replicas_of_a_dead_broker_go_to_the_broker_with_the_fewest() -> None:
    cluster = Cluster.from_rows(THREE_RACKS | {4: "c"}, partitions((1, 2, 3), (2, 1, 3), (1, 2, 4)), dead=[3])
    plan = plan_reassignment(cluster, WITHOUT_BALANCING)
    assert replicas_by_id(plan) == [[1, 2, 4], [2, 1, 4], [1, 2, 4]]
    assert set(plan.reasons[[0, 1]]) == {"dead or drained broker"}


def test_cordoned_broker_keeps_its_replicas_and_gets_no_other() -> None:
    taken = Counter[bool]()
    for number in range(30):
        case = random_case(f"cordoned {number}")
        cluster = cluster_without_loads(case)
        cordoned = frozenset(broker_id for broker_id, _, _, alive, *_ in case["brokers"][::2] if alive)
        before = [set(ids) for ids in broker_ids(cluster, cluster.replicas)]
        for request in (PlanRequest(cordoned_brokers=cordoned), PlanRequest()):
            after = replicas_by_id(plan_reassignment(cluster, request))
            taken[bool(request.cordoned_brokers)] += sum(len((set(ids) - old) & cordoned) for ids, old in zip(after, before, strict=True))
    assert taken[True] == 0 < taken[False]


def test_replica_of_a_dead_broker_avoids_a_rack_that_is_cordoned() -> None:
    cluster = Cluster.from_rows(THREE_RACKS | {4: "c", 5: "a"}, partitions((1, 2, 3)), dead=[3])
    plan = plan_reassignment(cluster, replace(WITHOUT_BALANCING, cordoned_brokers=frozenset({4})))
    assert replicas_by_id(plan) == [[1, 2, 5]]


def test_partition_without_a_live_leader_is_unchanged() -> None:
    leaderless = [("t", 0, (3, 4), None, 1.0), ("t", 1, (3, 1), 3, 1.0)]
    plan = plan_reassignment(Cluster.from_rows(THREE_RACKS | {4: "c"}, leaderless, dead=[3, 4]))
    assert replicas_by_id(plan) == [[3, 4], [3, 1]]


def test_follower_leaves_a_shared_rack_and_the_leader_stays() -> None:
    plan = plan_reassignment(Cluster.from_rows({1: "a", 2: "a", 3: "b"}, partitions((1, 2))), WITHOUT_BALANCING)
    assert replicas_by_id(plan) == [[1, 3]]


def test_partition_with_more_replicas_than_racks_is_unchanged_if_its_racks_are_even() -> None:
    plan = plan_reassignment(Cluster.from_rows({1: "a", 2: "a", 3: "b"}, partitions((1, 2, 3))), WITHOUT_BALANCING)
    assert plan.changed_partitions.tolist() == []


def test_balancing_replica_counts_moves_no_more_than_the_excess() -> None:
    # Twelve replicas on three brokers: 3 to 5 each. Broker 1 has 9 and broker 3 has none.
    plan = plan_reassignment(Cluster.from_rows(dict.fromkeys((1, 2, 3), "a"), partitions(*[(1,)] * 9, *[(2,)] * 3)))
    assert plan.added_replicas.sum() == 4
    assert Counter(broker_id for (broker_id,) in replicas_by_id(plan)) == {1: 5, 2: 4, 3: 3}


def test_leaders_are_balanced_along_a_chain_without_copying_data() -> None:
    # Broker 1 leads five partitions and shares them with broker 2 only, which shares others with broker 3.
    before = partitions(*[(1, 2)] * 5, *[(2, 3)] * 2, (3, 2))
    plan = plan_reassignment(Cluster.from_rows(THREE_RACKS, before), thresholds=Thresholds(replica_count_balance_threshold=10))
    assert plan.added_replicas.sum() == 0
    lower, upper = count_limits(8, 3, 1.1)
    leaders = Counter(row[0] for row in replicas_by_id(plan))
    assert all(lower <= leaders[broker_id] <= upper for broker_id in THREE_RACKS)
    assert [sorted(row) for row in replicas_by_id(plan)] == [sorted(replicas) for _, _, replicas, _, _ in before]


def test_disks_are_balanced_by_an_exchange_if_replica_counts_must_stay() -> None:
    sizes = [9.0, 9.0, 1.0, 1.0]
    before = [("t", number, (3, 1 if number < 2 else 2), 3, size) for number, size in enumerate(sizes)]
    cluster = Cluster.from_rows({1: "a", 2: "a", 3: "b"}, before, disk_capacity={1: 100.0, 2: 100.0, 3: 200.0})
    fixed_counts = Thresholds(replica_count_balance_threshold=1.0, disk_balance_threshold=1.5, leader_replica_count_balance_threshold=99)
    plan = plan_reassignment(cluster, thresholds=fixed_counts)
    stored: Counter[int] = Counter()
    for row, size in zip(replicas_by_id(plan), sizes, strict=True):
        stored.update(dict.fromkeys(row, size))
    assert stored == {1: 10.0, 2: 10.0, 3: 20.0}
    assert plan.added_replicas.sum() == 2


@pytest.fixture
def topic_on_one_broker() -> Cluster:
    """Brokers 1 and 2 have the four replicas each of one of two topics; broker 3, alone on its rack, has one of every partition."""
    rows = [("t" if broker_id == 1 else "u", number, (3, broker_id), 3, 1.0) for broker_id in (1, 2) for number in range(4)]
    return Cluster.from_rows({1: "a", 2: "a", 3: "b"}, rows)


FIXED_COUNTS = Thresholds(
    replica_count_balance_threshold=1.0,
    topic_replica_count_balance_threshold=1.0,
    topic_replica_count_balance_min_gap=0,
    topic_replica_count_balance_max_gap=0,
)


def test_topic_is_balanced_by_an_exchange_with_another_topic(topic_on_one_broker: Cluster) -> None:
    # A broker may have three of the eight replicas of a topic.
    plan = plan_reassignment(topic_on_one_broker, thresholds=FIXED_COUNTS)
    topics = [topic_on_one_broker.topics[topic] for topic in topic_on_one_broker.topic]
    counts = Counter(
        (topic, broker_id) for topic, row in zip(topics, replicas_by_id(plan), strict=True) for broker_id in row if broker_id != 3
    )
    assert counts == {("t", 1): 3, ("t", 2): 1, ("u", 1): 1, ("u", 2): 3}
    assert plan.added_replicas.sum() == 2


def test_topic_is_exchanged_for_a_replica_of_another_size_if_no_nearer_one_may_be_taken() -> None:
    # Broker 1 may take no partition that broker 4 leads, because both are on rack a.
    rows = [("t", number, (3, 1), 3, 1.0) for number in range(8)]
    rows += [(f"u{number}", 0, (4, 2), 4, 1.0) for number in range(150)]
    rows += [(f"v{number}", 0, (3, 2), 3, 9.0) for number in range(20)]
    cluster = Cluster.from_rows(THREE_RACKS | {4: "a"}, rows)
    state = PlanState(cluster, PlanRequest(), FIXED_COUNTS, DiskSpace.from_share(cluster, 1.0))
    balance_topic_replicas(state)
    on_broker_1 = [cluster.topics[topic][0] for topic in cluster.topic[(state.replicas == 0).any(axis=1)]]
    assert Counter(on_broker_1) == {"t": 4, "v": 4}  # it may have a quarter of the 16 replicas of t


def test_topic_within_its_gap_is_unchanged(topic_on_one_broker: Cluster) -> None:
    one_more = replace(FIXED_COUNTS, topic_replica_count_balance_min_gap=1, topic_replica_count_balance_max_gap=1)
    assert plan_reassignment(topic_on_one_broker, thresholds=one_more).added_replicas.sum() == 0


def test_drained_broker_ends_with_no_replicas() -> None:
    plan = plan_reassignment(
        Cluster.from_rows(THREE_RACKS, partitions(*[(1 + number % 3,) for number in range(12)])),
        PlanRequest(drained_brokers=frozenset({3})),
    )
    assert Counter(broker_id for (broker_id,) in replicas_by_id(plan)) == {1: 6, 2: 6}


def test_new_broker_gets_the_lower_limit_of_replicas() -> None:
    plan = plan_reassignment(Cluster.from_rows(THREE_RACKS | {4: "d"}, partitions(*[(1 + number % 3,) for number in range(12)])))
    assert Counter(broker_id for (broker_id,) in replicas_by_id(plan))[4] == 2  # the limits are 2 and 4


def test_added_replicas_go_to_other_racks_and_the_leader_stays() -> None:
    request = PlanRequest(replication_factors={"t": 3}, balance=False)
    plan = plan_reassignment(Cluster.from_rows(THREE_RACKS, partitions((1,), (2,))), request)
    assert [sorted(row) for row in replicas_by_id(plan)] == [[1, 2, 3], [1, 2, 3]]
    assert [row[0] for row in replicas_by_id(plan)] == [1, 2]


def test_removed_replicas_are_those_on_dead_brokers() -> None:
    request = PlanRequest(replication_factors={"t": 2}, balance=False)
    plan = plan_reassignment(Cluster.from_rows(THREE_RACKS, partitions((1, 2, 3), (1, 3, 2)), dead=[2]), request)
    assert replicas_by_id(plan) == [[1, 3], [1, 3]]


def test_request_for_a_topic_changes_no_other_topic() -> None:
    two_topics = [("t", 0, (1, 2), 1, 1.0), ("u", 0, (1, 2), 1, 1.0)]
    plan = plan_reassignment(Cluster.from_rows({1: "a", 2: "a", 3: "b"}, two_topics), PlanRequest(topics=frozenset({"u"})))
    assert replicas_by_id(plan) == [[1, 2], [1, 3]]


def test_rack_awareness_is_not_given_up_for_balanced_counts() -> None:
    # Broker 3 is alone on its rack, so that each partition needs it. Brokers 1 and 2 share the rest, 6 to 8 each by the limits.
    plan = plan_reassignment(Cluster.from_rows({1: "a", 2: "a", 3: "b"}, partitions(*[(1, 3)] * 10)))
    assert all(3 in row for row in replicas_by_id(plan))
    assert Counter(broker_id for row in replicas_by_id(plan) for broker_id in row) == {3: 10, 1: 6, 2: 4}


def test_full_disk_is_relieved_by_the_smallest_sufficient_replica() -> None:
    rows = [("t", number, (1,), 1, size) for number, size in enumerate([50.0, 30.0, 15.0])] + [("t", 3, (2,), 2, 5.0)]
    lax = Thresholds(disk_balance_threshold=9, replica_count_balance_threshold=9, leader_replica_count_balance_threshold=9)
    plan = plan_reassignment(Cluster.from_rows({1: "a", 2: "b"}, rows, disk_capacity={1: 100.0, 2: 100.0}), thresholds=lax)
    assert replicas_by_id(plan) == [[1], [1], [2], [2]]


def test_net_imbalance_is_the_smallest_number_of_moves_to_equal_counts() -> None:
    assert [net_imbalance(counts) for counts in ([3, 2, 3, 4, 3], [3, 3, 2], [9, 0, 0], [4])] == [1, 0, 6, 0]


def test_later_steps_change_no_plan_of_an_earlier_step() -> None:
    cluster = Cluster.from_rows(dict.fromkeys((1, 2, 3), "a"), partitions(*[(1,)] * 9, *[(2,)] * 3))
    plans = list(plan_by_step(cluster))
    moves = [int(plan.added_replicas.sum()) for plan in plans]
    assert moves == [0, 0, 0, 4, 4, 4, 4, 4]  # only the third step, the counts of replicas, has something to do
    assert [plan is previous for previous, plan in pairwise(plans)] == [True, True, False, True, True, True, True]


# ---------------------------------------------------------------- random clusters
RANDOM_CASES = range(60)


def stored_bytes(rows: list[list[int]], sizes: list[float]) -> Counter[int]:
    stored: Counter[int] = Counter()
    for row, size in zip(rows, sizes, strict=True):
        for broker_id in row:
            stored[broker_id] += size
    return stored


@pytest.fixture(params=RANDOM_CASES)
def case(request: pytest.FixtureRequest) -> dict[str, Any]:
    return random_case(f"plan/{request.param}")


def test_the_same_cluster_gets_the_same_plan(case: dict[str, Any]) -> None:
    cluster = cluster_without_loads(case)
    assert (plan_reassignment(cluster).replicas == plan_reassignment(cluster).replicas).all()


def test_every_plan_replaces_dead_brokers_and_leaves_shared_racks(case: dict[str, Any]) -> None:
    cluster = cluster_without_loads(case)
    rack_of = dict(zip(cluster.broker_ids.tolist(), cluster.racks.tolist(), strict=True))
    live = set(cluster.broker_ids[cluster.live].tolist())
    live_racks = {rack_of[broker_id] for broker_id in live}
    for (_, _, before, leader, *_), after in zip(case["partitions"], replicas_by_id(plan_reassignment(cluster)), strict=True):
        assert len(set(after)) == len(after) == len(before)
        shared = len(after) - len({rack_of[broker_id] for broker_id in after})
        shared_before = len(before) - len({rack_of[broker_id] for broker_id in before})
        assert shared <= max(shared_before, max(0, len(after) - len(live_racks)))
        if leader not in live:
            assert after == list(before)
        elif len(after) <= len(live):
            assert set(after) <= live
        if leader in live and set(after) <= live and len(after) <= len(live_racks):
            assert shared == 0


def test_no_plan_fills_a_disk_beyond_its_capacity_limit(case: dict[str, Any]) -> None:
    cluster = cluster_without_loads(case)
    plan = plan_reassignment(cluster)
    if np.isin(plan.reasons, ["dead or drained broker", "shared rack"]).any():
        return  # these reasons come before a full disk
    sizes = cluster.size.tolist()
    before = stored_bytes([list(row[2]) for row in case["partitions"]], sizes)
    after = stored_bytes(replicas_by_id(plan), sizes)
    limits = dict(zip(cluster.broker_ids.tolist(), (cluster.disk_capacity * 0.8).tolist(), strict=True))
    assert all(
        after[broker_id] <= max(limits[broker_id], before[broker_id]) + 1e-6 for broker_id in cluster.broker_ids[cluster.live].tolist()
    )


def test_every_plan_of_single_replicas_balances_the_counts_of_replicas(case: dict[str, Any]) -> None:
    cluster = cluster_without_loads(case)
    rows = replicas_by_id(plan_reassignment(cluster))
    live = set(cluster.broker_ids[cluster.live].tolist())
    before = stored_bytes([list(row[2]) for row in case["partitions"]], cluster.size.tolist())
    limits = dict(zip(cluster.broker_ids.tolist(), (cluster.disk_capacity * 0.8).tolist(), strict=True))
    has_full_disk = any(before[broker_id] > limits[broker_id] for broker_id in before)
    # Racks constrain partitions with several replicas, dead leaders and full disks constrain the moves.
    if max(len(row) for row in rows) == 1 and all(set(row) <= live for row in rows) and not has_full_disk:
        counts = Counter(broker_id for row in rows for broker_id in row)
        lower, upper = count_limits(len(rows), len(live), 1.1)
        assert all(lower <= counts[broker_id] <= upper for broker_id in live)


def test_replicas_sorted_once_are_tried_in_the_order_of_each_excess() -> None:
    rng = np.random.default_rng(2)
    loads, numbers = rng.integers(0, 40, 600).astype(float), rng.permutation(600)
    replicas, left = capacity_moves._Replicas(loads, numbers), list(range(600))
    for excess in (0.0, 20.0, 35.5, 100.0):
        removed = [left.pop(int(rng.integers(len(left)))) for _ in range(50)]
        for index in removed:
            replicas.remove(index)
        sufficient = sorted((index for index in left if loads[index] >= excess), key=lambda index: (loads[index], numbers[index]))
        others = sorted((index for index in left if loads[index] < excess), key=lambda index: (-loads[index], numbers[index]))
        assert replicas.by_sufficiency(excess) == [*sufficient, *others][:256]
