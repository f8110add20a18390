"""The kind of offsets in a kafka-get-offsets dump: its lines do not show the value of --time, so the name of the file does.

offsets-earliest.txt       log start offsets
offsets-max-timestamp.txt  neither start nor end offsets: rejected
any other name             log end offsets, which the tool prints without --time
"""

from __future__ import annotations

import re
from dataclasses import replace

from jobs.ingest.dump import Parsed, Rejected
from jobs.ingest.facts import EndOffset, StartOffset
from jobs.ingest.formats import kafka_get_offsets
from jobs.ingest.offset_columns import OffsetColumns
from jobs.ingest.reading import Reading, read_entries
from jobs.ingest.replica_logs import ReplicaLogs
from jobs.ingest.resolve.origin import ParsedFile

_OTHER = re.compile(r"earliest.?(?:local|pending)|latest.?tiered|max.?timestamp", re.IGNORECASE)
_EARLIEST = re.compile(r"earliest|beginning|start.?offset", re.IGNORECASE)


def with_kind_of_offsets(file: ParsedFile) -> ParsedFile:
    """Return the file with the offsets that its name states; any other file as it is."""
    if file.reading.format != kafka_get_offsets.NAME:
        return file
    name = file.name.rpartition("/")[2]
    if other := _OTHER.search(name):
        entries = file.reading if file.reading.ends is None else read_entries(file.reading.ends.data)
        rejected = [Rejected(entry.line, entry.entry, f"no table has the offsets of --time {other[0]}") for entry in entries.parsed]
        return replace(file, reading=replace(entries, parsed=[], rejected=sorted([*entries.rejected, *rejected])))
    if _EARLIEST.search(name):
        return replace(file, reading=_starts(file.reading))
    return file


def line_by_line(file: ParsedFile, columns: OffsetColumns | ReplicaLogs) -> ParsedFile:
    """Return the file with each entry by itself instead of its columns."""
    return with_kind_of_offsets(replace(file, reading=read_entries(columns.data)))


def _starts(reading: Reading) -> Reading:
    parsed = [_as_start(entry) for entry in reading.parsed]
    return replace(reading, parsed=parsed, ends=None, starts=reading.ends)


def _as_start(entry: Parsed) -> Parsed:
    return entry._replace(fact=StartOffset(*entry.fact)) if isinstance(entry.fact, EndOffset) else entry
