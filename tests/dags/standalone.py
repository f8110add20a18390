"""`airflow standalone`, wired as `topology-audit airflow` wires it, and its REST API."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil
import requests

from jobs.airflow import environment
from jobs.spark.session import properties_file

DAGS = {"maintenance", "nightly", "plan", "what_if"}
_LOCAL = "airflow.dag_processing.bundles.local.LocalDagBundle"


@dataclass(frozen=True, slots=True)
class Airflow:
    """A running Airflow."""

    process: psutil.Process
    url: str
    home: Path
    lake: Path

    @property
    def password(self) -> str:
        return json.loads((self.home / "simple_auth_manager_passwords.json.generated").read_text())["admin"]

    @property
    def token(self) -> str:
        login = {"username": "admin", "password": self.password}
        return requests.post(f"{self.url}/auth/token", json=login, timeout=60).json()["access_token"]

    def call(self, method: str, path: str, **json: Any) -> Any:
        token = {"Authorization": f"Bearer {self.token}"}
        answer = requests.request(method, f"{self.url}/api/v2/{path}", json=json or None, headers=token, timeout=60)
        assert answer.ok, answer.text
        return answer.json()

    def trigger(self, dag_id: str, **form: Any) -> str:
        return self.call("POST", f"dags/{dag_id}/dagRuns", logical_date=None, conf=form)["dag_run_id"]

    def run(self, dag_id: str, run_id: str) -> dict[str, Any]:
        return self.call("GET", f"dags/{dag_id}/dagRuns/{quote(run_id)}")

    def ended(self, dag_id: str, run_id: str) -> str:
        """The run's state, once it has ended."""
        return until(lambda: self.run(dag_id, run_id)["state"] in ("success", "failed") and self.run(dag_id, run_id)["state"])

    def task(self, dag_id: str, run_id: str, task_id: str) -> dict[str, Any]:
        return self.call("GET", f"dags/{dag_id}/dagRuns/{quote(run_id)}/taskInstances/{task_id}")

    def log(self, dag_id: str, run_id: str, task_id: str) -> list[str]:
        lines = self.call("GET", f"dags/{dag_id}/dagRuns/{quote(run_id)}/taskInstances/{task_id}/logs/1")["content"]
        return [line["event"] for line in lines]

    def page(self, dag_id: str, run_id: str, file: str = "", *, known: bool = True) -> requests.Response:
        """A file of the run's report as a browser gets it, with the cookie of a person who is logged in."""
        browser = requests.Session()
        if known:
            browser.cookies.set("_token", self.token)
        # Prepared by hand: requests would resolve the dots of a hostile path itself.
        request = browser.prepare_request(requests.Request("GET", self.url))
        request.url = f"{self.url}/topology-report/{quote(dag_id, safe='')}/{quote(run_id, safe='')}/{file}"
        return browser.send(request, timeout=60)


@contextmanager
def standalone(folder: Path, source: Path, *more_dags: Path) -> Iterator[Airflow]:
    """Airflow wired to this clone, with every DAG known to it; stopped at the end with all its processes."""
    home, lake, port = folder / "airflow", folder / "lake", three_free_ports()
    bundles = {"dags-folder": None} | {path.name: str(path) for path in more_dags}
    wired = environment(lake=lake, source=source, home=home, spark_properties=properties_file(), port=port) | {
        "AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST": json.dumps(
            [{"name": name, "classpath": _LOCAL, "kwargs": {"path": path} if path else {}} for name, path in bundles.items()]
        )
    }
    more = {path.stem for folder in more_dags for path in folder.glob("*.py")}
    with started(["airflow", "standalone"], os.environ | wired, folder, home=home, lake=lake, port=port, more_dags=more) as airflow:
        yield airflow


@contextmanager
def started(
    command: list[str], environment: dict[str, str], folder: Path, *, home: Path, lake: Path, port: int, more_dags: Set[str] = frozenset()
) -> Iterator[Airflow]:
    """The Airflow that the command starts, with every DAG known to it; stopped at the end with all its processes."""
    with (folder / "airflow.log").open("w") as log:
        process = psutil.Popen(command, env=environment, cwd=folder, stdout=log, stderr=subprocess.STDOUT)
    airflow = Airflow(process, f"http://127.0.0.1:{port}", home, lake)
    try:
        dags = DAGS | more_dags
        until(lambda: process.is_running() and _up(airflow) and {dag["dag_id"] for dag in airflow.call("GET", "dags")["dags"]} >= dags)
        yield airflow
    finally:
        family = [*process.children(recursive=True), process]
        for member in family:
            _quietly(member.terminate)
        for member in psutil.wait_procs(family, timeout=20)[1]:
            _quietly(member.kill)


def until(holds: Callable[[], Any], seconds: float = 1800) -> Any:
    """Wait for it, and return it; the limit only keeps a broken run from hanging the suite."""
    deadline = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.5)
    return found


def _up(airflow: Airflow) -> bool:
    try:
        health = requests.get(f"{airflow.url}/api/v2/monitor/health", timeout=10).json()
    except requests.RequestException:
        return False
    return all(health[part]["status"] == "healthy" for part in ("metadatabase", "scheduler", "dag_processor"))


def three_free_ports() -> int:
    """The first of three ports in a row that nobody listens on."""
    while True:
        with socket.socket() as first:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            with socket.socket() as second, socket.socket() as third:
                if port < 65000 and second.connect_ex(("127.0.0.1", port + 1)) and third.connect_ex(("127.0.0.1", port + 2)):
                    return port


def _quietly(end: Callable[[], None]) -> None:
    try:
        end()
    except psutil.NoSuchProcess:
        return
