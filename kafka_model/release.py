"""Versions of Kafka, which the functions take as text where its answers differ between them.

>>> release("3.10") > release("3.9.2") >= (3, 9)
True
"""

from __future__ import annotations

LATEST = "4.3"


class UnknownVersion(ValueError):
    """A Kafka version whose algorithm is not modelled."""


def release(version: str) -> tuple[int, ...]:
    """The numbers of a version, which compare as versions do."""
    return tuple(map(int, version.split(".")))
