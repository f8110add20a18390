"""How a partition lies on disk: segments, their sparse indexes, lookup and retention (LogSegment, OffsetIndex, TimeIndex, UnifiedLog;
Kafka 2.0 to 4.3).

A segment is a file named by its first offset. Its offset index has an entry (offset relative to the base, position) for every so many
bytes of log. A lookup bisects the segments, then the index for the greatest entry not above the target, and scans from there. The entry
(3, 348) in the segment with base 170410 is offset 170413, in the batch at byte 348:

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
from dataclasses import dataclass, replace

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
    """A segment of a log, with its indexes, and what its growth depends on."""

    base_offset: int
    size_bytes: int
    offset_index: tuple[IndexEntry, ...] = ()
    time_index: tuple[TimeIndexEntry, ...] = ()
    largest_timestamp_ms: int | None = None  # of its records, or of its last write where they bear none; None: not known
    largest_timestamp_offset: int = 0  # the last offset of the batch that bears it
    first_timestamp_ms: int | None = None  # the largest of its first batch
    created_ms: int = 0
    bytes_since_index_entry: int = 0

    @property
    def name(self) -> str:
        """The name of its log file."""
        return f"{self.base_offset:020d}.log"


@dataclass(frozen=True, slots=True)
class LogConfig:
    """What a topic says about its segments."""

    segment_bytes: int = SEGMENT_BYTES
    segment_ms: int = 7 * 24 * 3_600_000
    index_interval_bytes: int = INDEX_INTERVAL_BYTES
    segment_index_bytes: int = 10 << 20


@dataclass(frozen=True, slots=True)
class Batch:
    """What a log looks at in a record batch that is appended."""

    base_offset: int
    last_offset: int
    size_bytes: int
    max_timestamp_ms: int


class RecordBatchTooLarge(ValueError):
    """A batch is larger than a segment may be."""


# ---------------------------------------------------------------- growth
def append(log: Sequence[Segment], batch: Batch, config: LogConfig, *, now_ms: int) -> tuple[Segment, ...]:
    """The log with one batch more, in a new segment if the active one is full or old. (Before 4.1, batches that came in one request
    counted as one.)
    """
    if batch.size_bytes > config.segment_bytes:
        raise RecordBatchTooLarge(f"a batch of {batch.size_bytes} bytes does not fit a segment of {config.segment_bytes}")
    *closed, active = log
    if should_roll(active, batch, config, now_ms=now_ms):
        closed.append(_closed(active))
        active = Segment(batch.base_offset, 0, created_ms=now_ms)
    position = active.size_bytes
    if position == 0:
        active = replace(active, first_timestamp_ms=batch.max_timestamp_ms)
    if active.largest_timestamp_ms is None or batch.max_timestamp_ms > active.largest_timestamp_ms:
        active = replace(active, largest_timestamp_ms=batch.max_timestamp_ms, largest_timestamp_offset=batch.last_offset)
    if active.bytes_since_index_entry > config.index_interval_bytes:
        entry = IndexEntry(batch.last_offset - active.base_offset, position)
        active = replace(active, offset_index=(*active.offset_index, entry), time_index=_timed(active), bytes_since_index_entry=0)
    grown = active.bytes_since_index_entry + batch.size_bytes
    return (*closed, replace(active, size_bytes=position + batch.size_bytes, bytes_since_index_entry=grown))


def should_roll(segment: Segment, batch: Batch, config: LogConfig, *, now_ms: int) -> bool:
    """Whether a batch needs a new segment: by size, by the age of the first batch (by its timestamp, if it has one), by a full index, by
    its offset.
    """
    if segment.first_timestamp_ms is not None and segment.first_timestamp_ms >= 0:
        waited_ms = batch.max_timestamp_ms - segment.first_timestamp_ms
    else:
        waited_ms = now_ms - segment.created_ms
    return (
        segment.size_bytes > config.segment_bytes - batch.size_bytes
        or (segment.size_bytes > 0 and waited_ms > config.segment_ms)
        or len(segment.offset_index) >= config.segment_index_bytes // OFFSET_INDEX_ENTRY_BYTES
        or len(segment.time_index) >= config.segment_index_bytes // TIME_INDEX_ENTRY_BYTES - 1
        or batch.last_offset - segment.base_offset > 0x7FFFFFFF
    )


def _closed(segment: Segment) -> Segment:
    return replace(segment, time_index=_timed(segment))


def _timed(segment: Segment) -> tuple[TimeIndexEntry, ...]:
    """The time index with the largest timestamp so far, if that is news."""
    last = segment.time_index[-1].timestamp_ms if segment.time_index else -1
    if segment.largest_timestamp_ms is None or segment.largest_timestamp_ms <= last:
        return segment.time_index
    return (*segment.time_index, TimeIndexEntry(segment.largest_timestamp_ms, segment.largest_timestamp_offset - segment.base_offset))


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
def deletable_by_size(log: Sequence[Segment], retention_bytes: int, *, high_watermark: int | None = None) -> int:
    """How many of the oldest segments go: each that leaves retention_bytes or more behind; -1 keeps all. None: all records are below the
    HW.
    """
    excess = sum(segment.size_bytes for segment in log) - retention_bytes
    if retention_bytes < 0:
        return 0
    count = 0
    for segment in _deletable(log, high_watermark):
        if excess < segment.size_bytes:
            break
        excess -= segment.size_bytes
        count += 1
    return count


def deletable_by_time(log: Sequence[Segment], retention_ms: int, now_ms: int, *, high_watermark: int | None = None) -> int:
    """How many of the oldest segments go: each whose newest record is older than retention_ms, up to the first that is not; -1 keeps
    all.
    """
    if retention_ms < 0:
        return 0
    count = 0
    for segment in _deletable(log, high_watermark):
        if segment.largest_timestamp_ms is None or now_ms - segment.largest_timestamp_ms <= retention_ms:
            break
        count += 1
    return count


def _deletable(log: Sequence[Segment], high_watermark: int | None) -> Sequence[Segment]:
    """All segments that lie below the high watermark, but not an empty active one: a full one is rolled before it goes, and so active no
    more.

    The last segment's end is the log's, which is below the HW only if all is.
    """
    whole = log if log and log[-1].size_bytes else log[:-1]
    if high_watermark is None:
        return whole
    return [segment for segment, later in zip(whole, log[1:], strict=False) if later.base_offset <= high_watermark]


# ---------------------------------------------------------------- closed forms, where only the size is known
def segments(size_bytes: int, segment_bytes: int = SEGMENT_BYTES) -> int:
    """The least number of segments that hold so many bytes, the active one included: an empty log has one."""
    return max(1, -(-size_bytes // segment_bytes))


def index_entries(size_bytes: int, index_interval_bytes: int = INDEX_INTERVAL_BYTES) -> int:
    """The most entries that the offset index of so many bytes of log has: one for each batch that finds more than an interval behind the
    last.

    The time index has at most one more, which closes its segment.
    """
    return max(0, size_bytes - 1) // (index_interval_bytes + 1)


def deletable_bytes(size_bytes: int, retention_bytes: int, segment_bytes: int = SEGMENT_BYTES) -> int:
    """What retention by size frees of a log cut into full segments: whole closed ones, oldest first, down to retention_bytes or more."""
    if retention_bytes < 0 or size_bytes <= retention_bytes:
        return 0
    closed = segments(size_bytes, segment_bytes) - 1
    return min(closed, (size_bytes - retention_bytes) // segment_bytes) * segment_bytes
