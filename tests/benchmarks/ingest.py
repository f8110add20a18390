"""Time to convert kafka-topics text to tables, compared with counting its lines and with Spark reading the same bytes as text.

    python -m tests.benchmarks.ingest [clusters]

Each cluster (10 by default; 113 are 1 GB) has 70,000 partitions in 1,000 topics, about 9 MB. A time is the best of three runs, or of two runs
for those that write Delta tables. The tables are in a local folder. For comparison, Spark's own expressions also parse the partitions; they
reject nothing and return no line numbers.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from jobs.ingest import partition_lines
from jobs.ingest.partitions import LISTS, NO_LEADER
from jobs.ingest.source import list_clusters
from jobs.lake.lake import open_lake
from jobs.night import NightlyRun
from jobs.schema import PARTITION, TABLES, Table
from jobs.spark.scale import Scale
from jobs.spark.session import configure_for_scale, session
from jobs.spark.worker_rows import WorkerRows

TOPICS, PARTITIONS, BROKERS = 1_000, 70, 60
NIGHT = "2026-01-01"
Result = TypeVar("Result")
_MOST_CLUSTERS_BY_SPARK = 10  # for more clusters, Spark's writer takes minutes


def main(cluster_count: int) -> None:
    """Write the dumps, read them in each way, and print the times."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(cluster_count):
            path = Path(folder, f"cluster-{number:03}", "topics.txt")
            path.parent.mkdir()
            path.write_text(kafka_topics_output(number))
        clusters = list_clusters(folder)
        size = sum(cluster.size_bytes for cluster in clusters)
        lines = cluster_count * TOPICS * (PARTITIONS + 1)
        spark = session()
        print(f"{cluster_count} clusters, {lines:,} lines, {size / 1e6:,.0f} MB, {spark.sparkContext.defaultParallelism} cores")

        count_seconds = best_seconds(lambda: subprocess.run(f"cat {folder}/*/* | wc -l", shell=True, check=True, stdout=subprocess.DEVNULL))
        print(f"{'wc -l':36}{count_seconds:8.2f} s")
        configure_for_scale(spark, Scale.LARGE)
        text_seconds = best_seconds(lambda: discard(spark.read.text(f"{folder}/*/*")))
        print(f"{'spark.read.text':36}{text_seconds:8.2f} s")
        benchmarks: dict[str, tuple[Callable[[], object], int]] = {
            "parsed by the compiled loop": (lambda: discard(partition_counts_by_loop(spark, folder)), 3),
            "partitions, as rows in Spark": (lambda: discard(spark_rows_by_loop(spark, folder)), 3),
            "partitions, by Spark's expressions": (lambda: discard(partitions_by_spark(spark, folder)), 3),
            "partitions, into their table": (lambda: write_table(spark, folder), 2),
        }
        with night(spark) as folder_night, night(spark, by_spark=True) as spark_night:
            benchmarks["ingested into all tables"] = (lambda: folder_night.ingest(folder, {}), 2)
            if cluster_count <= _MOST_CLUSTERS_BY_SPARK:
                benchmarks["ingested, tables written by Spark"] = (lambda: spark_night.ingest(folder, {}), 1)
            for name, (run, runs) in benchmarks.items():
                seconds = best_seconds(run, runs)
                print(f"{name:36}{seconds:8.2f} s{seconds / text_seconds:8.1f} times spark.read.text", flush=True)


def partition_counts_by_loop(spark: SparkSession, folder: str) -> DataFrame:
    """Return the number of partitions in each text, parsed by the compiled loop."""
    return partitions_by_loop(
        spark, folder, lambda batches: (pa.record_batch({"lines": [len(table)]}) for table in batches), "lines BIGINT"
    )


def spark_rows_by_loop(spark: SparkSession, folder: str) -> DataFrame:
    """Return the partitions as rows in Spark."""
    columns = "topic STRING, partition INT, leader INT, " + ", ".join(f"{name} ARRAY<INT>" for name in LISTS)
    return partitions_by_loop(spark, folder, lambda tables: (batch for table in tables for batch in table.to_batches(10_000)), columns)


def write_table(spark: SparkSession, folder: str) -> None:
    """Write the partitions, sorted by their key, into a new Delta table."""
    with tempfile.TemporaryDirectory() as lake_folder:
        lake = open_lake(lake_folder, lambda: spark)
        lake.create(PARTITION)
        unknown = {field.name: field.type for field in list(PARTITION.schema)[11:]}

        def complete(tables: Iterator[pa.Table]) -> Iterator[tuple[Table, pa.Table]]:
            for number, table in enumerate(tables):
                cluster_id = pa.repeat(f"cluster-{number}", len(table))
                renamed = table.append_column("cluster_id", cluster_id)
                for name, type in unknown.items():
                    renamed = renamed.append_column(name, pa.nulls(len(table), type))
                yield PARTITION, renamed

        rows = WorkerRows(text_numbers(spark, folder), by_loop(folder, complete), (PARTITION,))
        with lake.computed(rows, snapshot_id=NIGHT, attempt_id="1") as (files,):
            lake.replace(PARTITION, files, snapshot_id=NIGHT, attempt_id="1")


