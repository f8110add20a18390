"""Measure how the time of simulating failures grows with brokers and replicas.

    python -m tests.benchmarks.failover [PARTITIONS]

The failures of single brokers and racks should take O(replicas), and those of all pairs of brokers O(partitions x RF^2): the same time for
twice the brokers, and twice the time for twice the replicas. A time is the best of three runs into Spark's noop sink. The floor is the time
to read the same partitions and write as many rows as `failover` has.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import ModuleType

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.engine import SparkEngine
from jobs.lake.worker_rows import packed_rows
from jobs.schema import BROKER, CLUSTER, PARTITION, SCENARIO, TOPIC, Table
from jobs.spark.scale import Scale
from jobs.spark.session import configure_for_scale, dataframe_from_arrow, session
from jobs.steps import failover, joint_failover
from jobs.steps.stage import ARROW_TABLES, OnDisk, run_stages, transform
from kafka_model.release import LATEST

RUNS = 3
NAMES = ("floor", "singles", "pairs")
# Rows of `failover`: each of three replicas is in the kill and the stop of its broker, and in the loss of its rack.
OUTCOMES_PER_PARTITION = 9


def main(partitions: int = 200_000) -> None:
    spark = session(Scale.LARGE)
    configure_for_scale(spark, Scale.LARGE)
    print(f"{'partitions':>12}{'brokers':>9}{'floor s':>9}{'singles s':>11}{'pairs s':>9}")
    seconds = {}
    for count, brokers in ((partitions, 40), (partitions, 80), (2 * partitions, 40)):
        seconds[count, brokers] = floor, singles, pairs = measure(generate_cluster(spark, count, brokers))
        print(f"{count:>12,}{brokers:>9}{floor:>9.1f}{singles:>11.1f}{pairs:>9.1f}", flush=True)
        spark.catalog.clearCache()
    base = seconds[partitions, 40]
    for growth, key in (("twice the brokers", (partitions, 80)), ("twice the replicas", (2 * partitions, 40))):
        ratios = ", ".join(f"{name} {large / small:.2f}" for name, small, large in zip(NAMES, base, seconds[key], strict=True))
        print(f"{growth}: {ratios} times")


def measure(tables: Mapping[Table, DataFrame]) -> tuple[float, float, float]:
    """Return the seconds of the floor, of all single failures, and of all pairs of brokers."""
    scenarios: list[DataFrame] = []
    run_step(failover, tables, lambda outputs: scenarios.append(outputs[0].localCheckpoint()))
    tables = {**tables, SCENARIO: scenarios[0]}
    copies = tables[PARTITION].withColumn("copy", F.explode(F.sequence(F.lit(1), F.lit(OUTCOMES_PER_PARTITION))))
    return (
        best_seconds(lambda: discard([copies])),
        best_seconds(partial(run_step, failover, tables, discard)),
        best_seconds(partial(run_step, joint_failover, tables, lambda outputs: discard(outputs[:1]))),
    )


def run_step(step: ModuleType, tables: Mapping[Table, DataFrame], use: Callable[[Sequence[DataFrame]], None]) -> None:
    """Run a step as on a large night, and pass its output to `use`."""
    inputs = [tables[table].toArrow() if table in ARROW_TABLES else tables[table] for table in step.READS]
    # A checkpoint takes the place of writing a stage to its table and reading it again.
    with OnDisk(lambda table, rows: rows.localCheckpoint(), packed_rows) as materialize:
        use(run_stages(transform(step, inputs, engine=SparkEngine(tables[PARTITION].sparkSession)), materialize))


def discard(outputs: Sequence[DataFrame]) -> None:
    """Compute all rows and keep none."""
    for df in outputs:
        df.write.format("noop").mode("overwrite").save()


def best_seconds(run: Callable[[], None]) -> float:
    """Return the seconds of the fastest run."""
    seconds = []
    for _ in range(RUNS):
        started = time.monotonic()
        run()
        seconds.append(time.monotonic() - started)
    return min(seconds)


def generate_cluster(spark: SparkSession, partitions: int, brokers: int) -> dict[Table, DataFrame]:
    """Return the tables of a KRaft cluster with ELR in three racks: topics of 100 partitions with three replicas each, all in sync."""
    tables = {table: dataframe_from_arrow(spark, table.schema.empty_table(), table.columns) for table in failover.READS}
    keys = {"snapshot_id": F.lit("s"), "cluster_id": F.lit("c")}

    def rows(table: Table, count: int, **columns: Column) -> DataFrame:
        """Return rows with these columns, typed as declared; missing columns are null."""
        columns |= keys
        types = spark.createDataFrame([], table.columns).schema
        return (
            spark.range(count)
            .select(*(columns.get(field.name, F.lit(None)).cast(field.dataType).alias(field.name) for field in types))
            .localCheckpoint()
        )

    id, broker_count = F.col("id"), F.lit(brokers)
    shift = 1 + id % (brokers - 2)
    replicas = F.array(id % broker_count, (id + shift) % broker_count, (id + shift + 1) % broker_count)
    topic = F.concat(F.lit("t"), F.floor(id / 100).cast("string"))
    empty = F.array().cast("array<int>")
    tables[CLUSTER] = rows(CLUSTER, 1, controller=F.lit("kraft"), elr=F.lit(True), kafka_version=F.lit(str(LATEST)))
    tables[BROKER] = rows(BROKER, brokers, broker_id=id, live=F.lit(True), rack=(id % 3).cast("string"))
    tables[TOPIC] = rows(
        TOPIC,
        partitions // 100,
        topic=F.concat(F.lit("t"), id.cast("string")),
        partitions=F.lit(100),
        replication_factor=F.lit(3),
        min_insync_replicas=F.lit(2),
    )
    tables[PARTITION] = rows(
        PARTITION,
        partitions,
        topic=topic,
        partition=id % 100,
        leader=replicas[0],
        replicas=replicas,
        isr=F.sort_array(replicas),
        elr=empty,
        last_known_elr=empty,
    )
    return tables


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
