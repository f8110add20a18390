"""joint_failover: partitions lost when two brokers die, and how likely several random deaths lose data or stop writes.

Two deaths differ from the two single deaths only in partitions with a replica on both brokers. Only those partitions are simulated, so all
pairs cost at most partitions x replicas^2, and two brokers without a shared partition cost nothing.
kafka_model.failover.joint_failure counts the fatal sets of more brokers from the distinct replica sets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import comb
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from jobs.arrays import Ints, Matrix, to_ints
from jobs.engine import SparkEngine
from jobs.failure.cluster_state import ClusterState, cluster_states
from jobs.failure.election_inputs import election_inputs
from jobs.failure.min_isr import EFFECTIVE_MIN_ISR
from jobs.failure.patterns import Counts, Partitions
from jobs.failure.scenarios import Scenario, quorum_breaking_pair_scenarios, scenario_table
from jobs.failure.simulate import Failures, pair_counts
from jobs.schema import BROKER, BROKER_PAIR, CLUSTER, JOINT_LOSS, PARTITION, SCENARIO, TOPIC
from jobs.schema.failure import HARMS, ONE_BROKER_KILLED
from jobs.spark.session import dataframe_from_arrow
from jobs.steps.stage import Stage, Stages
from kafka_model.failover.joint_failure import count_fatal_sets, fatal_to_writes

READS = (CLUSTER, BROKER, TOPIC, PARTITION, SCENARIO)
WRITES = (BROKER_PAIR, JOINT_LOSS)

MAX_DEATHS = 5
_CLUSTER = ["snapshot_id", "cluster_id"]
_PAIR = [*_CLUSTER, "broker_id", "other_broker_id"]
_PAIR_COUNTS = ("shared_partitions", *HARMS)
_PAIR_SCHEMA = pa.schema([BROKER_PAIR.schema.field(name) for name in (*_PAIR, *_PAIR_COUNTS)])
_HARMS = [Counts._fields.index(name) for name in HARMS]


def transform(
    cluster: pa.Table, broker: pa.Table, topic: DataFrame, partition: DataFrame, scenario: pa.Table
) -> Stages[tuple[DataFrame, ...]]:
    states = cluster_states(cluster.to_pylist(), broker.to_pylist())
    spark = partition.sparkSession
    partitions = election_inputs(SparkEngine(spark), partition, topic, states.values()).drop("replica_size_bytes")
    # Partitions with equal columns have equal outcomes: a fleet has far fewer distinct ones than partitions.
    columns = [name for name in partitions.columns if name not in ("topic", "partition")]
    distinct = yield Stage(partitions.groupBy(columns).agg(F.count("*").alias("partitions")))
    pairs = yield from _pairs(distinct, states, dataframe_from_arrow(spark, scenario))
    return pairs, _joint_loss(distinct, states)


def _pairs(distinct: DataFrame, states: Mapping[str, ClusterState], scenario: DataFrame) -> Stages[DataFrame]:
    """Return the rows of `broker_pair`."""
    pairs = _sum_by_pair(distinct.mapInArrow(_joint_counts, from_arrow_schema(_PAIR_SCHEMA)))
    one_death = scenario.where(ONE_BROKER_KILLED).select(*_CLUSTER, F.col("brokers")[0].alias("killed"), *HARMS)
    for side in ("broker_id", "other_broker_id"):
        alone = one_death.select(*_CLUSTER, F.col("killed").alias(side), *(F.col(name).alias(f"{name}_alone") for name in HARMS))
        pairs = pairs.join(alone, on=[*_CLUSTER, side], how="inner").select(
            *_PAIR, "shared_partitions", *((F.col(name) + F.col(f"{name}_alone")).alias(name) for name in HARMS)
        )
    pairs = pairs.withColumn("order_dependent", F.lit(False))
    breaking = [pair for state in states.values() for pair in quorum_breaking_pair_scenarios(state)]
    if not breaking:
        return pairs
    # The controllers react to the first death of these pairs only, so all partitions of both brokers are simulated, in both orders.
    breaking += [pair._replace(brokers=pair.brokers[::-1]) for pair in breaking]
    counts = distinct.mapInArrow(_quorum_breaking_counts(breaking, states), from_arrow_schema(_PAIR_SCHEMA))
    breaking_pairs = _compared_orders((yield Stage(_sum_by_pair(counts))))
    return pairs.join(breaking_pairs, on=_PAIR, how="left_anti").unionByName(breaking_pairs)


def _sum_by_pair(pairs: DataFrame) -> DataFrame:
    return pairs.groupBy(_PAIR).agg(*(F.sum(name).alias(name) for name in _PAIR_COUNTS))


def _compared_orders(pairs: DataFrame) -> DataFrame:
    """Return pairs with the counts if the lower id dies first, and whether the other order has other counts; `broker_id` dies first."""
    reverse = pairs.select(
        *_CLUSTER,
        F.col("other_broker_id").alias("broker_id"),
        F.col("broker_id").alias("other_broker_id"),
        F.struct(*HARMS).alias("reverse_counts"),
    )
    compared = pairs.where("broker_id < other_broker_id").join(reverse, on=_PAIR, how="inner")
    return compared.withColumn("order_dependent", F.struct(*HARMS) != F.col("reverse_counts")).drop("reverse_counts")


def _joint_counts(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return, for each two live replicas, the counts of both deaths minus those of each death alone."""
    for batch in batches:
        for pair in pair_counts(Partitions(batch)):
            yield _pair_rows(batch, pair.row, pair.brokers, np.ones_like(pair.row), pair.joint)


