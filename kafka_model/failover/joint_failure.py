"""How many sets of brokers take data or writes with them when they die together.

A partition is gone when all brokers of a fatal set are: those that have every acknowledged record, for its data; any of its in-sync
replicas less min.insync.replicas plus one, for acks=all. With three replicas, and random deaths of three of the brokers, what matters is
the number of distinct replica sets, the copysets (Cidon et al., Copysets, USENIX ATC 2013), and not the number of partitions:

    >>> sets_that_fail([{1, 2, 3}, {1, 2, 3}, {2, 3, 4}], brokers=[1, 2, 3, 4, 5], deaths=3), comb(5, 3)
    (2, 10)
    >>> sets_that_fail([{1, 2}], brokers=[1, 2, 3, 4, 5], deaths=3)
    3
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import combinations
from math import comb

MOST = 1_000_000  # partial sets to walk; what needs more is not counted


def minimal(sets: Iterable[Collection[int]]) -> list[frozenset[int]]:
    """Without those that hold another of them."""
    kept: set[frozenset[int]] = set()
    for candidate in sorted({frozenset(each) for each in sets}, key=len):
        if not any(frozenset(part) in kept for size in range(len(candidate)) for part in combinations(sorted(candidate), size)):
            kept.add(candidate)
    return sorted(kept, key=lambda each: (len(each), sorted(each)))


def fatal_to_writes(isr: Collection[int], min_insync_replicas: int) -> Iterator[frozenset[int]]:
    """The least sets of in-sync brokers whose death leaves fewer than min.insync.replicas, or none at all."""
    deaths = len(isr) - max(min_insync_replicas, 1) + 1
    if deaths > 0:
        yield from map(frozenset, combinations(sorted(isr), deaths))


def sets_that_fail(fatal: Iterable[Collection[int]], *, brokers: Sequence[int], deaths: int) -> int | None:
    """How many sets of so many of the brokers hold a fatal set; None: too many to walk."""
    if deaths > len(brokers):
        return 0
    if deaths < 1 or comb(len(brokers), deaths - 1) > MOST:
        return None if deaths > 0 else 0
    place = {broker: 1 << index for index, broker in enumerate(sorted(brokers))}
    ends: dict[int, int] = defaultdict(int)  # of a part of fatal sets, the brokers of which one makes it whole
    for each in minimal(fatal):
        if not each:
            return comb(len(brokers), deaths)
        if len(each) <= deaths:
            bits = [place[broker] for broker in each]
            for bit in bits:
                ends[sum(bits) - bit] |= bit
    return comb(len(brokers), deaths) - _harmless(ends, len(brokers), deaths)


def _harmless(ends: dict[int, int], brokers: int, deaths: int) -> int:
    """The sets that hold none: grown a broker at a time in the order of their places, the last of them only counted."""
    everybody = (1 << brokers) - 1

    def grow(parts: tuple[int, ...], deadly: int, first: int, left: int) -> int:
        free = everybody & ~deadly >> first << first if first else everybody & ~deadly
        if left == 1:
            return free.bit_count()
        count = 0
        while free:
            bit = free & -free
            free ^= bit
            more = tuple(part | bit for part in parts)
            kills = deadly
            for part in more:
                kills |= ends.get(part, 0)
            count += grow(parts + more, kills, bit.bit_length(), left - 1)
        return count

    return grow((0,), ends.get(0, 0), 0, deaths)
