"""The order in which a java.util.HashMap is walked, where Kafka's answer hangs on it.

Keys lie in buckets by `spread(hashCode)` modulo a power of two: 16 at first, doubled once more than three quarters as many keys are in.
Within a bucket they keep the order in which they came. (Java turns a bucket of nine into a tree; names do not collide like that unless
made to.) `spread` stirs the high half of a hash code into the low:

    >>> hash_map_order([("b", spread(98)), ("a", spread(97))])
    ['a', 'b']
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

K = TypeVar("K", bound=Hashable)


def spread(hash_code: int) -> int:
    """HashMap.hash of a signed 32-bit hash code, as an unsigned number."""
    unsigned = hash_code & 0xFFFFFFFF
    return unsigned ^ unsigned >> 16


def hash_map_order(keys: Sequence[tuple[K, int]], *, capacity: int = 16) -> list[K]:
    """The distinct keys, given with their spread hashes in the order in which they were put, as a HashMap of that first capacity is
    walked.
    """
    while len(keys) > capacity * 3 // 4:
        capacity *= 2
    return [key for key, _ in sorted(keys, key=lambda entry: entry[1] & (capacity - 1))]


def scala_hash_map_order(keys: Sequence[int]) -> list[int]:
    """The distinct numbers as an immutable.HashMap of Scala 2.13 is walked: a trie of 5 bits of the improved hash a level, leaves before
    branches.
    """
    return _walk(sorted((_improved(key), key) for key in keys), level=0)


def _walk(hashed: list[tuple[int, int]], *, level: int) -> list[int]:
    slots: dict[int, list[tuple[int, int]]] = {}
    for entry in sorted(hashed, key=lambda entry: entry[0] >> level & 31):
        slots.setdefault(entry[0] >> level & 31, []).append(entry)
    leaves = [slot[0][1] for slot in slots.values() if len(slot) == 1]
    return leaves + [key for slot in slots.values() if len(slot) > 1 for key in _walk(slot, level=level + 5)]


def _improved(code: int) -> int:
    mixed = (code + ~(code << 9)) & 0xFFFFFFFF
    mixed ^= mixed >> 14
    mixed = (mixed + (mixed << 4)) & 0xFFFFFFFF
    return mixed ^ mixed >> 10
