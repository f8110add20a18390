"""How a partition lies on disk: segments, their sparse indexes, lookup and retention (LogSegment, OffsetIndex, TimeIndex, UnifiedLog; Kafka 2.0 to 4.3).

A segment is a file named by its first offset. Its offset index has an entry (offset relative to the base, position) for every so many bytes of
log. A lookup bisects the segments, then the index for the greatest entry not above the target, and scans from there. The entry (3, 348) in the
segment with base 170410 is offset 170413, in the batch at byte 348:

    >>> segment = Segment(170410, 1_000, (IndexEntry(0, 0), IndexEntry(3, 348), IndexEntry(6, 701)))
    >>> segment.name
    '00000000000000170410.log'
    >>> lookup([segment], 170414)
    (0, 348)
    >>> segments(2_500, segment_bytes=1_000), index_entries(2_500)
    (3, 0)
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

SEGMENT_BYTES = 1 << 30
INDEX_INTERVAL_BYTES = 4096
OFFSET_INDEX_ENTRY_BYTES = 8
TIME_INDEX_ENTRY_BYTES = 12


@dataclass(frozen=True, slots=True, order=True)
class IndexEntry:
    """A point of the offset index: an offset less the segment's base, and the position of the batch that holds it."""

    relative_offset: int
    position: int


@dataclass(frozen=True, slots=True, order=True)
class TimeIndexEntry:
    """A point of the time index: the greatest timestamp so far, and the relative offset of the record that bears it."""

    timestamp_ms: int
    relative_offset: int


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment of a log, with its indexes."""

    base_offset: int
    size_bytes: int
    offset_index: tuple[IndexEntry, ...] = ()
    time_index: tuple[TimeIndexEntry, ...] = ()
    largest_timestamp_ms: int | None = None  # of its records, or of its last write where they bear none; None: not known

    @property
    def name(self) -> str:
        """The name of its log file."""
        return f"{self.base_offset:020d}.log"


# ---------------------------------------------------------------- lookup
def lookup(log: Sequence[Segment], offset: int) -> tuple[int, int] | None:
    """The segment (its place in the log) and the position to scan from for an offset; None: it is below the log's first."""
    place = bisect_right(log, offset, key=lambda segment: segment.base_offset) - 1
    if place < 0:
        return None
    segment = log[place]
    at = bisect_right(segment.offset_index, offset - segment.base_offset, key=lambda entry: entry.relative_offset) - 1
    return place, segment.offset_index[at].position if at >= 0 else 0


def lookup_time(log: Sequence[Segment], timestamp_ms: int) -> tuple[int, int] | None:
    """The segment and the offset to scan from for the first record of that time or later; None: all records are earlier."""
    for place, segment in enumerate(log):
        if segment.largest_timestamp_ms is not None and segment.largest_timestamp_ms >= timestamp_ms:
            at = bisect_right(segment.time_index, timestamp_ms, key=lambda entry: entry.timestamp_ms) - 1
            return place, segment.base_offset + (segment.time_index[at].relative_offset if at >= 0 else 0)
    return None


# ---------------------------------------------------------------- retention
def deletable_by_size(log: Sequence[Segment], retention_bytes: int) -> int:
    """How many of the oldest segments go: each that leaves retention_bytes or more behind; -1 keeps all."""
    excess = sum(segment.size_bytes for segment in log) - retention_bytes
    if retention_bytes < 0:
        return 0
    count = 0
    for segment in _rollable(log):
        if excess < segment.size_bytes:
            break
        excess -= segment.size_bytes
        count += 1
    return count


def deletable_by_time(log: Sequence[Segment], retention_ms: int, now_ms: int) -> int:
    """How many of the oldest segments go: each whose newest record is older than retention_ms, up to the first that is not; -1 keeps all."""
    if retention_ms < 0:
        return 0
    count = 0
    for segment in _rollable(log):
        if segment.largest_timestamp_ms is None or now_ms - segment.largest_timestamp_ms <= retention_ms:
            break
        count += 1
    return count


def _rollable(log: Sequence[Segment]) -> Sequence[Segment]:
    """All segments but an empty active one: before the active one is deleted it is rolled, and so active no more."""
    return log if log and log[-1].size_bytes else log[:-1]


# ---------------------------------------------------------------- closed forms, where only the size is known
def segments(size_bytes: int, segment_bytes: int = SEGMENT_BYTES) -> int:
    """The least number of segments that hold so many bytes, the active one included: an empty log has one."""
    return max(1, -(-size_bytes // segment_bytes))


def index_entries(size_bytes: int, index_interval_bytes: int = INDEX_INTERVAL_BYTES) -> int:
    """The most entries that the offset index of so many bytes of log has: one for each batch that finds more than an interval behind the last.

    The time index has at most one more, which closes its segment.
    """
    return max(0, size_bytes - 1) // (index_interval_bytes + 1)


def deletable_bytes(size_bytes: int, retention_bytes: int, segment_bytes: int = SEGMENT_BYTES) -> int:
    """What retention by size frees of a log cut into full segments: whole closed ones, oldest first, down to retention_bytes or more."""
    if retention_bytes < 0 or size_bytes <= retention_bytes:
        return 0
    closed = segments(size_bytes, segment_bytes) - 1
    return min(closed, (size_bytes - retention_bytes) // segment_bytes) * segment_bytes
