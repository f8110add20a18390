"""The lake: a folder of Delta tables, or a URI with one, and the operations that every storage offers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias
from urllib.parse import urlparse

import pyarrow as pa

from jobs.engine import DuckdbRows, Engine
from jobs.errors import AuditError
from jobs.lake.selection import Attempt, Values
from jobs.lake.table_file import TableFile
from jobs.schema import Table
from jobs.spark.scale import Scale
from jobs.spark.worker_rows import WorkerRows

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset
    from pyspark.sql import DataFrame, SparkSession

Rows: TypeAlias = "pa.Table | DataFrame | DuckdbRows | Sequence[TableFile]"  # that `replace` writes
_SCHEMES = ("file", "s3a", "abfss", "gs", "hdfs", "viewfs")  # which both Hadoop and delta-rs can read


class Lake(Protocol):
    """Storage of the audit's tables.

    Readers and writers select rows by columns, as keyword arguments: `snapshot_id="2026-01-31"` or `suite=["broker", "topic"]`. Without
    one they select the whole table. `attempts` maps each cluster id to the attempt whose rows are read. Readers return the columns that
    `table` declares; give `table.stored` to read attempt_id too.
    """

    @property
    def uri(self) -> str:
        """The address as the user wrote it."""

    @property
    def spark(self) -> Callable[[], SparkSession]:
        """A function that returns the Spark session, and starts it if needed."""

    @property
    def folder(self) -> Path | None:
        """The lake's folder on this machine's disks; None on other storage."""

    def needs_spark(self, scale: Scale) -> bool:
        """Return whether a night of this scale needs a Spark session."""

    def path(self, table: Table) -> str:
        """Return the address of a table, as Spark reads it."""

    def exists(self, table: Table) -> bool:
        """Return whether the table has been created."""

    def create(self, table: Table) -> None:
        """Create the table from its declaration if it does not exist."""

    def read_local(self, table: Table, *, attempts: Mapping[str, Attempt] | None = None, **where: Values) -> pa.Table:
        """Return rows as an Arrow table with the declared columns; they must fit into the memory of this process."""

    def read(self, table: Table, *, attempts: Mapping[str, Attempt] | None = None, **where: Values) -> DataFrame:
        """Return rows as a Spark DataFrame, at any size."""

    def duckdb_query(self, table: Table, *, attempts: Mapping[str, Attempt] | None = None, **where: Values) -> str | None:
        """Return a query that reads rows from the table's files in DuckDB; None if DuckDB cannot open them, for example in S3."""

    def engine(self, scale: Scale) -> Engine:
        """Return an engine for SQL texts on a night of this scale: DuckDB in this process if the lake is a folder, otherwise Spark."""

    def relation(self, table: Table, *, attempts: Mapping[str, Attempt] | None = None, **where: Values) -> Any:
        """Return rows as a relation of this engine."""

    def dataset(self, table: Table) -> Dataset:
        """Return the whole table as an Arrow dataset, which needs no Spark and has the stored columns."""

    def replace(self, table: Table, rows: Rows, **where: Values) -> None:
        """Replace the selected rows by these, in one commit.

        A column with a single selected value need not be among the columns of `rows`. Raises for an unknown or missing column, and for a
        null in a column that is NOT NULL. Files are those of `computed`, and rows of DuckDB those of `engine`: both replace whole partitions.
        """

    def computed(self, rows: WorkerRows, **where: str) -> AbstractContextManager[Sequence[Any]]:
        """Let Spark's workers compute rows of several tables; yield those of each table, for `replace` within the `with` block.

        Of an intermediate table, yield a relation of this engine, which exists within the block. `where` has the value of every Delta
        partition column of the tables.
        """

    def attempts(self, table: Table) -> set[Attempt]:
        """Return the attempts that have rows in a table."""

    def delete(self, table: Table, snapshot_ids: Sequence[str], attempts: Collection[Attempt] = ()) -> None:
        """Delete the rows of these snapshots and of these attempts."""

    def compact(self, table: Table) -> None:
        """Merge the small files of each partition, and checkpoint the table's log."""

    def vacuum(self, table: Table, hours: int) -> None:
        """Remove the files that no version of the last `hours` refers to."""

    def remove(self) -> None:
        """Delete the whole lake."""

    def sole_writer(self) -> AbstractContextManager[None]:
        """Hold the lake's write lock; raises an AuditError if another run holds it."""


def open_lake(uri: str, spark: Callable[[], SparkSession]) -> Lake:
    """Open a lake: a plain path is a FolderLake, a URI with a scheme (`s3a://`, `file://`) a SparkLake.

    `spark` returns the Spark session; it is called when the session is first needed. Raises an AuditError for a scheme that Spark or
    delta-rs cannot read.
    """
    from jobs.lake.folder_lake import FolderLake
    from jobs.lake.spark_lake import SparkLake

    scheme = urlparse(uri).scheme
    if scheme and scheme not in _SCHEMES:
        raise AuditError(f"lake {uri} cannot be opened: its scheme is {scheme}, and the known ones are {', '.join(_SCHEMES)}")
    return SparkLake(uri, spark) if scheme else FolderLake(uri, spark)
