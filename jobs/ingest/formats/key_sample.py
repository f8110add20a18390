"""Key samples: the number of records and bytes that producers sent with each key, as CSV with a header, Parquet, or JSON lines.

    topic,key,records,size_bytes            topic,key_hex,records,bytes,partition
    orders,k1,10,1200                       orders,6b31,10,1200,
    orders,,7,700       no key              orders,,7,700,3          the producer chose partition 3
    orders,"",1,90      the empty key       orders,"",1,90,

    {"topic":"orders","key":null,"records":7,"size_bytes":700,"partition":3}
    {"topic":"orders","key_base64":"azE=","records":10,"bytes":1200,"observed_partition":2}

`partition` is the partition that the producer chose itself; `observed_partition` is the partition that contains the records. A key is text, or bytes in key_hex
or key_base64. In Parquet and JSON, null is no key, and an empty text or binary is the empty key. Rows with the same topic, key, partition and
observed partition are summed. Without `size_bytes` the sizes are unknown; without `records` every row is rejected. In a CSV a quoted key may contain commas, quotes and line ends. Line numbers of Parquet are row numbers.
"""

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import islice
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from jobs.ingest.dump import Dump, Parsed, Rejected, Unreadable, identifier, topic_name, whole_number
from jobs.ingest.facts import KeySample
from jobs.ingest.precedence import Precedence

NAME = "key-sample"
PRECEDENCE = Precedence.KAFKA_TOOL

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
_MOST = 10**15  # records or bytes in a row, so that sums fit into a BIGINT
_HEX = re.compile(r"(?:[0-9a-fA-F]{2})*")
_KEYS = ("key", "key_hex", "key_base64")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_FIELD = re.compile(r'(?:"((?:[^"]++|"")*+)"|([^",]*+))(,|$)')
_LONGEST_RECORD = 1000  # lines


class KeyRow(NamedTuple):
    """A valid row of a key sample, in the columns of SCHEMA."""

    topic: str
    key: bytes | None
    partition: int | None
    records: int
    size_bytes: int | None
    observed_partition: int | None


def recognises(dump: Dump) -> bool:
    """Return whether the header has the columns, or the first line is a JSON object with them."""
    return _columns(dump) is not None or _is_json(dump)


def parse(dump: Dump) -> Iterator[Parsed | Rejected]:
    """Yield one fact with all valid rows."""
    columns = _columns(dump)
    if columns is None:
        yield from _json(dump)
    elif len(_key_columns(columns)) > 1:
        yield Rejected(1, ",".join(columns), f"has both {' and '.join(_key_columns(columns))}")
    elif dump.data.startswith(_PARQUET):
        yield from _parquet(dump, columns)
    else:
        yield from _csv(dump, columns)


def _columns(dump: Dump) -> dict[str, int] | None:
    """Return the index of each column; None: the dump is not a key sample."""
    if dump.data.startswith(_PARQUET):
        try:
            names = pq.read_schema(io.BytesIO(dump.data)).names
        except (pa.ArrowException, OSError):
            return None
    else:
        _, header = next(dump.lines(), (1, ""))
        names = [name.strip(' "') for name in header.split(",")]
    columns = {"size_bytes" if name == "bytes" else name: index for index, name in enumerate(names)}
    return columns if _is_sample(columns) else None


def _is_sample(columns: Iterable[str]) -> bool:
    """Return whether these are the columns of a key sample."""
    return "topic" in {*columns} and bool(_key_columns(columns))


def _key_columns(columns: Iterable[str]) -> list[str]:
    """Return the key columns among these columns."""
    return [name for name in _KEYS if name in columns]


def _is_json(dump: Dump) -> bool:
    _, line = next(dump.lines(), (1, ""))
    if not line.lstrip().startswith("{") or '"topic"' not in line:
        return False
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return _is_sample({"size_bytes" if name == "bytes" else name for name in row})


def _json(dump: Dump) -> Iterator[Parsed | Rejected]:
    rows = []
    for number, line in dump.lines():
        try:
            row = json.loads(line)
            if not isinstance(row, dict):
                raise Unreadable("not a JSON object")
            if len(names := _key_columns(row)) != 1:
                raise Unreadable(f"needs exactly one of {', '.join(_KEYS)}, has {len(names)}: null is no key")
            topic, key, size_bytes = row.get("topic"), row[names[0]], row.get("size_bytes", row.get("bytes"))
            if not isinstance(topic, str) or not isinstance(key, str | None):
                raise Unreadable("topic or key is not text")
            if names == ["key"] and key is not None:
                key = _utf8(key)
            rows.append(row_of(topic, key, row.get("partition"), row.get("records"), size_bytes, row.get("observed_partition"), names[0]))
        except (ValueError, RecursionError) as e:
            yield Rejected(number, line, str(e) if isinstance(e, Unreadable) else f"not JSON: {e}")
    yield from sample_of(rows, 1)


def _utf8(key: str) -> bytes:
    try:
        return key.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise Unreadable("topic or key is not text") from None


def sample_of(rows: list[KeyRow], line: int) -> Iterator[Parsed]:
    """Yield the sample with these rows, if there are any."""
    if rows:
        arrays = [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), SCHEMA, strict=True)]
        yield Parsed(line, None, KeySample(pa.Table.from_arrays(arrays, schema=SCHEMA)), len(rows))


