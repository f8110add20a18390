"""A Spark standalone cluster on this machine: the commands of compose.yaml, run as processes."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.compute as pc
import requests
import yaml

from jobs.airflow import environment
from jobs.cli import BUNDLED
from jobs.lake.lake import open_lake
from jobs.schema import PARAMETER, SNAPSHOT, VALIDATION, Table
from jobs.spark.scale import Scale
from jobs.spark.session import properties_file

ROOT = Path(__file__).parents[2]
Row = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running cluster: the URLs of its master and of its UI, and the process ids of its workers."""

    master: str
    ui: str
    workers: tuple[int, ...]

    def status(self) -> dict[str, Any]:
        """Return what the master reports, or no live workers while it does not answer."""
        try:
            return requests.get(f"{self.ui}/json/", timeout=10).json()
        except requests.ConnectionError:
            return {"aliveworkers": 0}

    def finished(self) -> set[str]:
        """Return the names of the applications that ended without an error."""
        return {app["name"] for app in self.status()["completedapps"] if app["state"] == "FINISHED"}


@contextmanager
def standalone(folder: Path, *, workers: int = 1, cores: int | None = None) -> Iterator[Cluster]:
    """Run a master and this many workers until the block ends; `cores` replaces the number of cores in compose.yaml."""
    services = yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text())["services"]
    port, ui = free_port(), free_port()
    master = f"spark://127.0.0.1:{port}"
    local = {"spark-master": "127.0.0.1", "7077": str(port), "8081": str(ui), "spark://spark-master:7077": master}
    local["/tmp/spark"] = str(folder)
    wired = os.environ | wiring(folder, master)
    processes = []
    for number, service in enumerate(["spark-master", *["spark-worker"] * workers]):
        command = [local.get(word, word) for word in services[service]["command"]]
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


def run(command: Sequence[str], variables: Mapping[str, str]) -> None:
    """Run a command with these environment variables, and fail with the end of its output if it fails."""
    done = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def wiring(folder: Path, master: str, source: Path = BUNDLED, lake: str | None = None) -> dict[str, str]:
    """Return the environment variables of Airflow, with the Spark settings that the image contains; the lake is by default in the folder."""
    settings = folder / "spark.properties"
    settings.write_text(properties_file().read_text() + (ROOT / "docker" / "spark-defaults.conf").read_text())
    return environment(
        lake=lake or folder / "lake", source=source, home=folder / "airflow", spark_properties=dict.fromkeys(Scale, settings), master=master
    )


def health_check(service: dict[str, Any], url: str) -> subprocess.CompletedProcess[str]:
    """Run the health check of a service as its container does, against this URL."""
    kind, python, option, script = service["healthcheck"]["test"]
    assert (kind, python, option) == ("CMD", "python", "-c")
    local_script, replaced = re.subn(r"http://127\.0\.0\.1:\d+", url, script)
    assert replaced == 1
    return subprocess.run([sys.executable, option, local_script], capture_output=True, text=True, timeout=60)


def free_port() -> int:
    """Return a port of this machine that nothing listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def rows(lake: str, table: Table, snapshot_id: str) -> duckdb.DuckDBPyRelation:
    """Return the rows and columns of a table that two runs of the same night have in common: those of its newest attempt."""

    def no_spark() -> Any:
        raise AssertionError("reading needs no Spark")

    opened = open_lake(lake, no_spark)
    begun = opened.dataset(PARAMETER).to_table(["attempt_id"], filter=pc.field("snapshot_id") == snapshot_id)["attempt_id"].to_pylist()
    relation = duckdb.from_arrow(opened.dataset(table)).filter(f"snapshot_id = '{snapshot_id}' AND attempt_id = '{max(begun, key=int)}'")
    if "scenario_set" in table.schema.names:
        relation = relation.filter("scenario_set = 'nightly'")
    # The time of publication and the choice of the example differ between runs.
    varying = {SNAPSHOT: ("published_at",), VALIDATION: ("example",)}
    return relation.project(f"* EXCLUDE ({', '.join(('attempt_id', *varying.get(table, ())))})")


def differing_rows(lake: str, other: str, table: Table, snapshot_id: str) -> tuple[list[Row], list[Row]]:
    """Return the rows of a table that only one of the lakes has; a row that one has more often than the other counts too."""
    one, two = rows(lake, table, snapshot_id), rows(other, table, snapshot_id)
    return one.except_(two).fetchall(), two.except_(one).fetchall()
