from __future__ import annotations

import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kafka_model.partitioner import key_hash
from kafka_model.partitioner.key_hash import murmur2, murmur2_batch


@given(keys=st.lists(st.binary(max_size=40), max_size=200), before=st.binary(max_size=3))
def test_a_batch_hashes_each_key_like_murmur2(keys: list[bytes], before: bytes) -> None:
    data = np.frombuffer(before + b"".join(keys), dtype=np.uint8)
    offsets = np.cumsum([len(before), *map(len, keys)], dtype=np.int32)
    assert murmur2_batch(data, offsets).tolist() == [murmur2(key) for key in keys]


def test_several_numpy_blocks_and_the_compiled_loop_give_the_same_hashes() -> None:
    rng = random.Random(1)
    keys = [rng.randbytes(rng.randrange(41)) for _ in range(2 * key_hash._BLOCK + 3)]
    data = np.frombuffer(b"".join(keys), dtype=np.uint8)
    offsets = np.cumsum([0, *map(len, keys)], dtype=np.int32)
    hashes = [murmur2(key) for key in keys]
    assert murmur2_batch(data, offsets).tolist() == hashes
    assert key_hash._loop_loaded()(data, offsets).tolist() == hashes
    assert murmur2_batch(data, offsets).tolist() == hashes
