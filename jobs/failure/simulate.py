"""Failures simulated on batches of partitions: which partitions each failure affects, and their state after it.

A failure is a list of brokers that die in order, followed by log dirs. It changes only partitions with a replica there, so each replica looks
up the failures that include its broker: more brokers, and failures elsewhere, cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from jobs.arrays import NO_BROKER, Ints, Matrix, list_positions, pick, to_ints, to_matrix
from jobs.failure.outcomes import OutcomeCollector, outcome_numbers, survivors
from jobs.failure.patterns import AS_TOPIC, Deaths, Partitions
from jobs.failure.sizes import UNKNOWN, bytes_at_risk
from jobs.schema import HARMS

_SCENARIO = ("snapshot_id", "cluster_id", "scenario_set", "scenario_id")


class Failures:
    """Failures of the clusters of one snapshot: rows of jobs.failure.scenarios.scenario_table."""

    def __init__(self, rows: pa.Table) -> None:
        self.columns = {name: rows[name].combine_chunks() for name in rows.column_names}
        self._cluster_ids = self.columns["cluster_id"].unique()
        self._cluster = self._cluster_index(self.columns["cluster_id"])
        self._deaths = to_ints(pc.list_value_length(self.columns["brokers"]), 0)
        failure, turn = list_positions(self._deaths)
        broker = (self._cluster[failure] << 32) + to_ints(self.columns["brokers"].flatten(), NO_BROKER)
        order = np.argsort(broker, kind="stable")
        self._broker, self._failure, self._turn = broker[order], failure[order], turn[order]
        self._quorum_lost, self._controlled_shutdown = (to_ints(self.columns[name], 0) for name in ("quorum_lost", "controlled_shutdown"))
        self._effective = np.where(self._quorum_lost, to_ints(self.columns["effective_deaths"], 0), np.iinfo(np.int64).max)
        self._unclean = to_ints(self.columns["unclean"], AS_TOPIC)
        sets = list(zip(*(self.columns[name].to_pylist() for name in _SCENARIO[:3]), strict=True))
        self._sets = list(dict.fromkeys(sets))
        self._set_number = np.array([self._sets.index(each) for each in sets], np.int64)

    def _cluster_index(self, cluster_id: pa.Array) -> Ints:
        return to_ints(pc.index_in(cluster_id, value_set=self._cluster_ids), -1)

    def affected_by(self, partitions: Partitions, cluster_id: pa.Array, log_dirs: pa.ListArray | None = None) -> tuple[Ints, Deaths]:
        """Return each failure of each partition that it affects: the index of the failure, and the deaths there.

        `log_dirs` are the log dirs of each partition's replicas, each as broker id, colon and path.
        """
        cluster = self._cluster_index(cluster_id)
        nth, row = np.nonzero(partitions.replicas)
        position = partitions.replicas[nth, row]
        broker = (cluster[row] << 32) + partitions.brokers(position, row)
        start, end = (np.searchsorted(self._broker, broker, side) for side in ("left", "right"))
        replica, offset = list_positions(end - start)
        match = start[replica] + offset
        deaths = [(row[replica], self._failure[match], self._turn[match], position[replica])]
        if log_dirs is not None:
            deaths += [self._on_log_dirs(failure, partitions, cluster, log_dirs) for failure in range(len(self._cluster))]
        return self._grouped(*(np.concatenate(each) for each in zip(*deaths, strict=True)))

    def _grouped(self, row: Ints, failure: Ints, turn: Ints, position: Ints) -> tuple[Ints, Deaths]:
        """Group deaths of replicas by partition and failure, in the order of their turns."""
        affected = row * len(self._cluster) + failure
        order = np.argsort(affected * (turn.max(initial=0) + 1) + turn, kind="stable")  # fast, because a few sorted runs are merged
        affected, row, failure, turn, position = (column[order] for column in (affected, row, failure, turn, position))
        start = np.flatnonzero(np.diff(affected, prepend=-1))
        group, nth = list_positions(np.diff(start, append=len(row)))
        positions = np.zeros((nth.max(initial=-1) + 1, len(start)), np.int64)
        positions[nth, group] = position
        effective = np.bincount(group[turn < self._effective[failure]], minlength=len(start))
        row, failure = row[start], failure[start]
        flags = (self._quorum_lost[failure], self._unclean[failure], self._controlled_shutdown[failure])
        return failure, Deaths(row, positions, effective, *flags)

    def _on_log_dirs(self, failure: int, partitions: Partitions, cluster: Ints, log_dirs: pa.ListArray) -> tuple[Ints, Ints, Ints, Ints]:
        """Return the replicas on the failed log dirs of a failure: rows, failure, turns after its brokers, and positions."""
        row, _ = list_positions(to_ints(pc.list_value_length(log_dirs), 0))
        log_dir = log_dirs.flatten()
        turn = to_ints(pc.index_in(log_dir, value_set=self.columns["log_dirs"][failure].values), -1)
        broker = to_ints(pc.list_element(pc.split_pattern(log_dir, ":", max_splits=1), 0).cast(pa.int64()), NO_BROKER)
        dead = np.isin(broker, to_ints(self.columns["brokers"][failure].values, NO_BROKER))
        failed = np.flatnonzero((turn >= 0) & ~dead & (cluster[row] == self._cluster[failure]))
        row, turn, broker = row[failed], turn[failed], broker[failed]
        replicas = partitions.replicas[:, row]
        position = np.where(partitions.brokers(replicas, row) == broker, replicas, 0).max(axis=0, initial=0)
        assigned = position > 0
        return row[assigned], np.full(assigned.sum(), failure), self._deaths[failure] + turn[assigned], position[assigned]

    def simulate(self, batch: pa.RecordBatch, outcomes: OutcomeCollector) -> pa.Table:
        """Return the rows of `failover` of a batch of partitions, and add their outcomes to `outcomes`.

        The columns of the batch are those of Partitions, the partitions' keys, replica_size_bytes, records_per_byte and, if log dirs fail, log_dirs.
        """
        partitions = Partitions(batch)
        failure, deaths = self.affected_by(partitions, batch["cluster_id"], batch["log_dirs"] if "log_dirs" in batch.schema.names else None)
        cases, index = partitions.outcomes(deaths)
        outcomes.add(self._sets, self._set_number[failure], cases, index)
        outcome = outcome_numbers(cases, index)
        row = pa.array(deaths.row)
        sizes = to_matrix(batch["replica_size_bytes"], UNKNOWN)
        largest = _largest_survivor(sizes, deaths.row, survivors(cases)[:, index])
        size, unknown = bytes_at_risk(sizes, deaths.row, outcome["leader_before"], outcome["leader"], largest)
        records_per_byte = batch["records_per_byte"].take(row).to_numpy(zero_copy_only=False)  # NaN: unknown
        columns = {
            **self._names(failure),
            "topic": batch["topic"].dictionary_encode().take(row),
            "partition": batch["partition"].take(row),
            "outcome_id": pa.array(outcome["outcome_id"]),
            **{name: _broker_ids(partitions, outcome[name], deaths.row) for name in ("leader_before", "leader")},
            **{name: pa.array(outcome[name].astype(bool)) for name in HARMS},
            "at_risk_size_bytes": pa.array(size, mask=unknown),
            "at_risk_records": _records(size, unknown, records_per_byte),
            "other_members": _other_members(partitions, deaths.row, outcome),
        }
        return pa.table(columns)

    def _names(self, failure: Ints) -> dict[str, pa.DictionaryArray]:
        """Return the names of these failures, with those that occur as dictionaries."""
        occurs = np.bincount(failure, minlength=len(self._cluster)) > 0
        index = pa.array((np.cumsum(occurs) - 1)[failure])
        occurring = pa.array(np.flatnonzero(occurs))
        return {name: self.columns[name].take(occurring).dictionary_encode().take(index) for name in _SCENARIO}


def _other_members(partitions: Partitions, row: Ints, outcome: Mapping[str, Ints]) -> pa.Array:
    """Return the members of partitions that are no replicas, if the ISR or ELR of the outcome names one."""
    named = np.flatnonzero(outcome["highest_position"] > outcome["assigned_replicas"])
    others = partitions.other_members(row[named], outcome["assigned_replicas"][named])
    index = np.full(len(row), -1)
    index[named] = np.arange(len(named))
    return others.take(pa.array(index, mask=index < 0))


def _broker_ids(partitions: Partitions, positions: Ints, row: Ints) -> pa.Array:
    """Return the broker at each position; null for position 0."""
    return pa.array(partitions.brokers(positions, row), pa.int32(), mask=positions == 0)


class PairCounts(NamedTuple):
    """Counts of the deaths of two brokers with a replica of the same partition: an element, or a column, for each pair of a partition."""

    row: Ints  # index of the partition in its batch
    brokers: Matrix  # two rows, the lower id first
    joint: Matrix  # per field of patterns.Counts: both deaths minus each death alone


def pair_counts(partitions: Partitions) -> Iterator[PairCounts]:
    """Yield the counts of every two live replicas of every partition, if two deaths do not lose the quorum.

    A pair's count is that of each broker alone plus the joint counts of the partitions that they share.
    """
    for nth, other_nth in combinations(range(len(partitions.live)), 2):
        row = np.flatnonzero(partitions.live[other_nth])
        positions = np.stack([partitions.live[nth, row], partitions.live[other_nth, row]])
        ids = np.stack([partitions.brokers(position, row) for position in positions])
        order = ids.argsort(axis=0)
        one, other = np.take_along_axis(positions, order, axis=0)
        both, *alone = (partitions.counts(Deaths.killed(row, *dying)) for dying in ((one, other), (one,), (other,)))
        yield PairCounts(row, np.take_along_axis(ids, order, axis=0), both - sum(alone))


def _largest_survivor(sizes: Matrix, row: Ints, survivors: Matrix) -> Ints:
    """Return the bytes of the largest surviving replica, given the positions of all, padded with 0; 0: none survives."""
    largest = np.full(len(row), UNKNOWN)
    for position in survivors:
        largest = np.maximum(largest, pick(sizes, position, row, UNKNOWN))
    return np.where((survivors > 0).any(axis=0), largest, 0)


def _records(size: Ints, unknown: npt.NDArray[np.bool_], per_byte: npt.NDArray[np.float64]) -> pa.Array:
    """Convert bytes to records, rounded up."""
    records = np.where(size == 0, 0, np.ceil(size * per_byte))
    unknown = unknown | np.isnan(records)
    return pa.array(np.where(unknown, 0, records).astype(np.int64), mask=unknown)
