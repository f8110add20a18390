"""Which partition a record goes to by the clients that are not Java: librdkafka (C, and with it Python, Go, .NET ...) and Sarama (Go).

Where a key decides, the answer is exact; where chance does, it is None. The clients disagree about most keys unless they are told to
agree:

    >>> [librdkafka_partition(name, b"user-2", 6) for name in ("consistent", "murmur2", "fnv1a")], sarama_partition("hash", b"user-2", 6)
    ([4, 2, 3], 3)

librdkafka's default, `consistent_random`, takes CRC-32 and leaves null and empty keys to chance. Of its others only `murmur2_random` does
all that the Java client does: null to chance, the empty key hashed. Without `_random`, null is hashed as the empty key is. Sarama's
default is `hash`.
"""

from __future__ import annotations

from typing import Literal
from zlib import crc32

from kafka_model.partitioner.key_hash import fnv1a, murmur2, to_positive

Librdkafka = Literal["random", "consistent", "consistent_random", "murmur2", "murmur2_random", "fnv1a", "fnv1a_random"]
Sarama = Literal["random", "hash", "reference_hash", "unsigned_hash", "consistent_crc_hash"]


def librdkafka_partition(partitioner: Librdkafka, key: bytes | None, partitions: int) -> int | None:
    """The partition by librdkafka's `partitioner` property (1.x to 2.x); None: at random."""
    chance = (
        partitioner == "random" or (partitioner.endswith("_random") and key is None) or (partitioner == "consistent_random" and not key)
    )
    if chance:
        return None
    if partitioner.startswith("murmur2"):
        return to_positive(murmur2(key or b"")) % partitions
    if partitioner.startswith("fnv1a"):
        return abs(fnv1a(key or b"")) % partitions
    return crc32(key or b"") % partitions


def sarama_partition(partitioner: Sarama, key: bytes | None, partitions: int) -> int | None:
    """The partition by Sarama's NewHashPartitioner and its kin (1.x); None: at random, as every null key."""
    if partitioner == "random" or key is None:
        return None
    if partitioner == "consistent_crc_hash":
        return crc32(key) % partitions
    if partitioner == "unsigned_hash":  # NewCustomPartitioner(WithHashUnsigned())
        return (fnv1a(key) & 0xFFFFFFFF) % partitions
    if partitioner == "reference_hash":  # the sign bit goes before the remainder, as in the Java client
        return to_positive(fnv1a(key)) % partitions
    return abs(fnv1a(key)) % partitions
