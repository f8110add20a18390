"""The hashes of key_hash.py and CRC-32 for many keys, compiled, in their own module because importing numba takes 0.8 s.

Each function takes keys in the layout of an Arrow binary column: key i is data[offsets[i]:offsets[i + 1]].

    >>> murmur2_batch(np.frombuffer(b"user-1user-2", np.uint8), np.array([0, 6, 12])).tolist()
    [1404122828, -324981792]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int32] | npt.NDArray[np.int64]
Batch = Callable[[Bytes, Offsets], npt.NDArray[Any]]

_M, _SEED = np.uint32(0x5BD1E995), np.uint32(0x9747B28C)
_FNV_PRIME, _FNV_SEED = np.uint32(0x01000193), np.uint32(0x811C9DC5)
_ALL_BITS = np.uint32(0xFFFFFFFF)

_compiled = njit(cache=True, nogil=True)


def _crc_remainders() -> npt.NDArray[np.uint32]:
    """Return the CRC-32 remainder of each byte, for the reversed polynomial of zlib."""
    remainders = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        remainders = np.where(remainders & 1, remainders >> 1 ^ np.uint32(0xEDB88320), remainders >> 1).astype(np.uint32)
    return remainders


_CRC_REMAINDERS = _crc_remainders()


@_compiled
def murmur2_batch(data: Any, offsets: Any) -> Any:
    """Compute murmur2 of many keys: signed 32-bit numbers."""
    hashes = np.empty(len(offsets) - 1, np.int32)
    for key in range(len(hashes)):
        position, end = offsets[key], offsets[key + 1]
        h = np.uint32(_SEED ^ np.uint32(end - position))
        while end - position >= 4:
            k = np.uint32(data[position] | data[position + 1] << 8 | data[position + 2] << 16 | data[position + 3] << 24)
            k = np.uint32(k * _M)
            h = np.uint32(h * _M) ^ np.uint32((k ^ k >> np.uint32(24)) * _M)
            position += 4
        if position < end:
            for byte in range(end - position):
                h ^= np.uint32(data[position + byte] << 8 * byte)
            h = np.uint32(h * _M)
        h = np.uint32((h ^ h >> np.uint32(13)) * _M)
        hashes[key] = np.int32(h ^ h >> np.uint32(15))
    return hashes


@_compiled
def fnv1a_batch(data: Any, offsets: Any) -> Any:
    """Compute fnv1a of many keys: signed 32-bit numbers."""
    hashes = np.empty(len(offsets) - 1, np.int32)
    for key in range(len(hashes)):
        h = _FNV_SEED
        for position in range(offsets[key], offsets[key + 1]):
            h = np.uint32((h ^ np.uint32(data[position])) * _FNV_PRIME)
        hashes[key] = np.int32(h)
    return hashes


@_compiled
def crc32_batch(data: Any, offsets: Any) -> Any:
    """Compute CRC-32 of many keys, as zlib does."""
    hashes = np.empty(len(offsets) - 1, np.int64)
    for key in range(len(hashes)):
        crc = _ALL_BITS
        for position in range(offsets[key], offsets[key + 1]):
            crc = crc >> np.uint32(8) ^ _CRC_REMAINDERS[(crc ^ np.uint32(data[position])) & np.uint32(255)]
        hashes[key] = crc ^ _ALL_BITS
    return hashes
