"""The `.sql` files of the views: each describes itself, is listed, and renders to a query on tables and earlier views."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest

from jobs import views
from jobs.schema import SCENARIO, SNAPSHOT, TABLES, TOPIC, VERDICT
from jobs.views import EVERY_NIGHT, VIEWS, View, statements
from tests.jobs.published import published
from tests.jobs.rows import rows


@pytest.fixture(scope="module")
def empty() -> duckdb.DuckDBPyConnection:
    return published({})


def test_every_sql_file_is_listed() -> None:
    with_view_columns = {table.name for table in TABLES if table.view_columns}
    assert {path.stem for path in Path(views.__file__).parent.glob("*.sql")} == {*VIEWS, *with_view_columns, VERDICT.name}


@pytest.mark.parametrize("view", VIEWS.values(), ids=lambda view: view.name)
def test_a_view_has_a_comment_and_an_example_that_runs(view: View, empty: duckdb.DuckDBPyConnection) -> None:
    assert view.comment.endswith(".")
    assert re.search(rf"\bFROM {view.name}\b", view.example)
    assert empty.execute(view.example).fetchall() == []


def test_a_view_reads_only_earlier_ones() -> None:
    created: set[str] = set()
    queries = statements(lambda table: f"_{table.name}")
    for name, query in queries.items():
        assert {word for word in re.findall(r"(?:FROM|JOIN) (\w+)", query) if word in queries} <= created, name
        created.add(name)
    assert {f"all_{table.name}" for table in EVERY_NIGHT} <= created


def test_a_view_that_separates_latest_rows_contains_the_others_too() -> None:
    """`survival_change` is rendered once for the latest snapshots and once for all others."""
    nights = {"n1": None, "n2": "n1", "n3": "n2"}
    snapshots = [{"snapshot_id": night, "previous_snapshot_id": before, "published_at": 0} for night, before in nights.items()]
    losses = [
        {"snapshot_id": night, "scenario_set": "nightly", "scenario_id": "broker 1", "kind": "broker", "brokers": [1], "newly_lost": lost}
        for lost, night in enumerate(nights)
    ]
    connection = published({SNAPSHOT: rows(SNAPSHOT, *snapshots), SCENARIO: rows(SCENARIO, *losses)})
    answer = connection.execute("SELECT snapshot_id, latest, snapshot_age, change FROM survival_change ORDER BY snapshot_id").fetchall()
    assert answer == [("n2", False, 1, "newly fatal"), ("n3", True, 0, "worse")]


def test_the_view_of_a_table_contains_published_rows_only() -> None:
    topics = rows(TOPIC, {"cluster_id": "c", "topic": "t"}, {"cluster_id": "withheld", "topic": "u"})
    connection = published({SNAPSHOT: rows(SNAPSHOT, {"cluster_id": "c", "published_at": 0}), TOPIC: topics})
    assert connection.execute("SELECT topic, latest FROM topic").fetchall() == [("t", True)]
