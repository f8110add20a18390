"""Parquet files that Spark's workers write into a table's folder from Arrow rows, and that the driver commits.

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

from jobs.schema import Table

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
        partition = {name: partition[name] for name in table.stored.partition_by}
        # Spark's name of a partition folder, since SparkLake looks for it before it appends.
        self._path = "/".join(f"{name}={value.replace(':', '%3A')}" for name, value in partition.items()) + f"/part-{uuid4()}.parquet"
        self._file = Path(folder, table.name, self._path)
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._schema = pa.schema([field.remove_metadata() for field in table.schema if field.name not in partition])
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
        return TableFile(self._path, self._file.stat().st_size, json.dumps(self._stats(self._metadata[0])))

    def _flush(self) -> None:
        if self._pieces:
            # A dictionary that changes within a row group is written as plain texts.
            self._writer.write_table(pa.concat_tables(self._pieces).unify_dictionaries())
            self._pieces = []

    def _open(self, schema: pa.Schema) -> None:
        self._written_schema = schema
        self._writer = pq.ParquetWriter(self._file, schema, store_schema=False, metadata_collector=self._metadata)

    def _stats(self, metadata: pq.FileMetaData) -> dict[str, Any]:
        row_groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        columns = [metadata.schema.column(number).path for number in range(metadata.num_columns)]
        min_values, max_values = {}, {}
        for name in self._key:
            if name in columns and self._schema.field(name).type in _TYPES_WITH_STATS:
                stats = [group.column(columns.index(name)).statistics for group in row_groups]
                if stats and all(each is not None and each.has_min_max for each in stats):
                    min_values[name], max_values[name] = min(each.min for each in stats), max(each.max for each in stats)
        return {"numRecords": metadata.num_rows, "minValues": min_values, "maxValues": max_values}


def _with_dictionaries(schema: pa.Schema, given: pa.Schema) -> pa.Schema:
    """Return the schema with the dictionaries of texts of the given one, which Parquet stores as they are."""
    dictionary = pa.dictionary(pa.int32(), pa.string())
    return pa.schema([field.with_type(dictionary) if given.field(field.name).type == dictionary else field for field in schema])
