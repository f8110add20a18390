"""The lake: where the Delta tables lie, and how a slice of one is read and replaced.

Spark does so on any Hadoop-compatible storage and at any size. Few rows in a folder are read and written by delta-rs in this process:
the same tables, of which either reads what the other wrote, at a hundredth of the cost (Spark takes about three seconds for the first
Delta table that a session writes, and half a second for each after it). A lake given as a URI, `file:///...` too, is Spark's alone.
"""

from __future__ import annotations

import glob
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, reduce
from operator import and_, or_
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable, Schema, write_deltalake
from deltalake.exceptions import TableNotFoundError
from deltalake.transaction import AddAction
from filelock import FileLock, Timeout
from pyarrow import fs
from pyarrow.dataset import Dataset

from jobs.errors import AuditError
from jobs.lake.sql_literal import spark_literal, standard_literal
from jobs.lake.table_file import TableFile, TableFileWriter
from jobs.schema import INPUT_FILE, Table
from jobs.spark.session import of_arrow

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

Slice = str | Sequence[str]  # the value of a column, or its values
FEW_BYTES = 16 << 20  # of Parquet: what one process reads in less time than Spark plans to
# Readers ask by keys, which come first: to tell the least and the most of every column takes a fifth of the time of a write.
_PROPERTIES = {"delta.dataSkippingNumIndexedCols": "6"}
# Of rows in this process every rule of Spark's analyser and optimiser looks at each one, again and again: so many cost less than a scan.
_PLANNED_BYTES = 256 << 10
_DUCKDB_TYPES = {
    pa.string(): "VARCHAR",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.float64(): "DOUBLE",
    pa.bool_(): "BOOLEAN",
    pa.binary(): "BLOB",
    pa.timestamp("us", tz="UTC"): "TIMESTAMPTZ",
}


