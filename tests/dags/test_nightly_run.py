"""The states of `ingest`, `publish` and `report` in the nightly DAG, run by Airflow with real spark-submits and without a scheduler."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from jobs.airflow import environment
from jobs.ingest import WRITES
from jobs.night import VERDICT_READS
from jobs.schema import BY_NAME
from jobs.spark.scale import Scale
from jobs.spark.session import properties_file
from jobs.views import VIEWS
from tests.jobs.empty_lake import empty_lake
from tests.jobs.lake.test_publish import BAD_TABLE, FIRST, SECOND, THIRD, night

DAGS = Path(__file__).parents[2] / "dags"
EVERY_TASK_BEFORE_PUBLISH = "(?!publish$|report$|notify$).*"


@dataclass(frozen=True, slots=True)
class Runs:
    """The results of three nights: with published clusters, with the only cluster withheld, and without a readable dump."""

    published: dict[str, Any]
    withheld: dict[str, Any]
    unreadable: dict[str, Any]
    log: str
    lineage: list[dict[str, Any]]  # the events that OpenLineage's provider sent
    lake: str


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    folder = tmp_path_factory.mktemp("nightly")
    lake = empty_lake(folder / "lake")
    night(lake, FIRST, "east", "west")
    night(lake, SECOND, withheld={"east": [BAD_TABLE]})
    (folder / "source" / "east").mkdir(parents=True)
    (folder / "source" / "east" / "topics.txt").write_text("garbage")
    variables = environment(
        lake=lake.uri,
        source=folder / "source",
        home=folder / "airflow",
        spark_properties={scale: properties_file(scale) for scale in Scale},
    )
    nights = [f"{FIRST}={EVERY_TASK_BEFORE_PUBLISH}", f"{SECOND}={EVERY_TASK_BEFORE_PUBLISH}", THIRD]
    command = [sys.executable, "-m", "tests.dags.run_nightly", str(DAGS), *nights]
    events = folder / "lineage.jsonl"
    transport = {"type": "file", "log_file_path": str(events), "append": True}
    variables |= {"AIRFLOW_VAR_TOPOLOGY_RETIRED_CLUSTERS": "west", "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps(transport)}
    process = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, timeout=540)
    log = process.stdout + process.stderr
    assert process.returncode == 0, log[-3000:]
    results = [json.loads(line) for line in process.stdout.splitlines() if line.startswith('{"state"')]
    return Runs(*results, log, [json.loads(line) for line in events.read_text().splitlines()], lake.uri)


def test_every_asset_event_lists_the_clusters_of_the_night(runs: Runs) -> None:
    assert (runs.published["state"], runs.published["tasks"]["publish"], runs.published["tasks"]["report"]) == ("success",) * 3
    extra = {"snapshot_id": FIRST, "clusters": ["east", "west"]}
    assert runs.published["events"] == {f"topology.{view}": extra for view in (*BY_NAME, *VIEWS)}


def test_the_forms_suggest_each_cluster_that_readers_see(runs: Runs) -> None:
    assert runs.published["clusters"] == ["east", "west"]
    assert runs.withheld["clusters"] == ["east"]  # its first night is published; west is retired


def test_a_night_without_a_published_cluster_has_no_asset_event_and_a_red_report(runs: Runs) -> None:
    assert (runs.withheld["tasks"]["publish"], runs.withheld["tasks"]["report"]) == ("skipped", "failed")
    assert runs.withheld["events"] == {}
    # The cluster west is retired, so it is not absent.
    assert f"topology-audit: absent from snapshot {SECOND} (view absent_cluster): east (withheld: failover.one_outcome: " in runs.log
    assert "west (no folder" not in runs.log
    assert "(readers see the last published night of each absent cluster, and this night of the others)" in runs.log


def test_an_ingest_without_a_readable_dump_fails_the_run_without_a_retry(runs: Runs) -> None:
    tasks = dict(runs.unreadable["tasks"])
    assert (tasks.pop("capture"), tasks.pop("ingest")) == ("success", "failed")  # not "up_for_retry"
    assert len(tasks) == 18
    assert set(tasks.values()) == {"upstream_failed"}
    assert runs.unreadable["events"] == {}
    assert "has no readable dump, for example in cluster east: topics.txt: unknown format" in runs.log


@pytest.mark.parametrize(
    ("task", "states", "inputs", "outputs"),
    [
        (
            "publish",
            ["START", "COMPLETE"] * 2,
            {"cluster", "input_file", "rejected_input", "snapshot", *(table.name for table in VERDICT_READS)},
            {"verdict", "absent_cluster", "snapshot"},
        ),
        ("ingest", ["START", "FAIL"], set(), {table.name for table in WRITES} | {"parameter"}),
    ],
)
def test_a_lineage_backend_receives_the_tables_of_a_task(
    runs: Runs, task: str, states: list[str], inputs: set[str], outputs: set[str]
) -> None:
    events = [event for event in runs.lineage if event["job"]["name"] == f"nightly.{task}"]
    assert [event["eventType"] for event in events] == states
    for event in events:
        for side, tables in (("inputs", inputs), ("outputs", outputs)):
            assert {(dataset["namespace"], dataset["name"]) for dataset in event[side]} == {
                ("file", f"{runs.lake}/{table}") for table in tables
            }
