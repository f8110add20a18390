"""Partitioners of clients in other languages: librdkafka 1.x to 2.x (C, also Python, Go and .NET) and Sarama 1.x (Go).

The answer is exact where the key decides, and None where the client chooses at random. With their default settings the clients disagree
about most keys:

    >>> [librdkafka_partition(name, b"user-2", 6) for name in ("consistent", "murmur2", "fnv1a")], sarama_partition("hash", b"user-2", 6)
    ([4, 2, 3], 3)

librdkafka's default, `consistent_random`, hashes with CRC-32 and places null and empty keys at random. Only its `murmur2_random` behaves
as the Java client: null at random, the empty key by its hash. Partitioners without `_random` hash null like the empty key. Sarama's
default is `hash`.
"""

from __future__ import annotations

from typing import Literal
from zlib import crc32

from kafka_model.partitioner.key_hash import fnv1a, murmur2, to_positive

Librdkafka = Literal["random", "consistent", "consistent_random", "murmur2", "murmur2_random", "fnv1a", "fnv1a_random"]
Sarama = Literal["random", "hash", "reference_hash", "unsigned_hash", "consistent_crc_hash"]


def librdkafka_partition(partitioner: Librdkafka, key: bytes | None, partitions: int) -> int | None:
    """Compute the partition by librdkafka's `partitioner` property (1.x to 2.x). None means a random one."""
    is_random = (
        partitioner == "random" or (partitioner.endswith("_random") and key is None) or (partitioner == "consistent_random" and not key)
    )
    if is_random:
        return None
    if partitioner.startswith("murmur2"):
        return to_positive(murmur2(key or b"")) % partitions
    if partitioner.startswith("fnv1a"):
        return abs(fnv1a(key or b"")) % partitions
    return crc32(key or b"") % partitions


def sarama_partition(partitioner: Sarama, key: bytes | None, partitions: int) -> int | None:
    """Compute the partition by Sarama's NewHashPartitioner and its variants (1.x). None means a random one, as for every null key."""
    if partitioner == "random" or key is None:
        return None
    if partitioner == "consistent_crc_hash":
        return crc32(key) % partitions
    if partitioner == "unsigned_hash":  # NewCustomPartitioner(WithHashUnsigned())
        return (fnv1a(key) & 0xFFFFFFFF) % partitions
    if partitioner == "reference_hash":  # drops the sign bit before the remainder, as the Java client does
        return to_positive(fnv1a(key)) % partitions
    return abs(fnv1a(key)) % partitions
