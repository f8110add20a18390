"""Formats of the files of a partition: FileRecords, OffsetIndex, TimeIndex and CheckpointFile (Kafka 4.0 to 4.4, record batches v2).

A `.log` file is a sequence of record batches. A `.index` file contains pairs of 4-byte numbers, a `.timeindex` file pairs of an 8-byte
and a 4-byte number. Index files of the active segment are preallocated and end in zeros. Checkpoints are text: a version, a count, and
that number of lines.

    >>> read_offset_index(bytes.fromhex("00000003 0000015c 00000000 00000000"))
    (IndexEntry(relative_offset=3, position=348),)
    >>> read_offset_checkpoint("0\\n1\\norders 2 170413\\n")
    {('orders', 2): 170413}
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from kafka_model.log.replication import EpochEntry
from kafka_model.log.segments import OFFSET_INDEX_ENTRY_BYTES, TIME_INDEX_ENTRY_BYTES, IndexEntry, TimeIndexEntry

_HEADER = struct.Struct(">qiibIhiqqqhii")
_LOG_OVERHEAD = 12  # base offset and length; the length field does not include them
_COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")


class UnknownMagic(ValueError):
    """A batch does not have version 2: it was written before Kafka 0.11, or the bytes are not a log."""


class MalformedCheckpoint(ValueError):
    """The content of a checkpoint file does not match its version and count."""


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """The header of a record batch and its position in the file."""

    position: int
    size_bytes: int
    base_offset: int
    last_offset: int
    partition_leader_epoch: int
    crc: int
    attributes: int
    base_timestamp_ms: int
    max_timestamp_ms: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records: int

    @property
    def compression(self) -> str:
        """The compression of the records."""
        return _COMPRESSIONS[self.attributes & 7]

    @property
    def log_append_time(self) -> bool:
        """Return whether the timestamp is the broker's, not the producer's."""
        return bool(self.attributes & 8)

    @property
    def transactional(self) -> bool:
        """Return whether the batch is part of a transaction."""
        return bool(self.attributes & 16)

    @property
    def control(self) -> bool:
        """Return whether the batch is a control record, such as a transaction marker, and not data."""
        return bool(self.attributes & 32)


def read_batches(log: bytes) -> Iterator[RecordBatch]:
    """Parse the batches of a `.log` file, up to its end or to the first incomplete batch, which a crash may leave."""
    position = 0
    while position + _LOG_OVERHEAD <= len(log):
        length = int.from_bytes(log[position + 8 : position + 12], "big", signed=True)
        size = _LOG_OVERHEAD + length
        if position + size > len(log) or size < _HEADER.size:
            return
        base, _, leader_epoch, magic, crc, attributes, last_delta, *rest = _HEADER.unpack_from(log, position)
        if magic != 2:
            raise UnknownMagic(f"the batch at byte {position} has magic {magic}")
        yield RecordBatch(position, size, base, base + last_delta, leader_epoch, crc, attributes, *rest)
        position += size


def read_offset_index(index: bytes) -> tuple[IndexEntry, ...]:
    """Parse the entries of a `.index` file, without the zeros at the end of an active segment's."""
    entries = []
    for relative_offset, position in struct.iter_unpack(">ii", index[: len(index) - len(index) % OFFSET_INDEX_ENTRY_BYTES]):
        if position == 0:  # no entry points to the first batch
            break
        entries.append(IndexEntry(relative_offset, position))
    return tuple(entries)


def read_time_index(index: bytes) -> tuple[TimeIndexEntry, ...]:
    """Parse the entries of a `.timeindex` file, without the zeros at the end of an active segment's."""
    entries: list[TimeIndexEntry] = []
    for timestamp_ms, relative_offset in struct.iter_unpack(">qi", index[: len(index) - len(index) % TIME_INDEX_ENTRY_BYTES]):
        if timestamp_ms == relative_offset == 0 or (entries and timestamp_ms <= entries[-1].timestamp_ms):
            break
        entries.append(TimeIndexEntry(timestamp_ms, relative_offset))
    return tuple(entries)


def read_offset_checkpoint(text: str) -> dict[tuple[str, int], int]:
    """Parse a checkpoint with one offset per partition.

    Such files are `replication-offset-checkpoint` (high watermarks), `recovery-point-...`, `log-start-...` and `cleaner-...`.
    """
    offsets: dict[tuple[str, int], int] = {}
    for topic, partition, offset in _lines(text, fields=3):
        offsets[topic, _number(partition)] = _number(offset)
    return offsets


def read_epoch_checkpoint(text: str) -> tuple[EpochEntry, ...]:
    """Parse a `leader-epoch-checkpoint`: the start offset of each leader epoch."""
    return tuple(EpochEntry(_number(epoch), _number(offset)) for epoch, offset in _lines(text, fields=2))


def _lines(text: str, *, fields: int) -> list[list[str]]:
    version, *rest = text.splitlines() or [""]
    if version != "0":
        raise MalformedCheckpoint(f"the version is {version!r}, not 0")
    count, *lines = rest or [""]
    split = [line.split() for line in lines]
    if _number(count) != len(lines) or any(len(line) != fields for line in split):
        raise MalformedCheckpoint(f"the count is {count} lines of {fields} words, but {len(lines)} lines follow")
    return split


def _number(word: str) -> int:
    try:
        return int(word)
    except ValueError:
        raise MalformedCheckpoint(f"{word!r} is not a number") from None
