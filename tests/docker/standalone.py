"""A Spark standalone cluster by compose.yaml's own commands, as processes on this machine."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import requests
import yaml

from jobs.airflow import environment
from jobs.cli import BUNDLED
from jobs.lake.lake import Lake
from jobs.schema import SNAPSHOT, VALIDATION, Table
from jobs.spark.session import properties_file

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Cluster:
    master: str
    ui: str
    workers: tuple[int, ...]  # process ids

    def status(self) -> dict[str, Any]:
        try:
            return requests.get(f"{self.ui}/json/", timeout=10).json()
        except requests.ConnectionError:
            return {"aliveworkers": 0}


@contextmanager
def standalone(folder: Path, *, workers: int = 1, cores: int | None = None) -> Iterator[Cluster]:
    """The master and so many workers, of compose.yaml's cores or of these, until the block ends."""
    services = yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text())["services"]
    port, ui = free_port(), free_port()
    master = f"spark://127.0.0.1:{port}"
    here = {"spark-master": "127.0.0.1", "7077": str(port), "8081": str(ui), "spark://spark-master:7077": master}
    here["/tmp/spark"] = str(folder)
    wired = os.environ | wiring(folder, master)
    processes = []
    for number, service in enumerate(["spark-master", *["spark-worker"] * workers]):
        command = [here.get(word, word) for word in services[service]["command"]]
        if service == "spark-worker":
            command[2:2] = ["--host", "127.0.0.1", "--webui-port", "0"]
            if cores is not None:
                command[command.index("--cores") + 1] = str(cores)
        with (folder / f"{service}-{number}.log").open("w") as log:
            processes.append(subprocess.Popen(command, env=wired, stdout=log, stderr=subprocess.STDOUT))
    cluster = Cluster(master, f"http://127.0.0.1:{ui}", tuple(process.pid for process in processes[1:]))
    try:
        while cluster.status()["aliveworkers"] < workers:
            assert not any(process.poll() for process in processes), (folder / "spark-worker-1.log").read_text()
            time.sleep(0.2)
        yield cluster
    finally:
        for process in processes:
            process.terminate()
            process.wait()


def wiring(folder: Path, master: str) -> dict[str, str]:
    """Airflow's variables, with the settings that the image puts together."""
    settings = folder / "spark.properties"
    settings.write_text(properties_file().read_text() + (ROOT / "docker" / "spark-defaults.conf").read_text())
    return environment(lake=folder / "lake", source=BUNDLED, home=folder / "airflow", spark_properties=settings, master=master)


def health_check(service: dict[str, Any], url: str) -> subprocess.CompletedProcess[str]:
    """Run the service's health check as the container would, against this URL."""
    mark, python, option, script = service["healthcheck"]["test"]
    assert (mark, python, option) == ("CMD", "python", "-c")
    here, replaced = re.subn(r"http://127\.0\.0\.1:\d+", url, script)
    assert replaced == 1
    return subprocess.run([sys.executable, option, here], capture_output=True, text=True, timeout=60)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def rows(lake: Path, table: Table) -> duckdb.DuckDBPyRelation:
    """What two runs of the same night must have alike."""

    def none() -> Any:
        raise AssertionError("no Spark is needed")

    told = duckdb.from_arrow(Lake(lake.as_uri(), none).dataset(table))
    if "scenario_set" in table.schema.names:
        told = told.filter("scenario_set = 'nightly'")
    # When it was published, and which of the broken rows is the example, are each run's own.
    own = {SNAPSHOT: "published_at", VALIDATION: "example"}
    return told.project(f"* EXCLUDE ({own[table]})") if table in own else told
