"""The election rules of a cluster: those of its Kafka version, and whether another version that it may run decides otherwise."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from jobs.engine import DuckdbEngine
from jobs.failure.cluster_state import cluster_state, cluster_states
from jobs.failure.election_inputs import election_inputs
from jobs.failure.outcomes import OutcomeCollector
from jobs.failure.scenarios import Scenario, scenario_table
from jobs.failure.simulate import Failures
from jobs.schema import CLUSTER, PARTITION, TOPIC
from kafka_model.failover.broker_failure import KRAFT_RULES_SINCE
from tests.jobs.rows import rows

VERSIONS = {
    "newest patch": ("4.1.2", "metadata_version"),
    "first patch": ("4.1.0", "configured"),
    "second patch": ("4.1.1", "configured"),
    "4.3": ("4.3.1", "metadata_version"),
    "no version": ("4.4.0", "assumed"),
}


def test_4_1_0_records_no_last_known_leader_while_the_isr_has_dead_members() -> None:
    """Brokers 1 and 2 died and are not fenced yet; then broker 3, the leader, dies. Kafka 4.1.0 and 4.1.1 answer so (tests/oracle)."""
    cluster = {
        id: {"cluster_id": id, "kafka_version": version, "kafka_version_source": source} for id, (version, source) in VERSIONS.items()
    }
    partition = {"topic": "t", "leader": 3, "replicas": [3, 1, 2], "isr": [1, 2, 3], "elr": [], "last_known_elr": []}
    broker = [{"cluster_id": id, "broker_id": 3, "live": True, "rack": None} for id in cluster]
    clusters = rows(CLUSTER, *(row | {"controller": "kraft", "elr": True} for row in cluster.values()))
    states = cluster_states(clusters.to_pylist(), broker)
    inputs = election_inputs(
        DuckdbEngine(), rows(PARTITION, *(partition | {"cluster_id": id} for id in cluster)), rows(TOPIC), states.values()
    )
    batch = inputs.append_column("records_per_byte", pa.array([1.0] * len(inputs))).combine_chunks().to_batches()[0]
    failures, outcomes = (
        Failures(scenario_table([Scenario("s", id, "test", "one", "kill", [3]) for id in cluster], states)),
        OutcomeCollector(),
    )
    failures.simulate(batch, outcomes)
    columns = ("leader", "last_known_elr", "rules_since", "oldest_rules_since", "depends_on_version")
    found = {row["cluster_id"]: tuple(row[name] for name in columns) for row in outcomes.table().to_pylist()}
    assert found == {
        "newest patch": (None, [1], "4.1.1", "4.1.0", True),
        "first patch": (None, [], "4.1.0", "4.1.0", False),
        "second patch": (None, [1], "4.1.1", "4.1.1", False),
        "4.3": (None, [1], "4.1.1", "4.1.1", False),
        "no version": (None, [1], "4.1.1", "3.8.0", True),
    }


@pytest.mark.parametrize(
    ("cluster", "rules", "oldest_rules"),
    [
        (("zookeeper", False, "3.9.2", "assumed"), "2.0.0", "2.0.0"),
        (("kraft", False, "4.4.0", "assumed"), "4.1.1", "2.0.0"),
        (("kraft", True, "4.4.0", "assumed"), "4.1.1", "3.8.0"),
        (("kraft", False, "3.5.2", "metadata_version"), "2.0.0", "2.0.0"),
        (("kraft", False, "3.6.2", "metadata_version"), "3.6.0", "3.6.0"),
        (("kraft", True, "4.0.2", "metadata_version"), "3.8.0", "3.8.0"),
        (("kraft", True, "3.7.0", "configured"), "3.8.0", "3.8.0"),  # a contradiction, which a rule of `cluster` reports
    ],
)
def test_the_rules_of_a_cluster_follow_from_its_version(cluster: tuple[Any, ...], rules: str, oldest_rules: str) -> None:
    names = ("controller", "elr", "kafka_version", "kafka_version_source")
    row = {"snapshot_id": "s", "cluster_id": "c", "controller_id": None, "voters": None, **dict(zip(names, cluster, strict=True))}
    state = cluster_state(row, {1: None}, ())
    found = [str(KRAFT_RULES_SINCE[number]) for number in (state.election_rules, state.oldest_election_rules)]
    assert found == [rules, oldest_rules]
