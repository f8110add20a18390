"""A lake in a folder: delta-rs reads and writes rows that are in this process, Spark those that are in DataFrames.

Either reads what the other wrote. delta-rs takes a hundredth of Spark's time for a small table: Spark needs 3 s for the first Delta table
that a session writes, and 0.5 s for each one after it.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from deltalake import DeltaTable, WriterProperties, write_deltalake
from deltalake.transaction import AddAction, RemoveAction

from jobs.engine import DuckdbEngine, DuckdbRows
from jobs.lake import delta_files
from jobs.lake.selection import Attempt, Selection, Values, any_of_sql
from jobs.lake.spark_lake import TABLE_PROPERTIES, SparkLake
from jobs.lake.sql_literal import standard_literal
from jobs.lake.table_file import TableFile, write_duckdb_rows
from jobs.lake.worker_rows import written_rows
from jobs.lake.write_lock import file_lock
from jobs.schema import Table
from jobs.spark.scale import Scale
from jobs.spark.session import PARQUET_CODEC, PARQUET_CODEC_LEVEL, dataframe_from_arrow
from jobs.spark.worker_rows import WorkerRows

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset
    from pyspark.sql import DataFrame, SparkSession

# Parquet bytes up to which `read` gives Spark rows of this process. Beyond that a file scan is cheaper: Spark's analyser and optimiser look
# at each row of this process again and again.
_MAX_LOCAL_RELATION_BYTES = 256 << 10
_WRITER_PROPERTIES = WriterProperties(compression=PARQUET_CODEC, compression_level=PARQUET_CODEC_LEVEL)


@dataclass(frozen=True, slots=True)
class FolderLake:
    """Delta tables in a folder of this machine. See `Lake` for the methods."""

    uri: str
    spark: Callable[[], SparkSession]

    @property
    def folder(self) -> Path:
        return Path(self.uri).absolute()

    def needs_spark(self, scale: Scale) -> bool:
        return scale is Scale.LARGE  # its workers compute what kafka_model decides

    def path(self, table: Table) -> str:
        return f"{self.folder}/{table.name}"  # absolute, since Delta's SQL takes no relative path

    def exists(self, table: Table) -> bool:
        return DeltaTable.is_deltatable(self.path(table))

    def create(self, table: Table) -> None:
        DeltaTable.create(
            self.path(table),
            table.stored.schema,
            mode="ignore",
            partition_by=list(table.stored.partition_by),
            description=table.comment,
            configuration=TABLE_PROPERTIES,
        )

    def read_local(self, table: Table, *, attempts: Mapping[str, Attempt] | None = None, **where: Values) -> pa.Table:
        selection = Selection(where, attempts)
        if selection.is_empty:
            return table.schema.empty_table()
        delta = self._open(table)
        in_path = [column for column in selection.where if column in delta.metadata().partition_columns]
        partitions = [(column, "in", selection.where[column]) for column in in_path]
        rows = delta_files.dataset(delta, self.folder / table.name, partitions or None)
        return rows.to_table(table.schema.names, filter=selection.arrow(without=in_path)).cast(table.schema)

    def read(self, table: Table, *, attempts: Mapping[str, Attempt] | None = None, **where: Values) -> DataFrame:
        if delta_files.size_bytes(delta_files.files(self._open(table), Selection(where, attempts))) > _MAX_LOCAL_RELATION_BYTES:
            return self._by_spark.read(table, attempts=attempts, **where)
        return dataframe_from_arrow(self.spark(), self.read_local(table, attempts=attempts, **where), table.columns)

    def duckdb_query(self, table: Table, *, attempts: Mapping[str, Attempt] | None = None, **where: Values) -> str | None:
        return delta_files.duckdb_query(table, self._open(table), self.folder / table.name, Selection(where, attempts))

    def engine(self, scale: Scale) -> DuckdbEngine:
        return DuckdbEngine()

    def relation(self, table: Table, *, attempts: Mapping[str, Attempt] | None = None, **where: Values) -> str | pa.Table:
        return self.duckdb_query(table, attempts=attempts, **where) or self.read_local(table, attempts=attempts, **where)

    def dataset(self, table: Table) -> Dataset:
        return delta_files.dataset(self._open(table), self.folder / table.name)

    def replace(self, table: Table, rows: pa.Table | DataFrame | DuckdbRows | Sequence[TableFile], **where: Values) -> None:
        if isinstance(rows, DuckdbRows):
            self._commit(table, [write_duckdb_rows(rows, str(self.folder), _partition(where), table)], where)
        elif isinstance(rows, Sequence):
            self._commit(table, rows, where)
        elif isinstance(rows, pa.Table):
            rows = delta_files.complete(table.stored, rows, where)
            # Copied: Spark's Arrow has no offsets for a column of lists that are all empty, and delta-rs panics on it.
            rows = rows.take(pa.array(range(len(rows)), pa.int64()))
            predicate = Selection(where).sql(standard_literal)
            write_deltalake(self.path(table), rows, mode="overwrite", predicate=predicate, writer_properties=_WRITER_PROPERTIES)
        else:
            self._by_spark.replace(table, rows, **where)

    def _commit(self, table: Table, files: Sequence[TableFile], where: Mapping[str, Values]) -> None:
        partition_by = table.stored.partition_by
        if where.keys() != set(partition_by):
            raise ValueError(f"files of table {table.name} replace whole partitions ({', '.join(partition_by)}), not {dict(where)}")
        delta, now_ms = self._open(table), time.time_ns() // 1_000_000
        partition = _partition(where)
        added: list[AddAction | RemoveAction] = [
            AddAction(file.path, file.size_bytes, partition, now_ms, data_change=True, stats=file.stats) for file in files
        ]
        replaced = [(column, "=", value) for column, value in partition.items()]
        delta.create_write_transaction(added, "overwrite", delta.schema(), list(partition_by), replaced)

    def computed(self, rows: WorkerRows, **where: str) -> AbstractContextManager[Sequence[Sequence[TableFile] | pa.Table | str]]:
        return written_rows(rows, self.folder, where, self.spark)

    def attempts(self, table: Table) -> set[Attempt]:
        if not self.exists(table):
            return set()
        if set(Attempt._fields) <= set(table.stored.partition_by):  # Delta's log has them
            return {Attempt(partition["snapshot_id"], partition["attempt_id"]) for partition in self._open(table).partitions()}
        rows = self.read_local(table.stored)
        return {Attempt(*row) for row in zip(*(rows[column].to_pylist() for column in Attempt._fields), strict=True)}

    def delete(self, table: Table, snapshot_ids: Sequence[str], attempts: Collection[Attempt] = ()) -> None:
        if snapshot_ids or attempts:
            self._open(table).delete(any_of_sql(snapshot_ids, attempts, standard_literal))

    def compact(self, table: Table) -> None:
        delta = self._open(table)
        delta.optimize.compact()
        delta.create_checkpoint()

    def vacuum(self, table: Table, hours: int) -> None:
        delta = self._open(table)
        delta.vacuum(hours, dry_run=False, enforce_retention_duration=False)
        delta.cleanup_metadata()

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    @contextmanager
    def sole_writer(self) -> Iterator[None]:
        with file_lock(self.folder):
            yield

    @property
    def _by_spark(self) -> SparkLake:
        return SparkLake(str(self.folder), self.spark)

    def _open(self, table: Table) -> DeltaTable:
        return delta_files.open_table(self.path(table), self.uri)


def _partition(where: Mapping[str, Values]) -> dict[str, str]:
    """Return the columns that have a single selected value."""
    return {column: value for column, value in where.items() if isinstance(value, str)}
