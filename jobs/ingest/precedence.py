"""Which of two formats is right where they contradict each other; each module of formats/ declares its own."""

from __future__ import annotations

from enum import IntEnum


class Precedence(IntEnum):
    """The lower, the better the source."""

    METADATA_LOG = 0  # one consistent cut of what KRaft's controllers know
    ZOOKEEPER = 1
    KAFKA_TOOL = 2
    KCAT = 3
    CRUISE_CONTROL = 4
