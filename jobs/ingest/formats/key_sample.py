'''A key sample: how many records, of how many bytes, producers sent under each key. CSV with a header, or Parquet.

    topic,key,records,size_bytes            topic,key_hex,records,bytes,partition
    orders,k1,10,1200                       orders,6b31,10,1200,
    orders,,7,700       no key at all       orders,,7,700,3          to partition 3, as the producer named it
    orders,"",1,90      the empty key       orders,"",1,90,

A key is text, or the bytes that key_hex spells. In Parquet, null is no key, and a text or binary of no length the empty one. Rows of
the same topic, key and partition add up. A key may hold commas, quotes and line ends, if it is quoted. Parquet's lines are its rows.
'''

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from functools import reduce
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from jobs.ingest.dump import Dump, Rejected, Told, Unreadable, identifier, topic_name, whole_number
from jobs.ingest.facts import KeySample

NAME = "key-sample"

SCHEMA = pa.schema([
    ("topic", pa.string()), ("key", pa.binary()), ("partition", pa.int32()), ("records", pa.int64()), ("size_bytes", pa.int64()),
])
_PARQUET = b"PAR1"
_MOST = 10**15  # of records and bytes in a row, so that sums stay within a BIGINT
_HEX = re.compile(r"(?:[0-9a-fA-F]{2})*")
_FIELD = re.compile(r'(?:"((?:[^"]++|"")*+)"|([^",]*+))(,|$)')
_LONGEST_RECORD = 1000  # lines


def recognises(dump: Dump) -> bool:
    """Whether the columns are there."""
    return _columns(dump) is not None


def parse(dump: Dump) -> Iterator[Told | Rejected]:
    """One fact, of all rows that are sound."""
    columns = _columns(dump)
    assert columns is not None  # or it would not have been recognised
    if {"key", "key_hex"} <= columns.keys():
        yield Rejected(1, ",".join(columns), "has both key and key_hex")
    elif dump.data.startswith(_PARQUET):
        yield from _parquet(dump, columns)
    else:
        yield from _csv(dump, columns)


def _columns(dump: Dump) -> dict[str, int] | None:
    """Where the columns of a key sample are."""
    if dump.data.startswith(_PARQUET):
        try:
            names = pq.read_schema(io.BytesIO(dump.data)).names
        except (pa.ArrowException, OSError):
            return None
    else:
        _, header = next(dump.lines(), (1, ""))
        names = [name.strip(' "') for name in header.split(",")]
    columns = {"size_bytes" if name == "bytes" else name: index for index, name in enumerate(names)}
    return columns if {"topic", "records", "size_bytes"} <= columns.keys() and columns.keys() & {"key", "key_hex"} else None


def _csv(dump: Dump, columns: dict[str, int]) -> Iterator[Told | Rejected]:
    spelt = "key_hex" in columns
    order = [columns["topic"], columns["key_hex" if spelt else "key"], columns.get("partition"), columns["records"], columns["size_bytes"]]
    rows: list[tuple[str, bytes | None, int | None, int, int]] = []
    for number, text, fields in islice(_records(dump.text), 1, None):
        try:
            if fields is None or len(fields) != len(columns):
                raise Unreadable("not as many columns as the header")
            topic, key, partition, records, size_bytes = (None if index is None else fields[index] for index in order)
            sent = key if spelt or key is None else key.encode("utf-8", "surrogateescape")
            rows.append(_row(topic, sent, partition or None, records, size_bytes))
        except Unreadable as e:
            yield Rejected(number, text, str(e))
    if rows:
        arrays = [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), SCHEMA, strict=True)]
        yield Told(2, None, KeySample(pa.Table.from_arrays(arrays, schema=SCHEMA)), len(rows))


