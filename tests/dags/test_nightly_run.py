"""The tasks of the nightly DAG that end in more ways than green and red, run by Airflow with real spark-submits, without a scheduler."""

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
from jobs.lake.lake import Lake
from jobs.schema import BY_NAME, TABLES
from jobs.spark.session import properties_file
from jobs.views import VIEWS
from tests.jobs.lake.test_publish import BAD_TABLE, FIRST, SECOND, THIRD, night

DAGS = Path(__file__).parents[2] / "dags"
ALL_BEFORE_PUBLISH = "(?!publish$|report$).*"


@dataclass(frozen=True, slots=True)
class Runs:
    """What became of a night with a sound cluster, of one whose cluster is withheld, and of one without a readable dump."""

    published: dict[str, Any]
    withheld: dict[str, Any]
    unreadable: dict[str, Any]
    log: str


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    folder = tmp_path_factory.mktemp("nightly")
    lake = Lake(str(folder / "lake"), pytest.fail)
    for table in TABLES:
        lake.create(table)
    night(lake, FIRST, "east", "west")
    night(lake, SECOND, withheld={"east": [BAD_TABLE]})
    (folder / "source" / "east").mkdir(parents=True)
    (folder / "source" / "east" / "topics.txt").write_text("garbage")
    wired = environment(lake=lake.uri, source=folder / "source", home=folder / "airflow", spark_properties=properties_file())
    asked = [f"{FIRST}={ALL_BEFORE_PUBLISH}", f"{SECOND}={ALL_BEFORE_PUBLISH}", THIRD]
    command = [sys.executable, "-m", "tests.dags.run_nightly", str(DAGS), *asked]
    done = subprocess.run(
        command, env=os.environ | wired | {"AIRFLOW_VAR_TOPOLOGY_RETIRED_CLUSTERS": "west"}, capture_output=True, text=True, timeout=540
    )
    log = done.stdout + done.stderr
    assert done.returncode == 0, log[-3000:]
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"state"')]
    return Runs(*found, log)


def test_every_asset_fires_with_the_clusters_of_its_night(runs: Runs) -> None:
    assert (runs.published["state"], runs.published["tasks"]["publish"], runs.published["tasks"]["report"]) == ("success",) * 3
    extra = {"snapshot_id": FIRST, "clusters": ["east", "west"]}
    assert runs.published["events"] == {f"topology.{view}": extra for view in (*BY_NAME, *VIEWS)}


def test_no_asset_fires_if_nothing_is_published_and_the_report_is_red(runs: Runs) -> None:
    assert (runs.withheld["tasks"]["publish"], runs.withheld["tasks"]["report"]) == ("skipped", "failed")
    assert runs.withheld["events"] == {}
    # The Variable of retired clusters has west: it is not absent.
    assert f"topology-audit: absent from snapshot {SECOND} (view absent_cluster): east (withheld: failover.one_outcome: " in runs.log
    assert "west (no folder" not in runs.log
    assert "(readers see the last published night of each absent cluster, and this night of the others)" in runs.log


def test_nothing_runs_after_an_ingest_without_a_readable_dump(runs: Runs) -> None:
    tasks = dict(runs.unreadable["tasks"])
    assert (tasks.pop("capture"), tasks.pop("ingest")) == ("success", "failed")  # and not up for retry
    assert len(tasks) == 17
    assert set(tasks.values()) == {"upstream_failed"}
    assert runs.unreadable["events"] == {}
    assert "has no readable dump, such as in cluster east: topics.txt: unknown format" in runs.log
