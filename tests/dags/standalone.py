"""Start `airflow standalone` with the environment of `topology-audit airflow`, and call its REST API."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil
import requests

from jobs.airflow import environment
from jobs.spark.scale import Scale
from jobs.spark.session import properties_file

DAGS = {"maintenance", "nightly", "plan", "what_if"}
_LOCAL = "airflow.dag_processing.bundles.local.LocalDagBundle"


@dataclass(frozen=True, slots=True)
class Airflow:
    """A running Airflow: its main process, the URL of its UI, its AIRFLOW_HOME and its lake."""

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
        """Call the REST API and return the body of the response, parsed."""
        headers = {"Authorization": f"Bearer {self.token}"}
        response = requests.request(method, f"{self.url}/api/v2/{path}", json=json or None, headers=headers, timeout=60)
        assert response.ok, response.text
        return response.json()

    def trigger(self, dag_id: str, *, logical_date: datetime | None = None, **form: Any) -> str:
        """Trigger a run with these values of the form, and return its id."""
        date = logical_date and logical_date.isoformat()
        return self.call("POST", f"dags/{dag_id}/dagRuns", logical_date=date, conf=form)["dag_run_id"]

    def run(self, dag_id: str, run_id: str) -> dict[str, Any]:
        return self.call("GET", f"dags/{dag_id}/dagRuns/{quote(run_id)}")

    def wait_for_end(self, dag_id: str, run_id: str) -> str:
        """Wait until the run has ended, and return its state."""

        def end_state() -> str | None:
            state = self.run(dag_id, run_id)["state"]
            return state if state in ("success", "failed") else None

        return wait_until(end_state)

    def task(self, dag_id: str, run_id: str, task_id: str) -> dict[str, Any]:
        return self.call("GET", f"dags/{dag_id}/dagRuns/{quote(run_id)}/taskInstances/{task_id}")

    def log(self, dag_id: str, run_id: str, task_id: str) -> list[str]:
        """Return the messages in the log of a task's first try."""
        lines = self.call("GET", f"dags/{dag_id}/dagRuns/{quote(run_id)}/taskInstances/{task_id}/logs/1")["content"]
        return [line["event"] for line in lines]

    def page(self, dag_id: str, run_id: str, file: str = "", *, logged_in: bool = True) -> requests.Response:
        """Request a file of the run's report as a browser does, with the cookie of a login unless `logged_in` is false."""
        browser = requests.Session()
        if logged_in:
            browser.cookies.set("_token", self.token)
        # Set the URL after preparing the request: otherwise requests removes the dots of a hostile path.
        request = browser.prepare_request(requests.Request("GET", self.url))
        request.url = f"{self.url}/topology-report/{quote(dag_id, safe='')}/{quote(run_id, safe='')}/{file}"
        return browser.send(request, timeout=60)


@contextmanager
def standalone(folder: Path, source: Path, *more_dags: Path, **more_variables: str) -> Iterator[Airflow]:
    """Run `airflow standalone` with this project's DAGs and those in `more_dags`; yield it once it has loaded all of them.

    `more_variables` are environment variables.
    """
    home, lake, port = folder / "airflow", folder / "lake", first_of_three_free_ports()
    bundles = {"dags-folder": None} | {path.name: str(path) for path in more_dags}
    variables = environment(
        lake=lake, source=source, home=home, spark_properties={scale: properties_file(scale) for scale in Scale}, port=port
    ) | {
        "AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST": json.dumps(
            [{"name": name, "classpath": _LOCAL, "kwargs": {"path": path} if path else {}} for name, path in bundles.items()]
        ),
        **more_variables,
    }
    more_ids = {path.stem for folder in more_dags for path in folder.glob("*.py")}
    command = ["airflow", "standalone"]
    with running_airflow(command, os.environ | variables, folder, home=home, lake=lake, port=port, more_dag_ids=more_ids) as airflow:
        yield airflow


@contextmanager
def running_airflow(
    command: list[str],
    environment: dict[str, str],
    folder: Path,
    *,
    home: Path,
    lake: Path,
    port: int,
    more_dag_ids: Set[str] = frozenset(),
) -> Iterator[Airflow]:
    """Start Airflow with a command, and yield it once it has loaded all DAGs. At the end, stop all its processes."""
    with (folder / "airflow.log").open("w") as log:
        process = psutil.Popen(command, env=environment, cwd=folder, stdout=log, stderr=subprocess.STDOUT)
    airflow = Airflow(process, f"http://127.0.0.1:{port}", home, lake)
    try:
        wait_until(lambda: process.is_running() and _is_healthy(airflow) and _dag_ids(airflow) >= DAGS | more_dag_ids)
        yield airflow
    finally:
        processes = [*process.children(recursive=True), process]
        for each in processes:
            _signal(each.terminate)
        for each in psutil.wait_procs(processes, timeout=20)[1]:
            _signal(each.kill)


def wait_until(condition: Callable[[], Any], seconds: float = 1800) -> Any:
    """Wait until the condition returns a true value, and return that value. The limit keeps a broken run from hanging the suite."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"the condition is still false after {seconds:.0f} s"
        time.sleep(0.5)
    return value


def _dag_ids(airflow: Airflow) -> set[str]:
    return {dag["dag_id"] for dag in airflow.call("GET", "dags")["dags"]}


def _is_healthy(airflow: Airflow) -> bool:
    try:
        health = requests.get(f"{airflow.url}/api/v2/monitor/health", timeout=10).json()
    except requests.RequestException:
        return False
    return all(health[part]["status"] == "healthy" for part in ("metadatabase", "scheduler", "dag_processor"))


def first_of_three_free_ports() -> int:
    """Return the first of three consecutive ports without a listener."""
    while True:
        with socket.socket() as first:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            with socket.socket() as second, socket.socket() as third:
                if port < 65000 and second.connect_ex(("127.0.0.1", port + 1)) and third.connect_ex(("127.0.0.1", port + 2)):
                    return port


def _signal(send: Callable[[], None]) -> None:
    """Send a signal to a process that may have ended already."""
    try:
        send()
    except psutil.NoSuchProcess:
        return