@dataclass(frozen=True, slots=True)
class Lake:
    """A folder or any Hadoop-compatible URI. `spark` gives the session, which is asked for when it is needed."""

    uri: str
    spark: Callable[[], SparkSession]

    @property
    def in_process(self) -> bool:
        """Whether few rows may be read and written without Spark."""
        return urlparse(self.uri).scheme == ""

    @property
    def folder(self) -> Path | None:
        """On this machine's disks; None: on other storage."""
        return Path(urlparse(self.uri).path).absolute() if urlparse(self.uri).scheme in ("", "file") else None

    def path(self, table: Table) -> str:
        """Where a table lies; of a folder the absolute path, since Delta's SQL takes no other."""
        return f"{self.folder if self.in_process else self.uri.rstrip('/')}/{table.name}"

    def has(self, table: Table) -> bool:
        """Whether the table is there."""
        if self.in_process:
            return DeltaTable.is_deltatable(self.path(table))
        from delta.tables import DeltaTable as OfSpark

        return OfSpark.isDeltaTable(self.spark(), self.path(table))

    def create(self, table: Table) -> None:
        """Create the table if it is not there, from the declaration, since a plain write would lose NOT NULL and the comments.

        A lake of an older version gets the columns that it lacks, null in its rows, and tables that it slices otherwise are written anew.
        """
        if self.has(table):
            self._add_columns(table)
            self._slice_anew(table)
        elif self.in_process:
            DeltaTable.create(
                self.path(table),
                table.schema,
                mode="ignore",
                partition_by=list(table.partition_by),
                description=table.comment,
                configuration=_PROPERTIES,
            )
        else:
            properties = ", ".join(f"'{name}' = '{value}'" for name, value in _PROPERTIES.items())
            partitioned = f"PARTITIONED BY ({', '.join(table.partition_by)})" if table.partition_by else ""
            self.spark().sql(
                f"CREATE TABLE IF NOT EXISTS delta.`{self.path(table)}` ({table.columns}) USING delta {partitioned} "
                f"COMMENT {spark_literal(table.comment)} TBLPROPERTIES ({properties})"
            )

    def _add_columns(self, table: Table) -> None:
        if self.in_process:
            delta = self._open(table)
            known = {field.name for field in delta.schema().fields}
            lacking = [field.with_nullable(True) for field in table.schema if field.name not in known]
            if lacking:
                delta.alter.add_columns(Schema.from_arrow(pa.schema(lacking)).fields)
            return
        known = set(self.spark().read.format("delta").load(self.path(table)).columns)
        for declared in table.columns.strip().splitlines():
            column = declared.strip().rstrip(",").replace(" NOT NULL", "")
            if column.split()[0] not in known:
                self.spark().sql(f"ALTER TABLE delta.`{self.path(table)}` ADD COLUMNS ({column})")

    def _slice_anew(self, table: Table) -> None:
        if self.in_process:
            if self._open(table).metadata().partition_columns != list(table.partition_by):
                rows = self.few(table, sys.maxsize)
                write_deltalake(self.path(table), rows, mode="overwrite", schema_mode="overwrite", partition_by=list(table.partition_by))
            return
        df = self.spark().read.format("delta").load(self.path(table))
        detail = self.spark().sql(f"DESCRIBE DETAIL delta.`{self.path(table)}`").first()
        if detail.partitionColumns != list(table.partition_by):
            df.write.format("delta").mode("overwrite").option("overwriteSchema", "true").partitionBy(*table.partition_by).save(
                self.path(table)
            )

    def few(self, table: Table, most_bytes: int = FEW_BYTES, **slice: Slice) -> pa.Table | None:
        """The rows of a slice (of the whole table, if none is named) in this process; None: they are many, or elsewhere."""
        if not self.in_process:
            return None
        delta = self._open(table)
        if _size(_files(delta, slice)) > most_bytes:
            return None
        sliced = delta.metadata().partition_columns
        wanted = [(column, "in", list(_values(value))) for column, value in slice.items() if column in sliced]
        alike = [pc.field(column).isin(_values(value)) for column, value in slice.items() if column not in sliced]
        rows = self._dataset(delta, table, wanted or None).to_table(filter=reduce(and_, alike) if alike else None)
        # Those of older nights may be null in columns that came later.
        return rows.select(table.schema.names).cast(pa.schema([field.with_nullable(True) for field in table.schema]))

    def read(self, table: Table, **slice: Slice) -> DataFrame:
        """The same for Spark, at any size."""
        rows = self.few(table, _PLANNED_BYTES, **slice)
        if rows is not None:
            return frame(self.spark(), table, rows)
        df = self.spark().read.format("delta").load(self.path(table))
        return df.where(_in_spark(slice)) if slice else df

    def read_each(self, table: Table, snapshots: Mapping[str, str]) -> DataFrame:
        """The same for Spark, at any size."""
        from pyspark.sql import functions as F

        if not snapshots:
            return frame(self.spark(), table, table.schema.empty_table())
        few = self.few(table, _PLANNED_BYTES, snapshot_id=sorted(set(snapshots.values())))
        if few is not None:
            theirs = [
                (pc.field("cluster_id") == cluster_id) & (pc.field("snapshot_id") == snapshot_id)
                for cluster_id, snapshot_id in snapshots.items()
            ]
            return frame(self.spark(), table, few.filter(reduce(or_, theirs)))
        many = self.read(table, snapshot_id=sorted(set(snapshots.values())))
        pairs = F.broadcast(self.spark().createDataFrame(list(snapshots.items()), "cluster_id STRING, snapshot_id STRING"))
        return many.join(pairs, on=["cluster_id", "snapshot_id"], how="left_semi").select(*many.columns)

    def scan(self, table: Table, most_bytes: int | None = None, **slice: Slice) -> str | None:
        """A slice as a query for DuckDB, which reads the files by itself; None: they are more than that, or not files of this machine."""
        if self.folder is None or glob.escape(str(self.folder)) != str(self.folder):  # it would take such a path for a pattern
            return None
        delta = self._open(table)
        files = _files(delta, slice)
        if most_bytes is not None and _size(files) > most_bytes:
            return None
        rows = _scan(delta, self.folder / table.name, files)
        alike = {column: value for column, value in slice.items() if column not in table.partition_by}
        return f"SELECT * FROM ({rows}) WHERE {_predicate(alike, standard_literal)}" if alike else rows

    def scan_each(self, table: Table, snapshots: Mapping[str, str], most_bytes: int | None = None) -> str | None:
        """The rows of each of these clusters in its snapshot, as a query for DuckDB; None: as for `scan`."""
        rows = self.scan(table, most_bytes, snapshot_id=sorted(set(snapshots.values())))
        pairs = ", ".join(
            f"({standard_literal(snapshot_id)}, {standard_literal(cluster_id)})" for cluster_id, snapshot_id in snapshots.items()
        )
        return rows and f"SELECT * FROM ({rows}) WHERE {f'(snapshot_id, cluster_id) IN ({pairs})' if pairs else 'false'}"

    def dataset(self, table: Table) -> Dataset:
        """The whole table, for a reader without Spark, on any storage that delta-rs knows."""
        return self._dataset(self._open(table), table)

    def rows(self, table: Table, **slice: Slice) -> list[dict[str, Any]]:
        """A slice in Python: for tables of a few rows a cluster."""
        few = self.few(table, **slice)
        return (self.read(table, **slice).toArrow() if few is None else few).to_pylist()

    def file_writer(self, **slice: str) -> Callable[[Table], TableFileWriter] | None:
        """With what workers write the rows of a slice as files that `replace` takes; None: rows are Spark's to write here."""
        return partial(TableFileWriter, str(self.folder), slice) if self.in_process else None

    def replace(self, table: Table, rows: pa.Table | DataFrame | Sequence[TableFile], *, few: bool, **slice: Slice) -> None:
        """Make rows the whole of the slice, whose single values need not be among their columns. No null where none may be, no unknown column.

        `few` rows of a DataFrame come to this process, if the lake is a folder.
        """
        if isinstance(rows, Sequence):
            self._commit(table, rows, slice)
            return
        given = {column: value for column, value in slice.items() if isinstance(value, str)}
        if not isinstance(rows, pa.Table):
            from pyspark.sql import functions as F

            rows = rows.withColumns({column: F.lit(value) for column, value in given.items()})
            if not (few and self.in_process):
                self._replace_by_spark(table, rows, slice)
                return
            rows = rows.toArrow()
        for column, value in given.items():
            values = pa.repeat(pa.scalar(value), len(rows))
            rows = rows.drop_columns([column] if column in rows.column_names else []).append_column(column, values)
        if unknown := set(rows.column_names) - set(table.schema.names):
            raise ValueError(f"table {table.name} has no column {', '.join(sorted(unknown))}")
        rows = rows.select(table.schema.names).cast(table.schema)
        if self.in_process:
            # Copied: of a column of lists that are all empty, Spark's Arrow keeps no offsets for their elements, over which delta-rs panics.
            rows = rows.take(pa.array(range(len(rows)), pa.int64()))
            # And without the comments, which a lake of an older version may have in other words.
            write_deltalake(
                self.path(table),
                rows.cast(pa.schema([field.remove_metadata() for field in table.schema])),
                mode="overwrite",
                predicate=_predicate(slice, standard_literal),
            )
        else:
            self._replace_by_spark(table, frame(self.spark(), table, rows), slice)

    def _commit(self, table: Table, files: Sequence[TableFile], slice: Mapping[str, str]) -> None:
        delta, now_ms = self._open(table), time.time_ns() // 1_000_000
        added = [AddAction(file.path, file.size_bytes, slice, now_ms, data_change=True, stats=file.stats) for file in files]
        replaced = [(column, "=", value) for column, value in slice.items()]
        delta.create_write_transaction(added, "overwrite", delta.schema(), list(table.partition_by), replaced)

    def _replace_by_spark(self, table: Table, df: DataFrame, slice: Mapping[str, Slice]) -> None:
        writer, spark = df.write.format("delta"), self.spark()
        if self._is_new(table, slice["snapshot_id"]):
            writer.mode("append").save(self.path(table))
            return
        # Of whole Delta partitions no file is rewritten, so the path that can rewrite is not taken.
        spark.conf.set("spark.databricks.delta.replaceWhere.dataColumns.enabled", not slice.keys() <= set(table.partition_by))
        writer.mode("overwrite").option("replaceWhere", _predicate(slice, spark_literal)).save(self.path(table))

    def _is_new(self, table: Table, snapshot_id: Slice) -> bool:
        """No folder, no rows: to append costs a fifth of what it does to replace, for which Delta must work out its files first."""
        if "snapshot_id" not in table.partition_by:
            return False
        spark = self.spark()
        folders = [
            spark._jvm.org.apache.hadoop.fs.Path(f"{self.path(table)}/snapshot_id={id.replace(':', '%3A')}") for id in _values(snapshot_id)
        ]
        return not any(folder.getFileSystem(spark._jsc.hadoopConfiguration()).exists(folder) for folder in folders)

    def snapshots(self) -> list[str]:
        """Every snapshot that was begun, published or not, even if not one of its dumps could be read."""
        if self.in_process:
            return sorted({partition["snapshot_id"] for partition in self._open(INPUT_FILE).partitions()})
        return sorted(row.snapshot_id for row in self.read(INPUT_FILE).select("snapshot_id").distinct().collect())

    def expire(self, table: Table, snapshots: Sequence[str]) -> None:
        """Delete the rows of these snapshots: whole partitions, so that no file is read or rewritten."""
        if not snapshots:
            return
        if self.in_process:
            self._open(table).delete(_predicate({"snapshot_id": snapshots}, standard_literal))
        else:
            from delta.tables import DeltaTable as OfSpark

            OfSpark.forPath(self.spark(), self.path(table)).delete(_in_spark({"snapshot_id": snapshots}))

    def compact(self, table: Table) -> None:
        """Make one file of the small ones that a slice was written in, and a checkpoint of the commits so far."""
        if self.in_process:
            delta = self._open(table)
            delta.optimize.compact()
            delta.create_checkpoint()
        else:
            self.spark().sql(f"OPTIMIZE delta.`{self.path(table)}`")

    def vacuum(self, table: Table, hours: int) -> None:
        """Remove the files that no version of the last so many hours has."""
        if self.in_process:
            delta = self._open(table)
            delta.vacuum(hours, dry_run=False, enforce_retention_duration=False)
            delta.cleanup_metadata()
        else:
            spark = self.spark()
            spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
            # It lists files by so many tasks, however few there are: Spark's own 10,000 take a minute and a half for three small tables.
            spark.conf.set("spark.sql.sources.parallelPartitionDiscovery.parallelism", 4 * spark.sparkContext.defaultParallelism)
            spark.sql(f"VACUUM delta.`{self.path(table)}` RETAIN {hours} HOURS")

    def remove(self) -> None:
        """The whole lake is gone."""
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)
            return
        spark = self.spark()
        path = spark._jvm.org.apache.hadoop.fs.Path(self.uri)
        path.getFileSystem(spark._jsc.hadoopConfiguration()).delete(path, True)

    def _open(self, table: Table) -> DeltaTable:
        try:
            return DeltaTable(self.path(table))
        except TableNotFoundError:
            raise AuditError(
                f"there is no audit in {self.uri} (table {table.name} is missing): run `topology-audit nightly --lake {self.uri}` first"
            ) from None

    def _dataset(self, delta: DeltaTable, table: Table, wanted: list[tuple[str, str, list[str]]] | None = None) -> Dataset:
        # By Arrow's own file system: with that of delta-rs, called back from Arrow's threads, every second process aborted at its end.
        own = fs.SubTreeFileSystem(str(self.folder / table.name), fs.LocalFileSystem()) if self.folder else None
        return delta.to_pyarrow_dataset(partitions=wanted, filesystem=own)

    @contextmanager
    def sole_writer(self) -> Iterator[None]:
        """Nobody else writes to a lake on this machine meanwhile; on other storage Airflow's max_active_runs sees to it."""
        if (folder := self.folder) is None:
            yield
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with FileLock(folder / ".writer.lock", timeout=0):
                yield
        except Timeout:
            raise AuditError(f"another run is writing to the lake {self.uri}: wait for it to end, then run again") from None
        except OSError as error:
            raise AuditError(f"cannot write to the lake {self.uri}: {error.strerror or error}") from None


