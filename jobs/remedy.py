"""remedy: the smallest change that lets a partition live through the loss of any one broker, played before it is offered.

For each partition that some broker's death leaves without a leader, or under min ISR: from the smallest change to the greatest, the first
with which no single death does so any more. Changes are to bring its lagging replicas back in sync, to bring its dead brokers back, to add
a replica on the least loaded live broker (of a rack that it is not on, if there is one), or two. min.insync.replicas is never lowered: that
would trade data for writes.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.harm import HARMED, ONE_BROKER_KILLED
from jobs.partition_state import accepts, after, patterned, ruled
from jobs.tables import BROKER, CLUSTER, FAILOVER, PARTITION, REMEDY, SCENARIO, TOPIC

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
) -> tuple[DataFrame, ...]:
    deaths = scenario.where(ONE_BROKER_KILLED).select(*_SCENARIO)
    harmed = (
        failover.where(HARMED)
        .join(F.broadcast(deaths), on=_SCENARIO, how="left_semi")
        .groupBy(_PARTITION)
        .agg(F.sort_array(F.collect_set("scenario_id")).alias("scenario_ids"), F.some(F.col("leader").isNull()).alias("goes_offline"))
    )
    sick = ruled(partition, cluster, broker, topic).join(harmed, on=_PARTITION, how="inner").join(_loads(broker, partition), on=_CLUSTER, how="inner")
    tried = patterned(
        sick.withColumn("change", F.explode(_changes()))
        .withColumns({name: F.col("change")[name] for name in ("replicas", "isr", "live")})
        .withColumns({"unclean_allowed": F.lit(False), "controlled_shutdown": F.lit(False)})
        .withColumn("replication_factor", F.size("replicas"))
        .withColumn("elr", F.when(F.col("elr").isNotNull(), F.array().cast("array<int>")))
    )
    said = [*_PARTITION, "scenario_ids", "goes_offline", "change"]
    played = tried.withColumn("dies", F.explode("live")).withColumn("after", after(F.array("dies"))).groupBy(said).agg(F.every(accepts(F.col("after"))).alias("clears"))
    first = Window.partitionBy(*_PARTITION).orderBy(F.desc("clears"), "change.order")
    return (
        played.withColumn("choice", F.row_number().over(first))
        .where("choice = 1")
        .select(
            *_PARTITION,
            "scenario_ids",
            "goes_offline",
            F.when(F.col("clears"), F.col("change.remedy")).alias("remedy"),
            *(F.when(F.col("clears"), F.col(f"change.{name}")).alias(name) for name in ("replicas", "added_replicas")),
        ),
    )


def _loads(broker: DataFrame, partition: DataFrame) -> DataFrame:
    """Of each cluster, its live brokers with their racks and how many replicas they hold."""
    held = partition.select(*_CLUSTER, F.explode("replicas").alias("broker_id")).groupBy(*_CLUSTER, "broker_id").agg(F.count("*").alias("held"))
    live = broker.where("live").join(held, on=[*_CLUSTER, "broker_id"], how="left").fillna(0, ["held"])
    racks = broker.groupBy(_CLUSTER).agg(F.map_from_entries(F.collect_list(F.struct("broker_id", F.coalesce("rack", F.lit("")).alias("rack")))).alias("rack_of"))
    return live.groupBy(_CLUSTER).agg(F.collect_list(F.struct("held", "broker_id")).alias("loads")).join(racks, on=_CLUSTER, how="inner")


def _changes() -> Column:
    """What may be changed, the smallest change first; what changes nothing is left out."""
    replicas, live, none = F.col("replicas"), F.col("live"), F.array().cast("array<int>")
    one = F.array_compact(F.array(_least_loaded(replicas)))
    two = F.array_compact(F.concat(one, F.array(_least_loaded(F.concat(replicas, one)))))

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
            F.struct(F.lit(9).alias("order"), F.lit("").alias("remedy"), replicas.alias("replicas"), F.col("isr"), F.col("live"), none.alias("added_replicas")),
        )
    )


def _least_loaded(replicas: Column) -> Column:
    """Of the live brokers that hold none of the replicas: on a rack without one if there is one, then the one that holds the fewest."""
    racks = F.transform(replicas, lambda id: F.col("rack_of")[id])
    free = F.filter("loads", lambda load: ~F.array_contains(replicas, load["broker_id"]))
    ranked = F.transform(
        free, lambda load: F.struct(F.array_contains(racks, F.col("rack_of")[load["broker_id"]]).alias("shared"), load["held"], load["broker_id"])
    )
    return F.array_min(ranked)["broker_id"]

