"""The worst failure of each kind for data, reads and writes with its own counts: in `survival`, `verdict` and the night's report."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from rich.console import Console

from expectations.limits import limits
from jobs import ingest
from jobs.cli import BUNDLED
from jobs.generate import Fleet
from jobs.generate.tables import tables
from jobs.report.night import night_report
from jobs.report.night_pages import write_night_pages
from jobs.schema import BROKER, BROKER_BALANCE, BROKER_PAIR, CLUSTER, PARTITION, SCENARIO, SNAPSHOT, TOPIC, VALIDATION, Table
from jobs.spark.session import dataframe_from_arrow
from jobs.steps import failover, joint_failover
from kafka_model.election.partition import Partition
from kafka_model.failover.broker_failure import fail_brokers
from tests.jobs.published import check_survival_and_verdict, published, rows_of
from tests.jobs.rows import rows, run_step

PUBLISHED = {"published_at": datetime(2026, 1, 1, tzinfo=UTC)}
READ = (CLUSTER, BROKER, TOPIC, PARTITION)
# Bundled clusters that lose one more broker: cluster and broker id.
DEGRADED = [("orders-eu", 3), ("orders-eu", 1), ("payments-us", 13)]
FLEET = Fleet(clusters=3, brokers=40, racks=4, topics=40, groups=0, partitions=8, keys=1, seed=4)
# Voters of a cluster with brokers 1 and 2 live and broker 3 dead; None: unknown.
VOTERS = {"both voters needed": [1, 2], "one voter dead": [1, 2, 3], "separate controllers": [7, 8, 9], "unknown voters": None}


def degraded(night: dict[Table, list[dict[str, Any]]], cluster_id: str, dead: int) -> dict[Table, list[dict[str, Any]]]:
    """Return the tables of a cluster after a broker is fenced: it is in no ISR and leads no partition."""
    tables = {table: [dict(row) for row in table_rows if row["cluster_id"] == cluster_id] for table, table_rows in night.items()}
    for broker in tables[BROKER]:
        broker["live"] &= broker["broker_id"] != dead
    live = {broker["broker_id"] for broker in tables[BROKER] if broker["live"]}
    min_isr = {topic["topic"]: topic["min_insync_replicas"] or 1 for topic in tables[TOPIC]}
    for row in tables[PARTITION]:
        if dead in row["replicas"]:
            lists = (tuple(row[name]) for name in ("replicas", "isr", "elr", "last_known_elr"))
            replicas, isr, elr, last_known_elr = lists
            before = Partition(replicas, row["leader"], isr, elr, last_known_elr, min_isr[row["topic"]])
            now = fail_brokers(before, [dead], live, controller="kraft", elr=True, unclean=False).partition
            row |= {"leader": now.leader, "isr": sorted(now.isr), "elr": sorted(now.elr), "last_known_elr": list(now.last_known_elr)}
    return {table: [row | {"cluster_id": f"{cluster_id} without {dead}"} for row in table_rows] for table, table_rows in tables.items()}


def with_voters(cluster_id: str, voters: list[int] | None) -> dict[Table, list[dict[str, Any]]]:
    """Return the tables of a cluster with brokers 1 and 2 live, broker 3 dead, and these voters."""
    common = {"cluster_id": cluster_id, "topic": "t"}
    tables = {
        CLUSTER: rows(CLUSTER, {**common, "controller": "kraft", "elr": True, "voters": voters}),
        BROKER: rows(BROKER, *({**common, "broker_id": id, "live": id < 3} for id in (1, 2, 3))),
        TOPIC: rows(TOPIC, {**common, "partitions": 1, "replication_factor": 3, "min_insync_replicas": 1}),
        PARTITION: rows(PARTITION, {**common, "leader": 1, "replicas": [1, 2, 3], "isr": [1, 2], "elr": [], "last_known_elr": []}),
    }
    return {table: table_rows.to_pylist() for table, table_rows in tables.items()}


@pytest.fixture(scope="module")
def computed(spark: SparkSession) -> duckdb.DuckDBPyConnection:
    """The views over degraded clusters, a generated fleet and clusters with different voters, after the failover steps."""
    night = dict(zip(ingest.WRITES, ingest.read(pytest.fail, str(BUNDLED), "s"), strict=True))
    night = {table: night[table].to_pylist() for table in READ}
    fleet = tables(spark, FLEET, "s")
    parts = [{table: fleet[table].toArrow().to_pylist() for table in READ}]
    parts += [degraded(night, cluster_id, dead) for cluster_id, dead in DEGRADED]
    parts += [with_voters(cluster_id, voters) for cluster_id, voters in VOTERS.items()]
    inputs = {table: pa.Table.from_pylist([row for part in parts for row in part[table]], table.schema) for table in READ}
    frames = [dataframe_from_arrow(spark, inputs[table], table.columns) for table in READ]
    none = [dataframe_from_arrow(spark, table.schema.empty_table(), table.columns) for table in failover.READS[4:]]
    scenario = run_step(failover, *frames, *none, parameters={})[0].select(*SCENARIO.schema.names).toArrow()
    pair = run_step(joint_failover, *frames, dataframe_from_arrow(spark, scenario, SCENARIO.columns), parameters={})[0].toArrow()
    clusters = [{"cluster_id": row["cluster_id"]} for row in inputs[CLUSTER].to_pylist()]
    return published({**inputs, SCENARIO: scenario, BROKER_PAIR: pair, SNAPSHOT: rows(SNAPSHOT, *(PUBLISHED | row for row in clusters))})


def cluster_with(*failures: dict[str, Any], pairs: tuple[dict[str, Any], ...] = (), snapshot: str = "s") -> dict[Table, pa.Table]:
    """Return the tables of a cluster with these rows of `scenario` and of `broker_pair`."""
    scenarios = [
        {"kind": "broker", "scenario_id": f"{row.get('kind', 'broker')} {row['brokers'][0]}", "scenario_set": "nightly", **row}
        for row in failures
    ]
    night = {"snapshot_id": snapshot}
    return {
        SNAPSHOT: rows(SNAPSHOT, PUBLISHED | night),
        SCENARIO: rows(SCENARIO, *(night | row for row in scenarios)),
        BROKER_PAIR: rows(BROKER_PAIR, *(night | row for row in pairs)),
        BROKER_BALANCE: rows(BROKER_BALANCE, night | {"live_brokers": 1}),
        VALIDATION: rows(VALIDATION, night | {"success": True}),
    }


def test_every_count_belongs_to_the_failure_that_is_named_with_it(computed: duckdb.DuckDBPyConnection) -> None:
    verdicts = check_survival_and_verdict(computed)
    assert len(verdicts) == FLEET.clusters + len(DEGRADED) + len(VOTERS)
    # The data can expose a mix-up: the worst failures for data, reads and writes differ in some cluster.
    worst = [[row[f"worst_broker_{harm}"] for harm in ("data", "reads", "writes")] for row in verdicts.values()]
    assert any(None not in names and len(set(names)) > 1 for names in worst)
    survived = {
        row[f"any_{kind}_{harm}"] for row in verdicts.values() for kind in ("broker", "rack") for harm in ("data", "reads", "writes")
    }
    assert survived == {True, False, None}


def test_the_quorum_survives_any_broker_if_no_single_death_loses_it(computed: duckdb.DuckDBPyConnection) -> None:
    answers = computed.execute("SELECT cluster_id, quorum_survives_any_broker FROM verdict").fetchall()
    assert {cluster: survives for cluster, survives in answers if cluster in VOTERS} == {
        "both voters needed": False, "one voter dead": False, "separate controllers": True, "unknown voters": None,
    }  # fmt: skip
    # This cluster has three voters, and one of them is dead.
    assert dict(answers)["orders-eu without 3"] is False
    fleet = {cluster: survives for cluster, survives in answers if cluster.startswith("cluster-")}
    assert set(fleet.values()) == {None}


def test_equally_harmful_failures_are_named_by_their_lowest_broker_ids() -> None:
    pairs = ({"broker_id": 10, "other_broker_id": 11}, {"broker_id": 2, "other_broker_id": 100}, {"broker_id": 2, "other_broker_id": 30})
    counts = {"newly_offline": 1, "newly_lost": 1}
    connection = published(
        cluster_with({"brokers": [10], **counts}, {"brokers": [2], **counts}, pairs=tuple(row | counts for row in pairs))
    )
    check_survival_and_verdict(connection)
    worst = connection.execute("SELECT kind, harm, worst_scenario FROM survival ORDER BY kind, harm").fetchall()
    assert worst == [
        (kind, harm, id) for kind, id in (("broker", "broker 2"), ("pair", "brokers 2+30")) for harm in ("data", "reads", "writes")
    ]


def test_writes_do_not_survive_a_failure_with_offline_partitions_alone() -> None:
    connection = published(cluster_with({"brokers": [1], "newly_offline": 3}, {"brokers": [2]}))
    survives = dict(connection.execute("SELECT harm, survives FROM survival").fetchall())
    assert survives == {"data": True, "reads": False, "writes": False}
    (verdict,) = rows_of(connection, "SELECT any_broker_writes, worst_broker_writes, broker_writes_newly_offline FROM verdict")
    assert tuple(verdict.values()) == (False, "broker 1", 3)


def test_any_two_brokers_include_a_single_broker_that_harms_more() -> None:
    """Broker 5 shares no partition with another broker, so no pair contains it."""
    pair = {"broker_id": 1, "other_broker_id": 2, "newly_offline": 2}
    connection = published(
        cluster_with({"brokers": [1]}, {"brokers": [2]}, {"brokers": [5], "newly_offline": 7, "newly_lost": 7}, pairs=(pair,))
    )
    check_survival_and_verdict(connection)
    (verdict,) = rows_of(connection, "SELECT * FROM verdict")
    assert (verdict["any_two_data"], verdict["worst_two_data"], verdict["two_data_newly_lost"]) == (False, "broker 5", 7)
    assert (verdict["any_two_reads"], verdict["worst_two_reads"], verdict["two_reads_newly_offline"]) == (False, "broker 5", 7)
    connection = published(cluster_with({"brokers": [1]}, {"brokers": [2], "newly_offline": 2}, pairs=(pair,)))
    assert connection.execute("SELECT worst_two_reads FROM verdict").fetchall() == [("brokers 1+2",)]


def test_going_offline_is_worse_than_refusing_acks_all() -> None:
    before = cluster_with({"brokers": [1], "newly_refusing_acks_all": 5}, {"brokers": [2], "newly_offline": 2}, snapshot="r")
    now = cluster_with({"brokers": [1], "newly_refusing_acks_all": 4, "newly_offline": 1}, {"brokers": [2], "newly_refusing_acks_all": 9})
    both = {table: pa.concat_tables([before[table], now[table]]) for table in now}
    both[SNAPSHOT] = rows(SNAPSHOT, PUBLISHED | {"snapshot_id": "r"}, PUBLISHED | {"previous_snapshot_id": "r"})
    changes = "SELECT scenario_id, change, offline_change, refusing_acks_all_change, lost_change FROM survival_change ORDER BY 1"
    assert published(both).execute(changes).fetchall() == [("broker 1", "worse", 1, -1, 0), ("broker 2", "better", -2, 9, 0)]


# Broker 37 makes the most partitions refuse writes, broker 38 takes the most offline, broker 39 loses the most data.
THREE_WORST = (
    {"brokers": [37], "newly_refusing_acks_all": 252, "newly_offline": 1},
    {"brokers": [38], "newly_offline": 37},
    {"brokers": [39], "newly_lost": 4},
    {"brokers": [37], "kind": "stop"},
    {"brokers": [36], "kind": "rack", "scenario_id": "rack a", "newly_offline": 9, "newly_refusing_acks_all": 12, "newly_lost": 9},
)


def test_data_reads_and_writes_have_separate_worst_failures() -> None:
    connection = published(cluster_with(*THREE_WORST))
    check_survival_and_verdict(connection)
    worst = connection.execute(
        "SELECT harm, worst_scenario, newly_offline, newly_refusing_acks_all, newly_lost FROM survival WHERE kind = 'broker' ORDER BY harm"
    ).fetchall()
    assert worst == [("data", "broker 39", 0, 0, 4), ("reads", "broker 38", 37, 0, 0), ("writes", "broker 37", 1, 252, 0)]


def report_lines(tables: dict[Table, pa.Table], width: int) -> list[str]:
    """Return the lines of the night's report on a terminal of this width."""
    screen = Console(width=width, file=StringIO())
    for part in night_report(published(tables), "s"):
        screen.print(part)
    assert isinstance(screen.file, StringIO)
    return [line.strip() for line in screen.file.getvalue().splitlines()]


