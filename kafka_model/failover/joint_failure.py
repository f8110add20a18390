"""Count the sets of brokers whose joint death loses data or stops writes.

No Kafka class: the counts follow from Kafka's rules for acks=all. A partition is lost when all brokers of a fatal set die. For its data,
the fatal set is all brokers that have every acknowledged record. For acks=all writes, it is any of its in-sync replicas less
min.insync.replicas plus one. If three of the brokers die at random and partitions have three replicas, what matters is the number of
distinct replica sets, the copysets (Cidon et al., Copysets, USENIX ATC 2013), not the number of partitions:

    >>> count_fatal_sets([{1, 2, 3}, {1, 2, 3}, {2, 3, 4}], brokers=[1, 2, 3, 4, 5], deaths=3), comb(5, 3)
    (2, 10)
    >>> count_fatal_sets([{1, 2}], brokers=[1, 2, 3, 4, 5], deaths=3)
    3
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import combinations
from math import comb

MAX_PARTIAL_SETS = 1_000_000  # partial sets to enumerate; larger problems are not counted


def minimal_sets(sets: Iterable[Collection[int]]) -> list[frozenset[int]]:
    """Keep the sets that contain no other of the sets."""
    minimal: set[frozenset[int]] = set()
    for candidate in sorted({frozenset(brokers) for brokers in sets}, key=len):
        if not any(frozenset(part) in minimal for size in range(len(candidate)) for part in combinations(sorted(candidate), size)):
            minimal.add(candidate)
    return sorted(minimal, key=lambda brokers: (len(brokers), sorted(brokers)))


def fatal_to_writes(isr: Collection[int], min_insync_replicas: int) -> Iterator[frozenset[int]]:
    """List the smallest sets of in-sync brokers whose death leaves fewer than min.insync.replicas, or none at all."""
    deaths = len(isr) - max(min_insync_replicas, 1) + 1
    if deaths > 0:
        yield from map(frozenset, combinations(sorted(isr), deaths))


def count_fatal_sets(fatal: Iterable[Collection[int]], *, brokers: Sequence[int], deaths: int) -> int | None:
    """Count the sets of `deaths` brokers that contain a fatal set. None means that they are too many to enumerate."""
    if deaths > len(brokers):
        return 0
    if deaths < 1 or comb(len(brokers), deaths - 1) > MAX_PARTIAL_SETS:
        return None if deaths > 0 else 0
    bit_of = {broker: 1 << index for index, broker in enumerate(sorted(brokers))}
    completing: dict[int, int] = defaultdict(int)  # by a fatal set less one broker: the brokers that complete it
    for fatal_set in minimal_sets(fatal):
        if not fatal_set:
            return comb(len(brokers), deaths)
        if len(fatal_set) <= deaths:
            bits = [bit_of[broker] for broker in fatal_set]
            for bit in bits:
                completing[sum(bits) - bit] |= bit
    return comb(len(brokers), deaths) - _count_harmless(completing, len(brokers), deaths)


def _count_harmless(completing: dict[int, int], brokers: int, deaths: int) -> int:
    """Count the sets without a fatal set: add brokers in the order of their bits, and only count the last one."""
    all_brokers = (1 << brokers) - 1

    def count(subsets: tuple[int, ...], deadly: int, first: int, remaining: int) -> int:
        """Count the ways to add `remaining` brokers from bit `first` on; `subsets` are those of the brokers chosen so far."""
        free = all_brokers & ~deadly >> first << first if first else all_brokers & ~deadly
        if remaining == 1:
            return free.bit_count()
        total = 0
        while free:
            bit = free & -free
            free ^= bit
            grown = tuple(subset | bit for subset in subsets)
            deadly_then = deadly
            for subset in grown:
                deadly_then |= completing.get(subset, 0)
            total += count(subsets + grown, deadly_then, bit.bit_length(), remaining - 1)
        return total

    return count((0,), completing.get(0, 0), 0, deaths)
