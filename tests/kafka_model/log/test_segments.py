from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_model.log.segments import (
    IndexEntry,
    Segment,
    TimeIndexEntry,
    deletable_by_size,
    deletable_by_time,
    deletable_bytes,
    index_entries,
    lookup,
    lookup_time,
    segments,
)

SEED = Segment(170410, 1_000, (IndexEntry(0, 0), IndexEntry(3, 348), IndexEntry(6, 701)))


def test_seed_003_the_entry_3_348_of_segment_170410_is_offset_170413_at_byte_348() -> None:
    assert SEED.name == "00000000000000170410.log"
    assert lookup([SEED], 170413) == (0, 348)


def test_a_lookup_scans_from_the_last_entry_not_above_the_target() -> None:
    assert [lookup([SEED], offset) for offset in (170410, 170412, 170415, 170416, 170999)] == [(0, 0), (0, 0), (0, 348), (0, 701), (0, 701)]


def test_a_lookup_selects_the_last_segment_that_starts_at_the_target_or_before() -> None:
    log = [Segment(0, 10), SEED, Segment(180000, 10)]
    assert [lookup(log, offset) for offset in (0, 170409, 170410, 180000, 200000)] == [(0, 0), (0, 0), (1, 0), (2, 0), (2, 0)]
    assert lookup([SEED], 170409) is None


def test_a_lookup_by_time_selects_the_first_segment_with_a_record_of_that_time_or_later() -> None:
    early = Segment(0, 10, time_index=(TimeIndexEntry(100, 4), TimeIndexEntry(200, 9)), largest_timestamp_ms=200)
    late = Segment(10, 10, time_index=(TimeIndexEntry(300, 5),), largest_timestamp_ms=350)
    starts = [lookup_time([early, late], timestamp) for timestamp in (50, 100, 150, 200, 201, 300, 350, 351)]
    assert starts == [(0, 0), (0, 4), (0, 4), (0, 9), (1, 10), (1, 15), (1, 15), None]


def test_retention_by_size_deletes_the_oldest_segments_and_leaves_at_least_retention_bytes() -> None:
    log = [Segment(base, 100) for base in (0, 10, 20, 30)]
    assert [deletable_by_size(log, retention_bytes) for retention_bytes in (-1, 400, 301, 300, 299, 100, 1, 0)] == [0, 0, 0, 1, 1, 3, 3, 4]


def test_retention_by_time_stops_at_the_first_segment_that_is_new_enough() -> None:
    log = [Segment(base, 100, largest_timestamp_ms=timestamp) for base, timestamp in ((0, 10), (10, 50), (20, 20), (30, 99))]
    assert [deletable_by_time(log, retention_ms, 100) for retention_ms in (-1, 90, 89, 50, 49, 1, 0)] == [0, 0, 1, 1, 3, 3, 4]


def test_an_empty_active_segment_is_never_deleted() -> None:
    log = [Segment(0, 100, largest_timestamp_ms=0), Segment(10, 0, largest_timestamp_ms=0)]
    assert deletable_by_size(log, 0) == 1
    assert deletable_by_time(log, 5, 100) == 1


@pytest.mark.parametrize(("size", "count"), [(0, 1), (1, 1), (1000, 1), (1001, 2), (2500, 3)])
def test_minimum_number_of_segments(size: int, count: int) -> None:
    assert segments(size, segment_bytes=1000) == count


@given(st.integers(0, 20_000), st.integers(1, 900), st.integers(-1, 20_000))
def test_bounds_from_the_size_equal_those_of_a_log_with_full_segments(size: int, segment_bytes: int, retention_bytes: int) -> None:
    count = segments(size, segment_bytes)
    log = [Segment(number, min(segment_bytes, size - number * segment_bytes)) for number in range(count)]
    closed = min(deletable_by_size(log, retention_bytes), count - 1)
    assert deletable_bytes(size, retention_bytes, segment_bytes) == sum(segment.size_bytes for segment in log[:closed])


@given(st.lists(st.integers(1, 9_000), max_size=60), st.integers(0, 5_000))
def test_no_sequence_of_batches_exceeds_the_bound_of_index_entries(batches: list[int], interval: int) -> None:
    entries = since = 0
    for batch in batches:
        if since > interval:
            entries, since = entries + 1, 0
        since += batch
    assert entries <= index_entries(sum(batches), interval)


@pytest.mark.parametrize("interval", [0, 1, 4096])
def test_batches_of_one_byte_reach_the_bound_of_index_entries(interval: int) -> None:
    entries = since = 0
    for _ in range(3 * interval + 10):
        if since > interval:
            entries, since = entries + 1, 0
        since += 1
    assert entries == index_entries(3 * interval + 10, interval)
