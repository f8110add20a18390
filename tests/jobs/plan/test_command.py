"""The command `plan`: its exit code, its first line and its files if the plan does not do all that was requested."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

from jobs.schema import PLAN, PLAN_BLOCKED
from tests.jobs.command import Command
from tests.jobs.plan.clusters import GIB, cluster_with_disks, generated_cluster, published_lake

RACKS = {1: "a", 2: "b", 3: "c"}
PLAN_COMMAND = ("plan", "--lake", ".", "--cluster", "c", "--no-rules")  # in the folder of the lake
PAGES = Path("reports", "s", "plan", "c", "p")


def test_unfulfilled_request_is_the_first_line_and_sets_the_exit_code(tmp_path: Path, command: Command) -> None:
    # Each partition needs all three brokers.
    partitions = {number: ([1, 2, 3], GIB) for number in range(3)}
    lake = published_lake(cluster_with_disks(partitions, capacity=None, racks=RACKS), tmp_path)
    result = command.run(*PLAN_COMMAND, "--drain", "3", "--id", "p")
    assert result.returncode == 4
    first_line = "NOT FULFILLED: broker 3 cannot be drained: 3 replicas stay on it (3: every live broker that may take it has a replica"
    assert result.stdout.startswith(first_line)
    page = (PAGES / "index.html").read_text().partition('<main id="content">')[2]
    assert re.sub("<[^>]+>", "", page).lstrip().startswith(first_line)
    (error,) = result.stderr.strip().splitlines()
    assert "plan p does not fulfil the whole request: broker 3 cannot be drained: 3 replicas stay on it" in error
    assert len(lake.read_local(PLAN_BLOCKED, snapshot_id="s").to_pylist()) == 3


def test_the_page_alone_contains_the_files_as_downloads(tmp_path: Path, command: Command) -> None:
    published_lake(cluster_with_disks({0: ([1, 2], GIB), 1: ([2, 3], GIB)}, capacity=None, racks=RACKS), tmp_path)
    assert command.run(*PLAN_COMMAND, "--drain", "3", "--no-balance", "--id", "p").returncode == 0
    page = (PAGES / "index.html").read_text()
    downloads = re.findall(r'<a download="([^"]+)" href="data:application/json,([^"]+)">', page)
    assert {name: unquote(text) for name, text in downloads} == {path.name: path.read_text() for path in PAGES.glob("*.json")}
    assert {"reassignment-1.json", "rollback-1.json"} <= {name for name, _ in downloads}


def test_unfulfilled_plan_that_makes_something_worse_gets_no_files(tmp_path: Path, command: Command) -> None:
    # Partitions with one replica can leave broker 3, which then has far fewer replicas than the mean.
    movable = {number: ([1 + number % 3], GIB) for number in range(1, 31)}
    tables = cluster_with_disks({0: ([1, 2, 3], GIB), **movable}, capacity=None, racks=RACKS)
    lake = published_lake(tables, tmp_path)
    PAGES.mkdir(parents=True)
    (PAGES / "reassignment-7.json").write_text("a file of an earlier plan")
    result = command.run(*PLAN_COMMAND, "--drain", "3", "--id", "p")
    assert result.returncode == 4
    (plan,) = lake.read_local(PLAN, snapshot_id="s").to_pylist()
    assert (plan["moved_replicas"], plan["unfulfilled"] is None, plan["worse"] is None) == (10, False, False)
    assert "balancedness score falls" in plan["worse"]
    assert sorted(path.name for path in PAGES.iterdir()) == ["index.html", "snapshot.txt"]
    assert "No files for Kafka's tools are written." in result.stdout


def test_refused_plan_is_one_line_and_writes_nothing(tmp_path: Path, command: Command) -> None:
    lake = published_lake(generated_cluster(39), tmp_path)
    result = command.run(*PLAN_COMMAND)
    assert result.returncode == 4
    (error,) = result.stderr.strip().splitlines()
    assert error.startswith(
        "topology-audit: cluster c has no plan that makes nothing worse: the balancedness score falls from 84.4 to 82.2"
    )
    assert lake.read_local(PLAN).to_pylist() == []
    assert not Path("reports").exists()
