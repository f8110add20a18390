from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_model.log.file_formats import (
    MalformedCheckpoint,
    UnknownMagic,
    read_batches,
    read_epoch_checkpoint,
    read_offset_checkpoint,
    read_offset_index,
    read_time_index,
)
from kafka_model.log.replication import EpochEntry
from kafka_model.log.segments import Batch, IndexEntry, LogConfig, RecordBatchTooLarge, Segment, append, index_entries, lookup


def test_zeros_at_the_end_of_an_index_are_not_entries() -> None:
    assert read_offset_index(bytes.fromhex("000000030000015c") + bytes(80)) == (IndexEntry(3, 348),)
    assert len(read_time_index(bytes.fromhex("0000018bcfe568000000000a") + bytes(120))) == 1


def test_a_batch_of_an_older_format_is_refused() -> None:
    with pytest.raises(UnknownMagic, match="byte 0 has magic 1"):
        list(read_batches(bytes(11) + bytes([60]) + bytes(4) + bytes([1]) + bytes(60)))


def test_an_incomplete_last_batch_is_skipped() -> None:
    assert list(read_batches(bytes(30))) == []


@pytest.mark.parametrize("text", ["", "1\n0\n", "0\n2\norders 0 5\n", "0\n1\norders 0\n", "0\n1\norders 0 x\n", "0\nx\n"])
def test_a_checkpoint_that_does_not_match_its_version_and_count_is_refused(text: str) -> None:
    with pytest.raises(MalformedCheckpoint):
        read_offset_checkpoint(text)


def test_valid_checkpoints_are_parsed() -> None:
    assert read_offset_checkpoint("0\n2\norders 0 5\na.b 12 7\n") == {("orders", 0): 5, ("a.b", 12): 7}
    assert read_epoch_checkpoint("0\n1\n0 0\n") == (EpochEntry(0, 0),)
    assert read_offset_checkpoint("0\n0\n") == {}


def test_a_batch_larger_than_segment_bytes_is_refused() -> None:
    with pytest.raises(RecordBatchTooLarge):
        append([Segment(0, 0)], Batch(0, 0, 101, 0), LogConfig(segment_bytes=100), now_ms=0)


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(61, 400)), max_size=80), st.integers(0, 1_000))
def test_every_offset_is_at_or_after_the_position_where_its_lookup_begins(batches: list[tuple[int, int]], interval: int) -> None:
    log: tuple[Segment, ...] = (Segment(0, 0),)
    config = LogConfig(segment_bytes=1_500, index_interval_bytes=interval)
    offset, positions = 0, {}
    for records, size in batches:
        log = append(log, Batch(offset, offset + records - 1, size, 0), config, now_ms=0)
        positions |= {record_offset: (len(log) - 1, log[-1].size_bytes - size) for record_offset in range(offset, offset + records)}
        offset += records
    assert sum(segment.size_bytes for segment in log) == sum(size for _, size in batches)
    for record_offset, (segment, position) in positions.items():
        start = lookup(log, record_offset)
        assert start is not None
        assert start[0] == segment
        assert start[1] <= position
    assert all(len(segment.offset_index) <= index_entries(segment.size_bytes, interval) for segment in log)
