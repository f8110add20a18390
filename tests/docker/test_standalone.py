"""A what-if on a Spark standalone cluster: the commands of compose.yaml for master and worker, run as processes on this machine.

One spark-submit runs it here; with the mark `spark_cluster` the DAG does.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from jobs.lake.lake import Lake, open_lake
from jobs.schema import FAILOVER, FAILOVER_LOAD, SCENARIO, Table
from jobs.what_if import WhatIf, simulate
from tests.docker.standalone import ROOT, Cluster, health_check, run, standalone, wiring


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


def what_if_rows(lake: Lake, table: Table) -> list[dict[str, Any]]:
    """Return the rows of the only what-if in a lake, without its id."""
    ids = {"scenario_set", "scenario_id", "failover_scenario_id"}
    rows = lake.read_local(table, cluster_id="orders-eu").to_pylist()
    named = ({name: value for name, value in row.items() if name not in ids} for row in rows if row["scenario_set"] != "nightly")
    return sorted(named, key=lambda row: json.dumps(row, default=str))


@dataclass(frozen=True, slots=True)
class Question:
    """A what-if: the rows of a process without Spark, and a copy of the lake to compute the same rows in."""

    expected: Lake
    there: Path

    def check(self) -> None:
        """Fail unless the copy has the expected rows."""
        for table in (SCENARIO, FAILOVER, FAILOVER_LOAD):
            expected = what_if_rows(self.expected, table)
            assert expected
            assert what_if_rows(open_lake(str(self.there), pytest.fail), table) == expected, table.name


@pytest.fixture
def question(nights_folder: Path, tmp_path: Path) -> Question:
    here, there = (Path(shutil.copytree(nights_folder, tmp_path / name)) for name in ("here", "there"))
    in_process = open_lake(str(here), pytest.fail)  # DuckDB computes a what-if in a folder, and Spark one in a lake at a URI
    simulate(in_process, None, WhatIf("requested", "orders-eu", brokers=[1, 3]))
    return Question(in_process, there)


def test_a_what_if_on_a_cluster_stores_the_rows_of_a_what_if_in_this_process(cluster: Cluster, question: Question, tmp_path: Path) -> None:
    wired, name = wiring(tmp_path, cluster.master), "one application"
    settings = ["--master", cluster.master, "--properties-file", str(tmp_path / "spark.properties"), "--name", name]
    arguments = ["what-if", "--lake", question.there.as_uri(), "--cluster", "orders-eu", "--broker", "1", "--broker", "3", "--id", "x"]
    run(["spark-submit", *settings, str(ROOT / "jobs" / "cli.py"), *arguments], wired)
    assert name in cluster.finished()
    question.check()


@pytest.mark.spark_cluster
def test_the_what_if_dag_on_a_cluster_stores_the_rows_of_a_what_if_in_this_process(
    cluster: Cluster, question: Question, tmp_path: Path
) -> None:
    wired = wiring(tmp_path, cluster.master, lake=question.there.as_uri())
    run(["airflow", "db", "migrate"], wired)
    run(["airflow", "dags", "test", "what_if", "--conf", json.dumps({"cluster": "orders-eu", "brokers": ["1", "3"]})], wired)
    assert "topology what_if" in cluster.finished()
    question.check()
