"""Partitions as columns with everything that decides their elections when brokers die: the input of jobs.failure.patterns.Partitions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jobs.engine import Engine, sql_text
from jobs.failure.cluster_state import ClusterState, cluster_election_rules

_TEXT = sql_text(__file__, "election_inputs")


def election_inputs(engine: Engine, partition: Any, topic: Any, states: Iterable[ClusterState]) -> Any:
    """Return the rows of `partition` with the election rules of their cluster and topic, and their live replicas."""
    return engine.sql(_TEXT, partition=partition, topic=topic, election_rules=cluster_election_rules(states))
