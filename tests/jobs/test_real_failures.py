"""Failures computed from the dump of a real cluster equal, partition by partition, its dump after its brokers died or returned.

tests/snapshots/killed contains the dumps of KRaft clusters with ELR (4.3.1) and of ZooKeeper clusters (3.9.2): kills, controlled shutdowns,
racks, and several deaths in order. Each folder is a recording. `python -m tests.cluster.record` records them again, and
`python -m tests.cluster.compare` compares with a live cluster.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import DataFrame, SparkSession

from jobs import ingest
from jobs.failure.scenarios import Scenario
from jobs.schema import Table
from jobs.spark.session import dataframe_from_arrow
from jobs.steps import broker_restart, failover
from tests.jobs.rows import run_step
from tests.jobs.simulation import simulated

KILLED = Path(os.environ.get("TOPOLOGY_KILLED", Path(__file__).parents[1] / "snapshots" / "killed"))
LINE = re.compile(
    r"^\tTopic: (\S+)\tPartition: (\d+)\tLeader: (\S+)\tReplicas: \S+\tIsr: (\S*)(?:\tElr: (\S*)\tLastKnownElr: (\S*))?", re.M
)
RECORDINGS = sorted(folder.name for folder in KILLED.iterdir())
Key = tuple[str, int]


class State(NamedTuple):
    """A partition in a dump; `elr` and `last_known_elr` None: the cluster does not store them."""

    leader: int | None
    isr: frozenset[int]
    elr: frozenset[int] | None
    last_known_elr: frozenset[int] | None


class Loss(NamedTuple):
    """A dump after brokers died, in this order, and before any of them returned."""

    recording: str
    dump: str
    dead: list[int]
    controlled_shutdown: bool


class Return(NamedTuple):
    """The return of a broker after a kill or a clean stop: the dumps before and after it, and the brokers that were dead before it."""

    recording: str
    before: str
    dead: list[int]
    broker: int
    death: str  # kill or stop
    after: str


def steps_of(recording: str) -> list[dict[str, Any]]:
    return list(json.loads((KILLED / recording / "scenario.json").read_text())["steps"])


def losses(recording: str) -> list[Loss]:
    dead: list[int] = []
    found = []
    for step in steps_of(recording):
        if step["step"] == "start":
            break
        dead = [*dead, *step["fenced"]]
        if step["file"]:
            found.append(Loss(recording, step["file"], dead, step["step"] == "stop"))
    return found


def returns(recording: str) -> list[Return]:
    found = []
    dead: list[int] = []
    death_of: dict[int, str] = {}
    dump = "0-before.txt"
    for step in steps_of(recording):
        brokers = step["brokers"]
        if step["step"] != "start":
            dead += brokers
            death_of |= dict.fromkeys(brokers, step["step"])
        else:
            if dump and step["file"] and len(brokers) == 1:
                found.append(Return(recording, dump, list(dead), brokers[0], death_of[brokers[0]], step["file"]))
            dead = [broker for broker in dead if broker not in brokers]
        dump = step["file"]
    return found


LOSSES = [loss for recording in RECORDINGS for loss in losses(recording)]
RETURNS = [each for recording in RECORDINGS for each in returns(recording)]


def states(recording: str, dump: str) -> dict[Key, State]:
    """Return the partitions in a dump."""

    def brokers(text: str | None) -> frozenset[int] | None:
        return None if text in (None, "N/A") else frozenset(int(id) for id in text.split(",") if id)

    return {
        (topic, int(partition)): State(
            None if leader == "none" else int(leader), brokers(isr) or frozenset(), brokers(elr), brokers(last_known_elr)
        )
        for topic, partition, leader, isr, elr, last_known_elr in LINE.findall((KILLED / recording / dump).read_text())
    }


def add_cluster(source: Path, cluster_id: str, recording: str, dump: str, dead: Sequence[int] = ()) -> None:
    """Copy a dump to the source as a cluster, with the racks of the brokers that are not dead."""
    folder = source / cluster_id
    folder.mkdir(exist_ok=True)
    shutil.copy(KILLED / recording / dump, folder)
    racks = json.loads((KILLED / recording / "scenario.json").read_text())["racks"]
    lines = [f"{id},{rack}" for id, rack in racks.items() if int(id) not in dead]
    (folder / "brokers.csv").write_text("\n".join(["broker_id,rack", *lines, ""]))


def ingested(spark: SparkSession, source: Path, reads: Sequence[Table]) -> dict[Table, DataFrame]:
    """Return these tables of a source; those that ingest does not write are empty."""
    written = dict(zip(ingest.WRITES, ingest.read(lambda: spark, str(source), "s"), strict=True))
    return {table: dataframe_from_arrow(spark, written.get(table, table.schema.empty_table()), table.columns) for table in reads}


@pytest.fixture(scope="module")
def predicted(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], dict[Key, State]]:
    """Return the computed states of the partitions that each loss affects, by recording and dump."""
    source = tmp_path_factory.mktemp("killed")
    for recording in RECORDINGS:
        add_cluster(source, recording, recording, "0-before.txt")
    scenarios = [
        Scenario("s", loss.recording, "test", loss.dump, "what-if", loss.dead, controlled_shutdown=loss.controlled_shutdown)
        for loss in LOSSES
    ]
    _, outcomes, _ = simulated(scenarios, ingested(spark, source, failover.READS))

    def as_set(brokers: list[int] | None) -> frozenset[int] | None:
        return None if brokers is None else frozenset(brokers)

    found: dict[tuple[str, str], dict[Key, State]] = {}
    for row in outcomes.collect():
        state = State(row.leader, frozenset(row.isr), as_set(row.elr), as_set(row.last_known_elr))
        found.setdefault((row.cluster_id, row.scenario_id), {})[row.topic, row.partition] = state
    return found


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: f"{loss.recording}-{loss.dump.removesuffix('.txt')}")
def test_the_cluster_did_as_predicted(predicted: dict[tuple[str, str], dict[Key, State]], loss: Loss) -> None:
    before, after = states(loss.recording, "0-before.txt"), states(loss.recording, loss.dump)
    affected = predicted[loss.recording, loss.dump]
    assert before.keys() == after.keys()
    assert affected.keys() <= after.keys()
    expected = before | affected
    assert {key: (expected[key], state) for key, state in after.items() if expected[key] != state} == {}
    assert any(before[key] != after[key] for key in affected)


@pytest.fixture(scope="module")
def revived(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int, str], int]:
    """Return how many partitions get a leader when a broker returns, by cluster, broker and death. Each dump with dead brokers is a cluster."""
    source = tmp_path_factory.mktemp("returned")
    features = "".join(
        f"Feature: {name}\tSupportedMinVersion: 0\tSupportedMaxVersion: 9\tFinalizedVersionLevel: 1\tEpoch: 1\n"
        for name in ("metadata.version", "eligible.leader.replicas.version")
    )
    for each in RETURNS:
        cluster_id = f"{each.recording} {each.before}"
        add_cluster(source, cluster_id, each.recording, each.before, each.dead)
        if "Elr: \t" in (KILLED / each.recording / each.before).read_text():
            (source / cluster_id / "features.txt").write_text(features)
    (restart,) = run_step(broker_restart, *ingested(spark, source, broker_restart.READS).values())
    return {
        (row.cluster_id, row.broker_id, death): row[f"revived_after_{death}"] for row in restart.collect() for death in ("kill", "stop")
    }


def test_the_recordings_have_returns_that_differ_between_a_kill_and_a_clean_stop(revived: dict[tuple[str, int, str], int]) -> None:
    differing = {
        each.death
        for each in RETURNS
        if revived[f"{each.recording} {each.before}", each.broker, "kill"]
        != revived[f"{each.recording} {each.before}", each.broker, "stop"]
    }
    assert differing == {"kill", "stop"}


@pytest.mark.parametrize("each", RETURNS, ids=lambda each: f"{each.recording}-{each.broker}-{each.after.removesuffix('.txt')}")
def test_a_returning_broker_revived_as_many_partitions_as_predicted(revived: dict[tuple[str, int, str], int], each: Return) -> None:
    before, after = states(each.recording, each.before), states(each.recording, each.after)
    gained_leaders = sum(state.leader is None and after[key].leader is not None for key, state in before.items())
    assert revived[f"{each.recording} {each.before}", each.broker, each.death] == gained_leaders
