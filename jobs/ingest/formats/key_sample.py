"""A key sample: how many records, of how many bytes, producers sent under each key. CSV with a header, Parquet, or JSON lines.

    topic,key,records,size_bytes            topic,key_hex,records,bytes,partition
    orders,k1,10,1200                       orders,6b31,10,1200,
    orders,,7,700       no key at all       orders,,7,700,3          to partition 3, as the producer named it
    orders,"",1,90      the empty key       orders,"",1,90,

    {"topic":"orders","key":null,"records":7,"size_bytes":700,"partition":3}
    {"topic":"orders","key_base64":"azE=","records":10,"bytes":1200,"observed_partition":2}

An observed_partition is where the records were found, whoever chose it. A key is text, or the bytes that key_hex or key_base64 spells. In Parquet and JSON null is no key, and a text or binary of no length the
empty one. Rows of the same topic, key and partition (and observed partition) add up. In a CSV a key may hold commas, quotes and line ends, if it is quoted.
Parquet's lines are its rows.
"""

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from jobs.ingest.dump import Dump, Rejected, Told, Unreadable, identifier, topic_name, whole_number
from jobs.ingest.facts import KeySample

NAME = "key-sample"

SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("key", pa.binary()),
        ("partition", pa.int32()),
        ("records", pa.int64()),
        ("size_bytes", pa.int64()),
        ("observed_partition", pa.int32()),
    ]
)
_PARQUET = b"PAR1"
_REQUIRED = {"topic", "records", "size_bytes"}
_MOST = 10**15  # of records and bytes in a row, so that sums stay within a BIGINT
_HEX = re.compile(r"(?:[0-9a-fA-F]{2})*")
_KEYS = ("key", "key_hex", "key_base64")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_FIELD = re.compile(r'(?:"((?:[^"]++|"")*+)"|([^",]*+))(,|$)')
_LONGEST_RECORD = 1000  # lines


def recognises(dump: Dump) -> bool:
    """Whether the columns are there, or the first line is an object that has them."""
    return _columns(dump) is not None or _is_json(dump)


def parse(dump: Dump) -> Iterator[Told | Rejected]:
    """One fact, of all rows that are sound."""
    columns = _columns(dump)
    if columns is None:
        yield from _json(dump)
    elif len(_spelt(columns)) > 1:
        yield Rejected(1, ",".join(columns), f"has both {' and '.join(_spelt(columns))}")
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
    return columns if columns.keys() >= _REQUIRED and _spelt(columns) else None


def _spelt(columns: Iterable[str]) -> list[str]:
    """Under which names there are keys."""
    return [name for name in _KEYS if name in columns]


def _is_json(dump: Dump) -> bool:
    _, first = next(dump.lines(), (1, ""))
    if not first.lstrip().startswith("{") or '"topic"' not in first:
        return False
    try:
        row = json.loads(first)
    except (ValueError, RecursionError):
        return False
    names = {"size_bytes" if name == "bytes" else name for name in row}
    return names >= _REQUIRED and bool(_spelt(names))


def _json(dump: Dump) -> Iterator[Told | Rejected]:
    rows = []
    for number, line in dump.lines():
        try:
            row = json.loads(line)
            if not isinstance(row, dict):
                raise Unreadable("no JSON object")
            if len(names := _spelt(row)) != 1:
                raise Unreadable(f"has not one of {', '.join(_KEYS)}, but {len(names)}: null says that there is no key")
            topic, key, size_bytes = row.get("topic"), row[names[0]], row.get("size_bytes", row.get("bytes"))
            if not isinstance(topic, str) or not isinstance(key, str | None):
                raise Unreadable("topic or key is no text")
            if names == ["key"] and key is not None:
                key = _sent(key)
            rows.append(row_of(topic, key, row.get("partition"), row.get("records"), size_bytes, row.get("observed_partition"), names[0]))
        except (ValueError, RecursionError) as e:
            yield Rejected(number, line, str(e) if isinstance(e, Unreadable) else f"not JSON: {e}")
    yield from sample_of(rows, 1)


def _sent(key: str) -> bytes:
    try:
        return key.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise Unreadable("topic or key is no text") from None


def sample_of(rows: list[tuple[Any, ...]], line: int) -> Iterator[Told]:
    """The sample of sound rows, if there are any."""
    if rows:
        arrays = [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), SCHEMA, strict=True)]
        yield Told(line, None, KeySample(pa.Table.from_arrays(arrays, schema=SCHEMA)), len(rows))


