"""Each harm is defined once in SQL and once in Python, and the two agree."""

from __future__ import annotations

from itertools import product

import duckdb
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from jobs.failure.patterns import HARM, harm_of
from jobs.schema.failure import HARMED, HARMS

# Every combination of the columns that a harm depends on.
COLUMNS = ("leader_before", "leader", "under_min_isr_before", "under_min_isr", "safe_replicas_before", "safe_replicas")
VALUES = product((None, 1), (None, 1, 2), (False, True), (False, True), (0, 2), (0, 1))
OUTCOMES = [dict(zip(COLUMNS, values, strict=True)) for values in VALUES]
QUERY = f"SELECT {', '.join(HARMS.values())}, {HARMED} FROM outcome ORDER BY place"


@pytest.fixture(params=["duckdb", "spark"])
def by_sql(request: pytest.FixtureRequest) -> list[tuple[bool, ...]]:
    outcome = pa.Table.from_pylist([{"place": place, **row} for place, row in enumerate(OUTCOMES)])
    if request.param == "duckdb":
        connection = duckdb.connect()
        connection.register("outcome", outcome)
        return connection.execute(QUERY).fetchall()
    spark: SparkSession = request.getfixturevalue("spark")
    return [tuple(row) for row in spark.sql(QUERY.replace("outcome", "{outcome}"), outcome=spark.createDataFrame(outcome)).collect()]


def test_sql_and_python_agree_on_every_harm(by_sql: list[tuple[bool, ...]]) -> None:
    assert tuple(HARMS) == HARM
    assert [harms for *harms, _ in by_sql] == [list(harm_of(outcome)) for outcome in OUTCOMES]


def test_no_partition_is_both_offline_and_refusing_acks_all(by_sql: list[tuple[bool, ...]]) -> None:
    assert not any(offline and refusing for offline, refusing, *_ in by_sql)


def test_a_partition_is_harmed_if_it_is_offline_or_refuses_acks_all(by_sql: list[tuple[bool, ...]]) -> None:
    assert [harmed for *_, harmed in by_sql] == [offline or refusing for offline, refusing, *_ in by_sql]
