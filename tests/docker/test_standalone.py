"""A night on a Spark standalone cluster: the commands of compose.yaml for master and worker, run as processes on this machine."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from jobs.cli import BUNDLED
from jobs.lake.lake import open_lake
from jobs.night import JOBS, NIGHT
from jobs.schema import SCENARIO, TABLES, Table
from tests.docker.standalone import ROOT, Cluster, health_check, rows, standalone, wiring

DAY = "2026-01-31"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with standalone(tmp_path_factory.mktemp("spark")) as cluster:
        yield cluster


def test_master_and_worker_pass_their_health_checks(cluster: Cluster) -> None:
    services = yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text())["services"]
    (worker,) = cluster.status()["workers"]
    for name, url in (("spark-master", cluster.ui), ("spark-worker", worker["webuiaddress"])):
        done = health_check(services[name], url)
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def lakes(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two lakes with the same night: a folder, written by the tasks of the DAG, and a URI, written by one Spark application."""
    folder = tmp_path_factory.mktemp("night")
    wired = os.environ | wiring(folder, cluster.master)
    subprocess.run(["airflow", "db", "migrate"], env=wired, check=True, capture_output=True)
    night = ["airflow", "dags", "test", "nightly", "--conf", json.dumps({"snapshot": DAY})]
    run = subprocess.run(night, env=wired, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    what_if = ["airflow", "dags", "test", "what_if", "--conf", json.dumps({"cluster": "orders-eu", "brokers": ["1", "3"]})]
    run = subprocess.run(what_if, env=wired, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    settings = ["--master", cluster.master, "--properties-file", str(folder / "spark.properties"), "--name", "one application"]
    arguments = ["nightly", str(BUNDLED), "--lake", (folder / "uri").as_uri(), "--snapshot", DAY]
    run = subprocess.run(["spark-submit", *settings, str(ROOT / "jobs" / "cli.py"), *arguments], env=wired, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    return folder / "lake", folder / "uri"


def test_the_what_if_stores_its_scenario(lakes: tuple[Path, Path]) -> None:
    scenario = open_lake(str(lakes[0]), pytest.fail).read_local(SCENARIO).to_pylist()
    (what_if,) = [row for row in scenario if row["kind"] == "what-if"]
    assert (what_if["cluster_id"], what_if["brokers"]) == ("orders-eu", [1, 3])


def test_every_step_ran_on_the_cluster(cluster: Cluster, lakes: tuple[Path, Path]) -> None:
    finished = {app["name"] for app in cluster.status()["completedapps"] if app["state"] == "FINISHED"}
    steps = {"topology " + "_".join(word for word in step if word not in ("step", "")) for step in NIGHT}
    # Only steps need Spark; other tasks may not start it.
    assert finished >= {step for step in steps if step.removeprefix("topology ") in JOBS}
    assert finished <= steps | {"one application", "topology what_if"}
    assert "one application" in finished


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_spark_writes_the_same_rows_as_delta_rs(lakes: tuple[Path, Path], table: Table) -> None:
    folder, uri = (rows(lake, table) for lake in lakes)
    assert folder.except_(uri).fetchall() == []
    assert uri.except_(folder).fetchall() == []
    assert len(folder) == len(uri)
