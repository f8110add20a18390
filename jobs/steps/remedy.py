"""remedy: the smallest change that lets a partition live through the loss of any one broker, played before it is offered.

For each partition that some broker's death leaves without a leader, or under min ISR: from the smallest change to the greatest, the first
with which no single death does so any more. Changes are to bring its lagging replicas back in sync, to bring its dead brokers back, to add
a replica on the least loaded live broker (of a rack that it is not on, if there is one), or two. min.insync.replicas is never lowered: that
would trade data for writes.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BooleanType, IntegerType

from jobs.arrays import NO_BROKER, to_ints, to_matrix
from jobs.failure.partition_state import ruled, silencers
from jobs.failure.patterns import PATTERNED, Deaths, Partitions
from jobs.schema import BROKER, CLUSTER, FAILOVER, PARTITION, REMEDY, SCENARIO, TOPIC
from jobs.schema.failure import HARMED, ONE_BROKER_KILLED
from jobs.spark.session import by_cluster
from jobs.steps.stage import Stage, Stages

READS = (CLUSTER, BROKER, TOPIC, PARTITION, SCENARIO, FAILOVER)
WRITES = (REMEDY,)

_CLUSTER = ["snapshot_id", "cluster_id"]
_PARTITION = [*_CLUSTER, "topic", "partition"]
_SCENARIO = [*_CLUSTER, "scenario_set", "scenario_id"]


def transform(
    cluster: DataFrame,
    broker: DataFrame,
    topic: DataFrame,
    partition: DataFrame,
    scenario: DataFrame,
    failover: DataFrame,
    *,
    parameters: Mapping[str, str],
) -> Stages[tuple[DataFrame, ...]]:
    deaths = scenario.where(ONE_BROKER_KILLED).select(*_SCENARIO)
    harmed = (
        failover.where(HARMED)
        .join(F.broadcast(deaths), on=_SCENARIO, how="left_semi")
        .groupBy(_PARTITION)
        .agg(F.sort_array(F.collect_set("scenario_id")).alias("scenario_ids"), F.some(F.col("leader").isNull()).alias("goes_offline"))
    )
    rules = ruled(partition, cluster, broker, topic)
    kind = F.struct(*(name for name in rules.columns if name not in _PARTITION)).alias("kind")
    sick = yield Stage(rules.select(*_PARTITION, kind).join(harmed, on=_PARTITION, how="inner"))
    # Partitions alike to the broker are mended alike: a fleet has far fewer such kinds than partitions.
    alike = sick.select(*_CLUSTER, "kind").distinct().join(F.broadcast(_loads(broker, partition)), on=_CLUSTER, how="inner")
    alike = alike.join(F.broadcast(silencers(cluster, broker)), on=_CLUSTER, how="inner")
    each = alike.select(
        *_CLUSTER, "kind", "kind.*", "silencers", _least_loaded("kind.replicas", "brokers", "racks", "live_count").alias("free")
    )
    tried = (
        each.withColumn("change", F.explode(_changes()))
        .withColumns({name: F.col("change")[name] for name in ("replicas", "isr", "live")})
        .withColumn("topic_unclean", F.lit(False))
        .withColumn("replication_factor", F.size("replicas"))
        .withColumn("elr", F.array().cast("array<int>"))
    )
    # The smallest change that clears it; null: none does.
    clears = _lives_through_any_death("silencers", *PATTERNED)
    chosen = tried.groupBy(*_CLUSTER, "kind").agg(F.min(F.when(clears, F.col("change"))).alias("change"))
    found = sick.join(chosen, on=[*_CLUSTER, "kind"], how="inner").select(
        *_PARTITION,
        "scenario_ids",
        "goes_offline",
        *(F.col(f"change.{name}").alias(name) for name in ("remedy", "replicas", "added_replicas")),
    )
    return (by_cluster(found),)


def _loads(broker: DataFrame, partition: DataFrame) -> DataFrame:
    """Of each cluster, its brokers, the live ones first and of these those that hold the fewest replicas, and the number of each one's rack."""
    held = (
        partition.select(*_CLUSTER, F.explode("replicas").alias("broker_id"))
        .groupBy(*_CLUSTER, "broker_id")
        .agg(F.count("*").alias("held"))
    )
    rack = F.dense_rank().over(Window.partitionBy(_CLUSTER).orderBy("rack"))
    known = broker.join(held, on=[*_CLUSTER, "broker_id"], how="left").select(
        *_CLUSTER, ~F.col("live"), F.coalesce("held", F.lit(0)), "broker_id", rack
    )
    each = F.sort_array(
        F.collect_list(
            F.struct(*(F.col(name).alias(to) for name, to in zip(known.columns[2:], ("dead", "held", "id", "rack"), strict=True)))
        )
    )
    ranked = known.groupBy(_CLUSTER).agg(each.alias("each"))
    return ranked.select(
        *_CLUSTER,
        F.col("each.id").alias("brokers"),
        F.col("each.rack").alias("racks"),
        F.size(F.array_remove("each.dead", True)).alias("live_count"),
    )


