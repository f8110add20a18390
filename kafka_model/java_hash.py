"""The order in which java.util.HashMap and HashSet give back their keys, where Kafka's answers depend on it (OpenJDK 17 and 21).

A key lies in bin `spread(hash) & (capacity - 1)`; iteration goes bin by bin, and within a bin by age. The capacity is a power of two that
doubles when more than three quarters full, so the order follows from the keys' hashes, the capacity and the order of insertion:

    >>> string_hash("orders"), string_hash("refunds")
    (-1008770331, 1085542395)
    >>> hash_map_order(["refunds", "orders", "audit"], string_hash)
    ['audit', 'orders', 'refunds']
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

Key = TypeVar("Key")


def string_hash(text: str) -> int:
    """String.hashCode: of the UTF-16 code units, a signed 32-bit number."""
    if text.isascii():
        units: Iterable[int] = text.encode("ascii")
    else:
        units = memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")
    code = 0
    for unit in units:
        code = (31 * code + unit) & 0xFFFFFFFF
    return code - 0x1_0000_0000 if code >= 0x8000_0000 else code


def filled_capacity(keys: int, initial: int = 16) -> int:
    """The table size of a map that grew from `initial` by one key after another."""
    capacity = initial
    while keys > capacity * 3 // 4:
        capacity *= 2
    return capacity


def hash_map_order(keys: Iterable[Key], hash_of: Callable[[Key], int], capacity: int | None = None) -> list[Key]:
    """The distinct keys, put one by one, in the order of iteration (capacity: that of a map that grew from 16, unless told)."""
    distinct = list(dict.fromkeys(keys))
    mask = (capacity or filled_capacity(len(distinct))) - 1

    def bin_of(key: Key) -> int:
        code = hash_of(key) & 0xFFFFFFFF
        return (code ^ code >> 16) & mask

    return sorted(distinct, key=bin_of)
