"""Partitions as columns with everything that decides their elections when brokers die: the input of jobs.failure.patterns.Partitions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jobs.engine import Engine, sql_text
from jobs.failure.cluster_state import ClusterState, cluster_election_rules
from jobs.failure.patterns import INPUTS

_INPUTS = sql_text(__file__, "election_inputs")
_DISTINCT = sql_text(__file__, "distinct_election_inputs", INPUTS=", ".join(INPUTS))


def election_inputs(engine: Engine, partition: Any, topic: Any, states: Iterable[ClusterState]) -> Any:
    """Return the rows of `partition` with the election rules of their cluster and topic, and their live replicas."""
    return engine.sql(_INPUTS, partition=partition, topic=topic, election_rules=cluster_election_rules(states))


def distinct_election_inputs(engine: Engine, inputs: Any) -> Any:
    """Return the distinct election inputs of each cluster, with the number of their partitions."""
    return engine.sql(_DISTINCT, election_inputs=inputs)