def _changes() -> Column:
    """What may be changed, the smallest change first; what changes nothing is left out."""
    replicas, live, two, none = F.col("replicas"), F.col("live"), F.col("free"), F.array().cast("array<int>")
    one = F.slice(two, 1, 1)

    def change(order: int, remedy: str, of: Column, living: Column, added: Column, useful: Column) -> Column:
        fields = (F.lit(order).alias("order"), F.lit(remedy).alias("remedy"), of.alias("replicas"), living.alias("isr"), living.alias("live"),
                  added.alias("added_replicas"))  # fmt: skip
        return F.when(useful, F.struct(*fields))

    return F.array_compact(
        F.array(
            change(1, "bring its lagging replicas back in sync", replicas, live, none, F.size(F.array_except("live", "isr")) > 0),
            change(2, "bring its dead brokers back", replicas, replicas, none, F.size("live") < F.size("replicas")),
            change(3, "add a replica", F.concat(replicas, one), F.concat(live, one), one, F.size(one) == 1),
            change(4, "add two replicas", F.concat(replicas, two), F.concat(live, two), two, F.size(two) == 2),
            F.struct(
                F.lit(9).alias("order"),
                F.lit("").alias("remedy"),
                replicas.alias("replicas"),
                F.col("isr"),
                F.col("live"),
                none.alias("added_replicas"),
            ),
        )
    )


@F.arrow_udf(ArrayType(IntegerType()))
def _least_loaded(replicas: pa.Array, brokers: pa.Array, racks: pa.Array, live_count: pa.Array) -> pa.Array:
    """Of the live brokers that hold none of the replicas, two at most: on a rack without one if there is one, then the one that holds the
    fewest; the second as if the first were a replica.
    """
    known, on, live = to_matrix(brokers), to_matrix(racks), live_count.to_numpy()
    taken, shared = (np.zeros(known.shape, bool) for _ in range(2))

    def take(broker: npt.NDArray[np.int64]) -> None:
        it = known == broker
        taken[:] |= it
        shared[:] |= (on == np.where(it, on, 0).max(axis=0, initial=0)) & it.any(axis=0)

    for each in to_matrix(replicas):
        take(each)
    columns = np.arange(len(replicas))
    chosen = np.full((2, len(replicas)), NO_BROKER)
    for nth in range(2):
        free = ~taken & (np.arange(len(known))[:, np.newaxis] < live)
        best = np.where((free & ~shared).any(axis=0), (free & ~shared).argmax(axis=0), free.argmax(axis=0))
        chosen[nth] = np.where(free.any(axis=0), known[best, columns], NO_BROKER)
        take(chosen[nth])
    there = (chosen != NO_BROKER).sum(axis=0)
    return pa.ListArray.from_arrays(
        pa.array(np.concatenate([[0], np.cumsum(there)]), pa.int32()), pa.array(chosen.T[chosen.T != NO_BROKER], pa.int32())
    )


@F.arrow_udf(BooleanType())
def _lives_through_any_death(silencers: pa.Array, *patterned: pa.Array) -> pa.Array:
    """Whether a partition accepts acks=all whichever one of its live brokers is killed."""
    partitions = Partitions(dict(zip(PATTERNED, patterned, strict=True)))
    nth, row = np.nonzero(partitions.live)
    place, silences = partitions.live[nth, row], to_matrix(silencers)
    lost = (partitions.brokers(place, row) == silences[:, row]).any(axis=0)
    falls = partitions.after(Deaths.killed(row, place, quorum_lost=lost)).field("under_min_isr")
    return pa.array(np.bincount(row[to_ints(falls, 0) > 0], minlength=len(silencers)) == 0)
