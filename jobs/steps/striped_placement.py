"""The draws of StripedReplicaPlacer that explain each topic of a KRaft cluster, recovered by kafka_model.placement.striped_draws.

A dump shows which brokers are fenced now, not at the time when a topic was created or grew: each broker that is not live may have been
fenced then, or not. Since 4.3 the placer does not use brokers whose log dirs are all cordoned (ClusterControlManager.usableBrokers): those that
are cordoned now may have been so then, or not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from jobs.arrays import Matrix, list_positions
from jobs.steps.observed_topic import ExplainedTopic, ObservedTopic
from kafka_model.placement.kraft import UsableBroker
from kafka_model.placement.striped_draws import Placement, StripedCluster, recover_rows

COMPILED_FROM = 20_000  # partitions of all clusters; with fewer, plain Python takes less time than to load the compiled search
_MAX_UNCERTAIN = 3  # brokers that are not live: every subset of so many may have been fenced; of more, all or none
_MAX_GAP_FACTOR = 2  # a topic with more missing partitions than known ones has no placement
_NO_BROKER = -1


class StripedPlacer:
    """StripedReplicaPlacer's placement on the brokers of a cluster."""

    algorithm = "striped"
    start_requested = False

    def __init__(self, racks: Mapping[int, str | None], not_live: Collection[int], cordoned: Collection[int]) -> None:
        self.brokers = len(racks)
        self.refusal = "all brokers are fenced" if len(not_live) == len(racks) else None
        # The possible states of the brokers when a topic was placed.
        self._states = [
            StripedCluster([UsableBroker(id, rack, id in fenced) for id, rack in known.items() if id not in left_out])
            for left_out in _possibly_cordoned(cordoned)
            for known in _possible_racks(racks, not_live)
            for fenced in _possible_fenced(sorted(set(not_live).difference(left_out)))
            if len(fenced) < len(known.keys() - left_out)
        ]

    def explain(self, topic: ObservedTopic, *, compiled: bool) -> ExplainedTopic:
        if not self._states or topic.numbers[-1] >= _MAX_GAP_FACTOR * len(topic.numbers):
            return ExplainedTopic(False, first_unexplained=int(topic.numbers[0]))
        recovered = recover_rows(self._states, *_replica_matrix(topic), compiled=compiled)
        moved = {partition: None if None in replicas else replicas for partition, replicas in recovered.moved.items()}
        draws = [_draws(placement) for placement in recovered.placements]
        return ExplainedTopic(bool(draws), moved, recovered.first_unexplained, draws=draws or None)


def _possibly_cordoned(cordoned: Collection[int]) -> list[frozenset[int]]:
    """List the sets of brokers that may have been cordoned: none, and those that are now."""
    return [frozenset(), frozenset(cordoned)] if cordoned else [frozenset()]


def _possible_racks(racks: Mapping[int, str | None], not_live: Collection[int]) -> Iterator[Mapping[int, str | None]]:
    """Yield the racks of all brokers. Many dumps do not report the rack of a broker that is not live: it may be any rack, or one of its own."""
    known = sorted({rack for rack in racks.values() if rack is not None})
    unknown = [broker for broker in not_live if racks[broker] is None]
    if known and len(unknown) == 1:
        yield from ({**racks, unknown[0]: rack} for rack in known)
    yield racks


def _possible_fenced(not_live: Sequence[int]) -> list[set[int]]:
    """List the sets of brokers that may have been fenced: first those that are not live now, then none, then their other subsets."""
    subsets = [set(subset) for size in range(1, len(not_live)) for subset in combinations(not_live, size)]
    first = [set(not_live), set()] if not_live else [set()]
    return [*first, *subsets] if len(not_live) <= _MAX_UNCERTAIN else first


def _replica_matrix(topic: ObservedTopic) -> tuple[Matrix, Any]:
    """Return the replicas of each partition by its number, and which partitions have no row.

    The replication factor is that of the first partition. Partitions with another one have no known broker.
    """
    factor, partitions = max(topic.lengths[0], 1), topic.numbers[-1] + 1
    if partitions == len(topic.numbers) and (topic.lengths == factor).all():
        return topic.broker_ids.reshape(partitions, factor), np.zeros(partitions, dtype=np.bool_)
    matrix = np.full((partitions, factor), _NO_BROKER)
    row, replica = list_positions(topic.lengths)
    placed = (topic.lengths == factor)[row]
    matrix[topic.numbers[row[placed]], replica[placed]] = topic.broker_ids[placed]
    missing = np.ones(partitions, dtype=np.bool_)
    missing[topic.numbers] = False
    return matrix, missing


def _draws(placement: Placement) -> dict[str, Any]:
    return {**placement._asdict(), "shuffles": [shuffle._asdict() for shuffle in placement.shuffles]}
