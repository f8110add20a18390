"""KRaft's metadata log as files: snapshots and log segments.

Written by Kafka 3.0 to 4.4 as `__cluster_metadata-0/<end offset>-<epoch>.checkpoint`, and the `.log` segments after it.

    batch       61 bytes: base offset, length, leader epoch, magic 2, CRC-32C, attributes, ...   (DefaultRecordBatch), then its records
    record      the delta of its offset, a null key, and a metadata record (metadata_record.py)
    control     a batch with attribute 0x20: its keys are LeaderChange, SnapshotHeader, SnapshotFooter, KRaftVersion, KRaftVoters

An entry is a record; its line is the record's index in the file, from 1. A snapshot without a footer is rejected as a whole. A log that ends
within a batch was copied while Kafka was writing it: the complete batches are read. Nothing after a damaged batch is read. Rejected entries
never contain values, because some values are credentials.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from jobs.ingest.dump import Dump, Parsed, Rejected, Unreadable
from jobs.ingest.facts import MetadataFile, MetadataRecord
from jobs.ingest.metadata_record import CONTROL_SCHEMAS, ByteReader, control_from_bytes, from_bytes
from jobs.ingest.precedence import Precedence

NAME = "metadata-log"
PRECEDENCE = Precedence.METADATA_LOG

_HEADER = struct.Struct(">qiibIhiqqqhii")  # the header of a batch, including the count of its records
_CONTROL_KEY = struct.Struct(">hh")
_LENGTH_FROM = 12  # a batch's length counts from the field after it
_CRC_FROM = 21
_CONTROL, _COMPRESSED = 0x20, 0x07


class _Batch(NamedTuple):
    """The header of a batch, and the positions in the file where its records start and end."""

    offset: int
    next_offset: int
    crc: int
    attributes: int
    time_ms: int
    count: int
    start: int
    end: int


def recognises(dump: Dump) -> bool:
    """Return whether the first batch has a control record of the quorum or a metadata record."""
    try:
        batch = _batch(dump.data, 0)
        record = ByteReader(dump.data, batch.start, batch.end)
        _, key, value = _record(record)
        return _control_type(key) in CONTROL_SCHEMAS if batch.attributes & _CONTROL else key is None and value.unsigned() == 1
    except (Unreadable, struct.error):
        return False


def parse(dump: Dump) -> Iterator[Parsed | Rejected]:
    """Yield a fact for each record, and one for the file."""
    entries, file = _read(dump.data)
    last = entries[-1] if entries else None
    if file.snapshot and not (isinstance(last, Parsed) and last.fact.type == "SnapshotFooter"):
        cause = f" ({last.reason})" if isinstance(last, Rejected) else ""
        yield Rejected(1, "", f"the snapshot has no footer: it was cut off, and none of its {len(entries)} records is used{cause}")
        return
    yield from entries
    yield Parsed(1, None, file, entries=0)


def _read(data: bytes) -> tuple[list[Parsed | Rejected], MetadataFile]:
    entries: list[Parsed | Rejected] = []
    position, start_offset, next_offset, time_ms = 0, None, None, None
    while position < len(data):
        try:
            batch = _valid_batch(data, position, next_offset)
        except (Unreadable, struct.error) as e:
            cause = str(e) if isinstance(e, Unreadable) else "the file ends within a batch"
            entries.append(Rejected(len(entries) + 1, "", f"at byte {position}: {cause}; nothing after this is read"))
            break
        records = ByteReader(data, batch.start, batch.end)
        for _ in range(batch.count):
            entry = _entry(records, batch, len(entries) + 1)
            entries.append(entry)
            if isinstance(entry, Parsed) and entry.fact.type == "SnapshotHeader":
                time_ms = entry.fact.fields["lastContainedLogTimestamp"]
        start_offset = batch.offset if start_offset is None else start_offset
        position, next_offset = batch.end, batch.next_offset
    is_snapshot = time_ms is not None
    return entries, MetadataFile(is_snapshot, time_ms, start_offset or 0, None if is_snapshot else next_offset or 0)


def _valid_batch(data: bytes, start: int, expected_offset: int | None) -> _Batch:
    batch = _batch(data, start)
    if crc32c(data[start + _CRC_FROM : batch.end]) != batch.crc:
        raise Unreadable("the batch is damaged: its CRC-32C differs")
    if expected_offset not in (None, batch.offset):
        raise Unreadable(f"the batch starts at offset {batch.offset}, not at {expected_offset}")
    if batch.attributes & _COMPRESSED:
        raise Unreadable("the batch is compressed, which Kafka's metadata never is")
    return batch


def _batch(data: bytes, start: int) -> _Batch:
    offset, length, _, magic, crc, attributes, last_delta, _, time_ms, _, _, _, count = _HEADER.unpack_from(data, start)
    end = start + _LENGTH_FROM + length
    if magic != 2 or offset < 0 or last_delta < 0 or count < 1 or count > length or length < _HEADER.size - _LENGTH_FROM:
        raise Unreadable("not a batch of records")
    if end > len(data):
        raise Unreadable("the file ends within a batch")
    return _Batch(offset, offset + last_delta + 1, crc, attributes, time_ms, count, start + _HEADER.size, end)


def _entry(records: ByteReader, batch: _Batch, number: int) -> Parsed | Rejected:
    label = "a record"
    try:
        offset, key, value = _record(records)
        label = f"offset {batch.offset + offset}"
        if batch.attributes & _CONTROL:
            record_type, fields = control_from_bytes(_control_type(key), value)
        else:
            record_type, fields = from_bytes(value)
        return Parsed(number, label, MetadataRecord(batch.offset + offset, batch.time_ms, record_type, fields))
    except Unreadable as e:
        return Rejected(number, label, str(e))


def _record(records: ByteReader) -> tuple[int, bytes | None, ByteReader]:
    """Parse a record. Return its offset within the batch, its key and its value. `records` moves past the record even if it is rejected."""
    size = records.signed()
    start = records.position
    records.take(size)
    record = ByteReader(records.data, start, records.position)
    record.take(1)  # attributes: unused
    record.signed(64)  # timestamp delta
    offset = record.signed()
    key = None if (size := record.signed()) < 0 else record.take(size)
    size = record.signed()
    if size < 0:
        raise Unreadable("a record without a value")
    value = ByteReader(record.data, record.position, record.position + size)
    record.take(size)
    if record.signed() != 0:
        raise Unreadable("a record with headers, which Kafka's metadata never has")
    record.done()
    return offset, key, value


def _control_type(key: bytes | None) -> int:
    if key is None or len(key) != _CONTROL_KEY.size:
        raise Unreadable("a control record without a type")
    return _CONTROL_KEY.unpack(key)[1]


def _crc_table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return tuple(table)


_CRC_TABLE = _crc_table()


def crc32c(data: bytes) -> int:
    """Return the CRC-32C (Castagnoli) of some bytes.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    table, crc = _CRC_TABLE, 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF
