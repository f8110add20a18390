"""Storage of rows that Spark's workers compute as Arrow (jobs/spark/worker_rows.py).

In a folder the workers write the Parquet files of the tables, and the driver commits them. Input that DuckDB computes reaches them as Parquet
files too. Other storage gets its files from Spark alone, so there the workers return packed Arrow batches, which Spark keeps on its disks and
writes one table after the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from itertools import pairwise
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from jobs.engine import DuckdbRows
from jobs.lake.delta_files import parquet_query
from jobs.lake.sql_literal import standard_literal
from jobs.lake.table_file import TableFile, TableFileWriter
from jobs.schema import Table
from jobs.spark.session import rows_on_disk
from jobs.spark.worker_rows import Batches, Compute, WorkerRows, complete

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCRATCH_FOLDER = ".worker_rows"  # of a lake in a folder
BatchMapper = Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]

_PACKED_COLUMNS = "name STRING, packed BINARY"
_FILE_COLUMNS = f"{_PACKED_COLUMNS}, path STRING, size_bytes BIGINT, stats STRING"
_FILE_SCHEMA = pa.schema(
    [("name", pa.string()), ("packed", pa.binary()), ("path", pa.string()), ("size_bytes", pa.int64()), ("stats", pa.string())]
)
_PACKED_ROWS = 1 << 20  # rows in one packed value, far below Spark's limit of 2 GiB
_BATCH_ROWS = 10_000  # rows that Spark reads at once, or that a worker reads from a file at once
# For input that DuckDB computes: tasks take different times.
_TASKS_PER_CORE = 8
_GROUP_ROWS = 20_480


@contextmanager
def written_rows(
    rows: WorkerRows, folder: Path, partition: Mapping[str, str], spark: Callable[[], SparkSession]
) -> Iterator[list[Sequence[TableFile] | pa.Table | str]]:
    """Let the workers write the rows into the tables of a folder.

    Yield the files of each table, at most one per task; of a deduplicated table its rows; of an intermediate one a query on its rows. Input
    that DuckDB computes, and the rows of intermediate tables, are files in a scratch folder until the end of the block. A killed run leaves
    that folder, and the next run empties it.
    """
    scratch = folder / SCRATCH_FOLDER / rows.tables[0].name
    files: dict[str, list[TableFile]] = defaultdict(list)
    pieces: dict[str, list[pa.Table]] = defaultdict(list)
    intermediate = {table.name for table in rows.intermediate}

    def file_writer(table: Table) -> TableFileWriter:
        return TableFileWriter(str(scratch if table.name in intermediate else folder), partition, table)

    with _empty_folder(scratch):
        write = _writing(rows.compute, file_writer, {table.name for table in rows.deduplicated})
        if isinstance(rows.input, DuckdbRows):
            written = _map_duckdb_rows(rows.input, rows.together, scratch / "input", write, spark)
        else:
            written = _together(rows).mapInArrow(write, _FILE_COLUMNS).toArrow()
        for row in written.to_pylist():
            name, packed = row.pop("name"), row.pop("packed")
            if packed is None:
                files[name].append(TableFile(**row))
            else:
                pieces[name].append(pa.ipc.open_stream(packed).read_all())

        def of_table(table: Table) -> Sequence[TableFile] | pa.Table | str:
            if table in rows.deduplicated:
                return rows.merged(table, pieces[table.name])
            if table in rows.intermediate:
                return parquet_query(table, [scratch / table.name / file.path for file in files[table.name]])
            return files[table.name]

        yield [of_table(table) for table in rows.tables]


@contextmanager
def packed_rows(rows: WorkerRows) -> Iterator[list[DataFrame | pa.Table]]:
    """Yield the rows of each table as a DataFrame on packed batches, which are on Spark's disks until the end of the block.

    The rows of a deduplicated table come to this process. A DataFrame with a column for each table takes four times as long, and twenty times
    the disk.
    """
    with rows_on_disk(_together(rows).mapInArrow(_packing(rows.compute), _PACKED_COLUMNS)) as packed:

        def of_table(table: Table) -> DataFrame | pa.Table:
            of_this = packed.where(f"name = '{table.name}'").select("packed")
            if table in rows.deduplicated:
                return rows.merged(table, [pa.ipc.open_stream(each.as_buffer()).read_all() for each in of_this.toArrow()["packed"]])
            return of_this.mapInArrow(_unpack, table.columns)

        yield [of_table(table) for table in rows.tables]


def _together(rows: WorkerRows) -> DataFrame:
    """Return the input as a DataFrame whose partitions have all rows with a value of the column `together`, if there is one."""
    if isinstance(rows.input, DuckdbRows):
        raise TypeError("only a lake in a folder gives the workers rows of DuckDB")
    return rows.input if rows.together is None else rows.input.repartition(rows.together)


@contextmanager
def _empty_folder(folder: Path) -> Iterator[None]:
    """Create a folder without files, which is deleted at the end of the block."""
    rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield
    finally:
        rmtree(folder, ignore_errors=True)


def _map_duckdb_rows(
    rows: DuckdbRows, together: str | None, path: Path, function: BatchMapper, spark: Callable[[], SparkSession]
) -> pa.Table:
    """Write rows as Parquet files, and return the rows of _FILE_COLUMNS that tasks compute from parts of them."""
    partitions = f', PARTITION_BY ("{together}"), WRITE_PARTITION_COLUMNS' if together else ""
    target = standard_literal(str(path))
    rows.connection.execute(f"COPY {rows.name} TO {target} (FORMAT parquet, ROW_GROUP_SIZE {_GROUP_ROWS}{partitions})")
    tasks = _tasks_by_folder(path) if together else _tasks_by_row_groups(path, _TASKS_PER_CORE * spark().sparkContext.defaultParallelism)

    def run_tasks(numbers: Iterable[pa.RecordBatch]) -> Batches:
        for task in (tasks[number] for batch in numbers for number in batch.column(0).to_pylist()):
            yield from function(batch for part in task for batch in part())

    return spark().range(0, len(tasks), 1, max(len(tasks), 1)).mapInArrow(run_tasks, _FILE_COLUMNS).toArrow()


# Reads a part of a Parquet file in a worker.
_Part = Callable[[], Iterator[pa.RecordBatch]]


def _tasks_by_folder(path: Path) -> list[list[_Part]]:
    """Return the parts that each task reads: the files of one folder, the largest folder first."""
    folders = [[*folder.glob("*.parquet")] for folder in path.iterdir()] if path.is_dir() else []
    folders.sort(key=lambda files: -sum(file.stat().st_size for file in files))
    return [[partial(_read_batches, file) for file in files] for files in folders]


def _tasks_by_row_groups(file: Path, at_most: int) -> list[list[_Part]]:
    """Return the parts that each task reads: a range of the row groups of a file."""
    groups = pq.read_metadata(file).num_row_groups
    tasks = max(min(groups, at_most), 1)
    ends = [task * groups // tasks for task in range(tasks + 1)]
    return [[partial(_read_batches, file, range(start, end))] for start, end in pairwise(ends)]


def _read_batches(file: Path, row_groups: Sequence[int] | None = None) -> Iterator[pa.RecordBatch]:
    with pq.ParquetFile(file) as opened:
        yield from opened.iter_batches(_BATCH_ROWS, row_groups=row_groups)


def _writing(compute: Compute, file_writer: Callable[[Table], TableFileWriter], deduplicated: Collection[str]) -> BatchMapper:
    def write(batches: Iterable[pa.RecordBatch]) -> Batches:
        writers: dict[str, TableFileWriter] = {}
        for table, rows in compute(iter(batches)):
            if table.name in deduplicated:
                yield _file_row(name=table.name, packed=_packed(complete(table, rows)))
            elif len(rows):
                if table.name not in writers:
                    writers[table.name] = file_writer(table)
                writers[table.name].write(rows)
        for name, writer in writers.items():
            yield _file_row(name=name, **asdict(writer.close()))

    return write


def _file_row(**values: object) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([values], _FILE_SCHEMA)


def _packing(compute: Compute) -> BatchMapper:
    def pack(batches: Iterable[pa.RecordBatch]) -> Batches:
        for table, rows in compute(iter(batches)):
            all_columns = complete(table, rows)
            for start in range(0, len(all_columns), _PACKED_ROWS):
                yield pa.record_batch({"name": [table.name], "packed": [_packed(all_columns.slice(start, _PACKED_ROWS))]})

    return pack


def _packed(table: pa.Table) -> bytes:
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_table(table, max_chunksize=_BATCH_ROWS)
    return bytes(stream.getvalue())


def _unpack(batches: Iterable[pa.RecordBatch]) -> Batches:
    for batch in batches:
        for packed in batch.column(0):
            yield from pa.ipc.open_stream(packed.as_buffer())
