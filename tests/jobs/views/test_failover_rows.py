"""The view `failover`: stored rows with everything that follows from patterns and partitions, equal in both engines."""

from __future__ import annotations

import re

import pytest
from pyspark.sql import SparkSession

from jobs.lake.lake import Lake
from jobs.schema import BROKER, CLUSTER, FAILOVER, FAILOVER_PATTERN, PARTITION, PUBLISHED_FAILOVER, SNAPSHOT, TOPIC
from jobs.steps import failover
from jobs.views import ADDED_COLUMNS, query_duckdb, query_spark
from tests.jobs.published import published
from tests.jobs.rows import rows, run_step, table

MANY = 1_000_000


def test_both_engines_return_the_same_rows(two_nights: Lake) -> None:
    sql = "SELECT * FROM failover WHERE latest"
    in_duckdb, in_spark = query_duckdb(two_nights, sql, MANY), query_spark(two_nights, sql, MANY)
    names = [column.name for column in (*PUBLISHED_FAILOVER.stored.declared_columns, *ADDED_COLUMNS)]
    assert in_duckdb[0] == in_spark[0] == names
    assert sorted(map(str, in_duckdb[1])) == sorted(map(str, in_spark[1]))
    assert len(in_duckdb[1]) > 1_000


def test_scenarios_that_share_stored_rows_each_have_them(two_nights: Lake) -> None:
    """Both clusters use KRaft, where a controlled shutdown has the outcome of a death."""
    stored = two_nights.read_local(FAILOVER).to_pylist()
    assert {row["scenario_id"].split()[0] for row in stored} == {"broker", "rack"}
    columns = [name for name in PUBLISHED_FAILOVER.schema.names if name != "scenario_id"]
    deaths, stops = (
        query_duckdb(
            two_nights,
            f"SELECT split_part(scenario_id, ' ', 2), {', '.join(columns)} FROM failover WHERE scenario_id LIKE '{kind} %'",
            MANY,
        )
        for kind in ("broker", "stop")
    )
    assert sorted(map(str, deaths[1])) == sorted(map(str, stops[1]))
    assert deaths[1]


@pytest.mark.parametrize("controller", ["kraft", "zookeeper"])
def test_lists_name_brokers_that_are_no_replicas(spark: SparkSession, controller: str) -> None:
    """The ISR of a partition names broker 9, which is no replica; lists are sorted by id, survivors by their assignment.

    The offline election of ZooKeeper keeps only live replicas in the ISR.
    """
    given = {
        CLUSTER: [{"controller": controller}],
        BROKER: [{"broker_id": id, "live": id != 4} for id in (1, 2, 3, 4, 9)],
        TOPIC: [{"topic": "t", "min_insync_replicas": 2}],
        PARTITION: [
            {"topic": "t", "partition": 0, "leader": 3, "replicas": [3, 2, 1], "isr": [9, 3, 1]},
            {"topic": "t", "partition": 1, "leader": 4, "replicas": [4, 3], "isr": [4, 3]},
            {"topic": "t", "partition": 2, "leader": 2, "replicas": [2, 1], "isr": [2, 1]},
        ],
    }
    inputs = {each: rows(each, *given.get(each, ())) for each in failover.READS}
    computed = run_step(failover, *(table(spark, each, *given.get(each, ())) for each in failover.READS))
    written = dict(zip(failover.WRITES, (rows.toArrow() for rows in computed), strict=True))
    connection = published({**inputs, **written, SNAPSHOT: rows(SNAPSHOT, {"published_at": 0})})
    columns = "partition, leader_before, leader, isr_before, isr, survivors, min_insync_replicas"
    assert connection.execute(f"SELECT {columns} FROM failover WHERE scenario_id = 'broker 3' ORDER BY partition").fetchall() == [
        (0, 3, 1, [9, 3, 1], [1, 9] if controller == "kraft" else [1], [2, 1], 2),
        (1, None, None, [4, 3], [4], [], 2),
    ]
    others = connection.execute("SELECT DISTINCT partition, other_members FROM _failover ORDER BY ALL").fetchall()
    assert others == [(0, [9]), (1, None), (2, None)]


def test_the_declared_columns_are_those_of_the_view() -> None:
    view = published({}).sql("SELECT * FROM failover").to_arrow_table().schema
    declared = PUBLISHED_FAILOVER.stored.schema
    assert [(field.name, field.type) for field in view][: len(declared)] == [(field.name, field.type) for field in declared]


def test_a_query_of_one_scenario_does_not_join_all_outcomes_with_all_partitions() -> None:
    partitions, outcomes, scenarios = 500, 50, 20
    affected = [
        {
            "scenario_set": "nightly",
            "scenario_id": f"broker {scenario}",
            "topic": "t",
            "partition": partition,
            "outcome_id": partition % outcomes,
        }
        for scenario in range(scenarios)
        for partition in range(partitions)
    ]
    stored = {
        PARTITION: [{"topic": "t", "partition": partition, "replicas": [1, 2], "isr": [1, 2]} for partition in range(partitions)],
        FAILOVER_PATTERN: [{"scenario_set": "nightly", "outcome_id": outcome} for outcome in range(outcomes)],
        FAILOVER: affected,
        SNAPSHOT: [{"published_at": 0}],
    }
    connection = published({each: rows(each, *given) for each, given in stored.items()})
    query = "EXPLAIN (ANALYZE, FORMAT json) SELECT * FROM failover WHERE cluster_id = 'c' AND scenario_id = 'broker 1'"
    ((_, plan),) = connection.execute(query).fetchall()
    intermediate_rows = [int(count) for count in re.findall(r'"intermediate_rows": (\d+)', plan)]
    assert partitions in intermediate_rows
    assert max(intermediate_rows) <= len(affected)
