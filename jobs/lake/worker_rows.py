"""Storage of rows that Spark's workers compute as Arrow (jobs/spark/worker_rows.py).

In a folder the workers write the Parquet files of the tables, and the driver commits them. Other storage gets its files from Spark alone, so
there the workers return packed Arrow batches, which Spark keeps on its disks and writes one table after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

import pyarrow as pa

from jobs.lake.table_file import TableFile, TableFileWriter
from jobs.schema import Table
from jobs.spark.worker_rows import Batches, Compute, WorkerRows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BatchMapper = Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]

_FILE_COLUMNS = "name STRING, path STRING, size_bytes BIGINT, stats STRING"
_PACKED_ROWS = 1 << 20  # rows in one packed value, far below Spark's limit of 2 GiB
_BATCH_ROWS = 10_000  # rows that Spark reads at once


def write_files(rows: WorkerRows, file_writer: Callable[[Table], TableFileWriter]) -> list[Sequence[TableFile]]:
    """Let the workers write the rows; return the files of each table, at most one per task."""
    files: dict[str, list[TableFile]] = {table.name: [] for table in rows.tables}
    for file in rows.input.mapInArrow(_writing(rows.compute, file_writer), _FILE_COLUMNS).toArrow().to_pylist():
        files[file.pop("name")].append(TableFile(**file))
    return [files[table.name] for table in rows.tables]


@contextmanager
def packed_rows(rows: WorkerRows) -> Iterator[list[DataFrame]]:
    """Yield the rows of each table as a DataFrame on packed batches, which are on Spark's disks until the end of the block.

    A DataFrame with a column for each table takes four times as long, and twenty times the disk.
    """
    from pyspark import StorageLevel

    packed = rows.input.mapInArrow(_packing(rows.compute), "name STRING, packed BINARY").persist(StorageLevel.DISK_ONLY)
    try:
        packed.count()
        yield [packed.where(f"name = '{table.name}'").select("packed").mapInArrow(_unpack, table.columns) for table in rows.tables]
    finally:
        packed.unpersist()


def _writing(compute: Compute, file_writer: Callable[[Table], TableFileWriter]) -> BatchMapper:
    def write(batches: Iterable[pa.RecordBatch]) -> Batches:
        writers: dict[str, TableFileWriter] = {}
        for table, rows in compute(iter(batches)):
            if len(rows):
                if table.name not in writers:
                    writers[table.name] = file_writer(table)
                writers[table.name].write(rows)
        for name, writer in writers.items():
            yield pa.RecordBatch.from_pylist([{"name": name, **asdict(writer.close())}])

    return write


def _packing(compute: Compute) -> BatchMapper:
    def pack(batches: Iterable[pa.RecordBatch]) -> Batches:
        for table, rows in compute(iter(batches)):
            complete = rows.select(table.schema.names).cast(table.schema)
            for start in range(0, len(complete), _PACKED_ROWS):
                yield pa.record_batch({"name": [table.name], "packed": [_packed(complete.slice(start, _PACKED_ROWS))]})

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
