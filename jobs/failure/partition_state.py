"""What decides what becomes of partitions when brokers die, in columns; jobs/failure/patterns.py asks the model what does.

Where the controllers are brokers too, the death that leaves fewer than a majority of the quorum's voters is the last thing that happens:
nobody is elected any more, and no ISR shrinks, so that a partition with a dead broker in its ISR accepts no acks=all.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

_CLUSTER = ["snapshot_id", "cluster_id"]
_PARTITION = [*_CLUSTER, "topic", "partition"]


def rules_of(cluster: DataFrame, broker: DataFrame) -> DataFrame:
    """Of each cluster, who controls it and who lives."""
    brokers = broker.groupBy(_CLUSTER).agg(
        F.collect_list(F.when(F.col("live"), F.col("broker_id"))).alias("live_brokers"),
        F.collect_list(F.when(~F.col("live"), F.col("broker_id"))).alias("dead_brokers"),
    )
    return cluster.join(brokers, on=_CLUSTER, how="inner").select(
        *_CLUSTER,
        "controller",
        "controller_id",
        F.col("elr").alias("elr_kept"),
        "live_brokers",
        F.when(F.col("controller") == "kraft", F.array_except("voters", "dead_brokers")).alias("voters_left"),
        (F.floor(F.size("voters") / 2) + 1).cast("int").alias("voters_needed"),
    )


def ruled(partition: DataFrame, cluster: DataFrame, broker: DataFrame, topic: DataFrame, *more: str) -> DataFrame:
    """Partitions with the rules that their elections follow, their replicas that live, and `more` of their lists: what
    jobs.failure.patterns.Partitions is made of. No list is null.
    """
    config = topic.select(
        *_CLUSTER,
        "topic",
        "replication_factor",
        F.coalesce("min_insync_replicas", F.lit(1)).alias("min_insync_replicas"),
        F.coalesce(F.col("configs")["unclean.leader.election.enable"] == "true", F.lit(False)).alias("topic_unclean"),
    )
    clusters = rules_of(cluster, broker).select(*_CLUSTER, (F.col("controller") == "kraft").alias("kraft"), "elr_kept", "live_brokers")
    return (
        partition.select(*_PARTITION, "leader", "replicas", "isr", "elr", "last_known_elr", *more)
        .join(F.broadcast(clusters), on=_CLUSTER, how="inner")
        .join(config, on=[*_CLUSTER, "topic"], how="left")
        .withColumn("live", F.array_intersect("replicas", "live_brokers"))
        .drop("live_brokers")  # each partition would bear all brokers of its cluster
        .withColumn("elr_kept", F.col("elr_kept") & F.col("elr").isNotNull())
        .withColumns({name: none_for_null(name) for name in ("elr", "last_known_elr", *more)})
    )


def none_for_null(name: str) -> Column:
    """A list that Python is to have: Spark's writer to Arrow takes n * n steps for n that are null."""
    return F.coalesce(name, F.array())


def size_on(broker: Column) -> Column:
    """What the replica of a partition on this broker stores, in bytes; null: unknown, or it has none there."""
    return F.get("replica_size_bytes", F.array_position("replicas", broker).cast("int") - 1)


def quorum_lost(brokers: Column) -> Column:
    """Whether too few of the quorum's voters are left, once these brokers are gone, to elect a leader of their own."""
    left = F.size(F.array_except("voters_left", brokers))
    return F.coalesce((left < F.size("voters_left")) & (left < F.col("voters_needed")), F.lit(False))


def silencers(cluster: DataFrame, broker: DataFrame) -> DataFrame:
    """Of each cluster, the live brokers each of whose death alone loses the controllers' quorum."""
    alone = F.filter("live_brokers", lambda id: quorum_lost(F.array(id)))
    return rules_of(cluster, broker).select(*_CLUSTER, alone.alias("silencers"))


def heard(brokers: Column) -> Column:
    """Of these, how many deaths are acted upon: those before the voter whose death loses the quorum; all, if none does."""
    straw = F.get(F.filter(brokers, lambda id: F.array_contains("voters_left", id)), F.size("voters_left") - F.col("voters_needed"))
    before = F.greatest(F.array_position(brokers, straw) - 1, F.lit(0))  # greatest passes over null: no straw, none is heard
    return F.when(quorum_lost(brokers), before).otherwise(F.size(brokers)).cast("int")
