"""joint_failover: what two brokers take with them, and how likely a few that die at random take data or writes with them.

A pair differs from its two brokers alone only in the partitions that both hold: those are played (as jobs/steps/failover.py does), so that all
pairs cost partitions x replicas^2 at most, and brokers without a shared partition cost nothing. kafka_model.failover.joint_failure counts
the fatal sets of more brokers from the distinct replica sets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from math import comb

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.arrays import Ints, Matrix, to_ints
from jobs.failure.partition_state import heard, quorum_lost, ruled, rules_of
from jobs.failure.patterns import HARM, Deaths, Partitions
from jobs.failure.simulate import Failures
from jobs.schema import BROKER, BROKER_PAIR, CLUSTER, JOINT_LOSS, PARTITION, SCENARIO, TOPIC
from jobs.schema.failure import ONE_BROKER_KILLED
from jobs.steps.stage import Stage, Stages
from kafka_model.failover.joint_failure import count_fatal_sets, fatal_to_writes

READS = (CLUSTER, BROKER, TOPIC, PARTITION, SCENARIO)
WRITES = (BROKER_PAIR, JOINT_LOSS)

MOST_DEATHS = 5
_CLUSTER = ["snapshot_id", "cluster_id"]
_PAIR = [*_CLUSTER, "broker_id", "other_broker_id"]
_COUNTS = ("shared_partitions", *HARM)


def transform(
    cluster: DataFrame, broker: DataFrame, topic: DataFrame, partition: DataFrame, scenario: DataFrame, *, parameters: Mapping[str, str]
) -> Stages[tuple[DataFrame, ...]]:
    rules = ruled(partition, cluster, broker, topic)
    # Partitions alike to the broker fare alike: a fleet has far fewer such kinds than partitions.
    kinds = yield Stage(
        rules.groupBy([name for name in rules.columns if name not in ("topic", "partition")]).agg(F.count("*").alias("partitions"))
    )
    clusters = rules_of(cluster, broker).withColumn("live_brokers", F.sort_array("live_brokers"))
    pairs = yield from _pairs(kinds, clusters, scenario)
    return pairs, _joint_loss(kinds, clusters)


def _pairs(kinds: DataFrame, clusters: DataFrame, scenario: DataFrame) -> Stages[DataFrame]:
    shared = _summed(kinds.mapInArrow(_sharing, BROKER_PAIR.columns))
    alone = scenario.where(ONE_BROKER_KILLED).select(*_CLUSTER, F.col("brokers")[0].alias("id"), *HARM)
    for side in ("broker_id", "other_broker_id"):
        of_side = alone.select(*_CLUSTER, F.col("id").alias(side), *(F.col(name).alias(f"{name}_alone") for name in HARM))
        shared = shared.join(of_side, on=[*_CLUSTER, side], how="inner").select(
            *_PAIR, "shared_partitions", *((F.col(name) + F.col(f"{name}_alone")).alias(name) for name in HARM)
        )
    silencing = _silencing(clusters)
    if not len(silencing):
        return shared
    silenced = yield Stage(_summed(kinds.mapInArrow(_silenced(silencing), BROKER_PAIR.columns)))
    return shared.join(silenced, on=_PAIR, how="left_anti").unionByName(silenced)


def _summed(pairs: DataFrame) -> DataFrame:
    return pairs.groupBy(_PAIR).agg(*(F.sum(name).alias(name) for name in _COUNTS))


def _sharing(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Of each kind's pairs of live replicas, what both deaths take less what either takes alone."""
    for batch in batches:
        partitions = Partitions(batch)
        for nth, other_nth in combinations(range(len(partitions.live)), 2):
            row = np.flatnonzero(partitions.live[other_nth])
            places = np.stack([partitions.live[nth, row], partitions.live[other_nth, row]])
            ids = np.stack([partitions.brokers(place, row) for place in places])
            one, other = np.take_along_axis(places, order := ids.argsort(axis=0), axis=0)
            both, *alone = (partitions.harm(Deaths.killed(row, *dying)) for dying in ((one, other), (one,), (other,)))
            yield _counted(batch, row, np.take_along_axis(ids, order, axis=0), np.ones_like(row), both - sum(alone))


def _silencing(clusters: DataFrame) -> pa.Table:
    """The pairs that lose the controllers' quorum: nobody acts on the second death, so that all partitions of both are played."""
    later = F.filter("live_brokers", lambda id: id > F.col("broker_id"))
    brokers = F.array("broker_id", "other_broker_id")
    asked = {
        "brokers": brokers,
        "unclean": F.lit(None).cast("boolean"),
        "controlled_shutdown": F.lit(False),
        "quorum_lost": quorum_lost(brokers),
        "heard": heard(brokers),
    }
    return (
        clusters.where(F.size("voters_left") > 0)
        .withColumn("broker_id", F.explode("live_brokers"))
        .withColumn("other_broker_id", F.explode(later))
        .select("cluster_id", *(of.alias(name) for name, of in asked.items()))
        .where("quorum_lost")
        .toArrow()
    )


def _silenced(pairs: pa.Table) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def play(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        failures = Failures(pairs)
        ids = np.array(pairs["brokers"].to_pylist()).T
        for batch in batches:
            partitions = Partitions(batch)
            failure, deaths = failures.touching(partitions, batch["cluster_id"])
            yield _counted(batch, deaths.row, ids[:, failure], (deaths.places > 0).sum(axis=0) == 2, partitions.harm(deaths))

    return play


def _counted(of: pa.RecordBatch, row: Ints, pair: Matrix, shared: Ints, harm: Matrix) -> pa.RecordBatch:
    """A row of `broker_pair` for each pair of a kind: how many partitions it has of each count."""
    partitions = to_ints(of["partitions"], 0)[row]
    counts = (partitions * shared, *(partitions * each for each in harm.T))
    names = (of[name].take(pa.array(row)) for name in _CLUSTER)
    return pa.record_batch([*names, *(pa.array(side, pa.int32()) for side in pair), *map(pa.array, counts)], schema=BROKER_PAIR.schema)


def _joint_loss(rules: DataFrame, clusters: DataFrame) -> DataFrame:
    sets = rules.select(
        *_CLUSTER,
        F.size("replicas").alias("replication_factor"),
        F.sort_array("live").alias("live"),
        F.sort_array(F.array_intersect("live", F.array_union("isr", "elr"))).alias("safe"),
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
        data, writes = (count_fatal_sets(fatal, brokers=brokers, deaths=deaths) for fatal in (to_data, to_writes))
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
