"""Failover predicted from a real cluster's dump equals, partition by partition, the dump that the cluster gave after its brokers died.

tests/snapshots/killed has the dumps: KRaft with ELR (4.3.1) and ZooKeeper (3.9.2), kills, controlled shutdowns, racks, sequences;
`python -m tests.cluster.record` records them again, `python -m tests.cluster.compare` asks a live cluster.
"""

import json
import os
import re
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs import ingest
from jobs.failure.scenarios import Scenario
from jobs.spark.session import dataframe_from_arrow
from jobs.steps import broker_restart, failover
from tests.jobs.rows import run_step
from tests.jobs.simulation import simulated

KILLED = Path(os.environ.get("TOPOLOGY_KILLED", Path(__file__).parents[1] / "snapshots" / "killed"))
LINE = re.compile(
    r"^\tTopic: (\S+)\tPartition: (\d+)\tLeader: (\S+)\tReplicas: \S+\tIsr: (\S*)(?:\tElr: (\S*)\tLastKnownElr: (\S*))?", re.M
)
State = tuple[int | None, frozenset[int], frozenset[int] | None, frozenset[int] | None]


def losses(story: str) -> list[tuple[str, list[int], bool]]:
    """What the cluster showed as its brokers went one after the other, before any came back: the dump, who was gone, in order or not."""
    gone: list[int] = []
    shown = []
    for step in json.loads((KILLED / story / "scenario.json").read_text())["steps"]:
        if step["step"] == "start":
            break
        gone = [*gone, *step["fenced"]]
        if step["file"]:
            shown.append((step["file"], gone, step["step"] == "stop"))
    return shown


def states(dump: Path) -> dict[tuple[str, int], State]:
    def ids(text: str | None) -> frozenset[int] | None:
        return None if text in (None, "N/A") else frozenset(int(id) for id in text.split(",") if id)

    found = LINE.findall(dump.read_text())
    return {(topic, int(partition)): (None if leader == "none" else int(leader), ids(isr) or frozenset(), ids(elr), ids(known))
            for topic, partition, leader, isr, elr, known in found}  # fmt: skip


STORIES = sorted(folder.name for folder in KILLED.iterdir())
CASES = [(story, *loss) for story in STORIES for loss in losses(story)]


@pytest.fixture(scope="module")
def predicted(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], dict[tuple[str, int], State]]:
    """Of each story and dump, the states of the partitions that the loss touches."""
    source = tmp_path_factory.mktemp("killed")
    for story in STORIES:
        (source / story).mkdir()
        shutil.copy(KILLED / story / "0-before.txt", source / story)
        racks = json.loads((KILLED / story / "scenario.json").read_text())["racks"]
        (source / story / "brokers.csv").write_text("broker_id,rack\n" + "".join(f"{id},{rack}\n" for id, rack in racks.items()))
    tables = {
        table: dataframe_from_arrow(spark, rows, table.columns)
        for table, rows in zip(ingest.WRITES, ingest.read(lambda: spark, str(source), "s"), strict=True)
    }
    scenarios = [Scenario("s", story, "test", dump, "what-if", gone, controlled_shutdown=stopped) for story, dump, gone, stopped in CASES]
    of = {table: tables[table] if table in tables else spark.createDataFrame([], table.columns) for table in failover.READS}
    _, failed, _ = simulated(scenarios, of)
    found: dict[tuple[str, str], dict[tuple[str, int], State]] = {}
    for row in failed.collect():
        sets = (None if row.elr is None else frozenset(row.elr), None if row.last_known_elr is None else frozenset(row.last_known_elr))
        found.setdefault((row.cluster_id, row.scenario_id), {})[row.topic, row.partition] = (row.leader, frozenset(row.isr), *sets)
    return found


@pytest.mark.parametrize(("story", "dump", "gone", "stopped"), CASES, ids=lambda value: str(value).removesuffix(".txt"))
def test_the_cluster_did_as_predicted(
    predicted: dict[tuple[str, str], dict[tuple[str, int], State]], story: str, dump: str, gone: list[int], stopped: bool
) -> None:
    before, after = states(KILLED / story / "0-before.txt"), states(KILLED / story / dump)
    touched = predicted[story, dump]
    assert before.keys() == after.keys()
    assert touched.keys() <= after.keys()
    wrong = {key: (touched.get(key, before[key]), shown) for key, shown in after.items() if touched.get(key, before[key]) != shown}
    assert wrong == {}
    assert any(before[key] != after[key] for key in touched)


def returns() -> list[tuple[str, str, list[int], int, str]]:
    """Where one broker came back after it was killed: the dump before, who was gone, who came, the dump after."""
    found = []
    for story in STORIES:
        gone: list[int] = []
        killed, file = set(), "0-before.txt"
        for step in json.loads((KILLED / story / "scenario.json").read_text())["steps"]:
            if step["step"] != "start":
                gone += step["brokers"]
                killed |= set(step["brokers"]) if step["step"] == "kill" else set()
            elif file and step["file"] and killed.issuperset(step["brokers"]) and len(step["brokers"]) == 1:
                found.append((story, file, list(gone), step["brokers"][0], step["file"]))
            if step["step"] == "start":
                gone = [broker for broker in gone if broker not in step["brokers"]]
            file = step["file"]
    return found


RETURNS = returns()


@pytest.fixture(scope="module")
def returned(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], int]:
    """Of each dump with dead brokers (a cluster each) and broker, the partitions that its return gives a leader."""
    source = tmp_path_factory.mktemp("returned")
    for story, file, gone, *_ in RETURNS:
        folder = source / f"{story} {file}"
        folder.mkdir(exist_ok=True)
        shutil.copy(KILLED / story / file, folder)
        racks = json.loads((KILLED / story / "scenario.json").read_text())["racks"]
        (folder / "brokers.csv").write_text(
            "broker_id,rack\n" + "".join(f"{id},{rack}\n" for id, rack in racks.items() if int(id) not in gone)
        )
        if "Elr: \t" in (KILLED / story / file).read_text():
            (folder / "features.txt").write_text("".join(f"Feature: {name}\tSupportedMinVersion: 0\tSupportedMaxVersion: 9\tFinalizedVersionLevel: 1\tEpoch: 1\n" for name in ("metadata.version", "eligible.leader.replicas.version")))  # fmt: skip
    tables = {
        table: dataframe_from_arrow(spark, rows, table.columns)
        for table, rows in zip(ingest.WRITES, ingest.read(lambda: spark, str(source), "s"), strict=True)
    }
    of = [tables[table] if table in tables else spark.createDataFrame([], table.columns) for table in broker_restart.READS]
    (restart,) = run_step(broker_restart, *of, parameters={})
    return {(row.cluster_id, row.broker_id): row.revived_partitions for row in restart.collect()}


@pytest.mark.parametrize(("story", "before", "gone", "came", "after"), RETURNS, ids=lambda value: str(value).removesuffix(".txt"))
def test_a_broker_that_came_back_led_what_it_was_said_to(
    returned: dict[tuple[str, int], int], story: str, before: str, gone: list[int], came: int, after: str
) -> None:
    was, then = states(KILLED / story / before), states(KILLED / story / after)
    assert returned[f"{story} {before}", came] == sum(state[0] is None and then[key][0] is not None for key, state in was.items())