def _quorum_breaking_counts(
    scenarios: Sequence[Scenario], states: Mapping[str, ClusterState]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function that counts all partitions of pairs whose deaths lose the quorum."""
    rows = scenario_table(scenarios, states)

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        failures = Failures(rows)
        pairs = np.array(rows["brokers"].to_pylist()).T
        for batch in batches:
            partitions = Partitions(batch)
            failure, deaths = failures.affected_by(partitions, batch["cluster_id"])
            shared = (deaths.positions > 0).sum(axis=0) == 2
            yield _pair_rows(batch, deaths.row, pairs[:, failure], shared, partitions.counts(deaths))

    return count


def _pair_rows(batch: pa.RecordBatch, row: Ints, pair: Matrix, shared: Ints, counts: Matrix) -> pa.RecordBatch:
    """Return a row of `broker_pair` for each pair of each row of a batch, whose column `partitions` multiplies the counts."""
    partitions = to_ints(batch["partitions"], 0)[row]
    harms = (partitions * counts[:, harm] for harm in _HARMS)
    names = (batch[name].take(pa.array(row)) for name in _CLUSTER)
    ids = (pa.array(side, pa.int32()) for side in pair)
    return pa.record_batch([*names, *ids, pa.array(partitions * shared), *map(pa.array, harms)], schema=_PAIR_SCHEMA)


def _joint_loss(partitions: DataFrame, states: Mapping[str, ClusterState]) -> DataFrame:
    """Return the rows of `joint_loss`."""
    replica_sets = partitions.select(
        *_CLUSTER,
        F.size("replicas").alias("replication_factor"),
        F.sort_array("live").alias("live"),
        F.sort_array(F.array_intersect("live", F.array_union("isr", "elr"))).alias("safe"),
        F.when(F.array_contains("live", F.col("leader")), F.sort_array(F.array_intersect("isr", "live"))).alias("in_sync"),
        F.expr(EFFECTIVE_MIN_ISR).alias("min_insync_replicas"),
    ).distinct()
    per_cluster = replica_sets.groupBy(_CLUSTER).agg(
        F.collect_list(F.struct("replication_factor", "live", "safe", "in_sync", "min_insync_replicas")).alias("replica_sets")
    )

    def losses(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = [row for cluster in batch.to_pylist() for row in _losses(states[cluster["cluster_id"]], cluster["replica_sets"])]
            yield from pa.Table.from_pylist(rows, JOINT_LOSS.schema).to_batches()

    return per_cluster.mapInArrow(losses, JOINT_LOSS.columns)


def _losses(state: ClusterState, replica_sets: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a cluster: for two deaths, and for as many deaths as each of its replication factors."""
    brokers = sorted(state.racks)
    fatal_to_data = [each["safe"] for each in replica_sets if each["safe"]]
    in_sync = [each for each in replica_sets if each["in_sync"]]
    fatal_sets = {fatal for each in in_sync for fatal in fatal_to_writes(each["in_sync"], each["min_insync_replicas"])}
    fatal_sets.update(state.quorum_breaking_sets())
    factors = {each["replication_factor"] for each in replica_sets} | {2}
    for deaths in sorted(factor for factor in factors if 2 <= factor <= min(len(brokers), MAX_DEATHS)):
        broker_sets = comb(len(brokers), deaths)
        data, writes = (count_fatal_sets(fatal, brokers=brokers, deaths=deaths) for fatal in (fatal_to_data, fatal_sets))
        copysets = {
            tuple(each["live"]) for each in replica_sets if each["safe"] and each["replication_factor"] == deaths == len(each["live"])
        }
        yield {
            "snapshot_id": state.snapshot_id,
            "cluster_id": state.cluster_id,
            "deaths": deaths,
            "live_brokers": len(brokers),
            "broker_sets": broker_sets,
            "copysets": len(copysets),
            "data_loss_sets": data,
            "write_outage_sets": writes,
            "data_loss_probability": None if data is None else data / broker_sets,
            "write_outage_probability": None if writes is None else writes / broker_sets,
        }
