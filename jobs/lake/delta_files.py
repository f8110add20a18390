"""Delta tables read from their log and Parquet files by delta-rs, Arrow and DuckDB, without Spark."""

from __future__ import annotations

import glob
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError
from pyarrow import fs

from jobs.errors import AuditError
from jobs.lake.selection import Selection, Values
from jobs.lake.sql_literal import standard_literal
from jobs.schema import Table

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset

_DUCKDB_TYPES = {
    pa.string(): "VARCHAR",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.float64(): "DOUBLE",
    pa.bool_(): "BOOLEAN",
    pa.binary(): "BLOB",
    pa.date32(): "DATE",
    pa.timestamp("us", tz="UTC"): "TIMESTAMPTZ",
}


def open_table(path: str, lake_uri: str, storage_options: dict[str, str] | None = None) -> DeltaTable:
    """Open a table; raises an AuditError that names the lake if the table does not exist."""
    try:
        return DeltaTable(path, storage_options=storage_options)
    except TableNotFoundError:
        name = path.rpartition("/")[2]
        raise AuditError(
            f"there is no audit in {lake_uri} (table {name} is missing): run `topology-audit nightly --lake {lake_uri}` first"
        ) from None


def files(delta: DeltaTable, selection: Selection) -> pa.Table:
    """Return the table's files with rows of the selected partitions, as in Delta's log: a row per file."""
    rows = pa.table(delta.get_add_actions(flatten=True))
    for column in selection.where.keys() & set(delta.metadata().partition_columns):
        rows = rows.filter(pc.is_in(rows[f"partition.{column}"], pa.array(selection.where[column], pa.string())))
    return rows


def size_bytes(files: pa.Table) -> int:
    """Return the total size of files."""
    return pc.sum(files["size_bytes"]).as_py() or 0


def dataset(delta: DeltaTable, folder: Path, partitions: list[tuple[str, str, list[str]]] | None = None) -> Dataset:
    """Return a table in a folder as an Arrow dataset."""
    # Arrow's own file system: Arrow's threads call that of delta-rs back, after which every second process aborted at its exit.
    return delta.to_pyarrow_dataset(partitions=partitions, filesystem=fs.SubTreeFileSystem(str(folder), fs.LocalFileSystem()))


def duckdb_query(table: Table, delta: DeltaTable, folder: Path, selection: Selection) -> str | None:
    """Return a query on the files of a table in a folder; None if DuckDB would expand the folder's path as a pattern."""
    if glob.escape(str(folder)) != str(folder):
        return None
    selected = files(delta, selection)
    if not len(selected):
        return no_rows(table)
    files_of_table = [folder / unquote(path) for path in selected["path"].to_pylist()]
    return (
        f"{_select(table, files_of_table, 'hive_partitioning = true, hive_types_autocast = false')} WHERE {selection.sql(standard_literal)}"
    )


def no_rows(table: Table) -> str:
    """Return a query with the columns of a table and no rows."""
    nulls = ", ".join(f'CAST(NULL AS {duckdb_type(field.type)}) AS "{field.name}"' for field in table.schema)
    return f"SELECT {nulls} WHERE false"


def parquet_query(table: Table, files: Sequence[Path]) -> str | pa.Table:
    """Return a query on Parquet files that have all columns of a table; the rows themselves if DuckDB would expand a path as a pattern."""
    if not files:
        return table.schema.empty_table()
    if any(glob.escape(str(file)) != str(file) for file in files):
        return pa.concat_tables(pq.ParquetFile(file).read() for file in files)
    return _select(table, files, "hive_partitioning = false")


def _select(table: Table, files: Sequence[Path], options: str) -> str:
    columns = ", ".join(f'"{name}"' for name in table.schema.names)
    paths = ", ".join(standard_literal(str(file)) for file in files)
    return f"SELECT {columns} FROM read_parquet([{paths}], {options})"


def complete(table: Table, rows: pa.Table, where: Mapping[str, Values]) -> pa.Table:
    """Return rows with all declared columns in order and type; a column with a single selected value gets that value.

    Raises a ValueError for an unknown column, and Arrow's error for a null in a NOT NULL column.
    """
    for column, value in where.items():
        if isinstance(value, str):
            values = pa.repeat(pa.scalar(value), len(rows))
            rows = rows.drop_columns([column] if column in rows.column_names else []).append_column(column, values)
    if unknown := set(rows.column_names) - set(table.schema.names):
        raise ValueError(f"table {table.name} has no column {', '.join(sorted(unknown))}")
    return rows.select(table.schema.names).cast(table.schema)


def duckdb_type(type: pa.DataType) -> str:
    """Return the type of a column in DuckDB."""
    if pa.types.is_list(type):
        return f"{duckdb_type(type.value_type)}[]"
    if pa.types.is_map(type):
        return f"MAP({duckdb_type(type.key_type)}, {duckdb_type(type.item_type)})"
    if pa.types.is_struct(type):
        fields = ", ".join(f'"{field.name}" {duckdb_type(field.type)}' for field in type.fields)
        return f"STRUCT({fields})"
    return _DUCKDB_TYPES[type]
