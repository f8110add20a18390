"""The declaration of a Delta table: its name, key, columns, their comments and units.

The text of the columns is the DDL for CREATE TABLE and for Spark's schemas; `Table.schema` is the same as an Arrow schema. Column names are
Kafka's words, ids end in `_id` and units are part of the name.

Each ingest of a night starts a new attempt, whose rows are stored beside those of earlier attempts. A declaration has the columns of the
rows in one attempt, which steps and rules read and write. `Table.stored` also has the column `attempt_id`, which the lake adds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import pyarrow as pa

SNAPSHOT_COLUMNS = "snapshot_id STRING NOT NULL COMMENT 'name of the night that the row belongs to; later nights sort later'"
ATTEMPT_COLUMN = "attempt_id STRING NOT NULL COMMENT 'number of the attempt that wrote the row, as text: each ingest of a night starts a new attempt; snapshot contains the published one'"
CLUSTER_COLUMNS = f"""{SNAPSHOT_COLUMNS},
    cluster_id STRING NOT NULL COMMENT 'name of the cluster: the folder that its dumps were read from'"""
TOPIC_COLUMNS = f"""{CLUSTER_COLUMNS},
    topic STRING NOT NULL COMMENT 'name of the topic'"""
PARTITION_COLUMNS = f"""{TOPIC_COLUMNS},
    partition INT NOT NULL COMMENT 'number of the partition within its topic, from 0'"""


class Column(NamedTuple):
    """A column as it is declared; its type is that of Spark's SQL, for example ARRAY<INT>."""

    name: str
    type: str
    nullable: bool
    comment: str


@dataclass(frozen=True, slots=True)
class Table:
    """A Delta table.

    `key` is unique per row of an attempt. A write replaces all rows with the same values of the Delta partition columns `partition_by`.
    `view_columns` are further columns of the published view, which jobs/views/<name>.sql computes from stored ones.
    """

    name: str
    comment: str
    key: tuple[str, ...]
    columns: str
    partition_by: tuple[str, ...] = ("snapshot_id",)
    view_columns: str = ""

    @property
    def stored(self) -> Table:
        """The table as the lake stores it: with attempt_id after snapshot_id, among the columns and in `partition_by`."""
        if "attempt_id" in self.schema.names:
            return self
        snapshot_column, _, others = self.columns.strip().partition("\n")
        partition_by = tuple(part for name in self.partition_by for part in ((name, "attempt_id") if name == "snapshot_id" else (name,)))
        return replace(self, columns=f"{snapshot_column}\n{ATTEMPT_COLUMN},\n{others}", partition_by=partition_by)

    @property
    def declared_columns(self) -> tuple[Column, ...]:
        """The columns, parsed. Spark's DDL parser would need a JVM."""
        return _parse(self.columns)

    @property
    def declared_view_columns(self) -> tuple[Column, ...]:
        """The columns that only the published view has, parsed."""
        return _parse(self.view_columns)

    @property
    def schema(self) -> pa.Schema:
        """The columns as an Arrow schema, with comments as metadata."""
        return _arrow_schema(self.columns)


_COLUMN = re.compile(r"(?P<name>\w+) (?P<type>\w+(?:<[\w<>:, ]+>)?)(?P<required> NOT NULL)?(?: COMMENT '(?P<comment>(?:[^']|'')*)')?,?")
_ARROW_TYPES = {
    "STRING": pa.string(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "BOOLEAN": pa.bool_(),
    "BINARY": pa.binary(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", tz="UTC"),
}


@cache
def _parse(columns: str) -> tuple[Column, ...]:
    return tuple(_parse_column(line.strip()) for line in columns.strip().splitlines())


def _parse_column(declaration: str) -> Column:
    column = _COLUMN.fullmatch(declaration)
    if column is None:
        raise ValueError(f"not the declaration of one column: {declaration}")
    return Column(column["name"], column["type"], column["required"] is None, (column["comment"] or "").replace("''", "'"))


@cache
def _arrow_schema(columns: str) -> pa.Schema:
    return pa.schema([_arrow_field(column) for column in _parse(columns)])


def _arrow_field(column: Column) -> pa.Field:
    metadata = {"comment": column.comment} if column.comment else None
    return pa.field(column.name, _arrow_type(column.type), nullable=column.nullable, metadata=metadata)


def _arrow_type(declared: str) -> pa.DataType:
    """Convert a type of Spark's SQL, for example ARRAY<STRUCT<broker: INT, racks: ARRAY<STRING>>>."""
    outer, _, inner = declared.removesuffix(">").partition("<")
    if not inner:
        return _ARROW_TYPES[declared]
    parts = _split_at_commas(inner)
    if outer == "STRUCT":
        fields = (part.split(": ", 1) for part in parts)
        return pa.struct([pa.field(name, _arrow_type(field_type)) for name, field_type in fields])
    return {"ARRAY": pa.list_, "MAP": pa.map_}[outer](*map(_arrow_type, parts))


def _split_at_commas(types: str) -> list[str]:
    """Split at the commas that are not within < and >."""
    parts = [""]
    for piece in types.split(", "):
        is_open = parts[-1].count("<") > parts[-1].count(">")
        parts = [*parts[:-1], f"{parts[-1]}, {piece}"] if is_open else [*parts, piece]
    return parts[1:]
