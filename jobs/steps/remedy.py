"""remedy: the smallest change with which a partition survives the loss of any one broker, simulated before it is offered.

It concerns each partition that the death of some broker leaves without a leader or under min ISR. Changes are tried from the smallest to the
largest: bring its lagging replicas back in sync, bring its dead brokers back, add a replica, add two replicas. A new replica goes to the live
broker with the fewest replicas that is not cordoned (KIP-1066), on a rack without one if there is such a rack. min.insync.replicas is never
lowered: that would trade data for writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.arrays import NO_BROKER, Ints, Matrix, to_lists, to_matrix
from jobs.engine import SparkEngine
from jobs.failure.cluster_state import cluster_states
from jobs.failure.election_inputs import election_inputs
from jobs.failure.patterns import INPUTS, Partitions, outcome_of
from jobs.schema import BROKER, CLUSTER, FAILOVER, PARTITION, REMEDY, SCENARIO, TOPIC, Table
from jobs.schema.failure import HARMED, ONE_BROKER_KILLED
from jobs.spark.session import cluster_files_by_id, dataframe_from_arrow
from jobs.spark.worker_rows import Batches, WorkerRows
from jobs.steps.stage import Stages

READS = (CLUSTER, BROKER, TOPIC, PARTITION, SCENARIO, FAILOVER)
WRITES = (REMEDY,)

_CLUSTER = ["snapshot_id", "cluster_id"]
_PARTITION = [*_CLUSTER, "topic", "partition"]
_SCENARIO = [*_CLUSTER, "scenario_set", "scenario_id"]
_ADDITIONS = ("add a replica", "add two replicas")


class _Change(NamedTuple):
    """A change of each partition of a batch, with brokers in the columns of matrices."""

    remedy: str
    possible: npt.NDArray[np.bool_]  # by partition
    live: Matrix  # replicas on live brokers after the change, all of them in sync
    added: Matrix  # replicas that the change adds, a row for each of _ADDITIONS


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
    inputs = election_inputs(SparkEngine(spark), partition, topic, states).select(*_PARTITION, *INPUTS)
    brokers = _brokers_by_load(dataframe_from_arrow(spark, broker), partition)
    harmed_partitions = inputs.join(harmed, on=_PARTITION, how="inner").join(F.broadcast(brokers), on=_CLUSTER, how="inner")
    (remedies,) = yield WorkerRows(cluster_files_by_id(harmed_partitions), _remedies, (REMEDY,))
    return (remedies,)


def _brokers_by_load(broker: DataFrame, partition: DataFrame) -> DataFrame:
    """Return the brokers of each cluster by the number of their replicas, with a number for each one's rack.

    The first `target_count` of them, which are live and not cordoned, may take a new replica.
    """
    replica_counts = (
        partition.select(*_CLUSTER, F.explode("replicas").alias("broker_id"))
        .groupBy(*_CLUSTER, "broker_id")
        .agg(F.count("*").alias("replicas"))
    )
    rack = F.dense_rank().over(Window.partitionBy(_CLUSTER).orderBy("rack"))
    ordered = F.struct(
        (~F.col("live") | F.coalesce("cordoned", F.lit(False))).alias("takes_none"),
        F.coalesce("replicas", F.lit(0)).alias("replicas"),
        "broker_id",
        F.col("rack_number").alias("rack"),
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
        F.size(F.array_remove("brokers.takes_none", True)).alias("target_count"),
    )


def _remedies(batches: Batches) -> Iterator[tuple[Table, pa.Table]]:
    for batch in batches:
        yield REMEDY, _remedies_of(batch)


def _remedies_of(batch: pa.RecordBatch) -> pa.Table:
    """Return the first change of each partition after which no single death makes it refuse acks=all writes; null: none helps."""
    replicas = to_matrix(batch["replicas"])
    remedy = np.full(len(batch), "", object)
    added = np.full((len(_ADDITIONS), len(batch)), NO_BROKER)
    for change in _changes(batch, replicas):
        rows = np.flatnonzero(change.possible & (remedy == ""))
        helped = rows[_accepts_writes(batch, replicas, change, rows)]
        remedy[helped] = change.remedy
        added[:, helped] = change.added[:, helped]
    none_helps = remedy == ""
    columns = {
        **{name: batch[name] for name in (*_PARTITION, "scenario_ids", "goes_offline")},
        "remedy": pa.array(remedy, pa.string(), mask=none_helps),
        "replicas": _lists(np.concatenate([replicas, added]), none_helps),
        "added_replicas": _lists(added, none_helps),
    }
    return pa.table(columns)


def _changes(batch: pa.RecordBatch, replicas: Matrix) -> Iterator[_Change]:
    """Yield the changes that may help, the smallest first."""
    live, isr, least_loaded = to_matrix(batch["live"]), to_matrix(batch["isr"]), _least_loaded(batch, replicas)
    none_added = np.full_like(least_loaded, NO_BROKER)
    yield _Change("bring its lagging replicas back in sync", _has_other_element(live, isr), live, none_added)
    yield _Change("bring its dead brokers back", _has_other_element(replicas, live), replicas, none_added)
    for count, remedy in enumerate(_ADDITIONS, start=1):
        added = np.where(np.arange(len(least_loaded))[:, np.newaxis] < count, least_loaded, NO_BROKER)
        yield _Change(remedy, added[count - 1] != NO_BROKER, np.concatenate([live, added]), added)


def _has_other_element(lists: Matrix, others: Matrix) -> npt.NDArray[np.bool_]:
    """Return whether each list has an element that the other list of its column does not have."""
    is_other = lists != NO_BROKER
    for other in others:
        is_other &= lists != other
    return is_other.any(axis=0)


def _least_loaded(batch: pa.RecordBatch, replicas: Matrix) -> Matrix:
    """Choose from the first `target_count` brokers, which start with the least loaded, those without a replica of the partition.

    A broker on a rack without a replica comes first. Each choice counts as a replica for the next one.
    """
    ids, rack_of, targets = to_matrix(batch["brokers"]), to_matrix(batch["racks"]), batch["target_count"].to_numpy()
    is_replica, on_used_rack = (np.zeros(ids.shape, bool) for _ in range(2))

    def add_replica(broker: Ints) -> None:
        matches = ids == broker
        is_replica[:] |= matches
        on_used_rack[:] |= (rack_of == np.where(matches, rack_of, 0).max(axis=0, initial=0)) & matches.any(axis=0)

    for broker in replicas:
        add_replica(broker)
    columns = np.arange(len(batch))
    chosen = np.full((len(_ADDITIONS), len(batch)), NO_BROKER)
    for nth in range(len(_ADDITIONS)):
        free = ~is_replica & (np.arange(len(ids))[:, np.newaxis] < targets)
        on_new_rack = free & ~on_used_rack
        best = np.where(on_new_rack.any(axis=0), on_new_rack.argmax(axis=0), free.argmax(axis=0))
        chosen[nth] = np.where(free.any(axis=0), ids[best, columns], NO_BROKER)
        add_replica(chosen[nth])
    return chosen


def _accepts_writes(batch: pa.RecordBatch, replicas: Matrix, change: _Change, rows: Ints) -> npt.NDArray[np.bool_]:
    """Return whether these partitions, after the change, accept acks=all writes after the death of any one of their live brokers.

    The change counts as made: its live replicas are in sync, and neither the ELR nor unclean elections help.
    """
    after, live = (_lists(matrix[:, rows]) for matrix in (np.concatenate([replicas, change.added]), change.live))
    unchanged = batch.take(pa.array(rows))
    no_elr = pa.ListArray.from_arrays(pa.array(np.zeros(len(rows) + 1), pa.int32()), pa.array([], pa.int32()))
    partitions = Partitions(
        {name: unchanged[name] for name in INPUTS}
        | {"replicas": after, "live": live, "isr": live, "elr": no_elr}
        | {"replication_factor": pc.list_value_length(after), "topic_unclean": pa.array(np.zeros(len(rows), bool))}
    )
    _, deaths = partitions.one_death_each(partitions.live)
    cases, index = partitions.outcomes(deaths)
    refuses = np.array([outcome_of(case)["under_min_isr"] for case in cases], bool)[index]
    return np.bincount(deaths.row[refuses], minlength=len(rows)) == 0


def _lists(matrix: Matrix, missing: npt.NDArray[np.bool_] | None = None) -> pa.ListArray:
    """Return the brokers of each column as a list, null for the `missing` columns."""
    lists = to_lists(matrix.T, matrix.T != NO_BROKER)
    return lists if missing is None else pc.if_else(pa.array(missing), pa.scalar(None, lists.type), lists)
