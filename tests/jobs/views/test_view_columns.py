"""The columns that only the view of a table has: their declarations and values, equal in both engines."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from jobs.lake.lake import Lake
from jobs.schema import BY_NAME, LOG_STORAGE, PRODUCER_LOAD, SNAPSHOT, TABLES, Table
from jobs.views import ADDED_COLUMNS, query_duckdb, query_spark
from kafka_model.log.segments import index_entries
from tests.jobs.published import published
from tests.jobs.rows import rows

WITH_VIEW_COLUMNS = [table for table in TABLES if table.view_columns]


def view_rows(table: Table, *names: str, **given: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return columns of the view of a table, sorted, for rows of tables by their names."""
    stored = {BY_NAME[name]: rows(BY_NAME[name], *of_table) for name, of_table in given.items()}
    connection = published({**stored, SNAPSHOT: rows(SNAPSHOT, {"published_at": 0})})
    return connection.execute(f"SELECT {', '.join(names)} FROM {table.name} ORDER BY ALL").fetchall()


@pytest.mark.parametrize("table", WITH_VIEW_COLUMNS, ids=lambda table: table.name)
def test_both_engines_return_the_declared_columns_with_the_same_rows(two_nights: Lake, table: Table) -> None:
    sql = f"SELECT * FROM {table.name}"
    in_duckdb, in_spark = query_duckdb(two_nights, sql, 10_000), query_spark(two_nights, sql, 10_000)
    columns = (*table.stored.declared_columns, *table.declared_view_columns, *ADDED_COLUMNS)
    assert in_duckdb[0] == in_spark[0] == [column.name for column in columns]
    assert sorted(map(str, in_duckdb[1])) == sorted(map(str, in_spark[1]))
    assert len(in_duckdb[1]) == len(two_nights.read_local(table)) > 0


@pytest.mark.parametrize("table", WITH_VIEW_COLUMNS, ids=lambda table: table.name)
def test_the_declared_types_are_those_of_the_view(table: Table) -> None:
    view = published({}).sql(f"SELECT * FROM {table.name}").to_arrow_table().schema
    assert [(column.name, view.field(column.name).type) for column in table.declared_view_columns] == [
        (column.name, {"DOUBLE": pa.float64(), "BIGINT": pa.int64()}[column.type]) for column in table.declared_view_columns
    ]


def test_stored_and_view_columns_differ() -> None:
    for table in WITH_VIEW_COLUMNS:
        columns = (*table.stored.declared_columns, *table.declared_view_columns)
        assert len({column.name for column in columns}) == len(columns)
        assert all(column.comment for column in table.declared_view_columns)


def test_shares_are_fractions_of_the_topic() -> None:
    load = [
        {"topic": "sampled", "partition": 0, "records": 30, "size_bytes": 100, "observed_records": 6},
        {"topic": "sampled", "partition": 1, "records": 10, "size_bytes": 0, "observed_records": 2},
        {"topic": "no records", "partition": 0, "records": 0, "size_bytes": 0, "observed_records": 0},
        {"topic": "no sizes", "partition": 0, "records": 5},
        {"topic": "no sample", "partition": 0, "observed_records": 3},
        {"topic": "no sample", "partition": 1},
    ]
    totals = [
        {"topic": "sampled", "records": 40, "size_bytes": 100, "observed_records": 8, "observed_skew": 1.5},
        {"topic": "no records", "records": 0, "size_bytes": 0, "observed_records": 0},
        {"topic": "no sizes", "records": 5},
        {"topic": "no sample", "observed_records": 3},  # the growth of partition 1 is unknown, so observed_skew is
    ]
    names = ("topic", "partition", "record_share", "byte_share", "observed_record_share")
    assert view_rows(PRODUCER_LOAD, *names, producer_load=load, topic_load=totals) == [
        ("no records", 0, 0.0, 0.0, None),
        ("no sample", 0, None, None, None),
        ("no sample", 1, None, None, None),
        ("no sizes", 0, 1.0, None, None),
        ("sampled", 0, 0.75, 1.0, 0.75),
        ("sampled", 1, 0.25, 0.0, 0.25),
    ]


def test_indexes_have_the_entries_of_the_model() -> None:
    cases = [(size, interval) for size in (0, 1, 4096, 4097, 4098, 3 * 4097, 3 * 4097 + 1, 2**53 - 1) for interval in (0, 1, 4096)]
    storage = [
        {"partition": number, "size_bytes": size, "index_interval_bytes": interval, "segments": number + 1}
        for number, (size, interval) in enumerate(cases)
    ]
    expected = [(8 * entries, 12 * (entries + n)) for n, entries in enumerate(index_entries(*case) for case in cases)]
    assert view_rows(LOG_STORAGE, "partition", "offset_index_bytes", "time_index_bytes", log_storage=storage) == [
        (number, *sizes) for number, sizes in enumerate(expected)
    ]
