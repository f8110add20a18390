"""The night on a Spark standalone cluster: compose.yaml's own commands for master and worker, started as processes on this machine."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest
import requests
import yaml

from dags.environment import environment
from jobs.lake import Lake
from jobs.run import JOBS, NIGHT
from jobs.session import properties_file
from jobs.tables import SCENARIO, SNAPSHOT, TABLES, VALIDATION, Table

ROOT = Path(__file__).parents[2]
BUNDLED = ROOT / "tests" / "snapshots" / "bundled"
DAY = "2026-01-31"


@dataclass(frozen=True, slots=True)
class Cluster:
    master: str
    ui: str

    def status(self) -> dict[str, Any]:
        try:
            return requests.get(f"{self.ui}/json/", timeout=10).json()
        except requests.ConnectionError:
            return {"aliveworkers": 0}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("spark")
    services = yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text())["services"]
    port, ui = free_port(), free_port()
    cluster = Cluster(f"spark://127.0.0.1:{port}", f"http://127.0.0.1:{ui}")
    here = {"spark-master": "127.0.0.1", "7077": str(port), "8081": str(ui), "spark://spark-master:7077": cluster.master}
    here["/tmp/spark"] = str(folder)
    wired = os.environ | wiring(folder, cluster.master)
    processes = []
    for service in ("spark-master", "spark-worker"):
        command = [here.get(word, word) for word in services[service]["command"]]
        more = [] if service == "spark-master" else ["--host", "127.0.0.1", "--webui-port", "0"]
        with (folder / f"{service}.log").open("w") as log:
            processes.append(subprocess.Popen([*command[:2], *more, *command[2:]], env=wired, stdout=log, stderr=subprocess.STDOUT))
    while cluster.status()["aliveworkers"] < 1:
        assert [process.poll() for process in processes] == [None, None], (folder / "spark-worker.log").read_text()
        time.sleep(0.2)
    yield cluster
    for process in processes:
        process.terminate()
        process.wait()


def wiring(folder: Path, master: str) -> dict[str, str]:
    """Airflow's variables, with the settings that the image puts together."""
    settings = folder / "spark.properties"
    settings.write_text(properties_file().read_text() + (ROOT / "docker" / "spark-defaults.conf").read_text())
    return environment(lake=folder / "lake", source=BUNDLED, home=folder / "airflow", spark_properties=settings, master=master)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def rows(lake: Path, table: Table) -> duckdb.DuckDBPyRelation:
    told = duckdb.from_arrow(Lake(lake.as_uri(), pytest.fail).dataset(table))
    if "scenario_set" in table.schema.names:
        told = told.filter("scenario_set = 'nightly'")
    # When it was published, and which of the broken rows is the example, are each run's own.
    own = {SNAPSHOT: "published_at", VALIDATION: "example"}
    return told.project(f"* EXCLUDE ({own[table]})") if table in own else told


@pytest.fixture(scope="module")
def lakes(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The night as the DAG's tasks run it, its few rows in a folder; and as one application does, all of them through Spark to a URI."""
    folder = tmp_path_factory.mktemp("night")
    wired = os.environ | wiring(folder, cluster.master)
    subprocess.run(["airflow", "db", "migrate"], env=wired, check=True, capture_output=True)
    night = ["airflow", "dags", "test", "nightly", "--conf", json.dumps({"snapshot": DAY})]
    run = subprocess.run(night, env=wired, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    asked = ["airflow", "dags", "test", "what_if", "--conf", json.dumps({"cluster": "orders-eu", "brokers": ["1", "3"]})]
    run = subprocess.run(asked, env=wired, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    settings = ["--master", cluster.master, "--properties-file", str(folder / "spark.properties"), "--name", "one application"]
    asked = ["nightly", str(BUNDLED), "--lake", (folder / "uri").as_uri(), "--snapshot", DAY]
    run = subprocess.run(["spark-submit", *settings, str(ROOT / "jobs" / "cli.py"), *asked], env=wired, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    return folder / "lake", folder / "uri"


def test_the_what_if_is_answered_on_the_cluster(lakes: tuple[Path, Path]) -> None:
    scenario = Lake(str(lakes[0]), pytest.fail).rows(SCENARIO)
    (asked,) = [row for row in scenario if row["kind"] == "what-if"]
    assert (asked["cluster_id"], asked["brokers"]) == ("orders-eu", [1, 3])


def test_every_step_ran_on_the_cluster(cluster: Cluster, lakes: tuple[Path, Path]) -> None:
    ran = {app["name"] for app in cluster.status()["completedapps"] if app["state"] == "FINISHED"}
    steps = {"topology " + "_".join(word for word in step if word not in ("step", "")) for step in NIGHT}
    # A task that needs no Spark starts none.
    assert ran >= {step for step in steps if step.removeprefix("topology ") in JOBS}
    assert ran <= steps | {"one application", "topology what_if"}
    assert "one application" in ran


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_spark_writes_the_same_rows_as_delta_rs(lakes: tuple[Path, Path], table: Table) -> None:
    there, here = (rows(lake, table) for lake in lakes)
    assert there.except_(here).fetchall() == []
    assert here.except_(there).fetchall() == []
    assert len(there) == len(here)
