"""Kafka versions. Functions whose answers differ between versions take the version as text.

>>> release("3.10") > release("3.9.2") >= (3, 9)
True
"""

from __future__ import annotations

LATEST = "4.3"


class UnknownVersion(ValueError):
    """The model does not reproduce the algorithm of this Kafka version."""


def release(version: str) -> tuple[int, ...]:
    """Parse a version into numbers that compare in the order of versions."""
    return tuple(map(int, version.split(".")))
