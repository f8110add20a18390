"""The order in which a java.util.HashMap is walked, where Kafka's answer hangs on it.

Keys lie in buckets by `spread(hashCode)` modulo a power of two: 16 at first, doubled once more than three quarters as many keys are in.
Within a bucket they keep the order in which they came. (Java turns a bucket of nine into a tree; names do not collide like that unless made to.)
`spread` stirs the high half of a hash code into the low:

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
    """The distinct keys, given with their spread hashes in the order in which they were put, as a HashMap of that first capacity is walked."""
    while len(keys) > capacity * 3 // 4:
        capacity *= 2
    return [key for key, _ in sorted(keys, key=lambda entry: entry[1] & (capacity - 1))]
