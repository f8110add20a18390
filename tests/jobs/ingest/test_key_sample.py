import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jobs.ingest.reading import Reading, read_dump
from tests.jobs.ingest.dumps import resolved
from tests.jobs.ingest.dumps import rows as table_rows


def rows(reading: Reading) -> list[tuple[object, ...]]:
    assert reading.format == "key-sample"
    return [tuple(row.values())[:5] for parsed in reading.parsed for row in parsed.fact.rows.to_pylist()]


def parquet(**columns: object) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        b"topic,key,records,size_bytes,observed_partition\norders,k,1,2,3\norders,k,1,2,\norders,k,1,2,-1\n",
        b'{"topic":"orders","key":"k","records":1,"bytes":2,"observed_partition":3}\n{"topic":"orders","key":"k","records":1,"bytes":2}\n'
        b'{"topic":"orders","key":"k","records":1,"bytes":2,"observed_partition":-1}\n',
        parquet(topic=["orders"] * 3, key=["k"] * 3, records=[1] * 3, size_bytes=[2] * 3, observed_partition=[3, None, -1]),
    ],
)
def test_observed_partition_differs_from_the_chosen_partition(data: bytes) -> None:
    reading = read_dump(data)
    sample_rows = [row for parsed in reading.parsed for row in parsed.fact.rows.to_pylist()]
    assert [(row["partition"], row["observed_partition"]) for row in sample_rows] == [(None, 3), (None, None)]
    assert [rejected.reason for rejected in reading.rejected] == ["observed_partition is not between 0 and 2147483647"]


@pytest.mark.parametrize(
    "data",
    [
        b"topic,key,records\norders,k,3\norders,,4\n",
        b'{"topic":"orders","key":"k","records":3}\n{"topic":"orders","key":null,"records":4}\n',
        parquet(topic=["orders"] * 2, key=["k", None], records=[3, 4]),
    ],
)
def test_sizes_are_unknown_without_their_column(data: bytes) -> None:
    reading = read_dump(data)
    assert (reading.format, reading.rejected) == ("key-sample", [])
    assert rows(reading) == [("orders", b"k", None, 3, None), ("orders", None, None, 4, None)]


@pytest.mark.parametrize(
    "data",
    [
        b"topic,key,size_bytes\norders,k,3\n",
        b'{"topic":"orders","key":"k","size_bytes":3}\n',
        parquet(topic=["orders"], key=["k"], size_bytes=[3]),
        b"topic,key\norders,k\n",
    ],
)
def test_rows_without_records_are_rejected_with_the_name_of_the_column(data: bytes) -> None:
    reading = read_dump(data)
    assert (reading.format, reading.parsed) == ("key-sample", [])
    assert [rejected.reason for rejected in reading.rejected] == ["the column records is missing or empty"]


def test_sum_with_an_unknown_size_is_unknown() -> None:
    tables = resolved(a="topic,key,records\nt,a,3\n", b="topic,key,records,size_bytes\nt,a,1,10\nt,b,2,20\n")
    assert table_rows(tables, "key_sample", "key", "records", "size_bytes") == [(b"a", 4, None), (b"b", 2, 20)]


def test_no_key_is_not_the_empty_key() -> None:
    reading = read_dump(b'topic,key,records,size_bytes\norders,k1,10,1200\norders,,7,700\norders,"",1,90\n')
    assert rows(reading) == [("orders", b"k1", None, 10, 1200), ("orders", None, None, 7, 700), ("orders", b"", None, 1, 90)]


def test_hex_keys_and_chosen_partitions_are_read_in_any_column_order() -> None:
    reading = read_dump(b'partition,topic,bytes,records,key_hex\n,orders,12,1,00fF\n3,orders,12,1,\n3,orders,12,1,""\n')
    assert rows(reading) == [("orders", b"\x00\xff", None, 1, 12), ("orders", None, 3, 1, 12), ("orders", b"", 3, 1, 12)]


