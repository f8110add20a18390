"""The replicas of one topic as arrays, and a placement that explains them: what the placers of replica_assignment read and return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from jobs.arrays import Ints


class ObservedTopic(NamedTuple):
    """The partitions of a topic, at least one, in the order of their numbers."""

    replication_factor: int  # that the topic reports
    numbers: Ints
    lengths: Ints  # of each replica list
    broker_ids: Ints  # of all replica lists, one after the other


class ExplainedTopic(NamedTuple):
    """The placement that explains a topic best.

    `moved` has the replicas that it gives the partitions that are on others; None: it does not determine them. Without `explains`, no
    placement explains the topic, and `moved` is empty.
    """

    explains: bool
    moved: Mapping[int, Sequence[int] | None] = {}
    first_unexplained: int | None = None
    start_index: int | None = None
    shift: int | None = None
    draws: Sequence[Mapping[str, Any]] | None = None


class Placer(Protocol):
    """Kafka's placement of topics in one cluster, computed from its brokers."""

    algorithm: str  # as in `topic_placement`
    start_requested: bool
    refusal: str | None  # why Kafka would refuse each topic

    @property
    def brokers(self) -> int:
        """The number of brokers."""

    def explain(self, topic: ObservedTopic, *, compiled: bool) -> ExplainedTopic:
        """Return the placement that explains a topic best; its replication factor is at most the number of brokers.

        `compiled`: there are so many topics that loading compiled code takes less time than it saves.
        """
