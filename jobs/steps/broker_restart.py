"""broker_restart: an order in which brokers can be restarted, and what the return of each broker recovers and costs.

kafka_model.failover.rolling_restart computes the order. A broker returns after it was killed or stopped cleanly, or from the state in the
snapshot if it is dead already; the dumps do not contain how it died. A partition without a leader may then elect one
(kafka_model.failover.broker_failure.return_broker). The broker must catch up with the partitions whose ISR it left before a preferred election
makes it their leader again.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from jobs.arrays import Ints, to_matrix
from jobs.engine import SparkEngine
from jobs.failure.cluster_state import cluster_election_rules, cluster_states
from jobs.failure.election_inputs import election_inputs
from jobs.failure.min_isr import EFFECTIVE_MIN_ISR
from jobs.failure.patterns import Partitions
from jobs.failure.sizes import UNKNOWN, bytes_at_risk, leader_size
from jobs.schema import BROKER, BROKER_RESTART, CLUSTER, PARTITION, PRODUCER_LOAD, TOPIC
from jobs.spark.session import dataframe_from_arrow
from jobs.steps.stage import Stage, Stages
from kafka_model.failover.rolling_restart import RestartConstraint, restart_order

READS = (CLUSTER, BROKER, TOPIC, PARTITION, PRODUCER_LOAD)
WRITES = (BROKER_RESTART,)

_CLUSTER = ["snapshot_id", "cluster_id"]
_BROKER = [*_CLUSTER, "broker_id"]
_PARTITION = [*_CLUSTER, "topic", "partition"]
_DEATHS = ("kill", "stop")
_REVIVED = tuple(f"{name}_after_{death}" for death in _DEATHS for name in ("revived", "revived_uncleanly"))
_COUNTS = ("rejoining_partitions", *_REVIVED, "preferred_partitions", *(f"regained_leaders_after_{death}" for death in _DEATHS))
_SUMS = (*_COUNTS, "full_copy_bytes", "truncated_size_bytes")
_SUM_SCHEMA = pa.schema([BROKER_RESTART.schema.field(name).with_nullable(True) for name in (*_BROKER, *_SUMS)])
_ORDER_SCHEMA = pa.schema([BROKER_RESTART.schema.field(name) for name in (*_BROKER, "restart_order")])


def transform(
    cluster: pa.Table, broker: pa.Table, topic: DataFrame, partition: DataFrame, producer_load: DataFrame
) -> Stages[tuple[DataFrame, ...]]:
    spark = partition.sparkSession
    states = cluster_states(cluster.to_pylist(), broker.to_pylist()).values()
    election_rules = dataframe_from_arrow(spark, cluster_election_rules(states))
    partitions = election_inputs(SparkEngine(spark), partition, topic, states)
    at_min_isr = yield Stage(_at_min_isr(partitions))
    return (
        dataframe_from_arrow(spark, broker)
        .select(*_BROKER, "live")
        .join(_restart_turns(at_min_isr, election_rules), on=_BROKER, how="left")
        .join(_returns(partitions), on=_BROKER, how="left")
        .join(_catch_up(partition, producer_load), on=_BROKER, how="left")
        .fillna(0, ["under_min_isr_partitions", *_COUNTS])
        .select(BROKER_RESTART.schema.names),
    )


def _at_min_isr(partitions: DataFrame) -> DataFrame:
    """Return the live and in-sync replicas of partitions that are under min.insync.replicas if another replica stops, with their number."""
    return (
        partitions.select(
            *_CLUSTER,
            "live",
            F.array_intersect("isr", "live").alias("in_sync"),
            F.greatest(F.expr(EFFECTIVE_MIN_ISR), F.lit(1)).alias("min_insync_replicas"),
        )
        .where(F.size("in_sync") <= F.col("min_insync_replicas"))
        .groupBy(*_CLUSTER, "live", "in_sync", "min_insync_replicas")
        .agg(F.count("*").alias("partitions"))
    )


def _restart_turns(at_min_isr: DataFrame, election_rules: DataFrame) -> DataFrame:
    """Return each live broker's turn in a rolling restart, and the partitions under min.insync.replicas whenever it stops."""
    too_few_live = F.size("live") <= F.col("min_insync_replicas")
    under_min_isr = (
        at_min_isr.where(too_few_live).withColumn("broker_id", F.explode("in_sync"))
        .groupBy(_BROKER).agg(F.sum("partitions").alias("under_min_isr_partitions"))
    )  # fmt: skip
    constraints = (
        at_min_isr.where(~too_few_live)
        .groupBy(_CLUSTER)
        .agg(F.collect_list(F.struct("live", "in_sync", "min_insync_replicas")).alias("constraints"))
    )
    clusters = election_rules.select(*_CLUSTER, "live_brokers").join(constraints, on=_CLUSTER, how="left")
    return clusters.mapInArrow(_restart_orders, from_arrow_schema(_ORDER_SCHEMA)).join(under_min_isr, on=_BROKER, how="left")


