"""ingest: the dumps of all clusters become the input tables of a night.

    source.py            lists the clusters of a source and their files, and reads the files' bytes
    formats/             one module per format: recognises its dumps, and parses their entries into facts (facts.py)
    reading.py           reads a file: every entry is parsed or rejected
    partition_lines.py, replica_logs.py, offset_columns.py   entries of large dumps, parsed into columns
    partitions.py        all partitions of a cluster, as columns
    metadata_record.py   the records of KRaft's metadata log
    resolve/             resolves the files of one cluster into the rows of its tables
    cluster_tables.py    the tables of one cluster, from its files
    spark_workers.py     the tables of a large source, computed by Spark's workers

The driver reads a small source by itself. A cluster without a readable file has rows in `input_file` and `rejected_input` only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa

from jobs.ingest import spark_workers
from jobs.ingest.cluster_tables import WRITES, cluster_tables
from jobs.ingest.source import filesystem, list_clusters
from jobs.ingest.spark_workers import CHUNK_BYTES
from jobs.spark.scale import Scale
from jobs.spark.worker_rows import WorkerRows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["WRITES", "read", "source_scale"]


def read(
    spark: Callable[[], SparkSession],
    source: str,
    snapshot_id: str,
    scale: Scale = Scale.SMALL,
    *,
    chunk_bytes: int = CHUNK_BYTES,
) -> tuple[pa.Table, ...] | WorkerRows:
    """Return the tables of WRITES with the rows of all clusters of a source.

    Spark's workers read a LARGE source. Several workers share a kafka-topics text of more than `chunk_bytes`.
    """
    clusters = list_clusters(source)
    if scale is Scale.LARGE:
        return spark_workers.read(spark(), source, clusters, snapshot_id, chunk_bytes)
    system, _ = filesystem(source)
    tables = [cluster_tables(system, cluster, snapshot_id) for cluster in clusters]
    return tuple(pa.concat_tables(tables_of_clusters) for tables_of_clusters in zip(*tables, strict=True))


def source_scale(source: str) -> Scale:
    """Return the scale of a night, from the size of all dumps of a source."""
    return Scale.of_dumps(sum(cluster.size_bytes for cluster in list_clusters(source)))
