"""The precedence of formats: decides which of two contradicting entries is used. Each module of formats/ declares its own."""

from __future__ import annotations

from enum import IntEnum


class Precedence(IntEnum):
    """The rank of a format; a lower value is a better source."""

    METADATA_LOG = 0  # one consistent state of KRaft's controllers
    ZOOKEEPER = 1
    KAFKA_TOOL = 2
    KCAT = 3
    CRUISE_CONTROL = 4