def _restart_orders(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Compute the restart order of each cluster: a row per live broker, with a null turn if it cannot restart safely."""
    for batch in batches:
        rows = []
        for cluster in batch.to_pylist():
            constraints = [
                RestartConstraint(frozenset(each["live"]), frozenset(each["in_sync"]), each["min_insync_replicas"])
                for each in cluster["constraints"] or ()
            ]
            order = restart_order(cluster["live_brokers"], constraints).order
            turns = {broker: turn for turn, broker in enumerate(order, start=1)}
            key = {name: cluster[name] for name in _CLUSTER}
            rows += [key | {"broker_id": broker, "restart_order": turns.get(broker)} for broker in cluster["live_brokers"]]
        yield from pa.Table.from_pylist(rows, _ORDER_SCHEMA).to_batches()


def _returns(partitions: DataFrame) -> DataFrame:
    """Return what each broker's return changes for its partitions, and the bytes of their leaders."""
    sized = partitions.withColumn("size_bytes", leader_size())
    summed = sized.mapInArrow(_sum_returns, from_arrow_schema(_SUM_SCHEMA)).groupBy(_BROKER)
    return summed.agg(*(F.sum(name).alias(name) for name in _SUMS))


def _catch_up(partition: DataFrame, producer_load: DataFrame) -> DataFrame:
    """Return the bytes that each broker's partitions grow by in a second, for brokers with a partition whose growth is known."""
    # The sum of decimals does not depend on their order.
    rate = F.col("observed_size_bytes_per_s").cast("decimal(38,9)").alias("rate")
    rates = producer_load.where("observed_size_bytes_per_s IS NOT NULL").select(*_PARTITION, rate)
    return (
        rates.join(partition.select(*_PARTITION, "replicas"), on=_PARTITION, how="inner")
        .select(*_CLUSTER, F.explode("replicas").alias("broker_id"), "rate")
        .groupBy(_BROKER)
        .agg(F.sum("rate").cast("double").alias("catch_up_bytes_per_s"))
    )


def _sum_returns(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Sum the returns of brokers over each batch of partitions."""
    for batch in batches:
        partitions = Partitions(batch)
        broker, deaths = partitions.one_death_each(partitions.replicas)
        returned, row, position = partitions.returns(deaths), deaths.row, deaths.positions[0]
        live = (partitions.live[:, row] == position).any(axis=0)
        leader = returned["leader"]
        sizes, no_successor = to_matrix(batch["replica_size_bytes"], UNKNOWN), np.full(len(row), UNKNOWN)
        truncated, unknown = bytes_at_risk(sizes, row, returned["leader_before"], leader, no_successor)
        index, preferred = pa.array(row), position == 1
        columns = {
            **{name: batch[name].take(index) for name in _CLUSTER},
            "broker_id": pa.array(broker, pa.int32()),
            "rejoining_partitions": returned["rejoins"],
            **{name: returned[name] for name in _REVIVED},
            "preferred_partitions": preferred,
            **{
                f"regained_leaders_after_{death}": preferred & _another_leads(returned[f"leader_after_{death}"], position)
                for death in _DEATHS
            },
            "full_copy_bytes": batch["size_bytes"].take(index),
            "truncated_size_bytes": pa.array(truncated, mask=unknown | (leader == 0) | ~live),
        }
        sums = pa.table(columns).group_by(_BROKER).aggregate([(name, "sum") for name in _SUMS])
        sums = sums.select([*_BROKER, *(f"{name}_sum" for name in _SUMS)]).rename_columns(_SUM_SCHEMA.names)
        yield from sums.cast(_SUM_SCHEMA).to_batches()


def _another_leads(leader: Ints, position: Ints) -> npt.NDArray[np.bool_]:
    """Return whether each partition has a leader other than its replica at this position."""
    return (leader > 0) & (leader != position)
