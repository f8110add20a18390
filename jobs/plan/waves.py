"""Rows of `plan_wave`: what each wave of a plan moves, how full it makes disks, and what one death then harms."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jobs.failure.counts import harmed_by_one_death
from jobs.plan.candidates import Candidate
from jobs.plan.current import CurrentCluster
from jobs.plan.question import Row


class Waves(NamedTuple):
    """The rows of `plan_wave`, and how many partitions the death of some one broker harms before and after the plan."""

    rows: list[Row]
    harmed_before: int
    harmed: int


def compute_waves(current: CurrentCluster, candidate: Candidate, moves: Mapping[int, Row]) -> Waves:
    """Return the waves of a plan with these rows of `plan_move`, by partition index."""
    is_harmed_before = harmed_by_one_death(current.partitions)
    is_harmed_after = dict(zip(moves, harmed_by_one_death(candidate.after), strict=True))
    harmed = harmed_before = int(is_harmed_before.sum())
    partitions_of: dict[int, list[int]] = defaultdict(list)
    for p, move in moves.items():
        partitions_of[move["wave"]].append(p)
    disks = _DiskUse(current)
    rows = []
    for wave, partitions in sorted(partitions_of.items()):
        harmed += sum(int(is_harmed_after[p]) - int(is_harmed_before[p]) for p in partitions)
        of_wave = {p: moves[p] for p in partitions}
        moves_by_broker = Counter(
            broker_id
            for move in of_wave.values()
            if move["added_replicas"]
            for broker_id in (*move["added_replicas"], *move["removed_replicas"])
        )
        moved_bytes = [move["moved_bytes"] for move in of_wave.values()]
        fullest = disks.run_wave(of_wave)
        rows.append(
            {
                "wave": wave,
                "partitions": len(partitions),
                "moved_replicas": sum(len(move["added_replicas"]) for move in of_wave.values()),
                "moved_bytes": None if None in moved_bytes else sum(moved_bytes),
                "moves_of_busiest_broker": max(moves_by_broker.values(), default=0),
                "fullest_target_id": fullest.broker_id,
                "fullest_target_share": fullest.share,
                "harmed": harmed,
            }
        )
    return Waves(rows, harmed_before, harmed)


class _Fullest(NamedTuple):
    """The fullest disk of a wave, as a share of its capacity. None: no disk of known capacity gets a replica."""

    share: float | None
    broker_id: int | None


class _DiskUse:
    """The bytes that each disk stores while waves run."""

    def __init__(self, current: CurrentCluster) -> None:
        self._cluster, self._space = current.cluster, current.disk_space
        self._index = {broker_id: index for index, broker_id in enumerate(current.cluster.broker_ids.tolist())}
        self._capacity = current.disk_space.limit / current.disk_limit
        self._used = current.disk_space.used.copy()

    def run_wave(self, moves: Mapping[int, Row]) -> _Fullest:
        """Add the new copies of a wave, then remove the old ones; return the fullest disk in between."""
        targets = set()
        for p, move in moves.items():
            for broker in self._indexes(move["added_replicas"]):
                self._used[broker] += self._space.copy_sizes[p]
                targets.add(broker)
        shares = [
            _Fullest(float(self._used[broker] / self._capacity[broker]), int(self._cluster.broker_ids[broker]))
            for broker in targets
            if 0 < self._capacity[broker] < math.inf
        ]
        for p, move in moves.items():
            for broker in self._indexes(move["removed_replicas"]):
                slot = int(np.flatnonzero(self._cluster.replicas[p] == broker)[0])
                self._used[broker] -= self._space.replica_sizes[p, slot]
        return max(shares, default=_Fullest(None, None))

    def _indexes(self, broker_ids: Sequence[int]) -> list[int]:
        return [self._index[broker_id] for broker_id in broker_ids]