def _csv(dump: Dump, columns: dict[str, int]) -> Iterator[Parsed | Rejected]:
    [name] = _key_columns(columns)
    order = [columns["topic"], columns[name], *map(columns.get, ("partition", "records", "size_bytes", "observed_partition"))]
    rows: list[KeyRow] = []
    for number, text, fields in islice(_records(dump.text), 1, None):
        try:
            if fields is None or len(fields) != len(columns):
                raise Unreadable("the number of columns differs from the header")
            topic, key, partition, records, size_bytes, observed = (None if index is None else fields[index] for index in order)
            key_value = key if name != "key" or key is None else key.encode("utf-8", "surrogateescape")
            rows.append(row_of(topic, key_value, partition or None, records, size_bytes, observed or None, name))
        except Unreadable as e:
            yield Rejected(number, text, str(e))
    yield from sample_of(rows, 2)


def _records(text: str) -> Iterator[tuple[int, str, list[str | None] | None]]:
    """Yield the line, text and fields of each record; an unquoted empty field is None. Fields None: not CSV."""
    lines = text.split("\n")
    index = 0
    while index < len(lines):
        line = lines[index].removesuffix("\r")
        if '"' not in line:
            if line.strip():
                yield index + 1, line, [field or None for field in line.split(",")]
            index += 1
            continue
        end, quotes = index + 1, line.count('"')
        while quotes % 2 and end < min(len(lines), index + _LONGEST_RECORD):
            quotes += lines[end].count('"')
            end += 1
        record = "\n".join(lines[index:end]).removesuffix("\r")
        fields = _fields(record)
        if fields is None and end > index + 1:  # a single stray quote: only its own line is rejected
            record, end = line, index + 1
        yield index + 1, record, fields
        index = end


def _fields(record: str) -> list[str | None] | None:
    fields: list[str | None] = []
    position = 0
    while match := _FIELD.match(record, position):
        quoted, unquoted, end = match.groups()
        fields.append(unquoted or None if quoted is None else quoted.replace('""', '"'))
        position = match.end()
        if not end:
            return fields if position == len(record) else None
    return None


def _parquet(dump: Dump, columns: dict[str, int]) -> Iterator[Parsed | Rejected]:
    try:
        rows = _cast(pq.ParquetFile(io.BytesIO(dump.data)).read(), columns)
    except (pa.ArrowException, OSError, ValueError) as e:
        yield Rejected(1, "", f"cannot be read as Parquet: {e}".splitlines()[0])
        return
    [name] = _key_columns(columns)
    is_valid = _is_valid(rows, name)
    for index in pc.indices_nonzero(pc.invert(is_valid)).to_pylist():
        [row] = rows.slice(index, 1).to_pylist()
        try:
            row_of(**row, key_column=name)
        except Unreadable as e:
            yield Rejected(index + 1, {name: str(value) for name, value in row.items()}, str(e))
    rows = rows.filter(is_valid)
    if len(rows):
        if name != "key":
            keys = [None if text is None else _decoded(text, name) for text in rows["key"].to_pylist()]
            rows = rows.set_column(1, "key", pa.array(keys, pa.binary()))
        yield Parsed(1, None, KeySample(rows.cast(SCHEMA)), len(rows))


def _cast(table: pa.Table, columns: dict[str, int]) -> pa.Table:
    table = table.rename_columns(["size_bytes" if name == "bytes" else name for name in table.column_names])
    [name] = _key_columns(columns)
    return pa.table(
        {
            "topic": table["topic"].cast(pa.string()),
            "key": table[name].cast(pa.binary() if name == "key" else pa.string()),
            "partition": table["partition"].cast(pa.int64()) if "partition" in columns else pa.nulls(len(table), pa.int64()),
            **{
                measure: table[measure].cast(pa.int64()) if measure in columns else pa.nulls(len(table), pa.int64())
                for measure in ("records", "size_bytes", "observed_partition")
            },
        }
    )


def _is_valid(rows: pa.Table, name: str) -> pa.ChunkedArray:
    """Return for each row whether `row_of` accepts it."""
    tests = [
        pc.match_substring_regex(rows["topic"], "^[a-zA-Z0-9._-]{1,249}$"),
        pc.invert(pc.is_in(rows["topic"], pa.array([".", ".."]))),
        *(
            pc.greater_equal(rows[name].fill_null(least), 0)
            for name, least in (("records", -1), ("size_bytes", 0), ("partition", 0), ("observed_partition", 0))
        ),
        pc.less_equal(rows["records"], _MOST),
        pc.less_equal(rows["size_bytes"].fill_null(0), _MOST),
        *(pc.less_equal(rows[name].fill_null(0), 2**31 - 1) for name in ("partition", "observed_partition")),
    ]
    if name != "key":
        tests.append(pc.match_substring_regex(rows["key"].fill_null(""), f"^{(_HEX if name == 'key_hex' else _BASE64).pattern}$"))
    return reduce(pc.and_, tests).fill_null(False)


def row_of(
    topic: str | None, key: object, partition: object, records: object, size_bytes: object, observed_partition: object, key_column: str
) -> KeyRow:
    """Return a row of the sample if it is valid; a key that is text is decoded as the column `key_column` requires."""
    return KeyRow(
        topic_name(topic),
        _decoded(key, key_column) if isinstance(key, str) else key,
        None if partition is None else identifier(partition, "partition"),
        whole_number(_required(records, "records"), "records", most=_MOST),
        None if size_bytes is None else whole_number(size_bytes, "bytes", most=_MOST),
        None if observed_partition is None else identifier(observed_partition, "observed_partition"),
    )


def _required(value: object, column: str) -> object:
    if value is None:
        raise Unreadable(f"the column {column} is missing or empty")
    return value


def _decoded(text: str, name: str) -> bytes:
    if name == "key_hex":
        if not _HEX.fullmatch(text):
            raise Unreadable("key_hex is not pairs of hex digits")
        return bytes.fromhex(text)
    if not _BASE64.fullmatch(text):
        raise Unreadable("key_base64 is not base64")
    return base64.b64decode(text)