def test_quoted_keys_may_contain_commas_quotes_and_line_ends() -> None:
    reading = read_dump(b'topic,key,records,size_bytes\r\norders,"a,""b""\r\nc",1,2\r\norders,d,3,4\r\n')
    assert rows(reading) == [("orders", b'a,"b"\r\nc', None, 1, 2), ("orders", b"d", None, 3, 4)]
    assert reading.rejected == []


def test_unquoted_empty_key_in_a_quoted_line_is_none() -> None:
    assert rows(read_dump(b'topic,key,records,size_bytes\n"orders",,"7","700"\n')) == [("orders", None, None, 7, 700)]


def test_key_that_is_not_utf_8_keeps_every_byte() -> None:
    assert rows(read_dump(b"topic,key,records,size_bytes\norders,\xff\xfe,1,2\n"))[0][1] == b"\xff\xfe"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("orders,k,1", "the number of columns differs from the header"),
        ("orders,k,1,2,3", "the number of columns differs from the header"),
        ("orders,k,one,2", "records is not a whole number"),
        ("orders,k,-1,2", "records is not between 0 and 1000000000000000"),
        ("orders,k,,2", "the column records is missing or empty"),
        ("or ders,k,1,2", "not a topic name that Kafka allows"),
        (",k,1,2", "not a topic name that Kafka allows"),
        ('orders,"k,1,2', "the number of columns differs from the header"),
        ('orders,"k"x,1,2', "the number of columns differs from the header"),
    ],
)
def test_bad_line_is_rejected_without_the_others(line: str, reason: str) -> None:
    reading = read_dump(f"topic,key,records,size_bytes\n\norders,a,1,2\n{line}\norders,b,3,4\n".encode())
    assert [(rejected.line, rejected.entry, rejected.reason) for rejected in reading.rejected] == [(4, line, reason)]
    assert [row[1] for row in rows(reading)] == [b"a", b"b"]


def test_stray_quote_rejects_only_its_line() -> None:
    reading = read_dump(b'topic,key,records,size_bytes\norders,"k,1,2\norders,a,1,2\norders,"b",1,2\norders,c,1,2\n')
    assert [rejected.line for rejected in reading.rejected] == [2]
    assert [row[1] for row in rows(reading)] == [b"a", b"b", b"c"]


def test_bad_hex_is_rejected() -> None:
    reading = read_dump(b"topic,key_hex,records,size_bytes\norders,0,1,2\norders,0g,1,2\norders,6b,1,2\n")
    assert [rejected.reason for rejected in reading.rejected] == ["key_hex is not pairs of hex digits"] * 2
    assert len(rows(reading)) == 1


def test_two_key_columns_are_rejected() -> None:
    reading = read_dump(b"topic,key,key_hex,records,size_bytes\norders,k,6b,1,2\n")
    assert [rejected.reason for rejected in reading.rejected] == ["has both key and key_hex"]


