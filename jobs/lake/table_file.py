"""table_file: rows of a slice as a Parquet file, written into a table's folder by whoever has them as Arrow.

    worker: TableFileWriter(folder, slice, table).write(rows) ... .close() -> TableFile        driver: Lake.replace(table, files, ...)

A file is of the table once the driver commits it, so that a task that fails, or is tried again, leaves nothing to be read. Rows that are
Arrow already are in Parquet for a twentieth of what it takes Spark to make rows of them first.
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

_ROW_GROUP_BYTES = 32 << 20  # of rows in memory
_ORDERED = (pa.string(), pa.int32(), pa.int64())  # types whose least and greatest Parquet has as Delta wants them


@dataclass(frozen=True, slots=True)
class TableFile:
    """A file, by its path in the table's folder."""

    path: str
    size_bytes: int
    stats: str  # as Delta's log has them: how many rows, and the least and greatest values of the key's columns


class TableFileWriter:
    """Writes one file in a folder of tables; its rows come in any number of pieces, and need not have the slice's columns."""

    def __init__(self, folder: str, slice: Mapping[str, str], table: Table):
        self._key = table.key
        # As Spark names the folder of a slice, which it looks for before it appends.
        self._path = "/".join(f"{name}={value.replace(':', '%3A')}" for name, value in slice.items()) + f"/part-{uuid4()}.parquet"
        self._file = Path(folder, table.name, self._path)
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._schema = pa.schema([field.remove_metadata() for field in table.schema if field.name not in slice])
        self._told: list[pq.FileMetaData] = []
        self._writer = pq.ParquetWriter(self._file, self._schema, store_schema=False, metadata_collector=self._told)
        self._waiting: list[pa.Table] = []

    def write(self, rows: pa.Table) -> None:
        """Add rows; small pieces are written together."""
        self._waiting.append(rows.select(self._schema.names).cast(self._schema))
        if sum(piece.nbytes for piece in self._waiting) >= _ROW_GROUP_BYTES:
            self._flush()

    def close(self) -> TableFile:
        """The file, which is whole now."""
        self._flush()
        self._writer.close()
        return TableFile(self._path, self._file.stat().st_size, json.dumps(self._stats(self._told[0])))

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.concat_tables(self._waiting))
            self._waiting = []

    def _stats(self, told: pq.FileMetaData) -> dict[str, Any]:
        groups = [told.row_group(number) for number in range(told.num_row_groups)]
        columns = [told.schema.column(number).path for number in range(told.num_columns)]
        least, greatest = {}, {}
        for name in self._key:
            if name in columns and self._schema.field(name).type in _ORDERED:
                of_groups = [group.column(columns.index(name)).statistics for group in groups]
                if of_groups and all(one is not None and one.has_min_max for one in of_groups):
                    least[name], greatest[name] = min(one.min for one in of_groups), max(one.max for one in of_groups)
        return {"numRecords": told.num_rows, "minValues": least, "maxValues": greatest}
