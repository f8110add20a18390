"""Partitions as columns with everything that decides their elections when brokers die: the input of jobs.failure.patterns.Partitions."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

_CLUSTER = ["snapshot_id", "cluster_id"]


def with_election_inputs(partition: DataFrame, topic: DataFrame, election_rules: DataFrame, *more_lists: str) -> DataFrame:
    """Return each partition with the election rules of its cluster and topic, its live replicas, and these further list columns.

    `election_rules` are rows of jobs.failure.cluster_state.cluster_election_rules; they are broadcast. No list is null.
    jobs.failure.counts.partition_states is the same in this process.
    """
    config = topic.select(
        *_CLUSTER,
        "topic",
        "replication_factor",
        F.coalesce("min_insync_replicas", F.lit(1)).alias("min_insync_replicas"),
        F.coalesce(F.col("configs")["unclean.leader.election.enable"] == "true", F.lit(False)).alias("topic_unclean"),
    )
    columns = (*_CLUSTER, "topic", "partition", "leader", "replicas", "isr", "elr", "last_known_elr")
    return (
        partition.select(*columns, *more_lists)
        .join(F.broadcast(election_rules), on=_CLUSTER, how="inner")
        .join(config, on=[*_CLUSTER, "topic"], how="left")
        .withColumn("live", F.array_intersect("replicas", "live_brokers"))
        .drop("live_brokers")  # otherwise each partition would carry all brokers of its cluster
        .withColumn("elr_enabled", F.col("elr_enabled") & F.col("elr").isNotNull())
        .withColumns({name: empty_for_null(name) for name in ("elr", "last_known_elr", *more_lists)})
    )


def empty_for_null(name: str) -> Column:
    """Return a list column without nulls, to send to Python: Spark's Arrow writer takes n * n steps for n null lists."""
    return F.coalesce(name, F.array())
