"""The compiled hashes of many keys, compared with those of single keys."""

from __future__ import annotations

from collections.abc import Callable
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_model.partitioner.key_hash import fnv1a, murmur2
from kafka_model.partitioner.key_hash_loops import Batch, crc32_batch, fnv1a_batch, murmur2_batch

HASHES = [(murmur2_batch, murmur2), (fnv1a_batch, fnv1a), (crc32_batch, crc32)]


@pytest.mark.parametrize(("batch", "hash_of"), HASHES)
@settings(deadline=None)  # the first call compiles
@given(keys=st.lists(st.binary(max_size=40), max_size=200), before=st.binary(max_size=3))
def test_a_batch_hashes_each_key(batch: Batch, hash_of: Callable[[bytes], int], keys: list[bytes], before: bytes) -> None:
    data = np.frombuffer(before + b"".join(keys), dtype=np.uint8)
    offsets = np.cumsum([len(before), *map(len, keys)], dtype=np.int32)
    assert batch(data, offsets).tolist() == [hash_of(key) for key in keys]


@pytest.mark.parametrize(("batch", "hash_of"), HASHES)
def test_a_batch_hashes_keys_of_different_lengths(batch: Batch, hash_of: Callable[[bytes], int]) -> None:
    keys = [b"short", b"long" * 40_000, b"", *(b"\xff" * length for length in range(9))]
    offsets = np.cumsum([0, *map(len, keys)], dtype=np.int32)
    assert batch(np.frombuffer(b"".join(keys), dtype=np.uint8), offsets).tolist() == [hash_of(key) for key in keys]
