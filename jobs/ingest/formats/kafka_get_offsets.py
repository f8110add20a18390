"""kafka-get-offsets: the end or start offset of each partition.

Printed by org.apache.kafka.tools.GetOffsetShell, in earlier versions kafka.tools.GetOffsetShell.

    orders:0:0
    orders:1:500

A partition without an offset is printed as `orders:2:`. With --time earliest the offsets are start offsets, which only the name of the file
can show: resolve/offsets.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobs.ingest import offset_columns
from jobs.ingest.dump import Dump, Parsed, Rejected, Unreadable, identifier, topic_name, whole_number
from jobs.ingest.facts import EndOffset
from jobs.ingest.offset_columns import OffsetColumns
from jobs.ingest.precedence import Precedence

NAME = "kafka-get-offsets"
PRECEDENCE = Precedence.KAFKA_TOOL

_LINE = re.compile(r"([^\s:]+):([0-9]+):([0-9]*)\s{0,16}")
_KNOWN_BY = re.compile(r"^[a-zA-Z0-9._-]{1,249}:[0-9]+:[0-9]*\r?$", re.MULTILINE | re.ASCII)


def recognises(dump: Dump) -> bool:
    """Return whether the dump contains a line with topic, partition and offset."""
    return _KNOWN_BY.search(dump.head) is not None


def parse(dump: Dump) -> Iterator[Parsed | Rejected]:
    """Yield a fact for each line that has an offset."""
    for number, line in dump.lines():
        yield _line(number, line)


def parse_columns(dump: Dump) -> tuple[list[Parsed | Rejected], dict[str, OffsetColumns]] | None:
    """Parse the offsets of a large text into columns; None if the text must be parsed line by line."""
    columns = offset_columns.read(dump.data)
    if columns is None:
        return None
    ends, other_lines = columns
    entries = [_line(number, line.removesuffix("\r")) for number, line in other_lines if line and not line.isspace()]
    return (entries, {"ends": ends}) if all(isinstance(entry, Rejected) for entry in entries) else None


def _line(number: int, line: str) -> Parsed | Rejected:
    match = _LINE.fullmatch(line)
    try:
        if not match:
            raise Unreadable("not topic:partition:offset")
        topic, partition, offset = match.groups()
        if not offset:
            raise Unreadable("the offset is missing")
        return Parsed(number, line, EndOffset(topic_name(topic), identifier(partition, "partition"), whole_number(offset, "offset")))
    except Unreadable as e:
        return Rejected(number, line, str(e))