def partitions_by_loop(
    spark: SparkSession, folder: str, use: Callable[[Iterator[pa.Table]], Iterator[pa.RecordBatch]], columns: str
) -> DataFrame:
    """Apply `use` to the sorted partitions of each text, in up to 8 tasks."""
    return text_numbers(spark, folder).mapInArrow(by_loop(folder, use), columns)


def text_paths(folder: str) -> list[str]:
    return [str(path) for path in sorted(Path(folder).glob("*/*"))]


def text_numbers(spark: SparkSession, folder: str) -> DataFrame:
    """Return a row for each text."""
    count = len(text_paths(folder))
    return spark.range(0, count, 1, min(count, 8))


def by_loop(folder: str, use: Callable[[Iterator[pa.Table]], Result]) -> Callable[[Iterator[pa.RecordBatch]], Result]:
    """Return a function for Spark's workers that applies `use` to the sorted partitions of each text."""
    paths = text_paths(folder)

    def tables(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
        for batch in batches:
            for index in batch.column(0).to_pylist():
                partitions = partition_lines.read(Path(paths[index]).read_bytes()).lines.partitions
                partitions = partitions.take(partitions.sorted_rows())
                leader = pa.array(partitions.leader, mask=partitions.leader == NO_LEADER)
                lists = [partitions.lists(name) for name in LISTS]
                yield pa.table(
                    [partitions.topic_names(), pa.array(partitions.partition), leader, *lists], ["topic", "partition", "leader", *LISTS]
                )

    return lambda batches: use(tables(batches))


def partitions_by_spark(spark: SparkSession, folder: str) -> DataFrame:
    """Return the partitions, parsed by Spark's expressions without the columns of a reassignment."""
    line = spark.read.text(f"{folder}/*/*").where("value LIKE '%\tPartition: %'").selectExpr("split(value, '\t') AS f")

    def ids(column: int, name: str) -> str:
        text = f"substr(f[{column}], {len(name) + 3})"
        return f"if({text} = '', array(), cast(split({text}, ',') AS array<int>)) AS {name}"

    return line.selectExpr(
        "substr(f[1], 8) AS topic", "cast(substr(f[2], 12) AS int) AS partition", "try_cast(substr(f[3], 9) AS int) AS leader",
        ids(4, "replicas"), ids(5, "isr"), ids(6, "elr"), ids(7, "lastKnownElr"),
    )  # fmt: skip


def discard(df: DataFrame) -> None:
    """Compute all rows and keep none."""
    df.write.format("noop").mode("overwrite").save()


@contextmanager
def night(spark: SparkSession, *, by_spark: bool = False) -> Iterator[NightlyRun]:
    """Yield a night in a lake that has every table; Spark writes the tables if `by_spark`."""
    with tempfile.TemporaryDirectory() as lake_folder:
        folder_lake = open_lake(lake_folder, lambda: spark)
        for table in TABLES:
            folder_lake.create(table)
        yield NightlyRun(open_lake(f"file://{lake_folder}", lambda: spark) if by_spark else folder_lake, NIGHT)


def best_seconds(run: Callable[[], object], runs: int = 3) -> float:
    """Return the seconds of the fastest run."""
    return min(seconds_of(run) for _ in range(runs))


def seconds_of(run: Callable[[], object]) -> float:
    """Return the seconds that a run takes."""
    started = time.monotonic()
    run()
    return time.monotonic() - started


def kafka_topics_output(seed: int) -> str:
    """Return the output of kafka-topics for a large cluster."""
    rng = random.Random(seed)
    lines = []
    for number in range(TOPICS):
        topic = f"domain-{number % 40}.team-{number % 7}.events-of-service-{number}"
        configs = "min.insync.replicas=2,retention.ms=604800000"
        topic_id = f"TopicId: {rng.getrandbits(88):022x}"
        lines.append(f"Topic: {topic}\t{topic_id}\tPartitionCount: {PARTITIONS}\tReplicationFactor: 3\tConfigs: {configs}\n")
        for partition in range(PARTITIONS):
            brokers = rng.sample(range(BROKERS), 3)
            ids = ",".join(map(str, brokers))
            assignment = f"Leader: {brokers[0]}\tReplicas: {ids}\tIsr: {ids}"
            lines.append(f"\tTopic: {topic}\tPartition: {partition}\t{assignment}\tElr: \tLastKnownElr: \n")
    return "".join(lines)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
