"""ingest: the dumps of every cluster, as tables.

    source.py    the clusters of a source, and the bytes of their files: the only input
    formats/     one module a format: recognises its dumps, and parses their entries into facts (facts.py)
    reading.py   every entry of a file, parsed or rejected
    partition_lines.py, replica_logs.py, end_offsets.py   the entries of large dumps, as columns
    partitions.py   all partitions of a cluster, as columns
    metadata_record.py   the records of KRaft's metadata log
    resolve/     the files of a cluster, resolved to the rows of its tables

A source that is small is read on the driver; a larger one by Spark's workers, by the same function. A worker holds one cluster at a time;
its partitions and logs as columns, but for those of which more than one entry tells. A text of kafka-topics that is larger still is parsed
in stretches, a task each, before that. Where the lake is a folder, the worker that has a cluster's rows writes them into files of its tables,
and Spark has none of them in hand. A cluster without one readable file has rows of `input_file` and `rejected_input` only.
"""

from __future__ import annotations

import gc
import pickle
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import fs

from jobs.ingest import partition_lines
from jobs.ingest.dump import Rejected
from jobs.ingest.partition_lines import Part
from jobs.ingest.reading import Reading, is_of_partitions, read_dump, read_parts
from jobs.ingest.resolve import ParsedFile, resolve_cluster
from jobs.ingest.source import Bytes, Cluster, File, NoBytes, clusters, filesystem, read_bytes, read_head, read_lines
from jobs.lake.table_file import TableFile, TableFileWriter
from jobs.schema import (
    BROKER,
    CLUSTER,
    COMMITTED_OFFSET,
    CONSUMER_GROUP,
    GROUP_MEMBER,
    INPUT_FILE,
    KEY_SAMPLE,
    LOG_DIR,
    OBSERVED_ASSIGNMENT,
    PARTITION,
    PARTITION_LOAD,
    REJECTED_INPUT,
    REPLICA,
    TOPIC,
    Table,
)
from jobs.spark.session import set_for

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WRITES: tuple[Table, ...] = (
    CLUSTER,
    INPUT_FILE,
    REJECTED_INPUT,
    BROKER,
    LOG_DIR,
    TOPIC,
    PARTITION,
    REPLICA,
    CONSUMER_GROUP,
    GROUP_MEMBER,
    OBSERVED_ASSIGNMENT,
    COMMITTED_OFFSET,
    KEY_SAMPLE,
    PARTITION_LOAD,
)
FEW_BYTES = 8 << 20  # of dumps: what the driver reads in less time than it takes to start a worker
_PACKED = 1 << 20  # rows that are handed over at once, well below the 2 GiB that a value may have
_BATCH = 10_000  # rows that Spark takes up at once
_TASKS = 4  # for each core: every table is read by so many again
_TASK_BYTES = 128 << 20  # of dumps: what a task has of clusters, whose rows may be in memory together when they are read again
SPLIT_BYTES = 32 << 20  # of a text of kafka-topics: what a task reads in a second


def read(
    spark: Callable[[], SparkSession],
    source: str,
    snapshot_id: str,
    *,
    file_writer: Callable[[Table], TableFileWriter] | None = None,
    few_bytes: int = FEW_BYTES,
    split_bytes: int = SPLIT_BYTES,
) -> tuple[pa.Table, ...] | tuple[list[TableFile], ...] | tuple[DataFrame, ...]:
    """The tables of WRITES, of all clusters of a source; a source of more than `few_bytes` is read by Spark's workers.

    Of these, a text of kafka-topics that is larger than `split_bytes` is read by several at once. With a `file_writer` they write the rows.
    """
    found = clusters(source)
    if sum(map(_size, found)) > few_bytes:
        return _spread(spark(), source, found, snapshot_id, file_writer, split_bytes)
    system, _ = filesystem(source)
    tables = [_cluster(system, cluster, snapshot_id, {}) for cluster in found]
    return tuple(pa.concat_tables(of_clusters) for of_clusters in zip(*tables, strict=True))


def dumped(source: str) -> int:
    """The bytes of the dumps of a source."""
    return sum(map(_size, clusters(source)))