def test_the_report_names_the_worst_failure_for_data_reads_and_writes() -> None:
    text = "\n".join(report_lines(cluster_with(*THREE_WORST), 250))
    for harm in ("4 lose data", "if broker 39", "37 offline", "if broker 38", "252 refuse acks=all", "if broker 37"):
        assert harm in text
    # The rack is the worst failure for all three and is named once.
    assert "NO: 9 lose data, 9 offline, 12 refuse acks=all" in text
    assert text.count("if rack a") == 1


@pytest.mark.parametrize(
    ("voters", "controller", "mark"), [([1], "kraft", "quorum at risk"), (None, "kraft", "quorum unknown"), (None, "zookeeper", "")]
)
def test_the_report_marks_a_quorum_that_is_unknown_or_at_risk(voters: list[int] | None, controller: str, mark: str) -> None:
    lost = None if voters is None else True
    tables = cluster_with({"brokers": [1], "quorum_lost": lost}) | {CLUSTER: rows(CLUSTER, {"controller": controller, "voters": voters})}
    lines = [line for line in report_lines(tables, 80) if line.startswith("quorum")]
    assert lines == ([mark] if mark else [])


@pytest.mark.parametrize(
    ("harm", "square"),
    [
        ({}, "harms nothing"),
        ({"newly_refusing_acks_all": 2}, "refuses acks=all"),
        ({"newly_offline": 1, "newly_refusing_acks_all": 2}, "takes partitions offline"),
        ({"newly_offline": 1, "newly_lost": 1}, "loses data"),
    ],
)
def test_the_page_shows_the_worst_harm_of_each_night(harm: dict[str, int], square: str, tmp_path: Path) -> None:
    write_night_pages(published(cluster_with({"brokers": [1], **harm})), "s", tmp_path, data_docs=None, limits=limits())
    assert re.findall(r"<rect [^>]*><title>([^<]*)", (tmp_path / "index.html").read_text(encoding="utf-8")) == [f"s: {square}"]
