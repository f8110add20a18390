"""The lake's rows as DuckDB reads them from the files, and tables of older versions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from jobs.lake import Lake
from jobs.tables import Table

COLUMNS = """
    snapshot_id STRING NOT NULL,
    cluster_id STRING NOT NULL,
    suite STRING NOT NULL,
    rows BIGINT
"""
TABLE = Table("made", "a table", ("snapshot_id", "cluster_id", "suite"), COLUMNS, slice=("snapshot_id", "suite"))
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
    whole = replace(TABLE, slice=())
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
    whole = replace(TABLE, slice=())
    later = replace(TABLE, columns=COLUMNS.replace("suite STRING", "gate STRING,\n    suite STRING"), slice=("snapshot_id", "gate"))
    for table in (whole, whole, later, later):
        lake.create(table)
        assert DeltaTable(lake.folder / table.name).metadata().partition_columns == list(table.slice)
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
