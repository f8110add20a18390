"""Distinct outcomes of failures: the rows of `failover_pattern`, and their columns that rows of `failover` repeat."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa

from jobs.arrays import Ints, Matrix
from jobs.failure.death_order import order_dependent_columns
from jobs.failure.patterns import Case, counts_of, depends_on_version, outcome_of
from jobs.schema import FAILOVER_PATTERN, HARMS
from kafka_model.failover.broker_failure import KRAFT_RULES_SINCE

# The columns of `outcome_numbers`.
_NUMBERS = ("outcome_id", "leader_before", "leader", "assigned_replicas", "highest_position", *HARMS)
ScenarioSet = tuple[str, str, str]  # snapshot_id, cluster_id, scenario_set


class OutcomeCollector:
    """Collects the outcomes that occur in each scenario set of each cluster."""

    def __init__(self) -> None:
        self._cases: dict[ScenarioSet, set[Case]] = {}

    def add(self, sets: Sequence[ScenarioSet], set_number: Ints, cases: Sequence[Case], index: Ints) -> None:
        """Add the outcomes of failures: each has the number of its set in `sets`, and the index of its case in `cases`."""
        for number, case in zip(*np.divmod(np.unique(set_number * len(cases) + index), max(len(cases), 1)), strict=True):
            self._cases.setdefault(sets[number], set()).add(cases[case])

    def table(self) -> pa.Table:
        """Return the rows of `failover_pattern`."""
        names = ("snapshot_id", "cluster_id", "scenario_set")
        rows = [dict(zip(names, key, strict=True)) | pattern_columns(case) for key, cases in self._cases.items() for case in cases]
        return pa.Table.from_pylist(rows, FAILOVER_PATTERN.schema)


def outcome_numbers(cases: Sequence[Case], index: Ints) -> dict[str, Ints]:
    """Return, for failures with these indexes in `cases`, the columns _NUMBERS; a leader is a position, 0: none."""
    numbers = np.array([_numbers(case) for case in cases], np.int64).reshape(-1, len(_NUMBERS))
    return dict(zip(_NUMBERS, numbers[index].T, strict=True))


def survivors(cases: Sequence[Case]) -> Matrix:
    """Return the positions of the surviving replicas of each case in a column, padded with 0."""
    lists = [outcome_of(case)["survivors"] for case in cases]
    matrix = np.zeros((max(map(len, lists), default=0), len(lists)), np.int64)
    for column, positions in enumerate(lists):
        matrix[: len(positions), column] = positions
    return matrix


@cache
def outcome_id(case: Case) -> int:
    """Return the id of a case in canonical form, equal in all processes."""
    digest = blake2b(repr((tuple(case.pattern), tuple(case.event))).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


@cache
def pattern_columns(case: Case) -> dict[str, Any]:
    """Return the row of `failover_pattern` of a case in canonical form, without its snapshot, cluster and scenario set."""
    pattern, event = case
    return outcome_of(case) | {
        "outcome_id": outcome_id(case),
        "kraft": bool(pattern.kraft),
        "elr_enabled": bool(pattern.elr_enabled),
        "unclean_elections": bool(pattern.topic_unclean),
        "rules_since": str(KRAFT_RULES_SINCE[pattern.election_rules]),
        "oldest_rules_since": str(KRAFT_RULES_SINCE[pattern.oldest_election_rules]),
        "min_insync_replicas": pattern.min_insync_replicas,
        "oldest_min_insync_replicas": pattern.oldest_min_insync_replicas,
        "replication_factor": pattern.replication_factor,
        "assigned_replicas": pattern.replicas,
        "isr_before": pattern.isr,
        "elr_before": pattern.elr,
        "last_known_elr_before": pattern.last_known_elr,
        "live_before": pattern.live,
        "dying": event.dying,
        "effective_deaths": event.effective_deaths,
        "quorum_lost": bool(event.quorum_lost),
        "controlled_shutdown": bool(event.controlled_shutdown),
        "order_dependent_columns": order_dependent_columns(case),
        "depends_on_version": depends_on_version(case),
    }


@cache
def _numbers(case: Case) -> tuple[int, ...]:
    outcome, counts, pattern = outcome_of(case), counts_of(outcome_of(case)), case.pattern
    return (
        outcome_id(case),
        outcome["leader_before"] or 0,
        outcome["leader"] or 0,
        pattern.replicas,
        max((*pattern.isr, *pattern.elr, *pattern.last_known_elr), default=0),  # an outcome names no others
        *(getattr(counts, harm) for harm in HARMS),
    )
