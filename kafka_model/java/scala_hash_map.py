"""The order in which an immutable.HashMap of Scala 2.13 is walked, where the ZooKeeper controller's order of messages hangs on it.

It is a trie of 5 bits of an improved hash a level, of which a node gives its leaves before its branches:

    >>> scala_hash_map_order([1, 2, 3, 4, 5, 6])
    [5, 1, 6, 2, 3, 4]
"""

from __future__ import annotations

from collections.abc import Sequence


def scala_hash_map_order(keys: Sequence[int]) -> list[int]:
    """The distinct numbers, keys of a map, in the order of iteration."""
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
