"""The scale of a night: one value, decided from the size of its dumps, that every process of the night reads."""

from __future__ import annotations

from enum import StrEnum

MAX_SMALL_BYTES = 4 << 20


class Scale(StrEnum):
    """How large a night is.

    SMALL: start-up and planning take most of the time. One process reads the dumps, rows between two stages stay in this process, and the
    JVM uses its first compiler alone.
    LARGE: Spark's workers read the dumps, rows between two stages go to disk, and the JVM uses its second compiler too.
    """

    SMALL = "small"
    LARGE = "large"

    @classmethod
    def of_dumps(cls, size_bytes: int) -> Scale:
        """Return the scale of a night whose dumps have this total size."""
        return cls.SMALL if size_bytes <= MAX_SMALL_BYTES else cls.LARGE
