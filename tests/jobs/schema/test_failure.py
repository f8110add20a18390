"""Predicates of a failure's outcome in SQL, compared with their definitions in Python."""

from __future__ import annotations

from itertools import product

import duckdb
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from jobs.failure.patterns import counts_of
from jobs.schema.failure import HARMED, HARMS, LEADER_LOST, LEADER_MOVED

# Every combination of the columns that a harm depends on.
COLUMNS = ("leader_before", "leader", "under_min_isr_before", "under_min_isr", "safe_replicas_before", "safe_replicas")
VALUES = product((None, 1), (None, 1, 2), (False, True), (False, True), (0, 2), (0, 1))
OUTCOMES = [dict(zip(COLUMNS, values, strict=True)) | {"at_min_isr": False} for values in VALUES]
PREDICATES = {**HARMS, "moved_leaders": LEADER_MOVED, "lost_leaders": LEADER_LOST}
QUERY = f"""
    SELECT {", ".join(PREDICATES)}, {HARMED} AS harmed
    FROM (SELECT nth, {", ".join(f"{predicate} AS {name}" for name, predicate in PREDICATES.items())} FROM outcome) AS predicates
    ORDER BY nth
"""


@pytest.fixture(params=["duckdb", "spark"])
def by_sql(request: pytest.FixtureRequest) -> list[dict[str, bool]]:
    outcome = pa.Table.from_pylist([{"nth": nth, **row} for nth, row in enumerate(OUTCOMES)])
    if request.param == "duckdb":
        connection = duckdb.connect()
        connection.register("outcome", outcome)
        rows = connection.execute(QUERY).fetchall()
    else:
        spark: SparkSession = request.getfixturevalue("spark")
        rows = spark.sql(QUERY.replace("outcome", "{outcome}"), outcome=spark.createDataFrame(outcome)).collect()
    return [dict(zip((*PREDICATES, "harmed"), row, strict=True)) for row in rows]


def test_sql_and_python_agree_on_harms_and_moved_leaders(by_sql: list[dict[str, bool]]) -> None:
    names = (*HARMS, "moved_leaders")
    assert [{name: row[name] for name in names} for row in by_sql] == [
        {name: getattr(counts_of(outcome), name) for name in names} for outcome in OUTCOMES
    ]


def test_a_leader_is_lost_if_the_partition_had_one_that_moves_or_goes_offline(by_sql: list[dict[str, bool]]) -> None:
    had_leader = [outcome["leader_before"] is not None for outcome in OUTCOMES]
    assert [row["lost_leaders"] for row in by_sql] == [
        had and (row["moved_leaders"] or row["newly_offline"]) for had, row in zip(had_leader, by_sql, strict=True)
    ]


def test_no_partition_is_both_offline_and_refusing_acks_all(by_sql: list[dict[str, bool]]) -> None:
    assert not any(row["newly_offline"] and row["newly_refusing_acks_all"] for row in by_sql)


def test_a_partition_is_harmed_if_it_is_offline_or_refuses_acks_all(by_sql: list[dict[str, bool]]) -> None:
    assert [row["harmed"] for row in by_sql] == [row["newly_offline"] or row["newly_refusing_acks_all"] for row in by_sql]
