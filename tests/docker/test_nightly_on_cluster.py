"""The nightly DAG on a Spark standalone cluster: each step is an application of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.lake.lake import Lake
from jobs.night import JOBS, NIGHT
from jobs.schema import TABLES
from tests.docker.standalone import Cluster, differing_rows, run, standalone, wiring
from tests.jobs.two_nights import FIRST, SNAPSHOTS

pytestmark = pytest.mark.spark_cluster


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with standalone(tmp_path_factory.mktemp("spark")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def folder(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder lake, with a night that the tasks of the DAG wrote."""
    folder = tmp_path_factory.mktemp("night")
    wired = wiring(folder, cluster.master, SNAPSHOTS / "night-before")
    run(["airflow", "db", "migrate"], wired)
    run(["airflow", "dags", "test", "nightly", "--conf", json.dumps({"snapshot": FIRST})], wired)
    return folder / "lake"


def test_every_step_and_no_other_task_runs_on_the_cluster(cluster: Cluster, folder: Path) -> None:
    steps = {f"topology {name}" for kind, name in NIGHT if kind == "step"}
    assert cluster.finished() >= {f"topology {name}" for name in JOBS}
    assert cluster.finished() <= steps


def test_the_dag_writes_the_same_rows_as_one_process(two_nights: Lake, folder: Path) -> None:
    for table in TABLES:
        assert differing_rows(two_nights.uri, str(folder), table, FIRST) == ([], []), table.name
