"""A night on a Spark standalone cluster: in one application, and by the nightly DAG, in which each step is an application of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.lake.lake import Lake
from jobs.night import NIGHT
from jobs.schema import TABLES, Table
from tests.docker.standalone import ROOT, Cluster, differing_rows, run, standalone, wiring
from tests.jobs.two_nights import FIRST, SNAPSHOTS

pytestmark = pytest.mark.spark_cluster


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with standalone(tmp_path_factory.mktemp("spark")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def folder(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a lake at a URI, with a night that the tasks of the DAG wrote. A small night in a folder would not use the cluster."""
    folder = tmp_path_factory.mktemp("night")
    variables = {"AIRFLOW_VAR_TOPOLOGY_LAKE": (folder / "lake").as_uri(), "AIRFLOW_VAR_TOPOLOGY_SUBMIT_EACH_TASK": "yes"}
    wired = wiring(folder, cluster.master, SNAPSHOTS / "night-before") | variables
    run(["airflow", "db", "migrate"], wired)
    run(["airflow", "dags", "test", "nightly", "--conf", json.dumps({"snapshot": FIRST})], wired)
    return folder / "lake"


def test_every_task_of_the_night_runs_on_the_cluster(cluster: Cluster, folder: Path) -> None:
    # Checks and `publish` too: only Spark reads a lake at a URI.
    task_ids = {"step": "{}", "check": "check_{}", "publish": "publish"}
    assert cluster.finished() == {f"topology {task_ids[kind].format(name)}" for kind, name in NIGHT}


def test_the_dag_writes_the_same_rows_as_one_process(two_nights: Lake, folder: Path) -> None:
    for table in TABLES:
        assert differing_rows(two_nights.uri, str(folder), table, FIRST) == ([], []), table.name


@pytest.fixture(scope="module")
def uri(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A lake at a URI, with a night that one application wrote."""
    folder = tmp_path_factory.mktemp("uri")
    wired, uri = wiring(folder, cluster.master), (folder / "lake").as_uri()
    settings = ["--master", cluster.master, "--properties-file", str(folder / "spark.properties"), "--name", "one application"]
    arguments = ["nightly", str(SNAPSHOTS / "night-before"), "--lake", uri, "--snapshot", FIRST]
    run(["spark-submit", *settings, str(ROOT / "jobs" / "cli.py"), *arguments], wired)
    return uri


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_spark_writes_the_same_rows_as_delta_rs(two_nights: Lake, uri: str, table: Table) -> None:
    assert differing_rows(two_nights.uri, uri, table, FIRST) == ([], [])
