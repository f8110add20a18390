"""Failover predicted from a real cluster's dump equals, partition by partition, the dump that the cluster gave after its brokers died.

tests/snapshots/killed has the dumps: KRaft with ELR (4.3.1) and ZooKeeper (3.9.2), kills, controlled shutdowns, racks, sequences;
`python -m tests.cluster.record` records them again.
"""

import json
import re
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs import failover, ingest
from jobs.lake import frame
from jobs.tables import BROKER, CLUSTER, CONSUMER_GROUP, PARTITION, PRODUCER_LOAD, TOPIC

KILLED = Path(__file__).parents[1] / "snapshots" / "killed"
LINE = re.compile(r"^\tTopic: (\S+)\tPartition: (\d+)\tLeader: (\S+)\tReplicas: \S+\tIsr: (\S*)(?:\tElr: (\S*)\tLastKnownElr: (\S*))?", re.M)
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
    tables = {table: frame(spark, table, rows) for table, rows in zip(ingest.WRITES, ingest.read(lambda: spark, str(source), "s"), strict=True)}
    asked = [("s", story, "test", dump, "what-if", gone, [], None, stopped) for story, dump, gone, stopped in CASES]
    of = [tables[table] for table in (CLUSTER, BROKER, TOPIC, PARTITION)]
    _, failed, _ = failover.outcome(spark.createDataFrame(asked, failover.ASKED), *of, *(spark.createDataFrame([], table.columns) for table in (PRODUCER_LOAD, CONSUMER_GROUP)))
    found: dict[tuple[str, str], dict[tuple[str, int], State]] = {}
    for row in failed.collect():
        sets = (None if row.elr is None else frozenset(row.elr), None if row.last_known_elr is None else frozenset(row.last_known_elr))
        found.setdefault((row.cluster_id, row.scenario_id), {})[row.topic, row.partition] = (row.leader, frozenset(row.isr), *sets)
    return found


@pytest.mark.parametrize(("story", "dump", "gone", "stopped"), CASES, ids=lambda value: str(value).removesuffix(".txt"))
def test_the_cluster_did_as_predicted(predicted: dict[tuple[str, str], dict[tuple[str, int], State]], story: str, dump: str, gone: list[int], stopped: bool) -> None:
    before, after = states(KILLED / story / "0-before.txt"), states(KILLED / story / dump)
    touched = predicted[story, dump]
    assert before.keys() == after.keys()
    assert touched.keys() <= after.keys()
    wrong = {key: (touched.get(key, before[key]), shown) for key, shown in after.items() if touched.get(key, before[key]) != shown}
    assert wrong == {}
    assert any(before[key] != after[key] for key in touched)
