"""The declarations of the tables: every table and column explains itself, and an Arrow schema follows from the DDL."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

from jobs import schema
from jobs.schema import PUBLISHED_FAILOVER, TABLES, Table

DECLARED = (*TABLES, PUBLISHED_FAILOVER)
STORED = [table.stored for table in DECLARED]


def comments(table: Table) -> dict[str, str]:
    return {field.name: field.metadata[b"comment"].decode() if field.metadata else "" for field in table.schema}


def test_arrow_schema_follows_from_the_ddl() -> None:
    columns = """
        topic STRING NOT NULL COMMENT 'the topic''s name',
        replicas ARRAY<INT> COMMENT 'null: none',
        configs MAP<STRING, STRING> NOT NULL,
        draws ARRAY<STRUCT<offset: INT, orders: MAP<INT, ARRAY<STRING>>, last: BIGINT>>,
        published_at TIMESTAMP
    """
    expected = [
        pa.field("topic", pa.string(), nullable=False),
        pa.field("replicas", pa.list_(pa.int32())),
        pa.field("configs", pa.map_(pa.string(), pa.string()), nullable=False),
        pa.field(
            "draws",
            pa.list_(pa.struct([("offset", pa.int32()), ("orders", pa.map_(pa.int32(), pa.list_(pa.string()))), ("last", pa.int64())])),
        ),
        pa.field("published_at", pa.timestamp("us", tz="UTC")),
    ]
    declared = Table("t", "a table", ("topic",), columns)
    assert declared.schema == pa.schema(expected)
    assert comments(declared) == {"topic": "the topic's name", "replicas": "null: none", "configs": "", "draws": "", "published_at": ""}


@pytest.mark.parametrize("column", ["topic", "topic STRING topic2 STRING", "topic TEXT", "topic STRING COMMENT 'it's'"])
def test_a_wrong_declaration_is_an_error(column: str) -> None:
    with pytest.raises((ValueError, KeyError)):
        _ = Table("t", "a table", ("topic",), column).schema


def test_every_declared_table_is_listed_once() -> None:
    declared = [value for name, value in vars(schema).items() if isinstance(value, Table)]
    assert sorted(declared, key=id) == sorted(DECLARED, key=id)
    assert len({table.name for table in TABLES}) == len(TABLES)


@pytest.mark.parametrize("table", STORED, ids=lambda table: table.name)
def test_every_column_has_a_comment_that_stands_alone(table: Table) -> None:
    for name, comment in comments(table).items():
        assert comment, f"{table.name}.{name} has no comment"
        assert not re.search(r"\b(next (two|three|four|seven)|as (above|below)|of which)\b", comment), f"{table.name}.{name}: {comment}"


@pytest.mark.parametrize("table", STORED, ids=lambda table: table.name)
def test_only_a_nullable_column_explains_null(table: Table) -> None:
    explained = {name for name, comment in comments(table).items() if "null:" in comment}
    assert not explained & {field.name for field in table.schema if not field.nullable}


@pytest.mark.parametrize("table", STORED, ids=lambda table: table.name)
def test_key_and_delta_partitions_are_columns(table: Table) -> None:
    assert {*table.key, *table.partition_by} <= set(table.schema.names)


def test_a_stored_row_names_its_attempt_after_its_snapshot() -> None:
    columns = """
        snapshot_id STRING NOT NULL,
        suite STRING
    """
    stored = Table("t", "a table", ("snapshot_id", "suite"), columns, partition_by=("snapshot_id", "suite")).stored
    assert stored.schema.names == ["snapshot_id", "attempt_id", "suite"]
    assert stored.partition_by == ("snapshot_id", "attempt_id", "suite")
    assert stored.stored == stored


def test_every_table_is_stored_by_attempt() -> None:
    assert [table.name for table in STORED if "attempt_id" not in table.schema.names] == []
    assert [table.name for table in STORED if table.partition_by and table.partition_by[:2] != ("snapshot_id", "attempt_id")] == []
