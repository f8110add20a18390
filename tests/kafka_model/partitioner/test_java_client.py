from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_model.partitioner.java_client import default_partition, null_key_counts, partition_for_key
from kafka_model.partitioner.key_hash import murmur2, to_positive


def test_seed_001_a_key_goes_to_its_hash_modulo_all_partitions_available_or_not() -> None:
    partition, counter = default_partition(b"user-1", 7, partitions=6, available=[0])
    assert partition == to_positive(murmur2(b"user-1")) % 6 == partition_for_key(b"user-1", 6) == 2
    assert counter == 7  # a record with a key does not change the counter


def test_seed_001_records_without_a_key_use_the_available_partitions_in_turn() -> None:
    counter, partitions = 5, []
    for _ in range(6):
        partition, counter = default_partition(None, counter, partitions=4, available=[0, 2, 3])
        partitions.append(partition)
    assert partitions == [3, 0, 2, 3, 0, 2]


def test_seed_001_without_an_available_partition_all_partitions_are_used() -> None:
    assert default_partition(None, 5, partitions=4, available=[]) == (1, 6)


def test_the_counter_wraps_like_a_java_int() -> None:
    assert default_partition(None, 2**31 - 1, partitions=3, available=[0, 1, 2]) == ((2**31 - 1) % 3, -(2**31))
    assert default_partition(None, -(2**31), partitions=3, available=[0, 1, 2]) == (0, -(2**31) + 1)


def test_the_empty_key_is_hashed() -> None:
    assert default_partition(b"", 7, partitions=6, available=[1])[0] == to_positive(murmur2(b"")) % 6


@given(
    records=st.integers(0, 300),
    counter=st.one_of(st.integers(-(2**31), 2**31 - 1), st.integers(2**31 - 200, 2**31 - 1), st.integers(-200, 200)),
    partitions=st.integers(1, 9),
    data=st.data(),
)
def test_null_key_counts_equal_record_by_record_counts(records: int, counter: int, partitions: int, data: st.DataObject) -> None:
    available = data.draw(st.lists(st.integers(0, partitions - 1), unique=True))
    counts = dict.fromkeys(available or range(partitions), 0)
    value = counter
    for _ in range(records):
        partition, value = default_partition(None, value, partitions=partitions, available=available)
        counts[partition] += 1
    assert null_key_counts(records, counter=counter, partitions=partitions, available=available) == counts


@pytest.mark.parametrize("records", [2**31, 2**33 + 17])
def test_null_key_counts_add_up_when_the_counter_wraps(records: int) -> None:
    counts = null_key_counts(records, counter=-5, partitions=3, available=[0, 1, 2])
    assert sum(counts.values()) == records
    assert max(counts.values()) - min(counts.values()) <= records // 2**31 + 1
