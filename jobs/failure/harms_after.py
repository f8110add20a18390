"""The harm of partitions after each failure of a night, whether the failure or something before it is the reason."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jobs.arrays import Ints, Matrix, to_ints
from jobs.failure.cluster_state import ClusterState
from jobs.failure.min_isr import effective_min_isr
from jobs.failure.patterns import Partitions, canonical, outcome_of
from jobs.failure.scenarios import nightly_scenarios, scenario_table
from jobs.failure.simulate import Failures


class Harms(NamedTuple):
    """Partitions by harm; of one partition, 0 or 1 each."""

    lost: int  # no live replica has every acknowledged record
    unclean_leader: int  # the failure elected a leader that was out of sync
    offline: int  # no leader
    refusing_acks_all: int  # a leader, but too few replicas in sync


class AffectedPartitions(NamedTuple):
    """Partitions that failures affect: an element for each failure of each partition."""

    failure: Ints  # index of the failure
    row: Ints  # index of the partition in its batch
    harms: Matrix  # a row of Harms


class NightlyFailures:
    """The failures of a night of one cluster."""

    def __init__(self, cluster: ClusterState) -> None:
        # In KRaft a controlled shutdown has the outcome of a death.
        self.scenarios = [each for each in nightly_scenarios(cluster) if each.failover_scenario_id is None]
        self._failures = Failures(scenario_table(self.scenarios, {cluster.cluster_id: cluster}))

    def affected(self, batch: pa.RecordBatch) -> AffectedPartitions:
        """Return the partitions, given with their election inputs, that each failure affects."""
        partitions = Partitions(batch)
        failure, deaths = self._failures.affected_by(partitions, batch["cluster_id"])
        cases, index = partitions.outcomes(deaths)
        by_case = np.array([_harms_after(outcome_of(canonical(case))) for case in cases], np.int64).reshape(-1, len(Harms._fields))
        return AffectedPartitions(failure, deaths.row, by_case[index])

    def totals(self, batch: pa.RecordBatch) -> Matrix:
        """Return the sums of Harms over all partitions of a batch: a row without any failure, then a row for each failure."""
        present, affected = present_harms(batch), self.affected(batch)
        totals = np.repeat(present.sum(axis=0)[np.newaxis], len(self.scenarios) + 1, axis=0)
        np.add.at(totals, affected.failure + 1, affected.harms - present[affected.row])
        return totals


def present_harms(batch: pa.RecordBatch) -> Matrix:
    """Return a row of Harms for each partition of a batch without any failure."""
    names = ("live", "isr", "elr")
    lost = [
        not live or not {*isr, *elr}.intersection(live) for live, isr, elr in zip(*(batch[name].to_pylist() for name in names), strict=True)
    ]
    offline = [leader not in live for leader, live in zip(batch["leader"].to_pylist(), batch["live"].to_pylist(), strict=True)]
    in_sync = to_ints(pc.list_value_length(batch["isr"]), 0)
    refusing = (in_sync < effective_min_isr(batch)) & ~np.array(offline, bool)
    return np.stack(
        [np.array(lost, np.int64), np.zeros(len(batch), np.int64), np.array(offline, np.int64), refusing.astype(np.int64)], axis=1
    )


def _harms_after(outcome: dict[str, object]) -> Harms:
    offline = outcome["leader"] is None
    return Harms(
        lost=outcome["safe_replicas"] == 0,
        unclean_leader=bool(outcome["unclean"]) and not offline,
        offline=offline,
        refusing_acks_all=bool(outcome["under_min_isr"]) and not offline,
    )
