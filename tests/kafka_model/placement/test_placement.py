from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_model.java.random_numbers import JavaRandom
from kafka_model.placement.zookeeper import (
    InvalidPartitions,
    InvalidReplicationFactor,
    MixedRacks,
    UsableBroker,
    added_partitions_start_index,
    alternate_racks,
    patterns,
    place,
    place_batch,
    place_rack_aware,
    place_rack_unaware,
    place_striped,
)


def test_seed_000_three_brokers_six_partitions_from_index_2_with_shift_1() -> None:
    assert place_rack_unaware([0, 1, 2], 6, 3, start_index=2, shift=1) == [(2, 1, 0), (0, 2, 1), (1, 0, 2), (2, 0, 1), (0, 1, 2), (1, 2, 0)]


def test_seed_003_racks_alternate() -> None:
    assert alternate_racks({0: "1", 1: "1", 2: "1", 3: "2", 4: "2", 5: "2"}) == [0, 3, 1, 4, 2, 5]


def test_seed_003_replicas_are_on_as_many_racks_as_possible() -> None:
    racks = {0: "1", 1: "1", 2: "1", 3: "2", 4: "2", 5: "2"}
    for replicas in place_rack_aware(racks, 5, 3, start_index=0, shift=0):
        assert {racks[broker] for broker in replicas} == {"1", "2"}


def test_the_grid_of_admin_utils_of_seven_partitions_on_three_racks() -> None:
    racks = {0: "rack1", 1: "rack3", 2: "rack3", 3: "rack2", 4: "rack2", 5: "rack1"}
    assert alternate_racks(racks) == [0, 3, 1, 5, 4, 2]
    assert place_rack_aware(racks, 7, 3, start_index=0, shift=0) == [
        (0, 3, 1), (3, 1, 5), (1, 5, 4), (5, 4, 2), (4, 2, 0), (2, 0, 3), (0, 4, 2)
    ]  # fmt: skip


def test_racks_are_ordered_by_utf_16_code_unit_as_java_does() -> None:
    assert alternate_racks({1: "\uffee", 2: "\U0001f600"}) == [2, 1]


def test_partitions_added_later_stand_where_they_would_have_stood_with_the_shift_counted_from_the_first_added() -> None:
    whole = place_rack_unaware([3, 1, 2], 7, 2, start_index=1, shift=0)
    assert (
        place_rack_unaware([3, 1, 2], 4, 2, start_index=1, shift=0, start_partition=3) == whole[3:]
    )  # 3 is a multiple of 3: it grows the shift
    assert place_rack_unaware([3, 1, 2], 3, 2, start_index=1, shift=0, start_partition=4) != whole[4:]


def test_added_partitions_start_at_the_first_replica_of_partition_0() -> None:
    assert added_partitions_start_index([1, 3, 5], 3) == 1
    assert added_partitions_start_index([1, 3, 5], 4) == 2
    assert added_partitions_start_index([1, 3, 5], 6) == 0


@pytest.mark.parametrize(
    ("brokers", "partitions", "replication_factor", "fault"),
    [
        ({1: None, 2: "a"}, 0, 0, InvalidPartitions),
        ({1: None, 2: "a"}, 1, 0, InvalidReplicationFactor),
        ({1: None, 2: "a"}, 1, 3, InvalidReplicationFactor),
        ({1: None, 2: "a"}, 1, 2, MixedRacks),
    ],
)
def test_faults_are_told_in_the_order_of_admin_utils(
    brokers: dict[int, str | None], partitions: int, replication_factor: int, fault: type[ValueError]
) -> None:
    with pytest.raises(fault):
        place(brokers, partitions, replication_factor, start_index=0, shift=0)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=12, unique=True), st.integers(1, 40), st.data())
def test_unaware_placement_is_distinct_and_its_leaders_even(brokers: list[int], partitions: int, data: st.DataObject) -> None:
    replication_factor = data.draw(st.integers(1, len(brokers)))
    start = data.draw(st.integers(0, len(brokers)))
    placed = place_rack_unaware(brokers, partitions, replication_factor, start_index=start, shift=data.draw(st.integers(0, 20)))
    assert all(len(set(replicas)) == len(replicas) == replication_factor for replicas in placed)
    led = [[replicas[0] for replicas in placed].count(broker) for broker in brokers]
    assert max(led) - min(led) <= 1


@given(st.dictionaries(st.integers(0, 50), st.sampled_from("abc"), min_size=1, max_size=12), st.integers(1, 40), st.data())
def test_aware_placement_spreads_over_as_many_racks_as_there_can_be(racks: dict[int, str], partitions: int, data: st.DataObject) -> None:
    replication_factor = data.draw(st.integers(1, len(racks)))
    for replicas in place_rack_aware(racks, partitions, replication_factor, start_index=data.draw(st.integers(0, 12)), shift=0):
        assert len(set(replicas)) == replication_factor
        assert len({racks[broker] for broker in replicas}) == min(replication_factor, len(set(racks.values())))


@given(
    st.dictionaries(st.integers(0, 50), st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=12), st.integers(0, 2**48), st.data()
)
def test_striped_placement_is_distinct_and_led_by_unfenced_brokers(racks: dict[int, str | None], seed: int, data: st.DataObject) -> None:
    brokers = [UsableBroker(broker, rack, data.draw(st.booleans())) for broker, rack in racks.items()]
    replication_factor = data.draw(st.integers(1, len(brokers)))
    unfenced = {broker.broker_id for broker in brokers if not broker.fenced}
    if not unfenced:
        with pytest.raises(InvalidReplicationFactor):
            place_striped(brokers, 5, replication_factor, random=JavaRandom(seed))
        return
    for replicas in place_striped(brokers, 30, replication_factor, random=JavaRandom(seed)):
        assert len(set(replicas)) == len(replicas) == replication_factor
        assert replicas[0] in unfenced


@given(
    brokers=st.dictionaries(st.integers(0, 99), st.sampled_from("abc"), min_size=1, max_size=9),
    racked=st.booleans(),
    partitions=st.integers(1, 40),
    data=st.data(),
)
def test_a_batch_is_placed_as_its_partitions_are_one_by_one(
    brokers: dict[int, str], racked: bool, partitions: int, data: st.DataObject
) -> None:
    cluster = {broker: rack if racked else None for broker, rack in brokers.items()}
    factor = data.draw(st.integers(1, len(cluster)))
    starts = [data.draw(st.tuples(st.integers(0, 20), st.integers(0, 20))) for _ in range(2)]
    numbers = np.tile(np.arange(partitions), 2)
    start, shift = (np.repeat([pair[side] for pair in starts], partitions) for side in (0, 1))
    together = place_batch(patterns(cluster, factor), numbers, start_index=start, shift=shift)
    apart = [row for index, grown in starts for row in place(cluster, partitions, factor, start_index=index, shift=grown)]
    assert list(map(tuple, together.tolist())) == apart
