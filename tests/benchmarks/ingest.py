"""How long the text of kafka-topics takes to become tables, beside counting its lines and beside Spark reading the same bytes as text.

    python -m tests.benchmarks.ingest [clusters]

Each cluster (10, unless a number is given; 113 are 1 GB) has 70,000 partitions in 1,000 topics, about 9 MB. A figure is the least of three
runs; of those that write Delta tables, of two. They write a folder, as a night does by itself. Beside the ingest's own loop, partitions are
parsed by Spark's own expressions, which refuse nothing and tell no line numbers: what the work would cost if it were left to Spark.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from jobs.ingest import partition_lines
from jobs.ingest.partitions import LISTS, NO_LEADER
from jobs.ingest.source import clusters
from jobs.lake.lake import Lake
from jobs.lake.table_file import TableFile
from jobs.night import Night
from jobs.schema import PARTITION, TABLES
from jobs.spark.session import session, set_for

TOPICS, PARTITIONS, BROKERS = 1_000, 70, 60
NIGHT = "2026-01-01"
_FEW = 10  # clusters; more take Spark's writer minutes


def main(asked: int) -> None:
    """Write the dumps, read them in each way, and print the times."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(asked):
            path = Path(folder, f"cluster-{number:03}", "topics.txt")
            path.parent.mkdir()
            path.write_text(text(number))
        found = clusters(folder)
        size = sum(file.size_bytes for cluster in found for file in cluster.files)
        lines = asked * TOPICS * (PARTITIONS + 1)
        spark = session()
        print(f"{asked} clusters, {lines:,} lines, {size / 1e6:,.0f} MB, {spark.sparkContext.defaultParallelism} cores")

        counted = least(lambda: subprocess.run(f"cat {folder}/*/* | wc -l", shell=True, check=True, stdout=subprocess.DEVNULL))
        print(f"{'wc -l':36}{counted:8.2f} s")
        set_for(spark, small=False)
        as_text = least(lambda: nowhere(spark.read.text(f"{folder}/*/*")))
        print(f"{'spark.read.text':36}{as_text:8.2f} s")
        ways: dict[str, tuple[Callable[[], object], int]] = {
            "parsed by the compiled loop": (lambda: nowhere(parsed(spark, folder)), 3),
            "partitions, as rows of Spark": (lambda: nowhere(as_rows(spark, folder)), 3),
            "partitions, by Spark's expressions": (lambda: nowhere(by_expressions(spark, folder)), 3),
            "partitions, into their table": (lambda: into_table(spark, folder), 2),
        }
        with lake(spark) as of_folder, lake(spark, by_spark=True) as of_spark:
            ways["ingested into all tables"] = (lambda: of_folder.ingest(folder, {}), 2)
            if asked <= _FEW:
                ways["the same, written by Spark"] = (lambda: of_spark.ingest(folder, {}), 1)
            for name, (run, runs) in ways.items():
                taken = least(run, runs)
                print(f"{name:36}{taken:8.2f} s{taken / as_text:8.1f} times spark.read.text", flush=True)


def parsed(spark: SparkSession, folder: str) -> DataFrame:
    """How many partitions each text has, a text a task's turn."""
    return by_loop(spark, folder, lambda batches: (pa.record_batch({"lines": [len(table)]}) for table in batches), "lines BIGINT")


def as_rows(spark: SparkSession, folder: str) -> DataFrame:
    """The partitions, handed over to Spark."""
    columns = "topic STRING, partition INT, leader INT, " + ", ".join(f"{name} ARRAY<INT>" for name in LISTS)
    return by_loop(spark, folder, lambda tables: (batch for table in tables for batch in table.to_batches(10_000)), columns)