@pytest.mark.parametrize("key_type", [pa.binary(), pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_parquet_keys_of_any_type_are_read(key_type: pa.DataType) -> None:
    keys = pa.array([b"k", None, b""], pa.binary()).cast(pa.string()).cast(key_type)
    records = pa.array([1, 2, 3], pa.int32())
    reading = read_dump(parquet(topic=["orders"] * 3, key=keys, records=records, bytes=[4, 5, 6], partition=[None, 0, 1]))
    assert rows(reading) == [("orders", b"k", None, 1, 4), ("orders", None, 0, 2, 5), ("orders", b"", 1, 3, 6)]
    assert reading.parsed[0].entries == 3


def test_bad_rows_of_parquet_are_rejected_by_number() -> None:
    reading = read_dump(
        parquet(
            topic=["orders", None, "a b", "orders", "orders", ".."],
            key_hex=["6b", "6b", "6b", "6", None, "6b"],
            records=[1, 1, 1, 1, None, 1],
            size_bytes=[1] * 6,
            partition=[2**31, None, None, None, None, None],
        )
    )
    assert [(rejected.line, rejected.reason) for rejected in reading.rejected] == [
        (1, "partition is not between 0 and 2147483647"),
        (2, "not a topic name that Kafka allows"),
        (3, "not a topic name that Kafka allows"),
        (4, "key_hex is not pairs of hex digits"),
        (5, "the column records is missing or empty"),
        (6, "not a topic name that Kafka allows"),
    ]
    assert rows(reading) == []


def test_parquet_with_columns_of_other_types_is_rejected() -> None:
    reading = read_dump(parquet(topic=["orders"], key=["k"], records=["many"], size_bytes=[1]))
    assert (len(reading.rejected), reading.parsed) == (1, [])
    assert reading.rejected[0].reason.startswith("cannot be read as Parquet: ")


def test_truncated_parquet_is_not_recognised() -> None:
    reading = read_dump(parquet(topic=["orders"], key=["k"], records=[1], size_bytes=[1])[:-9])
    assert (reading.format, len(reading.rejected)) == (None, 1)


def test_json_lines_have_text_hex_base64_and_null_keys() -> None:
    reading = read_dump(
        b'{"topic":"t","key":"\xc3\xa9","records":10,"size_bytes":1200}\r\n{"topic":"t","key":null,"records":7,"bytes":700,"partition":3}\n\n'
        b'{"topic":"t","key":"","records":1,"size_bytes":90}\n{"topic":"t","key_hex":"00fF","records":1,"size_bytes":2}\n'
        b'{"topic":"t","key_base64":"AP8=","records":1,"size_bytes":2}\n{"topic":"t","key_base64":null,"records":1,"size_bytes":2}'
    )
    assert rows(reading) == [
        ("t", "é".encode(), None, 10, 1200),
        ("t", None, 3, 7, 700),
        ("t", b"", None, 1, 90),
        ("t", b"\x00\xff", None, 1, 2),
        ("t", b"\x00\xff", None, 1, 2),
        ("t", None, None, 1, 2),
    ]
    assert reading.rejected == []


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"topic":"t","records":1,"bytes":1}', "needs exactly one of key, key_hex, key_base64, has 0: null is no key"),
        ('{"topic":"t","key":"a","key_hex":"61","records":1,"bytes":1}', "needs exactly one of key, key_hex, key_base64, has 2: null is"),
        ('{"topic":"t","key":5,"records":1,"bytes":1}', "topic or key is not text"),
        ('{"topic":"t","key_base64":"A","records":1,"bytes":1}', "key_base64 is not base64"),
        ('{"topic":"t","key":"\\ud800","records":1,"bytes":1}', "topic or key is not text"),
        ('{"topic":"a/b","key":"a","records":1,"bytes":1}', "not a topic name that Kafka allows"),
        ('{"topic":"t","key":"a","records":1.5,"bytes":1}', "records is not a whole number"),
        ('{"topic":"t","key":"a","records":1', "not JSON: "),
        ("[1]", "not a JSON object"),
    ],
)
def test_bad_json_line_is_rejected_without_the_others(line: str, reason: str) -> None:
    reading = read_dump(f'{{"topic":"t","key":"a","records":1,"bytes":1}}\n{line}\n'.encode())
    assert [(rejected.line, rejected.reason[: len(reason)]) for rejected in reading.rejected] == [(2, reason)]
    assert rows(reading) == [("t", b"a", None, 1, 1)]


def test_base64_keys_of_csv_and_parquet_are_decoded() -> None:
    assert rows(read_dump(b'topic,key_base64,records,size_bytes\nt,AP8=,1,2\nt,,1,2\nt,"",1,2\n')) == [
        ("t", b"\x00\xff", None, 1, 2),
        ("t", None, None, 1, 2),
        ("t", b"", None, 1, 2),
    ]
    reading = read_dump(parquet(topic=["t"] * 4, key_base64=["AP8=", None, "", "A"], records=[1] * 4, size_bytes=[2] * 4))
    assert rows(reading) == [("t", b"\x00\xff", None, 1, 2), ("t", None, None, 1, 2), ("t", b"", None, 1, 2)]
    assert [(rejected.line, rejected.reason) for rejected in reading.rejected] == [(4, "key_base64 is not base64")]
