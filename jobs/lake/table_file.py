"""Parquet files that Spark's workers write into a table's folder from Arrow rows, or DuckDB from its rows, and that the driver commits.

    worker: TableFileWriter(folder, partition, table).write(rows) ... .close() -> TableFile    driver: lake.replace(table, files, ...)

Readers do not see a file until the driver commits it, so a task that fails or is retried adds no rows. Writing Arrow rows as Parquet takes
a twentieth of the time that Spark needs to convert them into its own rows first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from jobs.engine import DuckdbRows
from jobs.lake.delta_files import duckdb_type
from jobs.lake.sql_literal import standard_literal
from jobs.schema import Table
from jobs.spark.session import PARQUET_CODEC, PARQUET_CODEC_LEVEL

_ROW_GROUP_BYTES = 32 << 20  # of Arrow rows in memory
_TYPES_WITH_STATS = (pa.string(), pa.int32(), pa.int64())  # Parquet and Delta's log store min and max of these types in the same form


@dataclass(frozen=True, slots=True)
class TableFile:
    """A Parquet file of a table."""

    path: str  # relative to the table's folder
    size_bytes: int
    stats: str  # JSON as in Delta's log: the number of rows, and min and max of the key columns


class TableFileWriter:
    """Writes one Parquet file of a partition of a table. The rows arrive in any number of pieces, with or without the partition columns."""

    def __init__(self, folder: str, partition: Mapping[str, str], table: Table):
        self._key = table.key
        self._path, self._file = _new_file(folder, partition, table)
        self._schema = _schema_of_files(table)
        self._metadata: list[pq.FileMetaData] = []
        self._writer: Any = None  # opened at the first rows
        self._pieces: list[pa.Table] = []

    def write(self, rows: pa.Table) -> None:
        """Add rows; small pieces share a row group. Texts that are dictionaries of the first piece are so of all pieces."""
        if self._writer is None:
            self._open(_with_dictionaries(self._schema, rows.schema))
        self._pieces.append(rows.select(self._schema.names).cast(self._written_schema))
        if sum(piece.nbytes for piece in self._pieces) >= _ROW_GROUP_BYTES:
            self._flush()

    def close(self) -> TableFile:
        """Complete the file and return it."""
        if self._writer is None:
            self._open(self._schema)
        self._flush()
        self._writer.close()
        return TableFile(self._path, self._file.stat().st_size, _stats(self._key, self._schema, self._metadata[0]))

    def _flush(self) -> None:
        if self._pieces:
            # A dictionary that changes within a row group is written as plain texts.
            self._writer.write_table(pa.concat_tables(self._pieces).unify_dictionaries())
            self._pieces = []

    def _open(self, schema: pa.Schema) -> None:
        self._written_schema = schema
        compression = {"compression": PARQUET_CODEC, "compression_level": PARQUET_CODEC_LEVEL}
        self._writer = pq.ParquetWriter(self._file, schema, store_schema=False, metadata_collector=self._metadata, **compression)


def write_duckdb_rows(rows: DuckdbRows, folder: str, partition: Mapping[str, str], table: Table) -> TableFile:
    """Let DuckDB write rows as one file of a partition of a table; raises DuckDB's error for a null in a NOT NULL column."""
    path, file = _new_file(folder, partition, table)
    schema = _schema_of_files(table)
    columns = ", ".join(map(_checked_column, schema))
    options = f"FORMAT parquet, COMPRESSION {PARQUET_CODEC}, COMPRESSION_LEVEL {PARQUET_CODEC_LEVEL}"
    rows.connection.execute(f"COPY (SELECT {columns} FROM {rows.name}) TO {standard_literal(str(file))} ({options})")
    return TableFile(path, file.stat().st_size, _stats(table.key, schema, pq.read_metadata(file)))


def _checked_column(field: pa.Field) -> str:
    """Return SQL for a column in its declared type."""
    value = f'CAST("{field.name}" AS {duckdb_type(field.type)})'
    if not field.nullable:
        value = f"CASE WHEN {value} IS NULL THEN error('column {field.name} has a null') ELSE {value} END"
    return f'{value} AS "{field.name}"'


def _new_file(folder: str, partition: Mapping[str, str], table: Table) -> tuple[str, Path]:
    """Return a new file of a partition of a table: its path in the table's folder, which exists then, and its whole path."""
    values = {name: partition[name] for name in table.stored.partition_by}
    # Spark's name of a partition folder, since SparkLake looks for it before it appends.
    path = "/".join(f"{name}={value.replace(':', '%3A')}" for name, value in values.items()) + f"/part-{uuid4()}.parquet"
    file = Path(folder, table.name, path)
    file.parent.mkdir(parents=True, exist_ok=True)
    return path, file


def _schema_of_files(table: Table) -> pa.Schema:
    """Return the columns of a table's files: those without the Delta partition columns."""
    return pa.schema([field.remove_metadata() for field in table.schema if field.name not in table.stored.partition_by])


def _stats(key: tuple[str, ...], schema: pa.Schema, metadata: pq.FileMetaData) -> str:
    row_groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    columns = [metadata.schema.column(number).path for number in range(metadata.num_columns)]
    min_values, max_values = {}, {}
    for name in key:
        if name in columns and schema.field(name).type in _TYPES_WITH_STATS:
            stats = [group.column(columns.index(name)).statistics for group in row_groups]
            if stats and all(each is not None and each.has_min_max for each in stats):
                min_values[name], max_values[name] = min(each.min for each in stats), max(each.max for each in stats)
    return json.dumps({"numRecords": metadata.num_rows, "minValues": min_values, "maxValues": max_values})


def _with_dictionaries(schema: pa.Schema, given: pa.Schema) -> pa.Schema:
    """Return the schema with the dictionaries of texts of the given one, which Parquet stores as they are."""
    dictionary = pa.dictionary(pa.int32(), pa.string())
    return pa.schema([field.with_type(dictionary) if given.field(field.name).type == dictionary else field for field in schema])
