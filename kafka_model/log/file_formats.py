"""The files of a partition's folder, as they lie on disk: record batches, indexes, checkpoints (Kafka 0.11 to 4.3, record batch version
2).

A `.log` is record batches end to end, a `.index` pairs of 4-byte numbers, a `.timeindex` pairs of an 8-byte and a 4-byte one; those of
the active segment are allocated ahead and end in zeros. Checkpoints are text: a version, a count, and that many lines.

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
_LOG_OVERHEAD = 12  # base offset and length, which the length does not count
_COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")


class UnknownMagic(ValueError):
    """A batch is not of version 2: it was written before Kafka 0.11, or the bytes are no log."""


class MalformedCheckpoint(ValueError):
    """A checkpoint file does not say what its version and count promise."""


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """The header of a record batch, and where it lies in its file."""

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
        """How the records are compressed."""
        return _COMPRESSIONS[self.attributes & 7]

    @property
    def log_append_time(self) -> bool:
        """The timestamp is the broker's, not the producer's."""
        return bool(self.attributes & 8)

    @property
    def transactional(self) -> bool:
        """It is part of a transaction."""
        return bool(self.attributes & 16)

    @property
    def control(self) -> bool:
        """It is a marker, not data."""
        return bool(self.attributes & 32)


def read_batches(log: bytes) -> Iterator[RecordBatch]:
    """The batches of a `.log`, up to the end or to the first that is not whole: a crash may leave such a one."""
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
    """The entries of a `.index`, without the zeros that an active segment's ends in."""
    entries = []
    for relative_offset, position in struct.iter_unpack(">ii", index[: len(index) - len(index) % OFFSET_INDEX_ENTRY_BYTES]):
        if position == 0:  # no entry points at the first batch
            break
        entries.append(IndexEntry(relative_offset, position))
    return tuple(entries)


def read_time_index(index: bytes) -> tuple[TimeIndexEntry, ...]:
    """The entries of a `.timeindex`, without the zeros that an active segment's ends in."""
    entries: list[TimeIndexEntry] = []
    for timestamp_ms, relative_offset in struct.iter_unpack(">qi", index[: len(index) - len(index) % TIME_INDEX_ENTRY_BYTES]):
        if timestamp_ms == relative_offset == 0 or (entries and timestamp_ms <= entries[-1].timestamp_ms):
            break
        entries.append(TimeIndexEntry(timestamp_ms, relative_offset))
    return tuple(entries)


def read_offset_checkpoint(text: str) -> dict[tuple[str, int], int]:
    """An offset of each partition: `replication-offset-checkpoint` (high watermarks), `recovery-point-...`, `log-start-...`,
    `cleaner-...`.
    """
    offsets: dict[tuple[str, int], int] = {}
    for topic, partition, offset in _lines(text, fields=3):
        offsets[topic, _number(partition)] = _number(offset)
    return offsets


def read_epoch_checkpoint(text: str) -> tuple[EpochEntry, ...]:
    """Where each leader's records begin: `leader-epoch-checkpoint`."""
    return tuple(EpochEntry(_number(epoch), _number(offset)) for epoch, offset in _lines(text, fields=2))


def _lines(text: str, *, fields: int) -> list[list[str]]:
    version, *rest = text.splitlines() or [""]
    if version != "0":
        raise MalformedCheckpoint(f"the version is {version!r}, not 0")
    count, *lines = rest or [""]
    split = [line.split() for line in lines]
    if _number(count) != len(lines) or any(len(line) != fields for line in split):
        raise MalformedCheckpoint(f"{count} lines of {fields} words are promised, {len(lines)} lines follow")
    return split


def _number(word: str) -> int:
    try:
        return int(word)
    except ValueError:
        raise MalformedCheckpoint(f"{word!r} is no number") from None
