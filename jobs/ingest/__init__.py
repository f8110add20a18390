"""ingest: the dumps of every cluster, as tables.

    source.py    the clusters of a source, and the bytes of their files: the only input
    formats/     one module a format: is a dump of it, and what does each of its entries tell (facts.py)
    reading.py   every entry of a file, told or rejected
    metadata_record.py, metadata_image.py   the records of KRaft's metadata log, and the state that they come to
    merge.py     the files of a cluster, merged into rows

A source that is small is read on the driver; a larger one by Spark's workers, by the same function. Nothing but the merged
rows of one cluster at a time is held in memory. A cluster of which nothing was understood still has its row, with no `sources`.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import fs

from jobs.ingest.dump import Rejected
from jobs.ingest.merge import Merged, ReadFile, merge_files
from jobs.ingest.reading import Reading, read_dump
from jobs.ingest.source import BESIDE, Cluster, File, NoBytes, clusters, filesystem, read_bytes
from jobs.tables import (
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

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WRITES: tuple[Table, ...] = (
    CLUSTER, INPUT_FILE, REJECTED_INPUT, BROKER, LOG_DIR, TOPIC, PARTITION, REPLICA, CONSUMER_GROUP, GROUP_MEMBER, OBSERVED_ASSIGNMENT,
    COMMITTED_OFFSET, KEY_SAMPLE, PARTITION_LOAD,
)
FEW_BYTES = 8 << 20  # of dumps: what the driver reads in less time than it takes to start a worker
_PACKED = 1 << 20  # rows that are handed over at once, well below the 2 GiB that a value may have
_BATCH = 10_000  # rows that Spark takes up at once
_TASKS = 4  # for each core: every table is read by so many again


def read(
    spark: Callable[[], SparkSession], source: str, snapshot_id: str, *, few_bytes: int = FEW_BYTES
) -> tuple[pa.Table, ...] | tuple[DataFrame, ...]:
    """The tables of WRITES, of all clusters of a source; a source of more than `few_bytes` is read by Spark's workers."""
    found = clusters(source)
    if sum(file.size_bytes for cluster in found for file in cluster.files) > few_bytes:
        return _spread(spark(), source, found, snapshot_id)
    system, _ = filesystem(source)
    parts = [_cluster(system, cluster, snapshot_id) for cluster in found]
    return tuple(pa.concat_tables(of_clusters) for of_clusters in zip(*parts, strict=True))


def _spread(spark: SparkSession, source: str, found: Sequence[Cluster], snapshot_id: str) -> tuple[DataFrame, ...]:
    """Some clusters a task, one after the other, each task as much as the next."""
    # What it makes is kept as Arrow's own bytes, each table's apart, so that Spark need not take up a row before its table is written: a
    # frame with a column for each table took four times as long, and twenty times the disk.
    from pyspark import StorageLevel

    largest_first = sorted(found, key=lambda cluster: -sum(file.size_bytes for file in cluster.files))
    tasks = min(len(found), _TASKS * spark.sparkContext.defaultParallelism)
    dealt = [cluster for task in range(tasks) for cluster in largest_first[task::tasks]]

    def ingest(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        system, _ = filesystem(source)
        for batch in batches:
            for index in batch.column(0).to_pylist():
                cluster = dealt[index]
                tables = _cluster(system, cluster, snapshot_id)
                for written, table in zip(WRITES, tables, strict=True):
                    for start in range(0, len(table), _PACKED):
                        yield pa.record_batch({"name": [written.name], "packed": [_pack(table.slice(start, _PACKED))]})

    packed = spark.range(0, len(found), 1, tasks).mapInArrow(ingest, "name STRING, packed BINARY").persist(StorageLevel.DISK_ONLY)
    return tuple(
        packed.where(f"name = '{table.name}'").select("packed").mapInArrow(_unpack, table.columns)
        for table in WRITES
    )


def _pack(table: pa.Table) -> bytes:
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_table(table, max_chunksize=_BATCH)
    return stream.getvalue().to_pybytes()


def _unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for packed in batch.column(0):
            yield from pa.ipc.open_stream(packed.as_buffer())


def _cluster(system: fs.FileSystem, cluster: Cluster, snapshot_id: str) -> list[pa.Table]:
    """The tables of a cluster."""
    # Nothing that a dump becomes refers to itself: a collector would walk its millions of tuples in vain, for half of the time.
    collects = gc.isenabled()
    gc.disable()
    try:
        return _tables(_ingest(system, cluster), cluster.cluster_id, snapshot_id)
    finally:
        if collects:
            gc.enable()


def _ingest(system: fs.FileSystem, cluster: Cluster) -> Merged:
    """A cluster's rows; of what lies beside the clusters, only that it was not read."""
    if cluster.cluster_id != BESIDE:
        return merge_files(ReadFile(file.name, file.size_bytes, file.written_at, _read(system, file)) for file in cluster.files)
    merged = merge_files(ReadFile(file.name, file.size_bytes, file.written_at, _unread(file)) for file in cluster.files)
    del merged.rows["cluster"]
    return merged


def _read(system: fs.FileSystem, file: File) -> Reading:
    try:
        reading = read_dump(read_bytes(system, file))
    except NoBytes as e:
        return Reading(None, [], [Rejected(1, "", str(e))])
    # What a desktop or a version control hides beside the dumps is listed, but nobody asked for it to be read.
    return Reading(None, [], []) if reading.format is None and _hidden(file) else reading


def _unread(file: File) -> Reading:
    return Reading(None, [], [] if _hidden(file) else [Rejected(1, "", "lies beside the folders of the clusters: move it into one")])


def _hidden(file: File) -> bool:
    return any(part.startswith(".") for part in file.name.split("/"))


def _tables(merged: Merged, cluster_id: str, snapshot_id: str) -> list[pa.Table]:
    """The merged rows under their snapshot and cluster, in the order of WRITES."""
    tables = []
    for table in WRITES:
        schema = table.schema
        if table.name in merged.columns:
            columns, count = merged.columns[table.name].columns, len(merged.columns[table.name])
        else:
            rows = merged.rows.get(table.name, [])
            columns, count = list(zip(*rows, strict=True)) or [()] * (len(schema) - 2), len(rows)
        values = [*(pa.chunked_array([pa.repeat(value, count)]) for value in (snapshot_id, cluster_id)), *columns]
        arrays = [
            column.cast(field.type) if isinstance(column, pa.ChunkedArray) else pa.array(column, field.type)
            for column, field in zip(values, schema, strict=True)
        ]
        tables.append(pa.Table.from_arrays(arrays, schema=schema))
    return tables
