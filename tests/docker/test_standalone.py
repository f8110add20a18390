"""A night and a what-if on a Spark standalone cluster: the commands of compose.yaml for master and worker, run as processes on this machine."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlparse

import duckdb
import pytest
import yaml

from jobs.lake.lake import Lake, open_lake
from jobs.schema import SCENARIO, TABLES, Table
from tests.docker.standalone import ROOT, Cluster, differing_rows, health_check, run, standalone, wiring
from tests.jobs.two_nights import FIRST, SNAPSHOTS


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
def uri(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A lake at a URI, with a night that one application on the cluster wrote."""
    folder = tmp_path_factory.mktemp("uri")
    wired, uri = wiring(folder, cluster.master), (folder / "lake").as_uri()
    settings = ["--master", cluster.master, "--properties-file", str(folder / "spark.properties"), "--name", "one application"]
    arguments = ["nightly", str(SNAPSHOTS / "night-before"), "--lake", uri, "--snapshot", FIRST]
    run(["spark-submit", *settings, str(ROOT / "jobs" / "cli.py"), *arguments], wired)
    return uri


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_spark_writes_the_same_rows_as_delta_rs(two_nights: Lake, uri: str, table: Table) -> None:
    assert differing_rows(two_nights.uri, uri, table, FIRST) == ([], [])


def test_the_what_if_dag_stores_its_scenario(uri: str, cluster: Cluster, tmp_path: Path) -> None:
    lake = Path(shutil.copytree(urlparse(uri).path, tmp_path / "lake")).as_uri()  # Spark computes a what-if in a lake at a URI
    wired = wiring(tmp_path, cluster.master, lake=lake)
    run(["airflow", "db", "migrate"], wired)
    run(["airflow", "dags", "test", "what_if", "--conf", json.dumps({"cluster": "orders-eu", "brokers": ["1", "3"]})], wired)
    scenario = duckdb.from_arrow(open_lake(lake, pytest.fail).dataset(SCENARIO)).filter("kind = 'what-if'")
    assert scenario.project("cluster_id, brokers").fetchall() == [("orders-eu", [1, 3])]
    assert "topology what_if" in cluster.finished()