def _records(text: str) -> Iterator[tuple[int, str, list[str | None] | None]]:
    """Each record: the line where it starts, its text, and its fields; an unquoted empty field is None. None: it is no CSV."""
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        line = lines[at].removesuffix("\r")
        if '"' not in line:
            if line.strip():
                yield at + 1, line, [field or None for field in line.split(",")]
            at += 1
            continue
        until, quotes = at + 1, line.count('"')
        while quotes % 2 and until < min(len(lines), at + _LONGEST_RECORD):
            quotes += lines[until].count('"')
            until += 1
        record = "\n".join(lines[at:until]).removesuffix("\r")
        fields = _fields(record)
        if fields is None and until > at + 1:  # a quote gone astray must not take sound lines with it
            record, until = line, at + 1
        yield at + 1, record, fields
        at = until


def _fields(record: str) -> list[str | None] | None:
    fields: list[str | None] = []
    at = 0
    while match := _FIELD.match(record, at):
        quoted, bare, end = match.groups()
        fields.append(bare or None if quoted is None else quoted.replace('""', '"'))
        at = match.end()
        if not end:
            return fields if at == len(record) else None
    return None


def _parquet(dump: Dump, columns: dict[str, int]) -> Iterator[Told | Rejected]:
    try:
        told = _cast(pq.ParquetFile(io.BytesIO(dump.data)).read(), columns)
    except (pa.ArrowException, OSError, ValueError) as e:
        yield Rejected(1, "", f"Parquet that cannot be read: {e}".splitlines()[0])
        return
    sound = _sound(told)
    for index in pc.indices_nonzero(pc.invert(sound)).to_pylist():
        [row] = told.slice(index, 1).to_pylist()
        try:
            _row(**row)
        except Unreadable as e:
            yield Rejected(index + 1, {name: str(value) for name, value in row.items()}, str(e))
    rows = told.filter(sound)
    if len(rows):
        if "key_hex" in columns:
            keys = [None if spelt is None else bytes.fromhex(spelt) for spelt in rows["key"].to_pylist()]
            rows = rows.set_column(1, "key", pa.array(keys, pa.binary()))
        yield Told(1, None, KeySample(rows.cast(SCHEMA)), len(rows))


def _cast(read: pa.Table, columns: dict[str, int]) -> pa.Table:
    read = read.rename_columns(["size_bytes" if name == "bytes" else name for name in read.column_names])
    spelt = "key_hex" in columns
    return pa.table({
        "topic": read["topic"].cast(pa.string()),
        "key": read["key_hex"].cast(pa.string()) if spelt else read["key"].cast(pa.binary()),
        "partition": read["partition"].cast(pa.int64()) if "partition" in columns else pa.nulls(len(read), pa.int64()),
        "records": read["records"].cast(pa.int64()),
        "size_bytes": read["size_bytes"].cast(pa.int64()),
    })


def _sound(told: pa.Table) -> pa.ChunkedArray:
    """What `_row` says of each row, said of all at once."""
    tests = [
        pc.match_substring_regex(told["topic"], "^[a-zA-Z0-9._-]{1,249}$"),
        pc.invert(pc.is_in(told["topic"], pa.array([".", ".."]))),
        *(pc.greater_equal(told[name].fill_null(least), 0) for name, least in (("records", -1), ("size_bytes", -1), ("partition", 0))),
        pc.less_equal(told["records"], _MOST),
        pc.less_equal(told["size_bytes"], _MOST),
        pc.less_equal(told["partition"].fill_null(0), 2**31 - 1),
    ]
    if pa.types.is_string(told["key"].type):
        tests.append(pc.match_substring_regex(told["key"].fill_null(""), f"^{_HEX.pattern}$"))
    return reduce(pc.and_, tests).fill_null(False)


def _row(topic: str | None, key: object, partition: object, records: object, size_bytes: object) -> tuple[str, Any, int | None, int, int]:
    return (
        topic_name(topic),
        _unspelt(key) if isinstance(key, str) else key,
        None if partition is None else identifier(partition, "partition"),
        whole_number(records, "records", most=_MOST), whole_number(size_bytes, "bytes", most=_MOST),
    )


def _unspelt(text: str) -> bytes:
    if not _HEX.fullmatch(text):
        raise Unreadable("key_hex is not in pairs of hex digits")
    return bytes.fromhex(text)
