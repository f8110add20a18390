from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_model.partitioner.key_hash import Bytes, Hashes, Offsets, fnv1a, fnv1a_batch, murmur2, murmur2_batch


@pytest.mark.parametrize(("batch", "hash_of"), [(murmur2_batch, murmur2), (fnv1a_batch, fnv1a)])
@given(keys=st.lists(st.binary(max_size=40), max_size=200), before=st.binary(max_size=3))
def test_a_batch_hashes_each_key(
    batch: Callable[[Bytes, Offsets], Hashes], hash_of: Callable[[bytes], int], keys: list[bytes], before: bytes
) -> None:
    data = np.frombuffer(before + b"".join(keys), dtype=np.uint8)
    offsets = np.cumsum([len(before), *map(len, keys)], dtype=np.int32)
    assert batch(data, offsets).tolist() == [hash_of(key) for key in keys]


@pytest.mark.parametrize(("batch", "hash_of"), [(murmur2_batch, murmur2), (fnv1a_batch, fnv1a)])
def test_a_batch_hashes_keys_whose_lengths_exceed_16_bits(
    batch: Callable[[Bytes, Offsets], Hashes], hash_of: Callable[[bytes], int]
) -> None:
    keys = [b"short", b"long" * 40_000, b""]
    offsets = np.cumsum([0, *map(len, keys)], dtype=np.int32)
    assert batch(np.frombuffer(b"".join(keys), dtype=np.uint8), offsets).tolist() == [hash_of(key) for key in keys]
