"""broker_restart: in which order brokers can be restarted, and what the return of each brings back and costs.

kafka_model.failover.rolling_restart computes the order. A return follows the broker's death, or, for a broker that is already dead, the
state in the snapshot. Partitions without a leader may elect one then (kafka_model.failover.broker_failure.return_broker). The broker must
catch up with the partitions that it left in sync before the preferred election gives its leaders back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from jobs.arrays import to_matrix
from jobs.failure.partition_state import ruled, rules_of, silencers, size_on
from jobs.failure.patterns import RETURN, Deaths, Partitions
from jobs.failure.simulate import UNKNOWN, at_risk
from jobs.schema import BROKER, BROKER_RESTART, CLUSTER, PARTITION, PRODUCER_LOAD, TOPIC
from kafka_model.failover.rolling_restart import RestartConstraint, restart_order

READS = (CLUSTER, BROKER, TOPIC, PARTITION, PRODUCER_LOAD)
WRITES = (BROKER_RESTART,)

_CLUSTER = ["snapshot_id", "cluster_id"]
_BROKER = [*_CLUSTER, "broker_id"]
_PARTITION = [*_CLUSTER, "topic", "partition"]
_COUNTS = ("rejoining_partitions", "revived_partitions", "revived_uncleanly", "preferred_partitions", "regained_leaders")
_SUMMED = (*_COUNTS, "full_copy_bytes", "catch_up_bytes_per_s", "truncated_size_bytes")
_SUMS = pa.schema([BROKER_RESTART.schema.field(name).with_nullable(True) for name in (*_BROKER, *_SUMMED)])


def transform(
    cluster: DataFrame,
    broker: DataFrame,
    topic: DataFrame,
    partition: DataFrame,
    producer_load: DataFrame,
    *,
    parameters: Mapping[str, str],
) -> tuple[DataFrame, ...]:
    rules = ruled(partition, cluster, broker, topic, "replica_size_bytes")
    return (
        broker.select(*_BROKER, "live")
        .join(_order(rules, rules_of(cluster, broker)), on=_BROKER, how="left")
        .join(_returning(rules, producer_load, silencers(cluster, broker)), on=_BROKER, how="left")
        .fillna(0, ["under_min_isr_partitions", *_COUNTS])
        .select(BROKER_RESTART.schema.names),
    )


def _order(rules: DataFrame, clusters: DataFrame) -> DataFrame:
    """Of each live broker, its turn in a rolling restart, and the partitions that fall whenever it stops."""
    tight = rules.select(
        *_CLUSTER, "live", F.array_intersect("isr", "live").alias("in_sync"), F.greatest("min_insync_replicas", F.lit(1)).alias("least")
    ).where(F.size("in_sync") <= F.col("least"))
    falling = (
        tight.where(F.size("live") <= F.col("least")).withColumn("broker_id", F.explode("in_sync"))
        .groupBy(_BROKER).agg(F.count("*").alias("under_min_isr_partitions"))
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
            tight = [
                RestartConstraint(frozenset(each["live"]), frozenset(each["in_sync"]), each["least"]) for each in cluster["tight"] or ()
            ]
            turn = {broker: turn for turn, broker in enumerate(restart_order(cluster["brokers"], tight).order, start=1)}
            of = (cluster["snapshot_id"], cluster["cluster_id"])
            rows += [dict(zip(schema.names, (*of, broker, turn.get(broker)), strict=True)) for broker in cluster["brokers"]]
        yield from pa.Table.from_pylist(rows, schema).to_batches()


def _returning(rules: DataFrame, producer_load: DataFrame, silencing: DataFrame) -> DataFrame:
    """Of each broker, what its return does to its partitions, and what it has to fetch."""
    rate = F.col("observed_size_bytes_per_s").alias("rate")
    of_partitions = (
        rules.withColumn("size_bytes", size_on(F.col("leader")))
        .join(F.broadcast(silencing), on=_CLUSTER, how="inner")
        .join(producer_load.where("observed_size_bytes_per_s IS NOT NULL").select(*_PARTITION, rate), on=_PARTITION, how="left")
    )
    summed = of_partitions.mapInArrow(_returns, from_arrow_schema(_SUMS)).groupBy(_BROKER)
    return summed.agg(*(F.sum(name).alias(name) for name in _SUMMED))


def _returns(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The sums of each batch of partitions."""
    for batch in batches:
        partitions = Partitions(batch)
        nth, row = np.nonzero(partitions.replicas)
        place = partitions.replicas[nth, row]
        broker = partitions.brokers(place, row)
        lives = (partitions.live[:, row] == place).any(axis=0)
        silences = (to_matrix(batch["silencers"])[:, row] == broker).any(axis=0)
        came = dict(zip(RETURN, partitions.back(Deaths.killed(row, place, quorum_lost=silences)).T, strict=True))
        before, leader, after = (came[name] for name in ("leader_before", "leader", "leader_after"))
        behind, unknown = at_risk(to_matrix(batch["replica_size_bytes"], UNKNOWN), row, before, leader, np.full(len(row), UNKNOWN))
        of, first = pa.array(row), place == 1
        sums = {
            **{name: batch[name].take(of) for name in _CLUSTER},
            "broker_id": pa.array(broker, pa.int32()),
            "rejoining_partitions": came["rejoins"],
            "revived_partitions": came["revived"],
            "revived_uncleanly": came["revived_uncleanly"],
            "preferred_partitions": first,
            "regained_leaders": first & (after != place) & (after > 0),
            "full_copy_bytes": batch["size_bytes"].take(of),
            "catch_up_bytes_per_s": batch["rate"].take(of),
            "truncated_size_bytes": pa.array(behind, mask=unknown | (leader == 0) | ~lives),
        }
        rows = pa.table(sums).group_by(_BROKER).aggregate([(name, "sum") for name in _SUMMED])
        rows = rows.select([*_BROKER, *(f"{name}_sum" for name in _SUMMED)]).rename_columns(_SUMS.names)
        yield from rows.cast(_SUMS).to_batches()
