"""kafka-get-offsets (kafka.tools.GetOffsetShell, org.apache.kafka.tools.GetOffsetShell): the end offset of each partition.

    orders:0:0
    orders:1:500

A partition without an offset is printed as `orders:2:`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobs.ingest import end_offsets
from jobs.ingest.dump import Dump, Rejected, Told, Unreadable, identifier, topic_name, whole_number
from jobs.ingest.end_offsets import EndOffsets
from jobs.ingest.facts import EndOffset

NAME = "kafka-get-offsets"

_LINE = re.compile(r"([^\s:]+):([0-9]+):([0-9]*)\s{0,16}")
_KNOWN_BY = re.compile(r"^[a-zA-Z0-9._-]{1,249}:[0-9]+:[0-9]*\r?$", re.MULTILINE | re.ASCII)


def recognises(dump: Dump) -> bool:
    """Whether a line of topic, partition and offset is there."""
    return _KNOWN_BY.search(dump.head) is not None


def parse(dump: Dump) -> Iterator[Told | Rejected]:
    """A fact for each line that has an offset."""
    for number, line in dump.lines():
        yield _line(number, line)


def parse_columns(data: bytes) -> tuple[list[Rejected], EndOffsets] | None:
    """The same of a large text: the offsets as columns, and the lines that are refused; None: it is to be read line by line."""
    found = end_offsets.read(data)
    if found is None:
        return None
    ends, others = found
    entries = [_line(number, line.removesuffix("\r")) for number, line in others if line and not line.isspace()]
    rejected = [entry for entry in entries if isinstance(entry, Rejected)]
    return (rejected, ends) if len(rejected) == len(entries) else None


def _line(number: int, line: str) -> Told | Rejected:
    match = _LINE.fullmatch(line)
    try:
        if not match:
            raise Unreadable("not topic:partition:offset")
        topic, partition, offset = match.groups()
        if not offset:
            raise Unreadable("no offset is told")
        return Told(number, line, EndOffset(topic_name(topic), identifier(partition, "partition"), whole_number(offset, "offset")))
    except Unreadable as e:
        return Rejected(number, line, str(e))
