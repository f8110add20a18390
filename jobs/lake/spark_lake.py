"""A lake on any Hadoop-compatible storage, read and written by Spark."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlparse

import pyarrow as pa
from deltalake import DeltaTable
from pyarrow.fs import SubTreeFileSystem

from jobs.engine import DuckdbRows, SparkEngine
from jobs.lake import delta_files
from jobs.lake.hadoop import hadoop_path
from jobs.lake.selection import Attempt, Selection, Values, any_of_sql
from jobs.lake.sql_literal import spark_literal
from jobs.lake.storage_options import delta_rs_options, s3_file_system
from jobs.lake.table_file import TableFile
from jobs.lake.worker_rows import packed_rows
from jobs.lake.write_lock import LEASE_S, file_lock, object_lock
from jobs.schema import Table
from jobs.spark.scale import Scale
from jobs.spark.session import configure_for_scale, dataframe_from_arrow
from jobs.spark.worker_rows import WorkerRows

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset
    from pyspark.sql import DataFrame, SparkSession

# Collect min and max of the key columns only, which readers filter by. For all columns this costs 20 % of a write.
TABLE_PROPERTIES = {"delta.dataSkippingNumIndexedCols": "6"}
_TABLE_WAIT_S = 3600.0  # no step of another run takes longer to write one table


@dataclass(frozen=True, slots=True)
class SparkLake:
    """Delta tables that Spark reads and writes, at any size. See `Lake` for the methods."""

    uri: str
    spark: Callable[[], SparkSession]

    @property
    def folder(self) -> Path | None:
        parsed = urlparse(self.uri)
        return Path(parsed.path).absolute() if parsed.scheme in ("", "file") else None

    def needs_spark(self, scale: Scale) -> bool:
        return True

    def path(self, table: Table) -> str:
        return f"{self.uri.rstrip('/')}/{table.name}"

    def exists(self, table: Table) -> bool:
        from delta.tables import DeltaTable as SparkDeltaTable

        return SparkDeltaTable.isDeltaTable(self.spark(), self.path(table))

    def create(self, table: Table) -> None:
        # Created by SQL, since Spark's first write to a new table drops NOT NULL and the comments.
        properties = ", ".join(f"'{name}' = '{value}'" for name, value in TABLE_PROPERTIES.items())
        stored = table.stored
        partitioned = f"PARTITIONED BY ({', '.join(stored.partition_by)})" if stored.partition_by else ""
        with self._sole_writer_of(table):
            self.spark().sql(
                f"CREATE TABLE IF NOT EXISTS delta.`{self.path(table)}` ({stored.columns}) USING delta {partitioned} "
                f"COMMENT {spark_literal(table.comment)} TBLPROPERTIES ({properties})"
            )

    def read_local(self, table: Table, *, attempts: Mapping[str, Attempt] | None = None, **where: Values) -> pa.Table:
        return self.read(table, attempts=attempts, **where).toArrow()

    def read(self, table: Table, *, attempts: Mapping[str, Attempt] | None = None, **where: Values) -> DataFrame:
        rows = self.spark().read.format("delta").load(self.path(table))
        return rows.where(Selection(where, attempts).sql(spark_literal)).select(table.schema.names)

    def duckdb_query(self, table: Table, *, attempts: Mapping[str, Attempt] | None = None, **where: Values) -> str | None:
        if self.folder is None:
            return None
        return delta_files.duckdb_query(table, self._open(table), self.folder / table.name, Selection(where, attempts))

    def engine(self, scale: Scale) -> SparkEngine:
        configure_for_scale(self.spark(), scale)
        return SparkEngine(self.spark())

    def relation(self, table: Table, *, attempts: Mapping[str, Attempt] | None = None, **where: Values) -> DataFrame:
        return self.read(table, attempts=attempts, **where)

    def dataset(self, table: Table) -> Dataset:
        delta = self._open(table)
        if self.folder is not None:
            return delta_files.dataset(delta, self.folder / table.name)
        if self._is_s3:
            address = urlparse(self.path(table))
            s3 = s3_file_system(self._spark_properties())
            return delta.to_pyarrow_dataset(filesystem=SubTreeFileSystem(f"{address.netloc}{address.path}", s3))
        return delta.to_pyarrow_dataset()

    def replace(self, table: Table, rows: pa.Table | DataFrame | DuckdbRows | Sequence[TableFile], **where: Values) -> None:
        from pyspark.sql import functions as F

        if isinstance(rows, Sequence | DuckdbRows):
            raise TypeError(f"only Spark writes to {self.uri}, so it takes neither files nor rows of DuckDB")
        spark, selection = self.spark(), Selection(where)
        stored = table.stored
        df = dataframe_from_arrow(spark, delta_files.complete(stored, rows, where), stored.columns) if isinstance(rows, pa.Table) else rows
        df = df.withColumns({column: F.lit(value) for column, value in where.items() if isinstance(value, str)})
        with self._sole_writer_of(table):
            if self._is_new(table, selection):
                df.write.format("delta").mode("append").save(self.path(table))
                return
            # A replacement of whole partitions rewrites no file, so Delta's code that can rewrite files is switched off.
            spark.conf.set("spark.databricks.delta.replaceWhere.dataColumns.enabled", not where.keys() <= set(stored.partition_by))
            df.write.format("delta").mode("overwrite").option("replaceWhere", selection.sql(spark_literal)).save(self.path(table))

    def _is_new(self, table: Table, selection: Selection) -> bool:
        """Return whether the attempt has no partition folder yet: an append takes a fifth of the time of a replacement."""
        if "snapshot_id" not in table.partition_by:
            return False
        snapshots, attempts = (selection.where[column] for column in Attempt._fields)
        names = [f"snapshot_id={id.replace(':', '%3A')}/attempt_id={number}" for id in snapshots for number in attempts]
        folders = [hadoop_path(self.spark(), f"{self.path(table)}/{name}") for name in names]
        return not any(file_system.exists(folder) for file_system, folder in folders)

    def computed(self, rows: WorkerRows, **where: str) -> AbstractContextManager[Sequence[DataFrame | pa.Table]]:
        return packed_rows(rows)

    def attempts(self, table: Table) -> set[Attempt]:
        if not self.exists(table):
            return set()
        return {Attempt(*row) for row in self.read(table.stored).select(*Attempt._fields).distinct().collect()}

    def delete(self, table: Table, snapshot_ids: Sequence[str], attempts: Collection[Attempt] = ()) -> None:
        from delta.tables import DeltaTable as SparkDeltaTable

        if snapshot_ids or attempts:
            with self._sole_writer_of(table):
                SparkDeltaTable.forPath(self.spark(), self.path(table)).delete(any_of_sql(snapshot_ids, attempts, spark_literal))

    def compact(self, table: Table) -> None:
        with self._sole_writer_of(table):
            self.spark().sql(f"OPTIMIZE delta.`{self.path(table)}`")

    def vacuum(self, table: Table, hours: int) -> None:
        spark = self.spark()
        spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
        # Spark lists files in 10,000 tasks by default, which takes 90 s for three small tables.
        spark.conf.set("spark.sql.sources.parallelPartitionDiscovery.parallelism", 4 * spark.sparkContext.defaultParallelism)
        with self._sole_writer_of(table):
            spark.sql(f"VACUUM delta.`{self.path(table)}` RETAIN {hours} HOURS")

    def remove(self) -> None:
        file_system, folder = hadoop_path(self.spark(), self.uri)
        file_system.delete(folder, True)

    @contextmanager
    def sole_writer(self) -> Iterator[None]:
        if self.folder is not None:
            with file_lock(self.folder):
                yield
        elif self._is_s3:
            with object_lock(self.spark(), f"{self.uri.rstrip('/')}/.writer.lock", wait_s=2 * LEASE_S):
                yield
        else:
            yield

    @contextmanager
    def _sole_writer_of(self, table: Table) -> Iterator[None]:
        """Hold the lock of a table in S3, where Delta's commits of two drivers would overwrite each other (S3SingleDriverLogStore).

        On other storage Delta commits by an atomic rename or a conditional write.
        """
        if not self._is_s3:
            yield
            return
        with object_lock(self.spark(), f"{self.uri.rstrip('/')}/.{table.name}.lock", wait_s=_TABLE_WAIT_S):
            yield

    @property
    def _is_s3(self) -> bool:
        return urlparse(self.uri).scheme == "s3a"

    def _open(self, table: Table) -> DeltaTable:
        options = delta_rs_options(self._spark_properties()) if self._is_s3 else None
        return delta_files.open_table(self.path(table), self.uri, options)

    def _spark_properties(self) -> dict[str, str]:
        """Return the properties of this process's Spark; empty if it has none, since readers then use environment variables."""
        from pyspark import SparkContext

        submitted = "PYSPARK_GATEWAY_PORT" in os.environ
        if not submitted and SparkContext._active_spark_context is None:
            return {}
        return dict(self.spark().sparkContext.getConf().getAll())