def _spread(
    spark: SparkSession,
    source: str,
    found: Sequence[Cluster],
    snapshot_id: str,
    file_writer: Callable[[Table], TableFileWriter] | None,
    split_bytes: int,
) -> tuple[list[TableFile], ...] | tuple[DataFrame, ...]:
    """Some clusters a task, one after the other, each task as much as the next; large texts in stretches before that, one a task."""
    from pyspark import StorageLevel

    set_for(spark, small=False)
    largest_first = sorted(found, key=lambda cluster: -_size(cluster))
    cores = spark.sparkContext.defaultParallelism
    tasks = min(len(found), max(_TASKS * cores, sum(map(_size, found)) // _TASK_BYTES))
    dealt = [cluster for task in range(tasks) for cluster in largest_first[task::tasks]]
    stretches = [
        (number, file.name, start)
        for number, cluster in enumerate(dealt)
        for file in cluster.files
        if file.size_bytes > split_bytes and not file.obstacle
        for start in range(0, file.size_bytes, split_bytes)
    ]

    def read_stretches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        system, _ = filesystem(source)
        for batch in batches:
            for index in batch.column(0).to_pylist():
                number, name, start = stretches[index]
                file = next(file for file in dealt[number].files if file.name == name)
                try:
                    head = read_head(system, file)
                    if head is None or not is_of_partitions(head):
                        continue
                    part = partition_lines.read(read_lines(system, file, start, min(start + split_bytes, file.size_bytes)))
                except OSError:
                    continue  # whoever then reads the whole file says why it cannot be read
                yield pa.record_batch({"number": [number], "file": [name], "start": [start], "part": [pickle.dumps(part)]})

    def of_clusters(batches: Iterator[pa.RecordBatch]) -> Iterator[list[pa.Table]]:
        system, _ = filesystem(source)
        rows = (row for batch in batches for row in zip(*(column.to_pylist() for column in batch.columns), strict=True))
        for number, of_cluster in groupby(rows, key=itemgetter(0)):
            parts: dict[str, list[Part]] = defaultdict(list)
            for _, name, _, part in of_cluster:
                if name is not None:
                    parts[name].append(pickle.loads(part))
            yield _cluster(system, dealt[number], snapshot_id, parts)

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        writers: dict[str, TableFileWriter] = {}
        for tables in of_clusters(batches):
            for table, rows in zip(WRITES, tables, strict=True):
                if len(rows):
                    if table.name not in writers:
                        writers[table.name] = file_writer(table)
                    writers[table.name].write(rows)
        for name, writer in writers.items():
            yield pa.RecordBatch.from_pylist([{"name": name, **asdict(writer.close())}])

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for tables in of_clusters(batches):
            for written, table in zip(WRITES, tables, strict=True):
                for start in range(0, len(table), _PACKED):
                    yield pa.record_batch({"name": [written.name], "packed": [_pack(table.slice(start, _PACKED))]})

    columns = {"number": "BIGINT", "file": "STRING", "start": "BIGINT", "part": "BINARY"}
    missing = [f"CAST(NULL AS {type}) AS {name}" for name, type in columns.items() if name != "number"]
    work = spark.range(0, len(found), 1, tasks).selectExpr("id AS number", *missing)
    if stretches:
        read = spark.range(0, len(stretches), 1, len(stretches))
        read = read.mapInArrow(read_stretches, ", ".join(f"{name} {type}" for name, type in columns.items()))
        work = work.union(read).repartition(tasks, "number").sortWithinPartitions("number", "file", "start")
    if file_writer is not None:
        of_table: dict[str, list[TableFile]] = {table.name: [] for table in WRITES}
        for file in work.mapInArrow(write, "name STRING, path STRING, size_bytes BIGINT, stats STRING").toArrow().to_pylist():
            of_table[file.pop("name")].append(TableFile(**file))
        return tuple(of_table.values())
    # Kept as Arrow's own bytes, each table's apart, so that Spark need not take up a row before its table is written: a frame with a column
    # for each table took four times as long, and twenty times the disk.
    kept = work.mapInArrow(pack, "name STRING, packed BINARY").persist(StorageLevel.DISK_ONLY)
    return tuple(kept.where(f"name = '{table.name}'").select("packed").mapInArrow(_unpack, table.columns) for table in WRITES)


def _size(cluster: Cluster) -> int:
    return sum(file.size_bytes for file in cluster.files)


def _pack(table: pa.Table) -> bytes:
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_table(table, max_chunksize=_BATCH)
    return stream.getvalue().to_pybytes()


def _unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for packed in batch.column(0):
            yield from pa.ipc.open_stream(packed.as_buffer())


def _cluster(system: fs.FileSystem, cluster: Cluster, snapshot_id: str, parts: Mapping[str, Sequence[Part]]) -> list[pa.Table]:
    """The tables of a cluster; `parts` has by name the files that are read already."""
    # Nothing that a dump becomes refers to itself: a collector would walk its millions of tuples in vain, for half of the time.
    collects = gc.isenabled()
    gc.disable()
    try:
        rows = resolve_cluster(
            ParsedFile(file.name, file.size_bytes, file.written_at, _read(system, file, parts.get(file.name, ()))) for file in cluster.files
        )
        return _tables(rows, cluster.cluster_id, snapshot_id)
    finally:
        if collects:
            gc.enable()


def _read(system: fs.FileSystem, file: File, parts: Sequence[Part]) -> Reading:
    if parts and sum(part.size_bytes for part in parts) == file.size_bytes:
        return read_parts(parts, Bytes(system, file))
    try:
        reading = read_dump(read_bytes(system, file))
    except NoBytes as e:
        return Reading(None, [], [Rejected(1, "", str(e))])
    # What a desktop or a version control hides beside the dumps is listed, but nobody asked for it to be read.
    return Reading(None, [], []) if reading.format is None and _hidden(file) else reading


def _hidden(file: File) -> bool:
    return any(part.startswith(".") for part in file.name.split("/"))


def _tables(rows: Mapping[str, pa.Table], cluster_id: str, snapshot_id: str) -> list[pa.Table]:
    """Return a cluster's tables in the order of WRITES, with snapshot and cluster added."""
    tables = []
    for table in WRITES:
        of_table, schema = rows[table.name], table.schema
        given = [pa.chunked_array([pa.repeat(value, len(of_table))]) for value in (snapshot_id, cluster_id)]
        tables.append(pa.table([*given, *of_table.columns], schema=schema))
    return tables