def frame(spark: SparkSession, table: Table, rows: pa.Table) -> DataFrame:
    """Rows in this process as a DataFrame of the table's columns."""
    return of_arrow(spark, rows, table.columns)


def _files(delta: DeltaTable, slice: Mapping[str, Slice]) -> pa.Table:
    """What the log tells of the files of a slice."""
    files = pa.table(delta.get_add_actions(flatten=True))
    for column in slice.keys() & set(delta.metadata().partition_columns):
        files = files.filter(pc.is_in(files[f"partition.{column}"], pa.array(_values(slice[column]), pa.string())))
    return files


def _size(files: pa.Table) -> int:
    return pc.sum(files["size_bytes"]).as_py() or 0


def _scan(delta: DeltaTable, folder: Path, files: pa.Table) -> str:
    """A query for DuckDB on these files of a table."""
    schema = pa.schema(delta.schema().to_arrow())
    columns = ", ".join(f'"{name}"' for name in schema.names)
    nulls = ", ".join(f'CAST(NULL AS {_in_duckdb(field.type)}) AS "{field.name}"' for field in schema)
    if not len(files):
        return f"SELECT {nulls} WHERE false"
    paths = [f"{folder}/{unquote(path)}" for path in files["path"].to_pylist()]
    read = f"read_parquet([{', '.join(map(standard_literal, paths))}], hive_partitioning = true, hive_types_autocast = false"
    # Columns only ever come: if the oldest file has them all, so has each. To look into all costs as long as most queries.
    oldest = paths[pc.index(files["modification_time"], pc.min(files["modification_time"])).as_py()]
    if {*pq.read_schema(oldest).names, *delta.metadata().partition_columns} >= set(schema.names):
        return f"SELECT {columns} FROM {read})"
    return f"SELECT {columns} FROM (SELECT * FROM {read}, union_by_name = true) UNION ALL BY NAME SELECT {nulls} WHERE false)"


def _in_duckdb(type: pa.DataType) -> str:
    if pa.types.is_list(type):
        return f"{_in_duckdb(type.value_type)}[]"
    if pa.types.is_map(type):
        return f"MAP({_in_duckdb(type.key_type)}, {_in_duckdb(type.item_type)})"
    return _DUCKDB_TYPES[type]


def _values(value: Slice) -> Sequence[str]:
    return [value] if isinstance(value, str) else value


def _in_spark(slice: Mapping[str, Slice]) -> Column:
    """That each column has its value, or one of its values, for Spark."""
    from pyspark.sql import functions as F

    return reduce(and_, (F.col(column).isin(list(_values(value))) for column, value in slice.items()))


def _predicate(slice: Mapping[str, Slice], literal: Callable[[str], str]) -> str:
    """The same as SQL, with the literals of a dialect."""
    return " AND ".join(f"{column} IN ({', '.join(map(literal, _values(value)))})" for column, value in slice.items())
