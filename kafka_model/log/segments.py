"""Segments of a log, their sparse indexes, lookup and retention: LogSegment, OffsetIndex, TimeIndex and UnifiedLog (Kafka 4.1 to 4.4).

A segment is a file named after its first offset. Its offset index has entries (offset relative to the base, position), at least
index.interval.bytes apart. A lookup bisects the segments, then the index for the last entry not above the target, and scans from its
position. The entry (3, 348) in the segment with base 170410 is offset 170413, in the batch at byte 348:

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
    """An entry of the offset index: an offset relative to the segment's base, and the position of the batch that contains it."""

    relative_offset: int
    position: int


@dataclass(frozen=True, slots=True, order=True)
class TimeIndexEntry:
    """An entry of the time index: the largest timestamp so far, and the relative offset of its record."""

    timestamp_ms: int
    relative_offset: int


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment of a log with its indexes, and the state that decides when it rolls."""

    base_offset: int
    size_bytes: int
    offset_index: tuple[IndexEntry, ...] = ()
    time_index: tuple[TimeIndexEntry, ...] = ()
    largest_timestamp_ms: int | None = None  # of its records, or of the last write if they have none; None: unknown
    largest_timestamp_offset: int = 0  # the last offset of the batch with the largest timestamp
    first_timestamp_ms: int | None = None  # the largest timestamp of its first batch
    created_ms: int = 0
    bytes_since_index_entry: int = 0

    @property
    def name(self) -> str:
        """The name of the log file."""
        return f"{self.base_offset:020d}.log"


@dataclass(frozen=True, slots=True)
class LogConfig:
    """The configs of a topic that its segments depend on."""

    segment_bytes: int = SEGMENT_BYTES
    segment_ms: int = 7 * 24 * 3_600_000
    index_interval_bytes: int = INDEX_INTERVAL_BYTES
    segment_index_bytes: int = 10 << 20


@dataclass(frozen=True, slots=True)
class Batch:
    """The fields of an appended record batch that its log depends on."""

    base_offset: int
    last_offset: int
    size_bytes: int
    max_timestamp_ms: int


class RecordBatchTooLarge(ValueError):
    """A batch is larger than segment.bytes."""


# ---------------------------------------------------------------- growth
def append(log: Sequence[Segment], batch: Batch, config: LogConfig, *, now_ms: int) -> tuple[Segment, ...]:
    """Append a batch, to a new segment if the active one is full or old.

    Before 4.1, the batches of one request counted as one batch.
    """
    if batch.size_bytes > config.segment_bytes:
        raise RecordBatchTooLarge(f"a batch of {batch.size_bytes} bytes does not fit into a segment of {config.segment_bytes} bytes")
    *closed, active = log
    if should_roll(active, batch, config, now_ms=now_ms):
        closed.append(replace(active, time_index=_extended_time_index(active)))
        active = Segment(batch.base_offset, 0, created_ms=now_ms)
    position = active.size_bytes
    if position == 0:
        active = replace(active, first_timestamp_ms=batch.max_timestamp_ms)
    if active.largest_timestamp_ms is None or batch.max_timestamp_ms > active.largest_timestamp_ms:
        active = replace(active, largest_timestamp_ms=batch.max_timestamp_ms, largest_timestamp_offset=batch.last_offset)
    if active.bytes_since_index_entry > config.index_interval_bytes:
        entry = IndexEntry(batch.last_offset - active.base_offset, position)
        offset_index, time_index = (*active.offset_index, entry), _extended_time_index(active)
        active = replace(active, offset_index=offset_index, time_index=time_index, bytes_since_index_entry=0)
    since_entry = active.bytes_since_index_entry + batch.size_bytes
    return (*closed, replace(active, size_bytes=position + batch.size_bytes, bytes_since_index_entry=since_entry))


def should_roll(segment: Segment, batch: Batch, config: LogConfig, *, now_ms: int) -> bool:
    """Return whether a batch needs a new segment: because of size, age of the first batch, a full index, or a too large relative offset.

    The age is that of the first batch's timestamp if it has one, otherwise that of the segment.
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


