"""Sentences of the view `explanation` and of reports, from failures that DuckDB computes in this process."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from io import StringIO
from typing import Any

import duckdb
from rich.console import Console, RenderableType

from jobs.engine import DuckdbEngine
from jobs.failure.cluster_state import cluster_states
from jobs.failure.scenarios import Scenario
from jobs.report.night import night_report
from jobs.report.what_if import what_if_report
from jobs.schema import BROKER, BROKER_BALANCE, BROKER_PAIR, CLUSTER, PARTITION, SNAPSHOT, TOPIC
from jobs.spark.worker_rows import complete
from jobs.steps import failover
from tests.jobs.published import published
from tests.jobs.rows import materialized, rows


def failed(partition: dict[str, Any], killed: Sequence[int], *, min_isr: int = 1, scenario_set: str = "w") -> duckdb.DuckDBPyConnection:
    """Return the views on a partition of a KRaft cluster with ELR and brokers 1 to 4, after these brokers are killed in this order."""
    led = {"topic": "t", "partition": 0, "leader": 1, "elr": [], "last_known_elr": [], "isr": sorted(partition["replicas"])}
    given = {
        CLUSTER: [{"controller": "kraft", "elr": True}],
        BROKER: [{"broker_id": id, "live": True} for id in (1, 2, 3, 4)],
        TOPIC: [{"topic": "t", "replication_factor": len(partition["replicas"]), "min_insync_replicas": min_isr}],
        PARTITION: [led | partition],
    }
    inputs = {each: rows(each, *given.get(each, ())) for each in failover.READS}
    engine, states = DuckdbEngine(), cluster_states(inputs[CLUSTER].to_pylist(), inputs[BROKER].to_pylist())
    scenario = Scenario("s", "c", scenario_set, scenario_set, "rack", killed)
    computed = materialized(failover.simulate(engine, [scenario], states, inputs), engine)
    tables = (
        inputs
        | {table: complete(table, rows.toArrow()) for table, rows in zip(failover.WRITES, computed, strict=True)}
        | {SNAPSHOT: rows(SNAPSHOT, {"published_at": 0})}
    )
    pair = {"broker_id": 3, "other_broker_id": 4, "order_dependent": True}
    balance = {"broker_id": 1, "live": True}
    return published(tables | {BROKER_PAIR: rows(BROKER_PAIR, pair), BROKER_BALANCE: rows(BROKER_BALANCE, balance)})


def explained(partition: dict[str, Any], killed: Sequence[int], *, min_isr: int = 1) -> str:
    """Return the sentence on the partition."""
    ((sentence,),) = failed(partition, killed, min_isr=min_isr).execute("SELECT sentence FROM explanation").fetchall()
    return str(sentence)


def text_of(report: Iterable[RenderableType]) -> str:
    """Return a report as it is printed on a wide terminal."""
    screen = Console(width=250, file=StringIO())
    screen.print(*report)
    assert isinstance(screen.file, StringIO)
    return screen.file.getvalue()


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
        "acks=all is refused: it needs 2 replicas in sync; another order of the deaths changes elr"
    )
    assert explained(replicas, [2, 3], min_isr=3).endswith("acks=all is refused: it needs 3 replicas in sync")
    assert explained(replicas, [2], min_isr=2).endswith("1 remains the leader, at min ISR")


def test_reports_state_what_another_order_of_the_deaths_changes() -> None:
    replicas = {"replicas": [1, 2, 3]}
    what_if = text_of(what_if_report(failed(replicas, [2, 3], min_isr=2), "s", "c", "w"))
    assert "Another order of the deaths changes 1 partitions" in what_if
    assert "[2] in this order" not in what_if
    assert "[3] in this order" in what_if
    independent = text_of(what_if_report(failed(replicas, [2, 3], min_isr=3), "s", "c", "w"))
    assert "Another order of the deaths has the same result." in independent
    assert "in this order" not in independent
    night = text_of(night_report(failed(replicas, [2, 3], min_isr=2, scenario_set="nightly"), "s"))
    assert re.search(r"c +nightly +1 *\n", night)
    assert re.search(r"c +brokers 3\+4 +all: the quorum is lost *\n", night)


def test_acks_all_needs_at_most_all_replicas() -> None:
    """Since Kafka 3.7."""
    assert explained({"replicas": [1, 2]}, [2], min_isr=3).endswith("acks=all is refused: it needs 2 replicas in sync")
