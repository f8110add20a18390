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


def outcomes_of_a_death(
    clusters: dict[str, dict[str, Any]], partition: dict[str, Any], topic: dict[str, Any], live: list[int], killed: int
) -> dict[str, dict[str, Any]]:
    """Return the outcome of the death of a broker for the same partition in each of these clusters."""
    broker = [{"cluster_id": id, "broker_id": number, "live": True, "rack": None} for id in clusters for number in live]
    states = cluster_states(rows(CLUSTER, *(row | {"cluster_id": id} for id, row in clusters.items())).to_pylist(), broker)
    tables = (rows(table, *(row | {"cluster_id": id} for id in clusters)) for table, row in ((PARTITION, partition), (TOPIC, topic)))
    inputs = election_inputs(DuckdbEngine(), *tables, states.values()).toArrow()
    batch = inputs.append_column("records_per_byte", pa.array([1.0] * len(inputs))).combine_chunks().to_batches()[0]
    failures = Failures(scenario_table([Scenario("s", id, "test", "one", "kill", [killed]) for id in clusters], states))
    outcomes = OutcomeCollector()
    failures.simulate(batch, outcomes)
    return {row["cluster_id"]: row for row in outcomes.table().to_pylist()}


def test_4_1_0_records_no_last_known_leader_while_the_isr_has_dead_members() -> None:
    """Brokers 1 and 2 died and are not fenced yet; then broker 3, the leader, dies. Kafka 4.1.0 and 4.1.1 answer so (tests/oracle)."""
    clusters = {
        id: {"controller": "kraft", "elr": True, "kafka_version": version, "kafka_version_source": source}
        for id, (version, source) in VERSIONS.items()
    }
    partition = {"topic": "t", "leader": 3, "replicas": [3, 1, 2], "isr": [1, 2, 3], "elr": [], "last_known_elr": []}
    columns = ("leader", "last_known_elr", "rules_since", "oldest_rules_since", "depends_on_version")
    found = outcomes_of_a_death(clusters, partition, {"topic": "t", "replication_factor": 3}, [3], 3)
    assert {id: tuple(row[name] for name in columns) for id, row in found.items()} == {
        "newest patch": (None, [1], "4.1.1", "4.1.0", True),
        "first patch": (None, [], "4.1.0", "4.1.0", False),
        "second patch": (None, [1], "4.1.1", "4.1.1", False),
        "4.3": (None, [1], "4.1.1", "4.1.1", False),
        "no version": (None, [1], "4.1.1", "3.8.0", True),
    }


@pytest.mark.parametrize(("min_isr", "depends"), [(3, True), (2, False)])
def test_an_outcome_depends_on_the_version_where_only_some_cap_min_insync_replicas(min_isr: int, depends: bool) -> None:
    """One of two replicas dies. With min.insync.replicas 3, releases before 3.7.0 refuse acks=all before the death, later ones after it."""
    clusters = {
        "zookeeper": {"controller": "zookeeper", "kafka_version": "3.9.2", "kafka_version_source": "assumed"},
        "kraft": {"controller": "kraft", "kafka_version": "4.4.0", "kafka_version_source": "assumed"},
        "elr": {"controller": "kraft", "elr": True, "kafka_version": "4.4.0", "kafka_version_source": "assumed"},
        "3.7": {"controller": "kraft", "kafka_version": "3.7.2", "kafka_version_source": "metadata_version"},
        "3.6": {"controller": "kraft", "kafka_version": "3.6.2", "kafka_version_source": "metadata_version"},
        "configured": {"controller": "zookeeper", "kafka_version": "3.9.2", "kafka_version_source": "configured"},
    }
    partition = {"topic": "t", "leader": 1, "replicas": [1, 2], "isr": [1, 2]}
    topic = {"topic": "t", "replication_factor": 2, "min_insync_replicas": min_isr}
    found = outcomes_of_a_death(clusters, partition, topic, [1, 2], 2)
    assert {id for id, row in found.items() if row["depends_on_version"]} == ({"zookeeper", "kraft"} if depends else set())
    assert {id: row["oldest_min_insync_replicas"] for id, row in found.items()} == {
        "zookeeper": min_isr, "kraft": min_isr, "elr": 2, "3.7": 2, "3.6": min_isr, "configured": 2
    }  # fmt: skip


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
