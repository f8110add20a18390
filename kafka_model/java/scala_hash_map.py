"""Iteration order of scala.collection.immutable.HashMap (Scala 2.13), on which the ZooKeeper controller's message order depends.

The map is a trie with 5 bits of an improved hash per level. A node iterates over its leaves before its branches:

    >>> scala_hash_map_order([1, 2, 3, 4, 5, 6])
    [5, 1, 6, 2, 3, 4]
"""

from __future__ import annotations

from collections.abc import Sequence


def scala_hash_map_order(keys: Sequence[int]) -> list[int]:
    """Order the distinct numbers, keys of a map, as iteration does."""
    return _iterate(sorted((_improve(key), key) for key in keys), level=0)


def _iterate(hashed: list[tuple[int, int]], *, level: int) -> list[int]:
    slots: dict[int, list[tuple[int, int]]] = {}
    for entry in sorted(hashed, key=lambda entry: entry[0] >> level & 31):
        slots.setdefault(entry[0] >> level & 31, []).append(entry)
    leaves = [slot[0][1] for slot in slots.values() if len(slot) == 1]
    return leaves + [key for slot in slots.values() if len(slot) > 1 for key in _iterate(slot, level=level + 5)]


def _improve(code: int) -> int:
    mixed = (code + ~(code << 9)) & 0xFFFFFFFF
    mixed ^= mixed >> 14
    mixed = (mixed + (mixed << 4)) & 0xFFFFFFFF
    return mixed ^ mixed >> 10
