"""Hashes of record keys: murmur2 of the Java client (Utils.murmur2, all versions) and FNV-1a of librdkafka and Sarama.

    >>> murmur2(b"user-1")
    1404122828
    >>> to_positive(-2)
    2147483646

The functions `..._batch` hash keys in Arrow's buffers with numpy, all keys one word or byte at a time.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_INT = 0xFFFFFFFF
_M = 0x5BD1E995
_SEED = 0x9747B28C
_FNV_SEED, _FNV_PRIME = 0x811C9DC5, 0x01000193

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
    h = _FNV_SEED
    for byte in key:
        h = (h ^ byte) * _FNV_PRIME & _INT
    return h - (1 << 32) if h & 0x80000000 else h


def to_positive(number: int) -> int:
    """Drop the sign bit (Utils.toPositive). The result is not the absolute value."""
    return number & 0x7FFFFFFF


def murmur2_batch(data: Bytes, offsets: Offsets) -> Hashes:
    """Compute murmur2 of many keys in the layout of an Arrow binary column: key i is data[offsets[i]:offsets[i + 1]]."""
    m = np.uint32(_M)
    lengths = np.diff(offsets)
    words = lengths >> 2
    order, longer = _longest_first(words)
    starts, lengths, words = offsets[:-1][order], lengths[order], words[order]
    padded = np.append(data, np.zeros(4, dtype=np.uint8))  # keeps a word that starts at the last byte inside the buffer
    word_at = np.ndarray((len(data) + 1,), dtype="<u4", buffer=padded, strides=(1,))  # the little-endian word at each byte
    h = np.uint32(_SEED) ^ lengths.astype(np.uint32)
    for word, left in enumerate(longer):
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
    return _in_order(h, order)


def fnv1a_batch(data: Bytes, offsets: Offsets) -> Hashes:
    """Compute fnv1a of many keys in the same layout."""
    order, longer = _longest_first(np.diff(offsets))
    starts = offsets[:-1][order]
    h = np.full(len(starts), _FNV_SEED, dtype=np.uint32)
    for byte, left in enumerate(longer):
        h[:left] ^= data[starts[:left] + byte]
        h[:left] *= np.uint32(_FNV_PRIME)
    return _in_order(h, order)


def _longest_first(steps: Offsets) -> tuple[npt.NDArray[np.intp], list[int]]:
    """Return an order in which the keys with steps left are a prefix, and for each step the number of these keys."""
    fits_int16 = steps.max(initial=0) < 1 << 15  # numpy sorts 16-bit numbers ten times as fast
    order = np.argsort(np.negative(steps, dtype=np.int16 if fits_int16 else np.int64, casting="unsafe"), kind="stable")
    return order, (len(steps) - np.cumsum(np.bincount(steps)))[:-1].tolist()


def _in_order(h: npt.NDArray[np.uint32], order: npt.NDArray[np.intp]) -> Hashes:
    hashes = np.empty(len(h), dtype=np.int32)
    hashes[order] = h.view(np.int32)
    return hashes
