"""What-ifs on a published night of real clusters."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

from jobs.errors import AuditError
from jobs.lake.lake import Lake, open_lake
from jobs.night import NightlyRun
from jobs.schema import FAILOVER, FAILOVER_PATTERN, SCENARIO, Table
from jobs.steps import failover
from jobs.what_if import WhatIf, simulate
from tests.jobs.two_nights import SECOND, query


@pytest.fixture(scope="module")
def night(spark: SparkSession, nights_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> NightlyRun:
    """The second night of a copy of the shared lake. Each test writes scenario sets of its own."""
    folder = shutil.copytree(nights_folder, tmp_path_factory.mktemp("what-if") / "lake")
    return NightlyRun(open_lake(str(folder), lambda: spark), SECOND)


def of_scenario(lake: Lake, table: Table, scenario_set: str, scenario_id: str) -> list[str]:
    """Return the rows of a scenario of the cluster payments-us, without the names of the scenario."""
    where = {"snapshot_id": SECOND, "cluster_id": "payments-us", "scenario_set": scenario_set}
    if table is FAILOVER_PATTERN:
        outcomes = pc.unique(lake.read_local(FAILOVER, **where, scenario_id=scenario_id)["outcome_id"])
        rows = lake.read_local(table, **where).filter(pc.field("outcome_id").isin(outcomes))
    else:
        rows = lake.read_local(table, **where, scenario_id=scenario_id)
    names = [name for name in table.schema.names if name not in ("scenario_set", "scenario_id", "kind", "failover_scenario_id")]
    return sorted(map(str, rows.select(names).to_pylist()))


def test_a_what_if_of_a_broker_has_the_rows_of_the_nightly_failure(night: NightlyRun) -> None:
    """Spark computed the nightly failure, and DuckDB computes the what-if."""
    assert simulate(night.lake, None, WhatIf("requested", "payments-us", brokers=[12])) == SECOND
    for table in failover.WRITES:
        requested = of_scenario(night.lake, table, "requested", "requested")
        assert requested == of_scenario(night.lake, table, "nightly", "broker 12")
        assert requested


@pytest.mark.parametrize(
    "failure",
    [
        {"brokers": [13, 12]},
        {"racks": ["rack-b"], "unclean": True},
        {"brokers": [13], "log_dirs": ["12:/var/lib/kafka/data1"], "unclean": False},
        {"brokers": [12], "controlled_shutdown": True},
    ],
    ids=str,
)
def test_duckdb_and_spark_compute_the_same_rows(night: NightlyRun, failure: dict[str, Any]) -> None:
    by_spark = open_lake(f"file://{night.lake.folder}", night.lake.spark)
    for lake, id in ((night.lake, "by-duckdb"), (by_spark, "by-spark")):
        simulate(lake, None, WhatIf(id, "payments-us", **failure))
    for table in failover.WRITES:
        assert of_scenario(night.lake, table, "by-duckdb", "by-duckdb") == of_scenario(night.lake, table, "by-spark", "by-spark")


def test_a_what_if_on_a_folder_needs_neither_java_nor_spark(night: NightlyRun) -> None:
    """A process that cannot find Java computes, writes and reports a what-if, and never imports PySpark."""
    command = ["what-if", "--cluster", "payments-us", "--broker", "12", "--id", "no-java", "--lake", str(night.lake.folder)]
    program = f"import sys; sys.argv[1:] = {command}; from jobs import cli; sys.exit = lambda code: None; cli.main(); print('pyspark' in sys.modules)"
    environment = {name: value for name, value in os.environ.items() if name not in ("JAVA_HOME", "PATH")}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment | {"PATH": "/nowhere"})
    assert (done.stdout.splitlines()[-1:], done.stderr) == (["False"], "")
    assert "Cluster payments-us of 2026-01-02: brokers 12 killed" in done.stdout
    assert of_scenario(night.lake, SCENARIO, "no-java", "no-java") == of_scenario(night.lake, SCENARIO, "nightly", "broker 12")


def test_what_ifs_of_two_clusters_may_share_an_id(night: NightlyRun) -> None:
    def stored() -> list[tuple]:
        return query(night.lake, "SELECT cluster_id, brokers FROM scenario WHERE scenario_set = 'shared' ORDER BY ALL")

    simulate(night.lake, None, WhatIf("shared", "payments-us", brokers=[12]))
    simulate(night.lake, None, WhatIf("shared", "orders-eu", brokers=[1]))
    assert stored() == [("orders-eu", [1]), ("payments-us", [12])]
    simulate(night.lake, None, WhatIf("shared", "payments-us", brokers=[13]))
    assert stored() == [("orders-eu", [1]), ("payments-us", [13])]
    assert query(night.lake, "SELECT DISTINCT cluster_id, leader_before FROM failover_load JOIN failover USING (cluster_id, scenario_set) "
               "WHERE scenario_set = 'shared' AND leader_before IN (1, 12, 13) AND leader IS DISTINCT FROM leader_before ORDER BY ALL") == [("orders-eu", 1), ("payments-us", 13)]  # fmt: skip
    nightly = "SELECT count(DISTINCT cluster_id), count(*) > 2 FROM scenario WHERE latest AND scenario_set = 'nightly'"
    assert query(night.lake, nightly) == [(2, True)]


def test_a_broker_whose_log_dirs_all_fail_halts(night: NightlyRun) -> None:
    for id, question in (("halted", {"log_dirs": ["12:/var/lib/kafka/data1", "12:/var/lib/kafka/data2"]}), ("killed", {"brokers": [12]})):
        simulate(night.lake, None, WhatIf(id, "payments-us", **question))
    outcome = "SELECT topic, partition, leader, isr, elr FROM failover WHERE scenario_set = '{}' ORDER BY ALL"
    halted, killed = (query(night.lake, outcome.format(id)) for id in ("halted", "killed"))
    assert halted == killed
    assert halted


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (WhatIf("x", "payments-us", brokers=[11]), "cluster payments-us has no live broker 11: it has 12, 13"),
        (
            WhatIf("x", "payments-us", racks=["rack-z"]),
            "cluster payments-us has no live broker on rack rack-z: its racks are rack-b, rack-c",
        ),
        (
            WhatIf("x", "payments-us", log_dirs=["12:/nowhere"]),
            "cluster payments-us has no live log dir 12:/nowhere: it has 12:/var/lib/kafka/data1",
        ),
        (WhatIf("x", "payments-us", log_dirs=["11:/var/lib/kafka/data1"]), "no live log dir 11:/var/lib/kafka/data1"),
        (
            WhatIf("x", "payments-us", log_dirs=["12:/var/lib/kafka/data1"], controlled_shutdown=True),
            "a log dir cannot be shut down in order",
        ),
        (WhatIf("x", "payments-us"), "at least one broker, rack or log dir"),
        (WhatIf("x", "nowhere", brokers=[1]), "no published snapshot of cluster nowhere"),
    ],
)
def test_the_error_of_an_unknown_target_names_the_known_ones(night: NightlyRun, question: WhatIf, message: str) -> None:
    with pytest.raises(AuditError, match=message):
        simulate(night.lake, None, question)
    assert night.read(FAILOVER).where("scenario_set = 'x'").isEmpty()
