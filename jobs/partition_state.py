"""What becomes of partitions when brokers die, in columns; jobs/partition_pattern.py asks the model.

Where the controllers are brokers too, the death that leaves fewer than a majority of the quorum's voters is the last thing that happens:
nobody is elected any more, and no ISR shrinks, so that a partition with a dead broker in its ISR accepts no acks=all.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_type

from jobs.partition_pattern import ANSWER, answers

_CLUSTER = ["snapshot_id", "cluster_id"]
_PARTITION = [*_CLUSTER, "topic", "partition"]
_NONE = "array<int>"


def rules_of(cluster: DataFrame, broker: DataFrame) -> DataFrame:
    """Of each cluster with a live broker, who controls it and who lives."""
    brokers = broker.groupBy(_CLUSTER).agg(
        F.collect_list(F.when(F.col("live"), F.col("broker_id"))).alias("live_brokers"),
        F.collect_list(F.when(~F.col("live"), F.col("broker_id"))).alias("dead_brokers"),
    )
    return cluster.join(brokers.where(F.size("live_brokers") > 0), on=_CLUSTER, how="inner").select(
        *_CLUSTER,
        "controller",
        "controller_id",
        F.col("elr").alias("elr_kept"),
        "live_brokers",
        F.when(F.col("controller") == "kraft", F.array_except("voters", "dead_brokers")).alias("voters_left"),
        (F.floor(F.size("voters") / 2) + 1).cast("int").alias("voters_needed"),
    )


def ruled(partition: DataFrame, cluster: DataFrame, broker: DataFrame, topic: DataFrame, *more: str) -> DataFrame:
    """Partitions with the rules that their elections follow, their replicas that live, and `more` of their columns."""
    config = topic.select(
        *_CLUSTER,
        "topic",
        "replication_factor",
        F.coalesce("min_insync_replicas", F.lit(1)).alias("min_insync_replicas"),
        F.coalesce(F.col("configs")["unclean.leader.election.enable"] == "true", F.lit(False)).alias("topic_unclean"),
    )
    return (
        partition.select(*_PARTITION, "leader", "replicas", "isr", "elr", "last_known_elr", *more)
        .join(F.broadcast(rules_of(cluster, broker)), on=_CLUSTER, how="inner")
        .join(config, on=[*_CLUSTER, "topic"], how="left")
        .withColumn("live", F.array_intersect("replicas", "live_brokers"))
        .drop("live_brokers")  # each partition would bear all brokers of its cluster
        .withColumn("elr_kept", F.col("elr_kept") & F.col("elr").isNotNull())
    )


def size_on(broker: Column) -> Column:
    """What the replica of a partition on this broker stores, in bytes; null: not told, or it has none there."""
    return F.get("replica_size_bytes", F.array_position("replicas", broker).cast("int") - 1)


def patterned(partition: DataFrame) -> DataFrame:
    """With the state that the deaths find, `before`. A leader that does not live leads no more, whatever the dump says."""
    none = F.array().cast(_NONE)
    before = F.struct(
        F.when(F.array_contains("live", F.col("leader")), F.col("leader")).alias("leader"),
        F.col("isr"),
        F.coalesce("elr", none).alias("elr"),
        F.coalesce("last_known_elr", none).alias("last_known_elr"),
        F.col("live"),
        F.lit(False).alias("stuck"),
    )
    return partition.withColumn("before", before)


def after(brokers: Column, offline_on: Column | None = None) -> Column:
    """The state of a patterned partition once these brokers have died one after the other, and then those whose log dir fails; by the
    columns unclean_allowed and controlled_shutdown.

    Those that die once the quorum is lost are gone, and nobody is there to act on it.
    """
    gone = brokers if offline_on is None else F.concat(brokers, offline_on)
    live = F.array_except("live", gone)
    answer = _answer(
        F.col("controller") == "kraft", F.col("elr_kept"), F.coalesce("unclean_allowed", F.lit(False)), F.col("controlled_shutdown"),
        F.coalesce("min_insync_replicas", F.lit(1)), F.coalesce("replication_factor", F.size("replicas")), F.col("before.leader"),
        F.col("replicas"), F.col("before.isr"), F.col("before.elr"), F.col("before.last_known_elr"), F.col("live"), heard(brokers, gone),
    )  # fmt: skip
    return F.struct(
        *(answer[name].alias(name) for name in ("leader", "isr", "elr", "last_known_elr")),
        live.alias("live"),
        *(answer[name].alias(name) for name in ("transitions", "election", "unclean", "changes", "epochs")),
        (quorum_lost(brokers) & (F.size(F.array_except(answer["isr"], live)) > 0)).alias("stuck"),
    )


@F.arrow_udf(from_arrow_type(ANSWER))
def _answer(
    kraft: pa.Array, elr_kept: pa.Array, unclean: pa.Array, in_order: pa.Array, least: pa.Array, factor: pa.Array, leader: pa.Array,
    replicas: pa.Array, isr: pa.Array, elr: pa.Array, last_known_elr: pa.Array, live: pa.Array, dying: pa.Array,
) -> pa.Array:  # fmt: skip
    return answers((kraft, elr_kept, unclean, in_order, least, factor), leader, (replicas, isr, elr, last_known_elr), live, dying)


def quorum_lost(brokers: Column) -> Column:
    """Whether too few of the quorum's voters are left, once these brokers are gone, to elect a leader of their own."""
    left = F.size(F.array_except("voters_left", brokers))
    return F.coalesce((left < F.size("voters_left")) & (left < F.col("voters_needed")), F.lit(False))


def heard(brokers: Column, gone: Column | None = None) -> Column:
    """Of these, whose deaths are acted upon: those before the voter whose death loses the quorum; all that are gone, if none does."""
    straw = F.get(F.filter(brokers, lambda id: F.array_contains("voters_left", id)), F.size("voters_left") - F.col("voters_needed"))
    before = F.slice(brokers, F.lit(1), F.array_position(brokers, straw).cast("int") - 1)
    return F.when(quorum_lost(brokers), F.coalesce(before, F.array().cast(_NONE))).otherwise(brokers if gone is None else gone)


def led(state: Column) -> Column:
    """Whether its leader is there."""
    return F.coalesce(F.array_contains(state["live"], state["leader"]), F.lit(False))


def accepts(state: Column) -> Column:
    """Whether records with acks=all are acknowledged."""
    return led(state) & (F.size(state["isr"]) >= F.col("min_insync_replicas")) & ~state["stuck"]


def safe(live: Column) -> Column:
    """How many of these replicas have every acknowledged record: those of the ISR and of the ELR."""
    return F.size(F.array_intersect(live, F.array_union("before.isr", "before.elr")))
