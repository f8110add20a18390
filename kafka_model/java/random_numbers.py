"""Random numbers of java.util.Random: the same seed gives the same numbers as in Kafka's JVM.

Java specifies the algorithm, so all versions agree: a linear congruential generator of 48 bits. `nextInt(bound)` draws again where a
plain remainder would favour small numbers.

    >>> random = JavaRandom(42)
    >>> [random.next_int(10) for _ in range(5)]
    [0, 3, 8, 4, 0]
"""

from __future__ import annotations

from collections.abc import MutableSequence
from typing import TypeVar

_MULTIPLIER = 0x5DEECE66D
_MASK = (1 << 48) - 1

T = TypeVar("T")


class JavaRandom:
    """A random source with a seed, as `new java.util.Random(seed)`."""

    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ _MULTIPLIER) & _MASK

    def _next(self, bits: int) -> int:
        self._state = (self._state * _MULTIPLIER + 0xB) & _MASK
        drawn = self._state >> (48 - bits)
        return drawn - (1 << bits) if drawn >> (bits - 1) else drawn

    def next_int(self, bound: int | None = None) -> int:
        """Draw a number in [0, bound), or any signed 32-bit number without a bound."""
        if bound is None:
            return self._next(32)
        if bound <= 0:
            raise ValueError(f"bound must be positive: {bound}")
        drawn = self._next_positive()
        if bound & (bound - 1) == 0:
            return bound * drawn >> 31
        while drawn - drawn % bound + bound - 1 >= 1 << 31:
            drawn = self._next_positive()
        return drawn % bound

    def _next_positive(self) -> int:
        self._state = (self._state * _MULTIPLIER + 0xB) & _MASK
        return self._state >> 17

    def shuffle(self, items: MutableSequence[T]) -> None:
        """Shuffle the items in place as `Collections.shuffle(items, random)`."""
        for size in range(len(items), 1, -1):
            other = self.next_int(size)
            items[size - 1], items[other] = items[other], items[size - 1]
