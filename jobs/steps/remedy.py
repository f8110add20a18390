"""remedy: the smallest change with which a partition survives the loss of any one broker, simulated before it is offered.

It concerns each partition that the death of some broker leaves without a leader or under min ISR. Changes are tried from the smallest to the
largest: bring its lagging replicas back in sync, bring its dead brokers back, add a replica, add two replicas. A new replica goes to the live
broker with the fewest replicas that is not cordoned (KIP-1066), on a rack without one if there is such a rack. min.insync.replicas is never
lowered: that would trade data for writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from jobs.arrays import NO_BROKER, Ints, Matrix, elements_in, to_ints, to_lists, to_matrix
from jobs.engine import Engine, sql_text
from jobs.failure.cluster_state import cluster_states
from jobs.failure.election_inputs import election_inputs
from jobs.failure.patterns import INPUTS, Partitions, outcome_of
from jobs.schema import BROKER, CLUSTER, FAILOVER, PARTITION, REMEDY, SCENARIO, TOPIC, Table
from jobs.schema.failure import HARMED, ONE_BROKER_KILLED
from jobs.spark.worker_rows import Batches, Compute, WorkerRows
from jobs.steps.stage import Stage, Stages

READS = (CLUSTER, BROKER, TOPIC, PARTITION, SCENARIO, FAILOVER)
WRITES = (REMEDY,)

_COLUMNS = ("snapshot_id", "cluster_id", "topic", "partition", "scenario_ids", "goes_offline")
_ADDITIONS = ("add a replica", "add two replicas")
_HARMED = sql_text(__file__, "remedy_harmed", INPUTS=", ".join(INPUTS), HARMED=HARMED, ONE_BROKER_KILLED=ONE_BROKER_KILLED)
_BROKER = sql_text(__file__, "remedy_broker")


class _Change(NamedTuple):
    """A change of each partition of a batch, with brokers in the columns of matrices."""

    remedy: str
    possible: npt.NDArray[np.bool_]  # by partition
    live: Matrix  # replicas on live brokers after the change, all of them in sync
    added: Matrix  # replicas that the change adds, a row for each of _ADDITIONS


@dataclass(frozen=True, slots=True)
class _Brokers:
    """The brokers of each cluster in a column of matrices. Those that take new replicas come first, and of them those with the fewest replicas."""

    cluster_ids: pa.Array
    ids: Matrix
    racks: Matrix  # a number from 1 for each rack
    targets: Ints  # how many brokers take new replicas

    @classmethod
    def by_load(cls, rows: pa.Table) -> _Brokers:
        """Order the rows of remedy_broker.sql."""
        rack = pc.add(pc.dictionary_encode(rows["rack"].combine_chunks(), null_encoding="encode").indices, 1)
        order = [("takes_replicas", "descending"), ("replicas", "ascending"), ("broker_id", "ascending")]
        by_cluster = rows.append_column("rack_number", rack).sort_by(order).group_by("cluster_id", use_threads=False)
        columns = by_cluster.aggregate([("broker_id", "list"), ("rack_number", "list"), ("takes_replicas", "sum")]).combine_chunks()
        cluster_ids, ids, racks, targets = (each.combine_chunks() for each in columns.columns)
        return cls(cluster_ids, to_matrix(ids), to_matrix(racks), to_ints(targets, 0))

    def of_clusters(self, cluster_ids: pa.Array) -> _Brokers:
        """Return a column for each of these ids, which may repeat."""
        column = to_ints(pc.index_in(cluster_ids, value_set=self.cluster_ids), 0)
        return _Brokers(cluster_ids, self.ids[:, column], self.racks[:, column], self.targets[column])


def transform(
    cluster: pa.Table, broker: pa.Table, topic: Any, partition: Any, scenario: pa.Table, failover: Any, *, engine: Engine
) -> Stages[tuple[Any, ...]]:
    brokers = yield Stage(engine.sql(_BROKER, broker=broker, partition=partition), as_arrow=True)
    elections = election_inputs(engine, partition, topic, cluster_states(cluster.to_pylist(), broker.to_pylist()).values())
    harmed = engine.sql(_HARMED, failover=failover, scenario=scenario, election_inputs=elections)
    (remedies,) = yield WorkerRows(harmed, _remedies(_Brokers.by_load(brokers)), (REMEDY,))
    return (remedies,)


def _remedies(brokers: _Brokers) -> Compute:
    def compute(batches: Batches) -> Iterator[tuple[Table, pa.Table]]:
        for batch in batches:
            yield REMEDY, _remedies_of(batch, brokers)

    return compute


def _remedies_of(batch: pa.RecordBatch, brokers: _Brokers) -> pa.Table:
    """Return the first change of each partition after which no single death makes it refuse acks=all writes; null: none helps."""
    replicas = to_matrix(batch["replicas"])
    remedy = np.full(len(batch), "", object)
    added = np.full((len(_ADDITIONS), len(batch)), NO_BROKER)
    for change in _changes(batch, replicas, brokers.of_clusters(batch["cluster_id"])):
        rows = np.flatnonzero(change.possible & (remedy == ""))
        helped = rows[_accepts_writes(batch, replicas, change, rows)]
        remedy[helped] = change.remedy
        added[:, helped] = change.added[:, helped]
    none_helps = remedy == ""
    columns = {
        **{name: batch[name] for name in _COLUMNS},
        "remedy": pa.array(remedy, pa.string(), mask=none_helps),
        "replicas": _lists(np.concatenate([replicas, added]), none_helps),
        "added_replicas": _lists(added, none_helps),
    }
    return pa.table(columns)


def _changes(batch: pa.RecordBatch, replicas: Matrix, brokers: _Brokers) -> Iterator[_Change]:
    """Yield the changes that may help, the smallest first."""
    live, isr, least_loaded = to_matrix(batch["live"]), to_matrix(batch["isr"]), _least_loaded(brokers, replicas)
    none_added = np.full_like(least_loaded, NO_BROKER)
    lags, is_dead = ((elements_in(lists, others) != lists).any(axis=0) for lists, others in ((live, isr), (replicas, live)))
    yield _Change("bring its lagging replicas back in sync", lags, live, none_added)
    yield _Change("bring its dead brokers back", is_dead, replicas, none_added)
    for count, remedy in enumerate(_ADDITIONS, start=1):
        added = np.where(np.arange(len(least_loaded))[:, np.newaxis] < count, least_loaded, NO_BROKER)
        yield _Change(remedy, added[count - 1] != NO_BROKER, np.concatenate([live, added]), added)


def _least_loaded(brokers: _Brokers, replicas: Matrix) -> Matrix:
    """Choose the first brokers without a replica of each partition, given with the brokers of its cluster.

    A broker on a rack without a replica comes first. Each choice counts as a replica for the next one.
    """
    ids = brokers.ids
    is_replica, on_used_rack = (np.zeros(ids.shape, bool) for _ in range(2))

    def add_replica(broker: Ints) -> None:
        matches = ids == broker
        is_replica[:] |= matches
        on_used_rack[:] |= (brokers.racks == np.where(matches, brokers.racks, 0).max(axis=0, initial=0)) & matches.any(axis=0)

    for broker in replicas:
        add_replica(broker)
    columns = np.arange(replicas.shape[1])
    chosen = np.full((len(_ADDITIONS), len(columns)), NO_BROKER)
    for nth in range(len(_ADDITIONS)):
        free = ~is_replica & (np.arange(len(ids))[:, np.newaxis] < brokers.targets)
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
