"""Reading a large source with Spark's workers.

Each task reads several clusters, one at a time, with the same function as the driver. A kafka-topics text that is larger than a chunk is parsed
chunk by chunk in tasks before that. The lake stores the rows without Spark's own rows (jobs/lake/worker_rows.py).
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from jobs.ingest import partition_lines
from jobs.ingest.cluster_tables import WRITES, cluster_tables
from jobs.ingest.partition_lines import ParsedChunk
from jobs.ingest.reading import is_partition_text
from jobs.ingest.source import ClusterFolder, filesystem, read_head, read_lines
from jobs.schema import Table
from jobs.spark.scale import Scale
from jobs.spark.session import configure_for_scale
from jobs.spark.worker_rows import Batches, WorkerRows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CHUNK_BYTES = 32 << 20  # a task parses this much of a kafka-topics text in one second
_TASKS_PER_CORE = 4
_TASK_BYTES = 128 << 20  # dumps that one task reads: its rows may be in memory together when Spark reads them again
_CLUSTER_COLUMNS = {"number": "BIGINT", "file": "STRING", "start": "BIGINT", "chunk": "BINARY"}


class _Chunk(NamedTuple):
    """A chunk of a large file: the number of its cluster, the name of its file, and the byte where it starts."""

    number: int
    file: str
    start: int


@dataclass(frozen=True)
class _Tasks:
    """The functions that Spark's workers run, and the values that they need."""

    source: str
    clusters: Sequence[ClusterFolder]
    chunks: Sequence[_Chunk]
    chunk_bytes: int
    snapshot_id: str

    def parse_chunks(self, batches: Batches) -> Batches:
        """Parse the chunks with these numbers, if they are of a kafka-topics text."""
        system, _ = filesystem(self.source)
        for batch in batches:
            for index in batch.column(0).to_pylist():
                number, name, start = self.chunks[index]
                file = next(file for file in self.clusters[number].files if file.name == name)
                try:
                    head = read_head(system, file)
                    if head is None or not is_partition_text(head):
                        continue
                    chunk = partition_lines.read(read_lines(system, file, start, min(start + self.chunk_bytes, file.size_bytes)))
                except OSError:
                    continue  # the task of the cluster reads the whole file, and reports the error
                yield pa.record_batch({"number": [number], "file": [name], "start": [start], "chunk": [pickle.dumps(chunk)]})

    def read_clusters(self, batches: Batches) -> Iterator[tuple[Table, pa.Table]]:
        """Return the tables of one cluster after the other; its parsed chunks are in rows of the same number, in their order."""
        system, _ = filesystem(self.source)
        rows = (row for batch in batches for row in batch.to_pylist())
        for number, cluster_rows in groupby(rows, key=itemgetter("number")):
            chunks: dict[str, list[ParsedChunk]] = defaultdict(list)
            for row in cluster_rows:
                if row["file"] is not None:
                    chunks[row["file"]].append(pickle.loads(row["chunk"]))
            yield from zip(WRITES, cluster_tables(system, self.clusters[number], self.snapshot_id, chunks), strict=True)


def read(spark: SparkSession, source: str, clusters: Sequence[ClusterFolder], snapshot_id: str, chunk_bytes: int) -> WorkerRows:
    """Return the tables of WRITES as rows that the workers will compute."""
    configure_for_scale(spark, Scale.LARGE)
    total_bytes = sum(cluster.size_bytes for cluster in clusters)
    task_count = min(len(clusters), max(_TASKS_PER_CORE * spark.sparkContext.defaultParallelism, total_bytes // _TASK_BYTES))
    clusters = _balanced(clusters, task_count)
    tasks = _Tasks(source, clusters, _chunks(clusters, chunk_bytes), chunk_bytes, snapshot_id)
    return WorkerRows(_clusters_with_chunks(spark, tasks, task_count), tasks.read_clusters, WRITES)


def _balanced(clusters: Sequence[ClusterFolder], task_count: int) -> list[ClusterFolder]:
    """Order clusters so that consecutive, equally long runs of them, one for each task, have about the same size."""
    largest_first = sorted(clusters, key=lambda cluster: -cluster.size_bytes)
    return [cluster for task in range(task_count) for cluster in largest_first[task::task_count]]


def _chunks(clusters: Sequence[ClusterFolder], chunk_bytes: int) -> list[_Chunk]:
    """Return the chunks of all readable files that are larger than one chunk."""
    return [
        _Chunk(number, file.name, start)
        for number, cluster in enumerate(clusters)
        for file in cluster.files
        if file.size_bytes > chunk_bytes and not file.obstacle
        for start in range(0, file.size_bytes, chunk_bytes)
    ]


def _clusters_with_chunks(spark: SparkSession, tasks: _Tasks, task_count: int) -> DataFrame:
    """Return a row for each cluster and for each parsed chunk; all rows of a cluster are in one partition, in order."""
    nulls = [f"CAST(NULL AS {type_name}) AS {name}" for name, type_name in _CLUSTER_COLUMNS.items() if name != "number"]
    rows = spark.range(0, len(tasks.clusters), 1, task_count).selectExpr("id AS number", *nulls)
    if not tasks.chunks:
        return rows
    numbers = spark.range(0, len(tasks.chunks), 1, len(tasks.chunks))
    parsed = numbers.mapInArrow(tasks.parse_chunks, ", ".join(f"{name} {type_name}" for name, type_name in _CLUSTER_COLUMNS.items()))
    return rows.union(parsed).repartition(task_count, "number").sortWithinPartitions("number", "file", "start")