def into_table(spark: SparkSession, folder: str) -> None:
    """The partitions, in the order of their key, in a new table of Delta's."""
    with tempfile.TemporaryDirectory() as place:
        lake = Lake(place, lambda: spark)
        lake.create(PARTITION)
        file_writer = lake.file_writer(snapshot_id=NIGHT)
        unknown = {field.name: field.type for field in list(PARTITION.schema)[11:]}

        def write(tables: Iterator[pa.Table]) -> Iterator[pa.RecordBatch]:
            writer = file_writer(PARTITION)
            for number, table in enumerate(tables):
                cluster_id = pa.repeat(f"cluster-{number}", len(table))
                renamed = table.append_column("cluster_id", cluster_id)
                for name, type in unknown.items():
                    renamed = renamed.append_column(name, pa.nulls(len(table), type))
                writer.write(renamed)
            yield pa.RecordBatch.from_pylist([asdict(writer.close())])

        files = by_loop(spark, folder, write, "path STRING, size_bytes BIGINT, stats STRING").toArrow().to_pylist()
        lake.replace(PARTITION, [TableFile(**file) for file in files], few=False, snapshot_id=NIGHT)


def by_loop(spark: SparkSession, folder: str, use: Callable[[Iterator[pa.Table]], Iterator[pa.RecordBatch]], columns: str) -> DataFrame:
    """What is made of the partitions of each text, as columns in order, some texts a task."""
    paths = [str(path) for path in sorted(Path(folder).glob("*/*"))]

    def tables(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
        for batch in batches:
            for index in batch.column(0).to_pylist():
                found = partition_lines.read(Path(paths[index]).read_bytes()).lines.partitions
                found = found.take(found.order())
                leader = pa.array(found.leader, mask=found.leader == NO_LEADER)
                lists = [found.lists(name) for name in LISTS]
                yield pa.table([found.topic_names(), pa.array(found.partition), leader, *lists], ["topic", "partition", "leader", *LISTS])

    return spark.range(0, len(paths), 1, min(len(paths), 8)).mapInArrow(lambda batches: use(tables(batches)), columns)


def by_expressions(spark: SparkSession, folder: str) -> DataFrame:
    """The same from the lines that Spark reads, without the columns of a reassignment."""
    line = spark.read.text(f"{folder}/*/*").where("value LIKE '%\tPartition: %'").selectExpr("split(value, '\t') AS f")

    def ids(place: int, name: str) -> str:
        text = f"substr(f[{place}], {len(name) + 3})"
        return f"if({text} = '', array(), cast(split({text}, ',') AS array<int>)) AS {name}"

    return line.selectExpr(
        "substr(f[1], 8) AS topic", "cast(substr(f[2], 12) AS int) AS partition", "try_cast(substr(f[3], 9) AS int) AS leader",
        ids(4, "replicas"), ids(5, "isr"), ids(6, "elr"), ids(7, "lastKnownElr"),
    )  # fmt: skip


def nowhere(df: DataFrame) -> None:
    df.write.format("noop").mode("overwrite").save()


@contextmanager
def lake(spark: SparkSession, *, by_spark: bool = False) -> Iterator[Night]:
    """A night in a lake that has every table already; as a URI, it is Spark's to write."""
    with tempfile.TemporaryDirectory() as place:
        of_folder = Lake(place, lambda: spark)
        for table in TABLES:
            of_folder.create(table)
        yield Night(Lake(f"file://{place}", lambda: spark) if by_spark else of_folder, NIGHT)


def least(run: Callable[[], object], runs: int = 3) -> float:
    """The least seconds of some runs."""
    return min(seconds(run) for _ in range(runs))


def seconds(run: Callable[[], object]) -> float:
    """How long it runs."""
    started = time.monotonic()
    run()
    return time.monotonic() - started


def text(seed: int) -> str:
    """What kafka-topics would print of a large cluster."""
    chance = random.Random(seed)
    said = []
    for number in range(TOPICS):
        topic = f"domain-{number % 40}.team-{number % 7}.events-of-service-{number}"
        configs = "min.insync.replicas=2,retention.ms=604800000"
        topic_id = f"TopicId: {chance.getrandbits(88):022x}"
        said.append(f"Topic: {topic}\t{topic_id}\tPartitionCount: {PARTITIONS}\tReplicationFactor: 3\tConfigs: {configs}\n")
        for partition in range(PARTITIONS):
            brokers = chance.sample(range(BROKERS), 3)
            ids = ",".join(map(str, brokers))
            where = f"Leader: {brokers[0]}\tReplicas: {ids}\tIsr: {ids}"
            said.append(f"\tTopic: {topic}\tPartition: {partition}\t{where}\tElr: \tLastKnownElr: \n")
    return "".join(said)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
