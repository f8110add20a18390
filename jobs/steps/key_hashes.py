"""The hashes of record keys as functions of SQL: murmur2, crc32 and fnv1a, whose arguments are columns of bytes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa

from jobs.engine import ColumnFunction, Engine
from kafka_model.partitioner.key_hash import fnv1a, murmur2

COMPILED_FROM = 100_000  # keys: hashing fewer takes less time than loading compiled code


def add_key_hashes(engine: Engine) -> None:
    """Let the SQL texts of an engine call the hashes; that of null is null."""
    engine.add_function("murmur2", key_hash(murmur2, pa.int32()), "BLOB", "INT")
    engine.add_function("fnv1a", key_hash(fnv1a, pa.int32()), "BLOB", "INT")
    engine.add_function("crc32", key_hash(crc32, pa.int64()), "BLOB", "BIGINT")


def key_hash(hash_of: Callable[[bytes], int], type_: pa.DataType) -> ColumnFunction:
    """Return a function that hashes a column of keys: key by key for the first COMPILED_FROM keys, then by compiled code."""
    hashed_keys = 0

    def hashes(keys: pa.Array) -> pa.Array:
        nonlocal hashed_keys
        hashed_keys += len(keys)
        if hashed_keys < COMPILED_FROM:
            return pa.array([None if key is None else hash_of(key) for key in keys.to_pylist()], type_)
        nulls = keys.is_null().to_numpy(zero_copy_only=False) if keys.null_count else None
        keys = keys.fill_null(b"").cast(pa.binary())
        _, offsets, data = keys.buffers()
        bounds = np.frombuffer(offsets, dtype=np.int32, count=keys.offset + len(keys) + 1)[keys.offset :]
        return pa.array(_batch(hash_of.__name__)(np.frombuffer(data or b"", dtype=np.uint8), bounds), type_, mask=nulls)

    return hashes


@cache
def _batch(name: str) -> Callable[[Any, Any], Any]:
    from kafka_model.partitioner import key_hash_loops

    return {"murmur2": key_hash_loops.murmur2_batch, "fnv1a": key_hash_loops.fnv1a_batch, "crc32": key_hash_loops.crc32_batch}[name]
