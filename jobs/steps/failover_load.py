"""Leaders and load that survivors of a failure take over: the rows of `failover_load`."""

from __future__ import annotations

from typing import NamedTuple

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.schema.failure import LEADER_MOVED

_CLUSTER = ["snapshot_id", "cluster_id"]
_BROKER = [*_CLUSTER, "broker_id"]
_SCENARIO = [*_CLUSTER, "scenario_set", "scenario_id"]
_PARTITION = [*_CLUSTER, "topic", "partition"]
_GAINED = {"gained_records": "records", "gained_size_bytes": "size_bytes", "gained_size_bytes_per_s": "rate"}


class Rates(NamedTuple):
    """Bytes per second that producers write to partitions."""

    partitions: DataFrame  # a row per partition with a rate, and the number of groups that read it
    clusters: DataFrame  # a row per cluster with rates


def failover_load(outcomes: DataFrame, partitions: DataFrame, sample: DataFrame, rates: Rates, broker: DataFrame) -> DataFrame:
    """Return the load of each survivor that becomes leader of a partition, with the capacity of its network.

    `partitions` have their election inputs. A survivor stored the partition before, as a follower, so the bytes that it stores do not change.
    """
    sent_before = (
        partitions.join(rates.partitions, on=_PARTITION, how="inner")
        .groupBy(*_CLUSTER, F.col("leader").alias("broker_id"))
        .agg(F.sum(_sent_bytes_per_s(F.size("live"))).alias("sent_before"))
    )
    leaders = (
        partitions.where("leader IS NOT NULL")
        .groupBy(*_CLUSTER, F.col("leader").alias("broker_id"))
        .agg(F.count("*").alias("leaders_before"))
    )
    capacity = broker.select(*_BROKER, F.col("network_out_capacity_bytes_per_s").alias("capacity"))
    return (
        _changes(outcomes, sample, rates)
        .join(leaders, on=_BROKER, how="left")
        .join(sent_before, on=_BROKER, how="left")
        .join(capacity, on=_BROKER, how="left")
        .withColumn("leaders_before", F.coalesce("leaders_before", F.lit(0)))
        .withColumn("gained_share", F.col("gained_leaders") / F.sum("gained_leaders").over(Window.partitionBy(_SCENARIO)))
        .withColumn("network_out_bytes_per_s", F.coalesce("sent_before", F.lit(0.0)) + F.col("sent_change"))
        .withColumn("network_out_share", F.when(F.col("capacity") > 0, F.col("network_out_bytes_per_s") / F.col("capacity")))
    )


def partition_rates(producer_load: DataFrame, partition_load: DataFrame, observed_assignment: DataFrame) -> Rates:
    """Return the rates of partitions and clusters.

    Cruise Control's measurement takes precedence over the growth since the previous snapshot.
    """
    observed = producer_load.where("observed_size_bytes_per_s IS NOT NULL").select(*_PARTITION, "observed_size_bytes_per_s")
    measured = partition_load.select(*_PARTITION, "network_in_bytes_per_s")
    groups = observed_assignment.groupBy(_PARTITION).agg(F.count_distinct("group_id").alias("groups"))
    partitions = (
        observed.join(measured, on=_PARTITION, how="full")
        .join(groups, on=_PARTITION, how="left")
        .select(
            *_PARTITION,
            F.coalesce("network_in_bytes_per_s", "observed_size_bytes_per_s").alias("rate"),
            F.coalesce("groups", F.lit(0)).alias("groups"),
        )
    )
    return Rates(partitions, observed.select(_CLUSTER).union(measured.select(_CLUSTER)).distinct())


def _sent_bytes_per_s(live_replicas: Column) -> Column:
    """Return what a leader sends: the written bytes to each live follower and to each group."""
    return F.col("rate") * (F.col("groups") + live_replicas - 1)


def _changes(outcomes: DataFrame, sample: DataFrame, rates: Rates) -> DataFrame:
    """Sum, for each scenario and broker that gains a leader, what it gains and by how much the bytes that it sends change."""
    moved = F.expr(LEADER_MOVED)
    leader = F.struct(
        F.col("leader").alias("broker_id"), moved.alias("gained"), _sent_bytes_per_s(F.col("live_replicas")).alias("sent_change")
    )
    old_leader = F.struct(
        F.col("leader_before").alias("broker_id"),
        F.lit(False).alias("gained"),
        (-_sent_bytes_per_s(F.col("live_replicas_before"))).alias("sent_change"),
    )
    return (
        outcomes.join(F.broadcast(rates.clusters.withColumn("has_rates", F.lit(True))), on=_CLUSTER, how="left")
        .where(moved | F.col("has_rates"))  # other partitions change only the bytes sent
        .join(sample.select(*_PARTITION, "records", "size_bytes"), on=_PARTITION, how="left")
        .join(rates.partitions, on=_PARTITION, how="left")
        .select(*_SCENARIO, "records", "size_bytes", "rate", F.inline(F.array(leader, old_leader)))
        .groupBy(*_SCENARIO, "broker_id")
        .agg(
            F.count_if("gained").alias("gained_leaders"),
            *(F.sum(F.when(F.col("gained"), F.col(column))).alias(name) for name, column in _GAINED.items()),
            F.sum("sent_change").alias("sent_change"),
        )
        .where("gained_leaders > 0")
    )
