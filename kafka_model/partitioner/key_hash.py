"""Hashes of record keys: murmur2 of the Java client (Utils.murmur2, all versions) and FNV-1a of librdkafka and Sarama.

    >>> murmur2(b"user-1")
    1404122828
    >>> to_positive(-2)
    2147483646

`murmur2_batch` hashes keys in Arrow's buffers. numpy takes 85 ns per key. numba's loop takes 20 ns per key but 1.7 s to load (measured on
2 shared cores), so it is used only for a batch large enough to repay that, or once it is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import numpy.typing as npt

_INT = 0xFFFFFFFF
_M = 0x5BD1E995
_SEED = 0x9747B28C
_BLOCK = 16_384  # keys per numpy call, so that intermediate arrays stay in the processor's cache
_LARGE = 8_000_000  # keys in one batch that repay loading numba

Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int32] | npt.NDArray[np.int64]
Hashes = npt.NDArray[np.int32]


def murmur2(key: bytes) -> int:
    """Compute Utils.murmur2 of a key: a signed 32-bit number."""
    whole = len(key) & ~3
    h = _SEED ^ len(key)
    for start in range(0, whole, 4):
        k = int.from_bytes(key[start : start + 4], "little") * _M & _INT
        k = (k ^ k >> 24) * _M & _INT
        h = (h * _M & _INT) ^ k
    if whole < len(key):
        h = (h ^ int.from_bytes(key[whole:], "little")) * _M & _INT
    h = (h ^ h >> 13) * _M & _INT
    h ^= h >> 15
    return h - (1 << 32) if h & 0x80000000 else h


def fnv1a(key: bytes) -> int:
    """Compute the 32-bit FNV-1a hash of a key as a signed number, as Sarama and librdkafka use it."""
    h = 0x811C9DC5
    for byte in key:
        h = (h ^ byte) * 0x01000193 & _INT
    return h - (1 << 32) if h & 0x80000000 else h


def to_positive(number: int) -> int:
    """Drop the sign bit (Utils.toPositive). The result is not the absolute value."""
    return number & 0x7FFFFFFF


def murmur2_batch(data: Bytes, offsets: Offsets) -> Hashes:
    """Compute murmur2 of many keys in the layout of an Arrow binary column: key i is data[offsets[i]:offsets[i + 1]]."""
    if len(offsets) > _LARGE or _loop_loaded.cache_info().currsize:
        return _loop_loaded()(data, offsets)
    hashes = np.empty(max(0, len(offsets) - 1), dtype=np.int32)
    for first in range(0, len(hashes), _BLOCK):
        block = offsets[first : first + _BLOCK + 1].astype(np.int64)
        hashes[first : first + _BLOCK] = _murmur2_block(data[block[0] : block[-1]], block - block[0])
    return hashes


def _murmur2_block(data: Bytes, offsets: npt.NDArray[np.int64]) -> Hashes:
    """Hash all keys one word at a time. The longest keys come first, so that those with words left are a prefix."""
    m = np.uint32(_M)
    lengths = np.diff(offsets)
    words = lengths >> 2
    fits_int16 = words.max(initial=0) < 1 << 15  # numpy sorts 16-bit numbers ten times as fast
    order = np.argsort(np.negative(words, dtype=np.int16 if fits_int16 else np.int64, casting="unsafe"), kind="stable")
    starts, lengths, words = offsets[:-1][order], lengths[order], words[order]
    longer = len(words) - np.cumsum(np.bincount(words))  # longer[n]: number of keys with more than n words
    padded = np.append(data, np.zeros(4, dtype=np.uint8))  # keeps a word that starts at the last byte inside the buffer
    word_at = np.ndarray((len(data) + 1,), dtype="<u4", buffer=padded, strides=(1,))  # the little-endian word at each byte
    h = np.uint32(_SEED) ^ lengths.astype(np.uint32)
    for word in range(int(words[0])):
        left = longer[word]
        k = word_at[starts[:left] + 4 * word]
        k *= m
        k ^= k >> np.uint32(24)
        k *= m
        h[:left] *= m
        h[:left] ^= k
    rest = lengths & 3
    tail = word_at[starts + 4 * words] & np.array([0, 0xFF, 0xFFFF, 0xFFFFFF], dtype=np.uint32)[rest]
    h = np.where(rest > 0, (h ^ tail) * m, h)
    h = (h ^ h >> np.uint32(13)) * m
    h ^= h >> np.uint32(15)
    hashes = np.empty(len(h), dtype=np.int32)
    hashes[order] = h.view(np.int32)
    return hashes


@cache
def _loop_loaded() -> Callable[[Bytes, Offsets], Hashes]:
    import numba  # imported late because it takes 0.8 s

    compiled: Callable[[Bytes, Offsets], Hashes] = numba.njit(cache=True, nogil=True)(_murmur2_loop)
    return compiled


def _murmur2_loop(data: Bytes, offsets: Offsets) -> Hashes:
    hashes = np.empty(len(offsets) - 1, dtype=np.int32)
    m = np.uint32(_M)
    # Unsigned, because numba checks whether a signed index is negative.
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    for i in range(len(hashes)):
        position, end = np.uint64(offsets[i]), np.uint64(offsets[i + 1])
        h = np.uint32(_SEED) ^ np.uint32(end - position)
        while position + four <= end:
            k = np.uint32(data[position]) | np.uint32(data[position + one]) << np.uint32(8)
            k |= np.uint32(data[position + two]) << np.uint32(16) | np.uint32(data[position + three]) << np.uint32(24)
            k = np.uint32(k * m)
            k = np.uint32((k ^ k >> np.uint32(24)) * m)
            h = np.uint32(h * m) ^ k
            position += four
        if position < end:
            shift = np.uint32(0)
            while position < end:
                h ^= np.uint32(data[position]) << shift
                shift += np.uint32(8)
                position += one
            h = np.uint32(h * m)
        h = np.uint32((h ^ h >> np.uint32(13)) * m)
        hashes[i] = np.int32(h ^ h >> np.uint32(15))
    return hashes
