"""Hashes of record keys: murmur2 of the Java client (Utils.murmur2, all versions) and FNV-1a of librdkafka and Sarama.

    >>> murmur2(b"user-1")
    1404122828
    >>> to_positive(-2)
    2147483646

key_hash_loops.py has compiled forms for many keys.
"""

from __future__ import annotations

_INT = 0xFFFFFFFF
_M = 0x5BD1E995
_SEED = 0x9747B28C
_FNV_SEED, _FNV_PRIME = 0x811C9DC5, 0x01000193


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