def _extended_time_index(segment: Segment) -> tuple[TimeIndexEntry, ...]:
    """Add the largest timestamp so far to the time index if it is larger than the last entry's."""
    last = segment.time_index[-1].timestamp_ms if segment.time_index else -1
    if segment.largest_timestamp_ms is None or segment.largest_timestamp_ms <= last:
        return segment.time_index
    return (*segment.time_index, TimeIndexEntry(segment.largest_timestamp_ms, segment.largest_timestamp_offset - segment.base_offset))


# ---------------------------------------------------------------- lookup
def lookup(log: Sequence[Segment], offset: int) -> tuple[int, int] | None:
    """Find the segment (its number in the log) and the position to scan from for an offset. None if the log starts above it."""
    number = bisect_right(log, offset, key=lambda segment: segment.base_offset) - 1
    if number < 0:
        return None
    segment = log[number]
    entry = bisect_right(segment.offset_index, offset - segment.base_offset, key=lambda entry: entry.relative_offset) - 1
    return number, segment.offset_index[entry].position if entry >= 0 else 0


def lookup_time(log: Sequence[Segment], timestamp_ms: int) -> tuple[int, int] | None:
    """Find the segment and the offset to scan from for the first record of this time or later. None if all records are earlier."""
    for number, segment in enumerate(log):
        if segment.largest_timestamp_ms is not None and segment.largest_timestamp_ms >= timestamp_ms:
            entry = bisect_right(segment.time_index, timestamp_ms, key=lambda entry: entry.timestamp_ms) - 1
            return number, segment.base_offset + (segment.time_index[entry].relative_offset if entry >= 0 else 0)
    return None


# ---------------------------------------------------------------- retention
def deletable_by_size(log: Sequence[Segment], retention_bytes: int, *, high_watermark: int | None = None) -> int:
    """Count the oldest segments that retention.bytes deletes: at least retention_bytes must remain. -1 deletes none.

    Without `high_watermark`, all records are below it.
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
    """Count the oldest segments that retention.ms deletes, up to the first with a record that is new enough. -1 deletes none.

    Without `high_watermark`, all records are below it.
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
    """List the segments below the high watermark, without an empty active one.

    A non-empty active segment is rolled before its deletion. It is below the high watermark only if the whole log is.
    """
    nonempty = log if log and log[-1].size_bytes else log[:-1]
    if high_watermark is None:
        return nonempty
    return [segment for segment, later in zip(nonempty, log[1:], strict=False) if later.base_offset <= high_watermark]


# ---------------------------------------------------------------- bounds from the size alone
def segments(size_bytes: int, segment_bytes: int = SEGMENT_BYTES) -> int:
    """Compute the minimum number of segments for a log of this size, the active one included. An empty log has one."""
    return max(1, -(-size_bytes // segment_bytes))


def index_entries(size_bytes: int, index_interval_bytes: int = INDEX_INTERVAL_BYTES) -> int:
    """Compute the maximum number of entries in the offset indexes of a log of this size.

    A batch adds an entry if more than index_interval_bytes were appended since the last one. The time index of a segment has at most one
    entry more, added when the segment is closed.
    """
    return max(0, size_bytes - 1) // (index_interval_bytes + 1)


def deletable_bytes(size_bytes: int, retention_bytes: int, segment_bytes: int = SEGMENT_BYTES) -> int:
    """Compute the bytes that retention.bytes deletes from a log with full segments: closed segments, oldest first.

    At least retention_bytes remain.
    """
    if retention_bytes < 0 or size_bytes <= retention_bytes:
        return 0
    closed = segments(size_bytes, segment_bytes) - 1
    return min(closed, (size_bytes - retention_bytes) // segment_bytes) * segment_bytes
