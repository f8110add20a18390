"""remedy: the smallest change with which a partition survives the loss of any one broker, simulated before it is offered.

It concerns each partition that the death of some broker leaves without a leader or under min ISR. Changes are tried from the smallest to the
largest: bring its lagging replicas back in sync, bring its dead brokers back, add a replica, add two replicas. A new replica goes to the live
broker with the fewest replicas, on a rack without one if there is such a rack. min.insync.replicas is never lowered: that would trade data
for writes.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BooleanType, IntegerType

from jobs.arrays import NO_BROKER, Ints, to_matrix
from jobs.engine import SparkEngine
from jobs.failure.cluster_state import cluster_states
from jobs.failure.election_inputs import election_inputs
from jobs.failure.patterns import INPUTS, Partitions, outcome_of
from jobs.schema import BROKER, CLUSTER, FAILOVER, PARTITION, REMEDY, SCENARIO, TOPIC
from jobs.schema.failure import HARMED, ONE_BROKER_KILLED
from jobs.spark.session import cluster_files_by_id, dataframe_from_arrow
from jobs.steps.stage import Stage, Stages

READS = (CLUSTER, BROKER, TOPIC, PARTITION, SCENARIO, FAILOVER)
WRITES = (REMEDY,)

_CLUSTER = ["snapshot_id", "cluster_id"]
_PARTITION = [*_CLUSTER, "topic", "partition"]
_SCENARIO = [*_CLUSTER, "scenario_set", "scenario_id"]


def transform(
    cluster: pa.Table, broker: pa.Table, topic: DataFrame, partition: DataFrame, scenario: pa.Table, failover: DataFrame
) -> Stages[tuple[DataFrame, ...]]:
    spark = partition.sparkSession
    deaths = dataframe_from_arrow(spark, scenario).where(ONE_BROKER_KILLED).select(*_SCENARIO)
    harmed = (
        failover.where(HARMED)
        .join(F.broadcast(deaths), on=_SCENARIO, how="left_semi")
        .groupBy(_PARTITION)
        .agg(F.sort_array(F.collect_set("scenario_id")).alias("scenario_ids"), F.some(F.col("leader").isNull()).alias("goes_offline"))
    )
    states = cluster_states(cluster.to_pylist(), broker.to_pylist()).values()
    partitions = election_inputs(SparkEngine(spark), partition, topic, states).drop("replica_size_bytes")
    inputs = F.struct(*(name for name in partitions.columns if name not in _PARTITION)).alias("inputs")
    harmed_partitions = yield Stage(partitions.select(*_PARTITION, inputs).join(harmed, on=_PARTITION, how="inner"))
    # Partitions with equal inputs get equal remedies: a fleet has far fewer distinct inputs than partitions.
    distinct = harmed_partitions.select(*_CLUSTER, "inputs").distinct()
    brokers = _brokers_by_load(dataframe_from_arrow(spark, broker), partition)
    remedies = harmed_partitions.join(_smallest_changes(distinct, brokers), on=[*_CLUSTER, "inputs"], how="inner").select(
        *_PARTITION,
        "scenario_ids",
        "goes_offline",
        *(F.col(f"change.{name}").alias(name) for name in ("remedy", "replicas", "added_replicas")),
    )
    return (cluster_files_by_id(remedies),)


def _smallest_changes(distinct: DataFrame, brokers: DataFrame) -> DataFrame:
    """Return the first change after which no single death makes a partition with these inputs refuse acks=all writes; null: none helps."""
    new_replicas = _least_loaded("inputs.replicas", "brokers", "racks", "live_count").alias("new_replicas")
    candidates = distinct.join(F.broadcast(brokers), on=_CLUSTER, how="inner").select(*_CLUSTER, "inputs", "inputs.*", new_replicas)
    changed = (
        candidates.withColumn("change", F.explode(_changes()))
        .withColumns({name: F.col("change")[name] for name in ("replicas", "isr", "live")})
        .withColumn("topic_unclean", F.lit(False))
        .withColumn("replication_factor", F.size("replicas"))
        .withColumn("elr", F.array().cast("array<int>"))
    )
    helps = _accepts_writes_after_any_death(*INPUTS)
    return changed.groupBy(*_CLUSTER, "inputs").agg(F.min(F.when(helps, F.col("change"))).alias("change"))


def _brokers_by_load(broker: DataFrame, partition: DataFrame) -> DataFrame:
    """Return the brokers of each cluster, live ones first and then by the number of their replicas, with a number for each one's rack."""
    replica_counts = (
        partition.select(*_CLUSTER, F.explode("replicas").alias("broker_id"))
        .groupBy(*_CLUSTER, "broker_id")
        .agg(F.count("*").alias("replicas"))
    )
    rack = F.dense_rank().over(Window.partitionBy(_CLUSTER).orderBy("rack"))
    ordered = F.struct(
        (~F.col("live")).alias("dead"), F.coalesce("replicas", F.lit(0)).alias("replicas"), "broker_id", F.col("rack_number").alias("rack")
    )
    brokers = (
        broker.join(replica_counts, on=[*_CLUSTER, "broker_id"], how="left")
        .withColumn("rack_number", rack)
        .groupBy(_CLUSTER)
        .agg(F.sort_array(F.collect_list(ordered)).alias("brokers"))
    )
    return brokers.select(
        *_CLUSTER,
        F.col("brokers.broker_id").alias("brokers"),
        F.col("brokers.rack").alias("racks"),
        F.size(F.array_remove("brokers.dead", True)).alias("live_count"),
    )


