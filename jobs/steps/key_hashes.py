"""The hashes of record keys as functions of SQL: murmur2, crc32 and fnv1a, whose arguments are columns of bytes."""

from __future__ import annotations

from collections.abc import Callable
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from jobs.engine import Engine
from kafka_model.partitioner.key_hash import Bytes, Offsets, fnv1a_batch, murmur2_batch

Hashes = Callable[[pa.Array], pa.Array]


def add_key_hashes(engine: Engine) -> None:
    """Let the SQL texts of an engine call the hashes; that of null is null."""
    engine.add_function("murmur2", murmur2_hashes, "BLOB", "INT")
    engine.add_function("fnv1a", fnv1a_hashes, "BLOB", "INT")
    engine.add_function("crc32", crc32_hashes, "BLOB", "BIGINT")


def murmur2_hashes(keys: pa.Array) -> pa.Array:
    return pa.array(murmur2_batch(*_buffers(keys)), mask=_nulls(keys))


def fnv1a_hashes(keys: pa.Array) -> pa.Array:
    return pa.array(fnv1a_batch(*_buffers(keys)), mask=_nulls(keys))


def crc32_hashes(keys: pa.Array) -> pa.Array:
    each = keys.fill_null(b"").to_numpy(zero_copy_only=False)
    return pa.array(np.fromiter(map(crc32, each), np.int64, len(each)), mask=_nulls(keys))


def _buffers(keys: pa.Array) -> tuple[Bytes, Offsets]:
    """Return the bytes of all keys, and where each begins and ends; null counts as an empty key."""
    keys = keys.fill_null(b"").cast(pa.binary())
    _, offsets, data = keys.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int32, count=keys.offset + len(keys) + 1)[keys.offset :]
    used = np.frombuffer(data or b"", dtype=np.uint8)[bounds[0] : bounds[-1]]  # the array may be a slice of a long one
    return used, bounds - bounds[0]


def _nulls(keys: pa.Array) -> npt.NDArray[np.bool_] | None:
    return keys.is_null().to_numpy(zero_copy_only=False) if keys.null_count else None
