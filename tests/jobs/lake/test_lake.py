"""The lake's rows as DuckDB reads them from the files, and tables of older versions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from jobs.lake.lake import Lake
from jobs.lake.sql_literal import spark_literal, standard_literal
from jobs.schema import Table

COLUMNS = """
    snapshot_id STRING NOT NULL,
    cluster_id STRING NOT NULL,
    suite STRING NOT NULL,
    rows BIGINT
"""
TABLE = Table("made", "a table", ("snapshot_id", "cluster_id", "suite"), COLUMNS, partition_by=("snapshot_id", "suite"))
NIGHT = "2026-01-31T02:00:00+00:00"  # as Airflow names it: with characters that a path has otherwise


def rows(*told: tuple[str, str, int]) -> pa.Table:
    return pa.table(list(zip(*told, strict=True)), names=["cluster_id", "suite", "rows"])


def asked(query: str | None) -> list[tuple]:
    assert query is not None
    return sorted(duckdb.sql(query).fetchall())


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake(str(tmp_path / "it's a lake"), pytest.fail)
    lake.create(TABLE)
    lake.replace(TABLE, rows(("a", "x", 1), ("b", "x", 2), ("a", "y", 3)), few=True, snapshot_id=NIGHT, suite=["x", "y"])
    lake.replace(TABLE, rows(("a", "x", 4), ("b's", "x", 5)), few=True, snapshot_id="2026-02-01", suite=["x"])
    return lake


def test_duckdb_reads_a_slice_and_each_cluster_in_its_night(lake: Lake) -> None:
    assert asked(lake.scan(TABLE)) == [
        (NIGHT, "a", "x", 1), (NIGHT, "a", "y", 3), (NIGHT, "b", "x", 2), ("2026-02-01", "a", "x", 4), ("2026-02-01", "b's", "x", 5)
    ]  # fmt: skip
    assert asked(lake.scan(TABLE, snapshot_id=NIGHT, suite=["y", "z"])) == [(NIGHT, "a", "y", 3)]
    assert asked(lake.scan_each(TABLE, {"a": NIGHT, "b's": "2026-02-01"})) == [
        (NIGHT, "a", "x", 1),
        (NIGHT, "a", "y", 3),
        ("2026-02-01", "b's", "x", 5),
    ]


@pytest.mark.parametrize("storage", ["folder", "uri"])
def test_a_table_without_slices_has_rows_of_a_night_replaced_and_lies_in_one_file(
    tmp_path: Path, storage: str, request: pytest.FixtureRequest
) -> None:
    folder = Lake(str(tmp_path), pytest.fail)
    lake = folder
    if storage == "uri":
        spark: SparkSession = request.getfixturevalue("spark")
        lake = Lake(f"file://{folder.uri}", lambda: spark)
    whole = replace(TABLE, partition_by=())
    lake.create(whole)
    for number, night in enumerate([NIGHT, "2026-02-01", NIGHT, "2026-02-02", "2026-02-01"]):
        lake.replace(whole, rows(("a", "x", number), ("b's", "y", number))[: 2 - number // 4], few=True, snapshot_id=night)
    expected = [
        (NIGHT, "a", "x", 2),
        (NIGHT, "b's", "y", 2),
        ("2026-02-01", "a", "x", 4),
        ("2026-02-02", "a", "x", 3),
        ("2026-02-02", "b's", "y", 3),
    ]
    assert asked(folder.scan(whole)) == expected
    assert asked(folder.scan(whole, cluster_id="b's")) == [row for row in expected if row[1] == "b's"]
    lake.expire(whole, ["2026-02-02"])
    lake.compact(whole)
    assert len(folder.dataset(whole).files) == 1
    assert asked(folder.scan(whole, snapshot_id=NIGHT)) == expected[:2]
    assert [tuple(row.values()) for row in lake.rows(whole, snapshot_id=["2026-02-01", "2026-02-02"])] == expected[2:3]


def test_a_slice_without_a_file_has_the_columns_and_no_row(lake: Lake) -> None:
    for query in (lake.scan(TABLE, snapshot_id="2027-01-01"), lake.scan_each(TABLE, {})):
        found = duckdb.sql(query)
        assert found.fetchall() == []
        assert dict(zip(found.columns, map(str, found.types), strict=True)) == {
            "snapshot_id": "VARCHAR",
            "cluster_id": "VARCHAR",
            "suite": "VARCHAR",
            "rows": "BIGINT",
        }


def test_what_is_too_large_or_in_a_folder_that_reads_as_a_pattern_is_not_for_duckdb(lake: Lake, tmp_path: Path) -> None:
    assert lake.scan(TABLE, most_bytes=1) is None
    odd = Lake(str(tmp_path / "lake[1]"), pytest.fail)
    odd.create(TABLE)
    assert odd.scan(TABLE) is None
    assert odd.dataset(TABLE).count_rows() == 0


def test_rows_of_before_a_column_came_are_null_in_it(lake: Lake) -> None:
    later = replace(TABLE, columns=f"{COLUMNS.rstrip()},\n    example STRING\n")
    lake.create(later)
    assert asked(lake.scan(later, snapshot_id="2026-02-01")) == [("2026-02-01", "a", "x", 4, None), ("2026-02-01", "b's", "x", 5, None)]
    more = rows(("c", "x", 6)).append_column("example", pa.array(["e"]))
    lake.replace(later, more, few=True, snapshot_id="2026-02-02", suite=["x"])
    assert asked(lake.scan(later, snapshot_id=["2026-02-01", "2026-02-02"])) == [
        ("2026-02-01", "a", "x", 4, None), ("2026-02-01", "b's", "x", 5, None), ("2026-02-02", "c", "x", 6, "e")
    ]  # fmt: skip


@pytest.mark.parametrize("storage", ["folder", "uri"])
def test_a_table_that_was_sliced_otherwise_is_sliced_anew_with_all_its_rows(
    lake: Lake, storage: str, request: pytest.FixtureRequest
) -> None:
    if storage == "uri":
        spark: SparkSession = request.getfixturevalue("spark")
        lake = Lake(f"file://{lake.uri}", lambda: spark)
    whole = replace(TABLE, partition_by=())
    later = replace(TABLE, columns=COLUMNS.replace("suite STRING", "gate STRING,\n    suite STRING"), partition_by=("snapshot_id", "gate"))
    for table in (whole, whole, later, later):
        lake.create(table)
        assert DeltaTable(lake.folder / table.name).metadata().partition_columns == list(table.partition_by)
    more = pa.table({"cluster_id": ["c"], "suite": ["x"], "rows": [6]})
    lake.replace(later, more, few=True, snapshot_id="2026-02-02", gate="g")
    found = sorted((row["snapshot_id"], row["gate"], row["suite"], row["rows"]) for row in lake.rows(later))
    assert found == [
        (NIGHT, None, "x", 1), (NIGHT, None, "x", 2), (NIGHT, None, "y", 3), ("2026-02-01", None, "x", 4), ("2026-02-01", None, "x", 5), ("2026-02-02", "g", "x", 6)
    ]  # fmt: skip
    assert sorted({file.parent.name for file in (Path(lake.folder) / "made").rglob("gate=*/*.parquet")}) == [
        "gate=__HIVE_DEFAULT_PARTITION__",
        "gate=g",
    ]


HOSTILE = [
    "x') OR true --",
    "bob's",
    "'",
    "''",
    "\\",
    "\\'",
    "\\\\",
    "a\nb\r\tc",
    "/* c */ -- d",
    "100%",
    "%41",
    "\\%_",
    "${spark.app.name}",
    "${env:HOME}",
    "{fn}",
    "é 日本 🙂",
    "$1 ?",
    '"`',
    "\\u0041\\101",
    "..",
    "*[a]?",
]
# Pieces that end, continue or comment out a literal, in any order.
PIECES = st.lists(st.sampled_from([*HOSTILE, "a", ";", "(", ")", ",", " OR ", "=", "$", "{", "}"]), min_size=1, max_size=4).map("".join)


def all_rows(lake: Lake, table: Table) -> list[tuple]:
    return sorted((row["snapshot_id"], row["cluster_id"], row["suite"], row["rows"]) for row in lake.rows(table))


@given(snapshots=st.lists(PIECES, min_size=2, max_size=2, unique=True), clusters=st.lists(PIECES, min_size=2, max_size=2, unique=True))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_replacing_a_slice_changes_no_other_slice(
    tmp_path_factory: pytest.TempPathFactory, snapshots: list[str], clusters: list[str]
) -> None:
    lake, table = Lake(str(tmp_path_factory.mktemp("lake")), pytest.fail), replace(TABLE, partition_by=("snapshot_id",))
    lake.create(table)
    expected = {(snapshot, cluster): number for number, (snapshot, cluster) in enumerate((s, c) for s in snapshots for c in clusters)}
    for (snapshot, cluster), number in expected.items():
        lake.replace(table, pa.table({"suite": ["x"], "rows": [number]}), few=True, snapshot_id=snapshot, cluster_id=cluster)
    for snapshot, cluster in expected:
        expected[snapshot, cluster] += 10
        rewritten = pa.table({"suite": ["x"], "rows": [expected[snapshot, cluster]]})
        lake.replace(table, rewritten, few=True, snapshot_id=snapshot, cluster_id=cluster)
        here = sorted((*key, "x", number) for key, number in expected.items())
        assert all_rows(lake, table) == here
        assert asked(lake.scan(table)) == here
        assert [row[3] for row in asked(lake.scan(table, snapshot_id=snapshot, cluster_id=[cluster]))] == [expected[snapshot, cluster]]
        assert [row[3] for row in asked(lake.scan_each(table, {cluster: snapshot}))] == [expected[snapshot, cluster]]
    lake.expire(table, snapshots[:1])
    assert {row[0] for row in all_rows(lake, table)} == {snapshots[1]}


def test_spark_replaces_and_reads_the_rows_of_a_hostile_cluster_only(tmp_path: Path, spark: SparkSession) -> None:
    folder = Lake(str(tmp_path), pytest.fail)
    lake = Lake(f"file://{tmp_path}", lambda: spark)
    table = replace(TABLE, partition_by=("snapshot_id",))
    lake.create(table)
    lake.replace(table, rows(*((cluster, "x", 0) for cluster in HOSTILE)), few=False, snapshot_id="s")
    for number, cluster in enumerate(("x') OR true --", "\\'", "${env:HOME}", "a\nb\r\tc"), start=1):
        lake.replace(table, rows((cluster, "x", number)), few=False, snapshot_id="s", cluster_id=cluster)
    changed = {row["cluster_id"]: row["rows"] for row in folder.rows(table)}
    assert changed == dict.fromkeys(HOSTILE, 0) | {"x') OR true --": 1, "\\'": 2, "${env:HOME}": 3, "a\nb\r\tc": 4}
    read = lake.read(table, snapshot_id="s", cluster_id=HOSTILE[:5]).collect()
    assert sorted(row["cluster_id"] for row in read) == sorted(HOSTILE[:5])


def test_a_spark_literal_is_its_text(spark: SparkSession) -> None:
    (row,) = spark.range(1).selectExpr(*(spark_literal(text) for text in HOSTILE)).collect()
    assert list(row) == HOSTILE


def test_a_standard_literal_is_its_text_to_duckdb() -> None:
    assert duckdb.sql(f"SELECT {', '.join(standard_literal(text) for text in HOSTILE)}").fetchall() == [tuple(HOSTILE)]
