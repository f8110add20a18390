"""A lake on any Hadoop-compatible storage, read and written by Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlparse

import pyarrow as pa
from deltalake import DeltaTable
from pyarrow.dataset import Dataset

from jobs.lake import delta_files
from jobs.lake.selection import Selection, Values
from jobs.lake.sql_literal import spark_literal
from jobs.lake.table_file import TableFile
from jobs.lake.write_lock import file_lock
from jobs.schema import INPUT_FILE, Table
from jobs.spark.session import dataframe_from_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Min and max of the key columns alone, which readers filter by: collecting them for all columns costs 20 % of a write.
TABLE_PROPERTIES = {"delta.dataSkippingNumIndexedCols": "6"}


@dataclass(frozen=True, slots=True)
class SparkLake:
    """Delta tables that Spark reads and writes, at any size. See `Lake` for the methods."""

    uri: str
    spark: Callable[[], SparkSession]

    @property
    def folder(self) -> Path | None:
        parsed = urlparse(self.uri)
        return Path(parsed.path).absolute() if parsed.scheme in ("", "file") else None

    def path(self, table: Table) -> str:
        return f"{self.uri.rstrip('/')}/{table.name}"

    def exists(self, table: Table) -> bool:
        from delta.tables import DeltaTable as SparkDeltaTable

        return SparkDeltaTable.isDeltaTable(self.spark(), self.path(table))

    def create(self, table: Table) -> None:
        # Created by SQL, since Spark's first write to a new table drops NOT NULL and the comments.
        properties = ", ".join(f"'{name}' = '{value}'" for name, value in TABLE_PROPERTIES.items())
        partitioned = f"PARTITIONED BY ({', '.join(table.partition_by)})" if table.partition_by else ""
        self.spark().sql(
            f"CREATE TABLE IF NOT EXISTS delta.`{self.path(table)}` ({table.columns}) USING delta {partitioned} "
            f"COMMENT {spark_literal(table.comment)} TBLPROPERTIES ({properties})"
        )

    def read_local(self, table: Table, *, snapshots: Mapping[str, str] | None = None, **where: Values) -> pa.Table:
        return self.read(table, snapshots=snapshots, **where).toArrow()

    def read(self, table: Table, *, snapshots: Mapping[str, str] | None = None, **where: Values) -> DataFrame:
        rows = self.spark().read.format("delta").load(self.path(table))
        return rows.where(Selection(where, snapshots).sql(spark_literal))

    def duckdb_query(
        self, table: Table, *, max_bytes: int | None = None, snapshots: Mapping[str, str] | None = None, **where: Values
    ) -> str | None:
        if self.folder is None:
            return None
        return delta_files.duckdb_query(self._open(table), self.folder / table.name, Selection(where, snapshots), max_bytes)

    def dataset(self, table: Table) -> Dataset:
        return delta_files.dataset(self._open(table), self.folder and self.folder / table.name)

    def replace(self, table: Table, rows: pa.Table | DataFrame | Sequence[TableFile], **where: Values) -> None:
        from pyspark.sql import functions as F

        if isinstance(rows, Sequence):
            raise TypeError(f"files cannot be committed to {self.uri}")
        spark, selection = self.spark(), Selection(where)
        df = dataframe_from_arrow(spark, delta_files.complete(table, rows, where), table.columns) if isinstance(rows, pa.Table) else rows
        df = df.withColumns({column: F.lit(value) for column, value in where.items() if isinstance(value, str)})
        if self._is_new(table, selection):
            df.write.format("delta").mode("append").save(self.path(table))
            return
        # A replacement of whole partitions rewrites no file, so Delta's code that can rewrite files is switched off.
        spark.conf.set("spark.databricks.delta.replaceWhere.dataColumns.enabled", not where.keys() <= set(table.partition_by))
        df.write.format("delta").mode("overwrite").option("replaceWhere", selection.sql(spark_literal)).save(self.path(table))

    def _is_new(self, table: Table, selection: Selection) -> bool:
        """Return whether the snapshot has no partition folder yet: an append takes a fifth of the time of a replacement."""
        if "snapshot_id" not in table.partition_by:
            return False
        spark = self.spark()
        names = [f"snapshot_id={id.replace(':', '%3A')}" for id in selection.where["snapshot_id"]]
        folders = [spark._jvm.org.apache.hadoop.fs.Path(f"{self.path(table)}/{name}") for name in names]
        return not any(folder.getFileSystem(spark._jsc.hadoopConfiguration()).exists(folder) for folder in folders)

    def file_writer(self, **partition: str) -> None:
        return None

    def snapshots(self) -> list[str]:
        return sorted(row.snapshot_id for row in self.read(INPUT_FILE).select("snapshot_id").distinct().collect())

    def delete(self, table: Table, snapshot_ids: Sequence[str]) -> None:
        from delta.tables import DeltaTable as SparkDeltaTable

        if snapshot_ids:
            SparkDeltaTable.forPath(self.spark(), self.path(table)).delete(Selection({"snapshot_id": snapshot_ids}).sql(spark_literal))

    def compact(self, table: Table) -> None:
        self.spark().sql(f"OPTIMIZE delta.`{self.path(table)}`")

    def vacuum(self, table: Table, hours: int) -> None:
        spark = self.spark()
        spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
        # Spark lists files in 10,000 tasks by default, which takes 90 s for three small tables.
        spark.conf.set("spark.sql.sources.parallelPartitionDiscovery.parallelism", 4 * spark.sparkContext.defaultParallelism)
        spark.sql(f"VACUUM delta.`{self.path(table)}` RETAIN {hours} HOURS")

    def remove(self) -> None:
        spark = self.spark()
        path = spark._jvm.org.apache.hadoop.fs.Path(self.uri)
        path.getFileSystem(spark._jsc.hadoopConfiguration()).delete(path, True)

    @contextmanager
    def sole_writer(self) -> Iterator[None]:
        if self.folder is None:
            yield
            return
        with file_lock(self.folder):
            yield

    def _open(self, table: Table) -> DeltaTable:
        return delta_files.open_table(self.path(table), self.uri)
