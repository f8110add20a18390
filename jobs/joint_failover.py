"""joint_failover: what two brokers take with them, and how likely a few that die at random take data or writes with them.

A pair differs from its two brokers alone only in the partitions that both hold: those are played (as jobs/failover.py does), so that all
pairs cost partitions x replicas^2 at most, and brokers without a shared partition cost nothing. How many sets of more brokers are fatal is
counted by kafka_model.joint_failure from the distinct replica sets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from math import comb

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.failover import touched_by_brokers
from jobs.harm import ONE_BROKER_KILLED
from jobs.partition_state import accepts, after, led, patterned, quorum_lost, ruled, rules_of, safe
from jobs.session import kept
from jobs.tables import BROKER, BROKER_PAIR, CLUSTER, JOINT_LOSS, PARTITION, SCENARIO, TOPIC
from kafka_model.joint_failure import fatal_to_writes, sets_that_fail

READS = (CLUSTER, BROKER, TOPIC, PARTITION, SCENARIO)
WRITES = (BROKER_PAIR, JOINT_LOSS)

MOST_DEATHS = 5
_CLUSTER = ["snapshot_id", "cluster_id"]
_PAIR = [*_CLUSTER, "broker_id", "other_broker_id"]
_HARM = ("newly_leaderless", "newly_under_min_isr", "newly_lost")


def transform(
    cluster: DataFrame, broker: DataFrame, topic: DataFrame, partition: DataFrame, scenario: DataFrame, *, parameters: Mapping[str, str]
) -> tuple[DataFrame, ...]:
    rules = ruled(partition, cluster, broker, topic)
    # Partitions alike to the broker fare alike: a fleet has far fewer such kinds than partitions.
    alike = kept(
        rules.groupBy([name for name in rules.columns if name not in ("topic", "partition")]).agg(F.count("*").alias("partitions"))
    )
    rules = patterned(alike).withColumns({"unclean_allowed": F.col("topic_unclean"), "controlled_shutdown": F.lit(False)})
    clusters = rules_of(cluster, broker).withColumn("live_brokers", F.sort_array("live_brokers"))
    return _pairs(rules, clusters, scenario), _joint_loss(rules, clusters)


def _pairs(rules: DataFrame, clusters: DataFrame, scenario: DataFrame) -> DataFrame:
    live = F.sort_array("live")
    both = F.flatten(
        F.transform(live, lambda a: F.transform(F.filter(live, lambda b: b > a), lambda b: F.struct(a.alias("one"), b.alias("other"))))
    )
    one, other = F.col("pair.one"), F.col("pair.other")
    played = rules.withColumn("pair", F.explode(both)).withColumns(
        {"of_both": after(F.array(one, other)), "of_one": after(F.array(one)), "of_other": after(F.array(other))}
    )
    shared = played.groupBy(*_CLUSTER, one.alias("broker_id"), other.alias("other_broker_id")).agg(
        F.sum("partitions").alias("shared_partitions"),
        *(
            F.sum((_harm(name, "of_both") - _harm(name, "of_one") - _harm(name, "of_other")) * F.col("partitions")).alias(name)
            for name in _HARM
        ),
    )
    alone = scenario.where(ONE_BROKER_KILLED).select(*_CLUSTER, F.col("brokers")[0].alias("id"), *_HARM)
    for side in ("broker_id", "other_broker_id"):
        of_side = alone.select(*_CLUSTER, F.col("id").alias(side), *(F.col(name).alias(f"{name}_alone") for name in _HARM))
        shared = shared.join(of_side, on=[*_CLUSTER, side], how="inner").select(
            *_PAIR, "shared_partitions", *((F.col(name) + F.col(f"{name}_alone")).alias(name) for name in _HARM)
        )
    silencing = kept(_silencing(rules, clusters))
    return shared.join(silencing, on=_PAIR, how="left_anti").unionByName(silencing)


def _silencing(rules: DataFrame, clusters: DataFrame) -> DataFrame:
    """The pairs that lose the controllers' quorum: nobody acts on the second death, so that all partitions of both are played."""
    later = F.filter("live_brokers", lambda id: id > F.col("broker_id"))
    pair = F.array("broker_id", "other_broker_id")
    pairs = (
        clusters.where(F.size("voters_left") > 0)
        .withColumn("broker_id", F.explode("live_brokers")).withColumn("other_broker_id", F.explode(later))
        .where(quorum_lost(pair))
        .select(*_PAIR, pair.alias("brokers"))
    )  # fmt: skip
    played = touched_by_brokers(rules, pairs).withColumn("of_both", after(F.col("brokers")))
    return played.groupBy(
        F.col("snapshot_id"), F.col("cluster_id"), F.col("brokers")[0].alias("broker_id"), F.col("brokers")[1].alias("other_broker_id")
    ).agg(
        F.sum(F.when(F.size(F.array_intersect("live", "brokers")) == 2, F.col("partitions")).otherwise(0)).alias("shared_partitions"),
        *(F.sum(_harm(name, "of_both") * F.col("partitions")).alias(name) for name in _HARM),
    )


