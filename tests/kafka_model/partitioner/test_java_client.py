from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_model.partitioner import key_hash
from kafka_model.partitioner.java_client import default_partition, murmur2, murmur2_batch, null_key_counts, partition_for_key, to_positive

KEYS = st.lists(st.binary(max_size=40), max_size=200)


def test_seed_001_a_key_goes_to_its_hash_modulo_all_partitions_available_or_not() -> None:
    placed, counter = default_partition(b"user-1", 7, partitions=6, available=[0])
    assert placed == to_positive(murmur2(b"user-1")) % 6 == partition_for_key(b"user-1", 6) == 2
    assert counter == 7  # a key leaves the counter alone


def test_seed_001_records_without_a_key_go_round_the_available_partitions() -> None:
    counter, placed = 5, []
    for _ in range(6):
        partition, counter = default_partition(None, counter, partitions=4, available=[0, 2, 3])
        placed.append(partition)
    assert placed == [3, 0, 2, 3, 0, 2]


def test_seed_001_without_an_available_partition_all_of_them_take_their_turn() -> None:
    assert default_partition(None, 5, partitions=4, available=[]) == (1, 6)


def test_the_counter_wraps_as_a_java_int_does() -> None:
    assert default_partition(None, 2**31 - 1, partitions=3, available=[0, 1, 2]) == ((2**31 - 1) % 3, -(2**31))
    assert default_partition(None, -(2**31), partitions=3, available=[0, 1, 2]) == (0, -(2**31) + 1)


def test_the_empty_key_is_a_key() -> None:
    assert default_partition(b"", 7, partitions=6, available=[1])[0] == to_positive(murmur2(b"")) % 6


@given(
    records=st.integers(0, 300),
    counter=st.one_of(st.integers(-(2**31), 2**31 - 1), st.integers(2**31 - 200, 2**31 - 1), st.integers(-200, 200)),
    partitions=st.integers(1, 9),
    data=st.data(),
)
def test_counting_is_stepping(records: int, counter: int, partitions: int, data: st.DataObject) -> None:
    available = data.draw(st.lists(st.integers(0, partitions - 1), unique=True))
    stepped = dict.fromkeys(available or range(partitions), 0)
    at = counter
    for _ in range(records):
        partition, at = default_partition(None, at, partitions=partitions, available=available)
        stepped[partition] += 1
    assert null_key_counts(records, counter=counter, partitions=partitions, available=available) == stepped


@pytest.mark.parametrize("records", [2**31, 2**33 + 17])
def test_counting_more_records_than_the_counter_has_numbers_loses_none(records: int) -> None:
    counts = null_key_counts(records, counter=-5, partitions=3, available=[0, 1, 2])
    assert sum(counts.values()) == records
    assert max(counts.values()) - min(counts.values()) <= records // 2**31 + 1


@given(keys=KEYS, before=st.binary(max_size=3))
def test_a_batch_hashes_each_key_as_one_would(keys: list[bytes], before: bytes) -> None:
    data = np.frombuffer(before + b"".join(keys), dtype=np.uint8)
    offsets = np.cumsum([len(before), *map(len, keys)], dtype=np.int32)
    assert murmur2_batch(data, offsets).tolist() == [murmur2(key) for key in keys]


def test_a_batch_of_several_blocks_and_the_compiled_loop_say_the_same() -> None:
    rng = random.Random(1)
    keys = [rng.randbytes(rng.randrange(41)) for _ in range(2 * key_hash._BLOCK + 3)]
    data = np.frombuffer(b"".join(keys), dtype=np.uint8)
    offsets = np.cumsum([0, *map(len, keys)], dtype=np.int32)
    hashes = [murmur2(key) for key in keys]
    assert murmur2_batch(data, offsets).tolist() == hashes
    assert key_hash._loop_loaded()(data, offsets).tolist() == hashes
    assert murmur2_batch(data, offsets).tolist() == hashes
