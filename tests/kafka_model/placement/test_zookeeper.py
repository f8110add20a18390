from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_model.placement.errors import InvalidPartitions, InvalidReplicationFactor, MixedRacks
from kafka_model.placement.zookeeper import (
    added_partitions_start_index,
    alternate_racks,
    place,
    place_rack_aware,
    place_rack_unaware,
)


def test_seed_000_three_brokers_six_partitions_from_index_2_with_shift_1() -> None:
    assert place_rack_unaware([0, 1, 2], 6, 3, start_index=2, shift=1) == [(2, 1, 0), (0, 2, 1), (1, 0, 2), (2, 0, 1), (0, 1, 2), (1, 2, 0)]


def test_seed_003_racks_alternate() -> None:
    assert alternate_racks({0: "1", 1: "1", 2: "1", 3: "2", 4: "2", 5: "2"}) == [0, 3, 1, 4, 2, 5]


def test_seed_003_replicas_are_on_as_many_racks_as_possible() -> None:
    racks = {0: "1", 1: "1", 2: "1", 3: "2", 4: "2", 5: "2"}
    for replicas in place_rack_aware(racks, 5, 3, start_index=0, shift=0):
        assert {racks[broker] for broker in replicas} == {"1", "2"}


def test_example_in_the_comment_of_admin_utils_seven_partitions_on_three_racks() -> None:
    racks = {0: "rack1", 1: "rack3", 2: "rack3", 3: "rack2", 4: "rack2", 5: "rack1"}
    assert alternate_racks(racks) == [0, 3, 1, 5, 4, 2]
    assert place_rack_aware(racks, 7, 3, start_index=0, shift=0) == [
        (0, 3, 1), (3, 1, 5), (1, 5, 4), (5, 4, 2), (4, 2, 0), (2, 0, 3), (0, 4, 2)
    ]  # fmt: skip


def test_racks_are_ordered_by_utf_16_code_unit_as_in_java() -> None:
    assert alternate_racks({1: "\uffee", 2: "\U0001f600"}) == [2, 1]


def test_shift_of_added_partitions_grows_from_the_first_added_partition() -> None:
    whole = place_rack_unaware([3, 1, 2], 7, 2, start_index=1, shift=0)
    # 3 is a multiple of the number of brokers, so the shift grows there.
    assert place_rack_unaware([3, 1, 2], 4, 2, start_index=1, shift=0, start_partition=3) == whole[3:]
    assert place_rack_unaware([3, 1, 2], 3, 2, start_index=1, shift=0, start_partition=4) != whole[4:]


def test_added_partitions_start_at_the_first_replica_of_partition_0() -> None:
    assert added_partitions_start_index([1, 3, 5], 3) == 1
    assert added_partitions_start_index([1, 3, 5], 4) == 2
    assert added_partitions_start_index([1, 3, 5], 6) == 0


@pytest.mark.parametrize(
    ("brokers", "partitions", "replication_factor", "error"),
    [
        ({1: None, 2: "a"}, 0, 0, InvalidPartitions),
        ({1: None, 2: "a"}, 1, 0, InvalidReplicationFactor),
        ({1: None, 2: "a"}, 1, 3, InvalidReplicationFactor),
        ({1: None, 2: "a"}, 1, 2, MixedRacks),
    ],
)
def test_errors_are_raised_in_the_order_of_admin_utils(
    brokers: dict[int, str | None], partitions: int, replication_factor: int, error: type[ValueError]
) -> None:
    with pytest.raises(error):
        place(brokers, partitions, replication_factor, start_index=0, shift=0)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=12, unique=True), st.integers(1, 40), st.data())
def test_without_racks_replicas_are_distinct_and_leaders_even(brokers: list[int], partitions: int, data: st.DataObject) -> None:
    replication_factor = data.draw(st.integers(1, len(brokers)))
    start = data.draw(st.integers(0, len(brokers)))
    placed = place_rack_unaware(brokers, partitions, replication_factor, start_index=start, shift=data.draw(st.integers(0, 20)))
    assert all(len(set(replicas)) == len(replicas) == replication_factor for replicas in placed)
    led = [[replicas[0] for replicas in placed].count(broker) for broker in brokers]
    assert max(led) - min(led) <= 1


@given(st.dictionaries(st.integers(0, 50), st.sampled_from("abc"), min_size=1, max_size=12), st.integers(1, 40), st.data())
def test_with_racks_replicas_are_distinct_and_on_as_many_racks_as_possible(
    racks: dict[int, str], partitions: int, data: st.DataObject
) -> None:
    replication_factor = data.draw(st.integers(1, len(racks)))
    for replicas in place_rack_aware(racks, partitions, replication_factor, start_index=data.draw(st.integers(0, 12)), shift=0):
        assert len(set(replicas)) == replication_factor
        assert len({racks[broker] for broker in replicas}) == min(replication_factor, len(set(racks.values())))