def _harm(name: str, state: str) -> Column:
    """Whether a partition newly suffers it in that state: 1 or 0."""
    now, was = F.col(state), F.col("before")
    harm = {
        "newly_leaderless": ~led(now) & led(was),
        "newly_under_min_isr": ~accepts(now) & accepts(was),
        "newly_lost": (safe(now["live"]) == 0) & (safe(was["live"]) > 0),
    }
    return harm[name].cast("int")


def _joint_loss(rules: DataFrame, clusters: DataFrame) -> DataFrame:
    sets = rules.select(
        *_CLUSTER,
        F.size("replicas").alias("replication_factor"),
        F.sort_array("live").alias("live"),
        F.sort_array(F.array_intersect("live", F.array_union("isr", F.coalesce("elr", F.array().cast("array<int>"))))).alias("safe"),
        F.when(F.array_contains("live", F.col("leader")), F.sort_array(F.array_intersect("isr", "live"))).alias("in_sync"),
        "min_insync_replicas",
    ).distinct()
    per_cluster = sets.groupBy(_CLUSTER).agg(
        F.collect_list(F.struct("replication_factor", "live", "safe", "in_sync", "min_insync_replicas")).alias("sets")
    )
    voters = clusters.select(*_CLUSTER, F.col("live_brokers").alias("brokers"), "voters_left", "voters_needed")
    return per_cluster.join(voters, on=_CLUSTER, how="inner").mapInArrow(_count, JOINT_LOSS.columns)


def _count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows = [row for cluster in batch.to_pylist() for row in _losses(cluster)]
        yield from pa.Table.from_pylist(rows, JOINT_LOSS.schema).to_batches()


def _losses(cluster: dict) -> Iterator[dict[str, object]]:
    """The rows of a cluster: as many deaths as its replication factors say."""
    brokers, sets = cluster["brokers"], cluster["sets"]
    to_data = [each["safe"] for each in sets if each["safe"]]
    to_writes = {fatal for each in sets if each["in_sync"] for fatal in fatal_to_writes(each["in_sync"], each["min_insync_replicas"])}
    if cluster["voters_left"] is not None:
        spare = len(cluster["voters_left"]) - cluster["voters_needed"]
        to_writes |= set(map(frozenset, combinations(sorted(set(brokers) & set(cluster["voters_left"])), max(spare + 1, 1))))
    factors = {each["replication_factor"] for each in sets} | {2}
    for deaths in sorted(factor for factor in factors if 2 <= factor <= min(len(brokers), MOST_DEATHS)):
        all_sets = comb(len(brokers), deaths)
        data, writes = (sets_that_fail(fatal, brokers=brokers, deaths=deaths) for fatal in (to_data, to_writes))
        yield {
            "snapshot_id": cluster["snapshot_id"],
            "cluster_id": cluster["cluster_id"],
            "deaths": deaths,
            "live_brokers": len(brokers),
            "broker_sets": all_sets,
            "copysets": len(
                {tuple(each["live"]) for each in sets if each["safe"] and each["replication_factor"] == deaths == len(each["live"])}
            ),
            "data_loss_sets": data,
            "write_outage_sets": writes,
            "data_loss_probability": None if data is None else data / all_sets,
            "write_outage_probability": None if writes is None else writes / all_sets,
        }