def _changes() -> Column:
    """Return the changes that may help, the smallest first, and last the partition without its unclean election and ELR."""
    replicas, live, no_replicas = F.col("replicas"), F.col("live"), F.array().cast("array<int>")
    new_replicas = F.col("new_replicas")

    def change(order: int, remedy: str, replicas: Column, isr: Column, live: Column, added: Column) -> Column:
        return F.struct(
            F.lit(order).alias("order"),
            F.lit(remedy).alias("remedy"),
            replicas.alias("replicas"),
            isr.alias("isr"),
            live.alias("live"),
            added.alias("added_replicas"),
        )

    def if_possible(condition: Column, order: int, remedy: str, replicas: Column, live: Column, added: Column) -> Column:
        return F.when(condition, change(order, remedy, replicas, live, live, added))

    def addition(added: Column, count: int, order: int, remedy: str) -> Column:
        return if_possible(F.size(added) == count, order, remedy, F.concat(replicas, added), F.concat(live, added), added)

    lagging = F.size(F.array_except("live", "isr")) > 0
    return F.array_compact(
        F.array(
            if_possible(lagging, 1, "bring its lagging replicas back in sync", replicas, live, no_replicas),
            if_possible(F.size("live") < F.size("replicas"), 2, "bring its dead brokers back", replicas, replicas, no_replicas),
            addition(F.slice(new_replicas, 1, 1), 1, 3, "add a replica"),
            addition(new_replicas, 2, 4, "add two replicas"),
            change(9, "", replicas, F.col("isr"), live, no_replicas),
        )
    )


@F.arrow_udf(ArrayType(IntegerType()))
def _least_loaded(replicas: pa.Array, brokers: pa.Array, racks: pa.Array, live_count: pa.Array) -> pa.Array:
    """Choose up to two live brokers without a replica of the partition, in the order of `brokers`, which starts with the least loaded.

    A broker on a rack without a replica comes first. The first choice counts as a replica for the second one.
    """
    ids, rack_of, live = to_matrix(brokers), to_matrix(racks), live_count.to_numpy()
    is_replica, on_used_rack = (np.zeros(ids.shape, bool) for _ in range(2))

    def add_replica(broker: Ints) -> None:
        matches = ids == broker
        is_replica[:] |= matches
        on_used_rack[:] |= (rack_of == np.where(matches, rack_of, 0).max(axis=0, initial=0)) & matches.any(axis=0)

    for broker in to_matrix(replicas):
        add_replica(broker)
    columns = np.arange(len(replicas))
    chosen = np.full((2, len(replicas)), NO_BROKER)
    for nth in range(2):
        free = ~is_replica & (np.arange(len(ids))[:, np.newaxis] < live)
        on_new_rack = free & ~on_used_rack
        best = np.where(on_new_rack.any(axis=0), on_new_rack.argmax(axis=0), free.argmax(axis=0))
        chosen[nth] = np.where(free.any(axis=0), ids[best, columns], NO_BROKER)
        add_replica(chosen[nth])
    lengths = (chosen != NO_BROKER).sum(axis=0)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    return pa.ListArray.from_arrays(offsets, pa.array(chosen.T[chosen.T != NO_BROKER], pa.int32()))


@F.arrow_udf(BooleanType())
def _accepts_writes_after_any_death(*inputs: pa.Array) -> pa.Array:
    """Return whether a partition accepts acks=all writes after the death of any one of its live brokers."""
    partitions = Partitions(dict(zip(INPUTS, inputs, strict=True)))
    _, deaths = partitions.one_death_each(partitions.live)
    cases, index = partitions.outcomes(deaths)
    refuses = np.array([outcome_of(case)["under_min_isr"] for case in cases], bool)[index]
    return pa.array(np.bincount(deaths.row[refuses], minlength=len(inputs[0])) == 0)
