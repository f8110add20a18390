"""Sentences of the view `explanation`, from failures that DuckDB computes in this process."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from jobs.engine import DuckdbEngine
from jobs.failure.cluster_state import cluster_states
from jobs.failure.scenarios import Scenario
from jobs.schema import BROKER, CLUSTER, PARTITION, SNAPSHOT, TOPIC
from jobs.steps import failover
from jobs.steps.stage import in_this_process, run_stages
from tests.jobs.published import published
from tests.jobs.rows import rows


def explained(partition: dict[str, Any], killed: Sequence[int], *, min_isr: int = 1) -> str:
    """Return the sentence on a partition of a KRaft cluster with ELR and brokers 1 to 4, some of which are killed in this order."""
    led = {"topic": "t", "partition": 0, "leader": 1, "elr": [], "last_known_elr": [], "isr": sorted(partition["replicas"])}
    given = {
        CLUSTER: [{"controller": "kraft", "elr": True}],
        BROKER: [{"broker_id": id, "live": True} for id in (1, 2, 3, 4)],
        TOPIC: [{"topic": "t", "replication_factor": len(partition["replicas"]), "min_insync_replicas": min_isr}],
        PARTITION: [led | partition],
    }
    inputs = {each: rows(each, *given.get(each, ())) for each in failover.READS}
    engine, states = DuckdbEngine(), cluster_states(inputs[CLUSTER].to_pylist(), inputs[BROKER].to_pylist())
    scenario = Scenario("s", "c", "w", "two brokers", "what-if", killed)
    computed = run_stages(failover.simulate(engine, [scenario], states, inputs), partial(in_this_process, engine))
    tables = inputs | dict(zip(failover.WRITES, computed, strict=True)) | {SNAPSHOT: rows(SNAPSHOT, {"published_at": 0})}
    ((sentence,),) = published(tables).execute("SELECT sentence FROM explanation").fetchall()
    return str(sentence)


def test_bytes_that_another_failed_replica_has_too_are_not_on_the_lost_leader_alone() -> None:
    both_have_them = {"replicas": [1, 2, 3], "isr": [1, 2], "replica_size_bytes": [900, 900, 200]}
    assert "it is offline; no live replica has the last 700 bytes of the lost leader" in explained(both_have_them, [1, 2])
    no_other = {"replicas": [1, 2], "replica_size_bytes": [900, 900]}
    assert "it is offline; no live replica has the 900 bytes of the lost leader" in explained(no_other, [1, 2])
    follower_lags = {"replicas": [1, 2, 3], "replica_size_bytes": [900, 850, 880]}
    assert explained(follower_lags, [1]).endswith("acks=all is accepted; the new leader lacks 50 bytes of the lost leader")


def test_a_sentence_names_what_another_order_of_the_deaths_changes() -> None:
    replicas = {"replicas": [1, 2, 3]}
    assert explained(replicas, [2, 3], min_isr=2).endswith(
        "acks=all is refused: min.insync.replicas is 2; another order of the deaths changes elr"
    )
    assert explained(replicas, [2, 3], min_isr=3).endswith("acks=all is refused: min.insync.replicas is 3")
    assert explained(replicas, [2], min_isr=2).endswith("1 remains the leader, at min ISR")
