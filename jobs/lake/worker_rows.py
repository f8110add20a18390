"""Storage of rows that Spark's workers compute as Arrow (jobs/spark/worker_rows.py).

In a folder the workers write the Parquet files of the tables, and the driver commits them. Input that DuckDB computes reaches them as Parquet
files too. Other storage gets its files from Spark alone, so there the workers return packed Arrow batches, which Spark keeps on its disks and
writes one table after the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from jobs.engine import DuckdbRows
from jobs.lake.sql_literal import standard_literal
from jobs.lake.table_file import TableFile, TableFileWriter
from jobs.schema import Table
from jobs.spark.worker_rows import Batches, Compute, WorkerRows, complete

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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


def write_files(
    rows: WorkerRows, file_writer: Callable[[Table], TableFileWriter], spark: Callable[[], SparkSession], input_file: Path
) -> list[Sequence[TableFile] | pa.Table]:
    """Let the workers write the rows; return the files of each table, at most one per task, or the rows of a deduplicated table.

    Input that DuckDB computes is in `input_file` until the workers end.
    """
    files: dict[str, list[TableFile]] = defaultdict(list)
    pieces: dict[str, list[pa.Table]] = defaultdict(list)
    write = _writing(rows.compute, file_writer, {table.name for table in rows.deduplicated})
    if isinstance(rows.input, DuckdbRows):
        with _parquet_file(rows.input, input_file):
            written = _map_parquet(spark(), input_file, write)
    else:
        written = rows.input.mapInArrow(write, _FILE_COLUMNS).toArrow()
    for row in written.to_pylist():
        name, packed = row.pop("name"), row.pop("packed")
        if packed is None:
            files[name].append(TableFile(**row))
        else:
            pieces[name].append(pa.ipc.open_stream(packed).read_all())
    return [rows.merged(table, pieces[table.name]) if table in rows.deduplicated else files[table.name] for table in rows.tables]


@contextmanager
def packed_rows(rows: WorkerRows) -> Iterator[list[DataFrame | pa.Table]]:
    """Yield the rows of each table as a DataFrame on packed batches, which are on Spark's disks until the end of the block.

    The rows of a deduplicated table come to this process. A DataFrame with a column for each table takes four times as long, and twenty times
    the disk.
    """
    from pyspark import StorageLevel

    if isinstance(rows.input, DuckdbRows):
        raise TypeError("only a lake in a folder gives the workers rows of DuckDB")
    packed = rows.input.mapInArrow(_packing(rows.compute), _PACKED_COLUMNS).persist(StorageLevel.DISK_ONLY)

    def of_table(table: Table) -> DataFrame | pa.Table:
        of_this = packed.where(f"name = '{table.name}'").select("packed")
        if table in rows.deduplicated:
            return rows.merged(table, [pa.ipc.open_stream(each.as_buffer()).read_all() for each in of_this.toArrow()["packed"]])
        return of_this.mapInArrow(_unpack, table.columns)

    try:
        packed.count()
        yield [of_table(table) for table in rows.tables]
    finally:
        packed.unpersist()


@contextmanager
def _parquet_file(rows: DuckdbRows, file: Path) -> Iterator[None]:
    """Write rows to a file, which is deleted at the end of the block; a killed run leaves it, and the next one overwrites it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        rows.connection.execute(f"COPY {rows.name} TO {standard_literal(str(file))} (FORMAT parquet, ROW_GROUP_SIZE {_GROUP_ROWS})")
        yield
    finally:
        file.unlink(missing_ok=True)


def _map_parquet(spark: SparkSession, file: Path, function: BatchMapper) -> pa.Table:
    """Return the rows of _FILE_COLUMNS that tasks compute, each from a range of the file's row groups."""
    groups = pq.read_metadata(file).num_row_groups
    tasks = max(min(groups, _TASKS_PER_CORE * spark.sparkContext.defaultParallelism), 1)

    def run_tasks(numbers: Iterable[pa.RecordBatch]) -> Batches:
        opened = pq.ParquetFile(file)
        for task in (task for batch in numbers for task in batch.column(0).to_pylist()):
            row_groups = range(task * groups // tasks, (task + 1) * groups // tasks)
            yield from function(opened.iter_batches(_BATCH_ROWS, row_groups=row_groups))

    return spark.range(0, tasks, 1, tasks).mapInArrow(run_tasks, _FILE_COLUMNS).toArrow()


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