def _csv(dump: Dump, columns: dict[str, int]) -> Iterator[Told | Rejected]:
    [name] = _spelt(columns)
    order = [columns["topic"], columns[name], *map(columns.get, ("partition", "records", "size_bytes", "observed_partition"))]
    rows: list[tuple[str, bytes | None, int | None, int, int, int | None]] = []
    for number, text, fields in islice(_records(dump.text), 1, None):
        try:
            if fields is None or len(fields) != len(columns):
                raise Unreadable("not as many columns as the header")
            topic, key, partition, records, size_bytes, observed = (None if index is None else fields[index] for index in order)
            sent = key if name != "key" or key is None else key.encode("utf-8", "surrogateescape")
            rows.append(row_of(topic, sent, partition or None, records, size_bytes, observed or None, name))
        except Unreadable as e:
            yield Rejected(number, text, str(e))
    yield from sample_of(rows, 2)


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
    [name] = _spelt(columns)
    sound = _sound(told, name)
    for index in pc.indices_nonzero(pc.invert(sound)).to_pylist():
        [row] = told.slice(index, 1).to_pylist()
        try:
            row_of(**row, spelt=name)
        except Unreadable as e:
            yield Rejected(index + 1, {name: str(value) for name, value in row.items()}, str(e))
    rows = told.filter(sound)
    if len(rows):
        if name != "key":
            keys = [None if spelt is None else _unspelt(spelt, name) for spelt in rows["key"].to_pylist()]
            rows = rows.set_column(1, "key", pa.array(keys, pa.binary()))
        yield Told(1, None, KeySample(rows.cast(SCHEMA)), len(rows))


def _cast(read: pa.Table, columns: dict[str, int]) -> pa.Table:
    read = read.rename_columns(["size_bytes" if name == "bytes" else name for name in read.column_names])
    [name] = _spelt(columns)
    return pa.table(
        {
            "topic": read["topic"].cast(pa.string()),
            "key": read[name].cast(pa.binary() if name == "key" else pa.string()),
            "partition": read["partition"].cast(pa.int64()) if "partition" in columns else pa.nulls(len(read), pa.int64()),
            "records": read["records"].cast(pa.int64()),
            "size_bytes": read["size_bytes"].cast(pa.int64()),
            "observed_partition": read["observed_partition"].cast(pa.int64())
            if "observed_partition" in columns
            else pa.nulls(len(read), pa.int64()),
        }
    )


def _sound(told: pa.Table, name: str) -> pa.ChunkedArray:
    """What `_row` says of each row, said of all at once."""
    tests = [
        pc.match_substring_regex(told["topic"], "^[a-zA-Z0-9._-]{1,249}$"),
        pc.invert(pc.is_in(told["topic"], pa.array([".", ".."]))),
        *(
            pc.greater_equal(told[name].fill_null(least), 0)
            for name, least in (("records", -1), ("size_bytes", -1), ("partition", 0), ("observed_partition", 0))
        ),
        pc.less_equal(told["records"], _MOST),
        pc.less_equal(told["size_bytes"], _MOST),
        *(pc.less_equal(told[name].fill_null(0), 2**31 - 1) for name in ("partition", "observed_partition")),
    ]
    if name != "key":
        tests.append(pc.match_substring_regex(told["key"].fill_null(""), f"^{(_HEX if name == 'key_hex' else _BASE64).pattern}$"))
    return reduce(pc.and_, tests).fill_null(False)


def row_of(
    topic: str | None, key: object, partition: object, records: object, size_bytes: object, observed_partition: object, spelt: str
) -> tuple[str, Any, int | None, int, int, int | None]:
    """A row of the sample, if it is sound; a key that is text is spelt as the column named `spelt` has it."""
    return (
        topic_name(topic),
        _unspelt(key, spelt) if isinstance(key, str) else key,
        None if partition is None else identifier(partition, "partition"),
        whole_number(records, "records", most=_MOST),
        whole_number(size_bytes, "bytes", most=_MOST),
        None if observed_partition is None else identifier(observed_partition, "observed_partition"),
    )


def _unspelt(text: str, name: str) -> bytes:
    if name == "key_hex":
        if not _HEX.fullmatch(text):
            raise Unreadable("key_hex is not in pairs of hex digits")
        return bytes.fromhex(text)
    if not _BASE64.fullmatch(text):
        raise Unreadable("key_base64 is no base64")
    return base64.b64decode(text)
