"""What every failure of a cluster costs to play, as brokers and replicas double: python -m tests.benchmarks.failover [PARTITIONS]

All single brokers, stops and racks should cost O(replicas): no more for more brokers at the same replicas, twice for twice the replicas. All
pairs should cost O(partitions x RF^2), likewise. Each is the least of three runs into Spark's noop sink, beside the floor: to read the
same partitions and write as many rows as `failover` has.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.lake.lake import frame
from jobs.schema import BROKER, CLUSTER, PARTITION, TOPIC, Table
from jobs.spark.session import session, set_for
from jobs.steps import failover, joint_failover

RUNS = 3


def main(partitions: int = 200_000) -> None:
    spark = session(long=True)
    set_for(spark, small=False)
    print(f"{'partitions':>12}{'brokers':>9}{'floor s':>9}{'singles s':>11}{'pairs s':>9}")
    took = {}
    for count, brokers in ((partitions, 40), (partitions, 80), (2 * partitions, 40)):
        took[count, brokers] = floor, singles, pairs = measured(cluster(spark, count, brokers))
        print(f"{count:>12,}{brokers:>9}{floor:>9.1f}{singles:>11.1f}{pairs:>9.1f}", flush=True)
        spark.catalog.clearCache()
    base = took[partitions, 40]
    for what, key in (("twice the brokers", (partitions, 80)), ("twice the replicas", (2 * partitions, 40))):
        ratios = ", ".join(
            f"{name} {then / now:.2f}" for name, now, then in zip(("floor", "singles", "pairs"), base, took[key], strict=True)
        )
        print(f"{what}: {ratios} times")


def measured(of: dict[Table, DataFrame]) -> tuple[float, float, float]:
    """The seconds of the floor, of all single failures, and of all pairs."""
    # Three replicas are in a kill, a stop and a rack each.
    rows = of[PARTITION].withColumn("again", F.explode(F.sequence(F.lit(1), F.lit(9))))
    singles = partial(failover.transform, *(of[table] for table in failover.READS), parameters={})
    scenario = singles()[0].localCheckpoint()
    pairs = partial(joint_failover.transform, of[CLUSTER], of[BROKER], of[TOPIC], of[PARTITION], scenario, parameters={})
    return least(lambda: [rows]), least(singles), least(lambda: pairs()[:1])


def cluster(spark: SparkSession, partitions: int, brokers: int) -> dict[Table, DataFrame]:
    """A KRaft cluster with ELR in three racks, topics of 100 partitions, three replicas in sync each."""
    of = {table: frame(spark, table, table.schema.empty_table()) for table in failover.READS}
    ids = [F.lit("s").alias("snapshot_id"), F.lit("c").alias("cluster_id")]

    def rows(table: Table, df: DataFrame, **given: object) -> DataFrame:
        filled = [
            *ids, *(given[field.name] if field.name in given else F.lit(None) for field in table.schema if field.name not in ("snapshot_id", "cluster_id"))
        ]  # fmt: skip
        typed = zip(filled, spark.createDataFrame([], table.columns).schema, strict=True)
        return df.select(*(column.cast(field.dataType).alias(field.name) for column, field in typed)).localCheckpoint()

    id, broker = F.col("id"), F.lit(brokers)
    shift = 1 + id % (brokers - 2)
    replicas = F.array(id % broker, (id + shift) % broker, (id + shift + 1) % broker)
    topic = F.concat(F.lit("t"), F.floor(id / 100).cast("string"))
    empty = F.array().cast("array<int>")
    of[CLUSTER] = rows(CLUSTER, spark.range(1), controller=F.lit("kraft"), elr=F.lit(True))
    of[BROKER] = rows(BROKER, spark.range(brokers), broker_id=id, live=F.lit(True), rack=(id % 3).cast("string"))
    of[TOPIC] = rows(TOPIC, spark.range(partitions // 100), topic=F.concat(F.lit("t"), id.cast("string")), partitions=F.lit(100), replication_factor=F.lit(3),
                     min_insync_replicas=F.lit(2))  # fmt: skip
    of[PARTITION] = rows(PARTITION, spark.range(partitions), topic=topic, partition=id % 100, leader=replicas[0], replicas=replicas,
                         isr=F.sort_array(replicas), elr=empty, last_known_elr=empty)  # fmt: skip
    return of


def least(tables: Callable[[], list[DataFrame] | tuple[DataFrame, ...]]) -> float:
    """Seconds that the fastest run takes to work all these tables out."""
    took = []
    for _ in range(RUNS):
        started = time.monotonic()
        for df in tables():
            df.write.format("noop").mode("overwrite").save()
        took.append(time.monotonic() - started)
        df.sparkSession.catalog.clearCache()
    return min(took)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
