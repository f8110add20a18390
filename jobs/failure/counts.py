"""Partitions of one cluster by outcome, for each failure of a night and each pair of brokers, with partitions added and removed.

A plan compares them before and after its moves: the counts of the cluster as it is equal `scenario` and `broker_pair`.
"""

from __future__ import annotations

from copy import copy
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from jobs.arrays import Ints, to_ints
from jobs.failure.cluster_state import ClusterState
from jobs.failure.min_isr import effective_min_isr
from jobs.failure.patterns import Counts, Partitions
from jobs.failure.scenarios import nightly_scenarios, quorum_breaking_pair_scenarios, scenario_table
from jobs.failure.simulate import Failures, pair_counts

_HARMS = [Counts._fields.index(name) for name in ("newly_offline", "newly_refusing_acks_all")]
Pair = tuple[int, int]


class PartitionState(NamedTuple):
    """A partition before a failure; `elr` and `last_known_elr` None: the cluster does not store them."""

    replicas: tuple[int, ...]
    leader: int | None
    isr: tuple[int, ...]
    elr: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None
    min_insync_replicas: int = 1


def partition_states(partitions: pa.RecordBatch) -> list[PartitionState]:
    """Return partitions, given with their election inputs, as named tuples."""
    columns = partitions.select(["replicas", "leader", "isr", "elr", "last_known_elr", "elr_enabled", "min_insync_replicas"])
    return [
        PartitionState(
            tuple(row["replicas"]),
            row["leader"],
            tuple(row["isr"]),
            tuple(row["elr"]) if row["elr_enabled"] else None,
            tuple(row["last_known_elr"]) if row["elr_enabled"] else None,
            row["min_insync_replicas"],
        )
        for row in columns.to_pylist()
    ]


def harmed_by_one_death(batch: pa.RecordBatch) -> npt.NDArray[np.bool_]:
    """Return for each partition whether the death of some one broker takes it offline or makes it refuse acks=all writes."""
    partitions = Partitions(batch)
    _, deaths = partitions.one_death_each(partitions.live)
    harmed = partitions.counts(deaths)[:, _HARMS].any(axis=1)
    return np.bincount(deaths.row[harmed], minlength=len(batch)) > 0


def count_refusing(batch: pa.RecordBatch) -> int:
    """Return how many partitions have a leader and refuse acks=all writes without any failure."""
    in_sync = to_ints(pc.list_value_length(batch["isr"]), 0)
    refuses = in_sync < effective_min_isr(batch)
    return int((refuses & batch["leader"].is_valid().to_numpy(zero_copy_only=False)).sum())


class ComparedFailure(NamedTuple):
    """A failure of brokers, with its counts before and after a plan."""

    scenario_id: str
    kind: str
    brokers: list[int]
    before: Counts
    after: Counts


class FailureCounts:
    """Counts of each failure over a cluster's partitions, which can be added and removed."""

    def __init__(self, cluster: ClusterState) -> None:
        self._cluster = cluster
        self._scenarios = nightly_scenarios(cluster)
        self._kills = {scenario.brokers[0]: index for index, scenario in enumerate(self._scenarios) if scenario.kind == "broker"}
        breaking = quorum_breaking_pair_scenarios(cluster)
        # Controllers do not react to the last death of these pairs, so all partitions of both brokers count.
        self._breaking_pairs: dict[Pair, int] = {(pair.brokers[0], pair.brokers[1]): index for index, pair in enumerate(breaking)}
        states = {cluster.cluster_id: cluster}
        self._failures, self._breaking_failures = (Failures(scenario_table(each, states)) for each in (self._scenarios, breaking))
        self._single = np.zeros((len(self._scenarios), len(Counts._fields)), np.int64)
        self._pair: dict[Pair, Ints] = {}

    def copy(self) -> FailureCounts:
        """Return an independent copy."""
        other = copy(self)
        other._single = self._single.copy()
        other._pair = dict(self._pair)
        return other

    def add(self, batch: pa.RecordBatch, copies: Ints | int = 1) -> None:
        """Add the counts of partitions, given with their election inputs. A row counts `copies` times; -1 removes it."""
        partitions, copies = Partitions(batch), np.broadcast_to(copies, len(batch))
        failure, deaths = self._failures.affected_by(partitions, batch["cluster_id"])
        self._single += partitions.total_counts(deaths, failure, len(self._single), copies)
        for pair in pair_counts(partitions):
            self._add_pairs(pair.brokers, pair.joint * copies[pair.row, np.newaxis])
        if self._breaking_pairs:
            failure, deaths = self._breaking_failures.affected_by(partitions, batch["cluster_id"])
            counts = partitions.counts(deaths) * copies[deaths.row, np.newaxis]
            self._add_pairs(np.array(list(self._breaking_pairs)).T[:, failure], counts, breaking=True)

    def _add_pairs(self, brokers: Ints, counts: Ints, *, breaking: bool = False) -> None:
        if not counts.size:
            return
        ids, index = np.unique(brokers, return_inverse=True)
        one, other = index.reshape(2, -1)
        pairs, pair = np.unique(one * len(ids) + other, return_inverse=True)
        sums = np.column_stack([np.bincount(pair, weights=column) for column in counts.T]).astype(np.int64)
        names = zip(ids[pairs // len(ids)].tolist(), ids[pairs % len(ids)].tolist(), strict=True)
        for name, total in zip(names, sums, strict=True):
            if (name in self._breaking_pairs) == breaking:
                self._pair[name] = self._pair.get(name, 0) + total

    def compare(self, after: FailureCounts, *, every_pair: bool = False) -> list[ComparedFailure]:
        """Return each failure before and after; of pairs those that share a partition before or after, or every pair of live brokers."""
        pairs = combinations(sorted(self._cluster.racks), 2) if every_pair else sorted(self._pair.keys() | after._pair.keys())
        return [
            *(
                ComparedFailure(scenario.scenario_id, scenario.kind, list(scenario.brokers), _counts(before), _counts(then))
                for scenario, before, then in zip(self._scenarios, self._single, after._single, strict=True)
            ),
            *(
                ComparedFailure(f"brokers {pair[0]}+{pair[1]}", "pair", list(pair), self._counts_of_pair(pair), after._counts_of_pair(pair))
                for pair in pairs
            ),
        ]

    def _counts_of_pair(self, pair: Pair) -> Counts:
        joint = self._pair.get(pair, np.zeros(len(Counts._fields), np.int64))
        return _counts(joint if pair in self._breaking_pairs else joint + sum(self._single[self._kills[broker]] for broker in pair))


def _counts(values: Ints) -> Counts:
    return Counts(*values.tolist())
