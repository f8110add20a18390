"""broker_restart: in which order brokers can be restarted, and what the return of each brings back and costs.

The order is found by kafka_model.rolling_restart. A return follows the broker's death as jobs/failover.py played it (a dead broker's
follows what the snapshot shows): partitions without a leader may find one in it, as kafka_model.failover.come_back has it, and all that it
left in sync it must catch up with before the preferred election gives its leaders back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.harm import ONE_BROKER_KILLED
from jobs.partition_state import ruled, rules_of, size_on
from jobs.tables import BROKER, BROKER_RESTART, CLUSTER, FAILOVER, PARTITION, PRODUCER_LOAD, SCENARIO, TOPIC
from kafka_model.rolling_restart import Tight, plan

READS = (CLUSTER, BROKER, TOPIC, PARTITION, PRODUCER_LOAD, SCENARIO, FAILOVER)
WRITES = (BROKER_RESTART,)

_CLUSTER = ["snapshot_id", "cluster_id"]
_BROKER = [*_CLUSTER, "broker_id"]
_PARTITION = [*_CLUSTER, "topic", "partition"]


def transform(
    cluster: DataFrame,
    broker: DataFrame,
    topic: DataFrame,
    partition: DataFrame,
    producer_load: DataFrame,
    scenario: DataFrame,
    failover: DataFrame,
    *,
    parameters: Mapping[str, str],
) -> tuple[DataFrame, ...]:
    rules = ruled(partition, cluster, broker, topic)
    back = _back(rules, broker, scenario, failover)
    counts = [
        "falling_partitions",
        "rejoining_partitions",
        "revived_partitions",
        "revived_uncleanly",
        "preferred_partitions",
        "regained_leaders",
    ]
    return (
        broker.select(*_BROKER, "live")
        .join(_order(rules, rules_of(cluster, broker)), on=_BROKER, how="left")
        .join(back, on=_BROKER, how="left")
        .join(_fetched(partition, producer_load), on=_BROKER, how="left")
        .join(_preferred(partition), on=_BROKER, how="left")
        .withColumn("regained_leaders", F.coalesce("preferred_partitions", F.lit(0)) - F.coalesce("revived_preferred", F.lit(0)))
        .fillna(0, counts)
        .select(BROKER_RESTART.schema.names),
    )


def _order(rules: DataFrame, clusters: DataFrame) -> DataFrame:
    """Of each live broker, its turn in a rolling restart, and the partitions that fall whenever it stops."""
    tight = rules.select(
        *_CLUSTER, "live", F.array_intersect("isr", "live").alias("in_sync"), F.greatest("min_insync_replicas", F.lit(1)).alias("least")
    ).where(F.size("in_sync") <= F.col("least"))
    falling = (
        tight.where(F.size("live") <= F.col("least")).withColumn("broker_id", F.explode("in_sync"))
        .groupBy(_BROKER).agg(F.count("*").alias("falling_partitions"))
    )  # fmt: skip
    bound = (
        tight.where(F.size("live") > F.col("least"))
        .groupBy(_CLUSTER)
        .agg(F.collect_set(F.struct("live", "in_sync", "least")).alias("tight"))
    )
    asked = clusters.select(*_CLUSTER, F.col("live_brokers").alias("brokers")).join(bound, on=_CLUSTER, how="left")
    order = asked.mapInArrow(_plans, "snapshot_id STRING, cluster_id STRING, broker_id INT, restart_order INT")
    return order.join(falling, on=_BROKER, how="left")


def _plans(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    schema = pa.schema([BROKER_RESTART.schema.field(name) for name in (*_BROKER, "restart_order")])
    for batch in batches:
        rows = []
        for cluster in batch.to_pylist():
            tight = [Tight(frozenset(each["live"]), frozenset(each["in_sync"]), each["least"]) for each in cluster["tight"] or ()]
            turn = {broker: turn for turn, broker in enumerate(plan(cluster["brokers"], tight).order, start=1)}
            of = (cluster["snapshot_id"], cluster["cluster_id"])
            rows += [dict(zip(schema.names, (*of, broker, turn.get(broker)), strict=True)) for broker in cluster["brokers"]]
        yield from pa.Table.from_pylist(rows, schema).to_batches()


def _back(rules: DataFrame, broker: DataFrame, scenario: DataFrame, failover: DataFrame) -> DataFrame:
    """Of each broker, the ISRs that it comes back to, and the partitions without a leader that it gives one."""
    killed = scenario.where(ONE_BROKER_KILLED).select(*_CLUSTER, "scenario_set", "scenario_id", F.col("brokers")[0].alias("broker_id"))
    left = failover.join(F.broadcast(killed), on=[*_CLUSTER, "scenario_set", "scenario_id"], how="inner")
    states = left.select(
        *_BROKER,
        "topic",
        "partition",
        "leader",
        "isr",
        "elr",
        "last_known_elr",
        F.array_contains("isr_before", F.col("broker_id")).alias("rejoins"),
        F.when(F.col("leader").isNotNull(), F.col("at_risk_size_bytes")).alias("truncated"),
    )
    dead = (
        rules.withColumn("broker_id", F.explode("replicas"))
        .join(F.broadcast(broker.where("NOT live").select(*_BROKER)), on=_BROKER, how="inner")
        .select(*_BROKER, "topic", "partition", F.when(F.array_contains("live", F.col("leader")), F.col("leader")).alias("leader"), "isr", "elr", "last_known_elr",
                F.lit(True).alias("rejoins"), F.lit(None).cast("bigint").alias("truncated"))
    )  # fmt: skip
    states = states.unionByName(dead)
    rejoining = states.groupBy(_BROKER).agg(
        F.count_if("rejoins").alias("rejoining_partitions"), F.sum("truncated").alias("truncated_size_bytes")
    )
    # With ELR, a broker that was killed may have lost what it had: it leaves ISR and ELR before it comes back.
    isr, elr = (F.when(F.col("elr_kept"), F.array_remove(name, F.col("broker_id"))).otherwise(F.col(name)) for name in ("isr", "elr"))
    valid = F.when(F.col("elr_kept") & (F.size(isr) == 0), elr).otherwise(isr)
    # Which may be what another waits for, that is back already: the last known leader leads once nobody else is eligible.
    there = F.size(F.array_intersect("last_known_elr", F.array_append("live", F.col("broker_id")))) == 1
    known = F.col("elr_kept") & (F.size(isr) == 0) & (F.size(elr) == 0) & (F.size("last_known_elr") == 1) & there
    revived = (
        states.where("leader IS NULL")
        .join(rules.select(*_PARTITION, "replicas", "live", "elr_kept", "topic_unclean"), on=_PARTITION, how="inner")
        .withColumn("clean", F.array_contains(valid, F.col("broker_id")))
        .withColumn("unclean", ~F.col("clean") & (F.coalesce(known, F.lit(False)) | F.col("topic_unclean")))
        .where("clean OR unclean")
        .groupBy(_BROKER)
        .agg(
            F.count("*").alias("revived_partitions"),
            F.count_if("unclean").alias("revived_uncleanly"),
            F.count_if(F.col("replicas")[0] == F.col("broker_id")).alias("revived_preferred"),
        )
    )
    return rejoining.join(revived, on=_BROKER, how="left")


def _fetched(partition: DataFrame, producer_load: DataFrame) -> DataFrame:
    """Of each broker, the bytes that leaders have of its partitions, and those that producers add each second that it is away."""
    of = partition.withColumn("size_bytes", size_on(F.col("leader"))).join(
        producer_load.select(*_PARTITION, F.col("observed_size_bytes_per_s").alias("rate")), on=_PARTITION, how="left"
    )
    return (
        of.withColumn("broker_id", F.explode("replicas"))
        .groupBy(_BROKER)
        .agg(F.sum("size_bytes").alias("full_copy_bytes"), F.sum("rate").alias("catch_up_bytes_per_s"))
    )


def _preferred(partition: DataFrame) -> DataFrame:
    return partition.groupBy(*_CLUSTER, F.col("replicas")[0].alias("broker_id")).agg(F.count("*").alias("preferred_partitions"))
