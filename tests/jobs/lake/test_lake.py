"""Rows that one reader or writer stores, every other one reads: delta-rs, DuckDB and Spark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from jobs.engine import DuckdbEngine
from jobs.errors import AuditError
from jobs.lake.lake import Lake, open_lake
from jobs.lake.selection import Attempt
from jobs.lake.sql_literal import spark_literal, standard_literal
from jobs.lake.table_file import TableFileWriter
from jobs.schema import Table

COLUMNS = """
    snapshot_id STRING NOT NULL,
    cluster_id STRING NOT NULL,
    suite STRING NOT NULL,
    rows BIGINT
"""
TABLE = Table("made", "a table", ("snapshot_id", "cluster_id", "suite"), COLUMNS, partition_by=("snapshot_id", "suite"))
NIGHT = "2026-01-31T02:00:00+00:00"  # as Airflow names it: with characters that a path escapes
LATER = Attempt("2026-02-01", "1")


def rows(*values: tuple[str, str, int]) -> pa.Table:
    return pa.table(list(zip(*values, strict=True)), names=["cluster_id", "suite", "rows"])


def query_rows(query: str | None) -> list[tuple]:
    assert query is not None
    return sorted(duckdb.sql(query).fetchall())


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = open_lake(str(tmp_path / "it's a lake"), pytest.fail)
    lake.create(TABLE)
    lake.replace(TABLE, rows(("a", "x", 8), ("b", "x", 9)), snapshot_id=NIGHT, attempt_id="9", suite=["x"])
    lake.replace(TABLE, rows(("a", "x", 1), ("b", "x", 2), ("a", "y", 3)), snapshot_id=NIGHT, attempt_id="10", suite=["x", "y"])
    lake.replace(TABLE, rows(("a", "x", 4), ("b's", "x", 5)), snapshot_id="2026-02-01", attempt_id="1", suite=["x"])
    return lake


def test_duckdb_reads_the_selected_rows_and_the_attempt_of_each_cluster(lake: Lake) -> None:
    assert query_rows(lake.duckdb_query(TABLE)) == [
        (NIGHT, "a", "x", 1), (NIGHT, "a", "x", 8), (NIGHT, "a", "y", 3), (NIGHT, "b", "x", 2), (NIGHT, "b", "x", 9),
        ("2026-02-01", "a", "x", 4), ("2026-02-01", "b's", "x", 5),
    ]  # fmt: skip
    assert query_rows(lake.duckdb_query(TABLE.stored, attempt_id="9")) == [(NIGHT, "9", "a", "x", 8), (NIGHT, "9", "b", "x", 9)]
    assert query_rows(lake.duckdb_query(TABLE, snapshot_id=NIGHT, suite=["y", "z"])) == [(NIGHT, "a", "y", 3)]
    assert query_rows(lake.duckdb_query(TABLE, attempts={"a": Attempt(NIGHT, "10"), "b's": LATER})) == [
        (NIGHT, "a", "x", 1),
        (NIGHT, "a", "y", 3),
        ("2026-02-01", "b's", "x", 5),
    ]


@pytest.mark.parametrize("storage", ["folder", "uri"])
def test_both_lakes_read_the_attempt_of_each_cluster(lake: Lake, storage: str, spark: SparkSession) -> None:
    opened = open_lake(lake.uri if storage == "folder" else f"file://{lake.uri}", lambda: spark)
    attempts = {"a": Attempt(NIGHT, "10"), "b": Attempt(NIGHT, "9"), "b's": LATER, "c": Attempt(NIGHT, "9")}
    expected = [(NIGHT, "a", "x", 1), (NIGHT, "a", "y", 3), (NIGHT, "b", "x", 9), ("2026-02-01", "b's", "x", 5)]
    assert sorted(tuple(row.values()) for row in opened.read_local(TABLE, attempts=attempts).to_pylist()) == expected
    assert sorted(tuple(row) for row in opened.read(TABLE, attempts=attempts).collect()) == expected
    assert [row["rows"] for row in opened.read_local(TABLE, attempts=attempts, suite="y").to_pylist()] == [3]
    assert opened.read_local(TABLE, attempts={}).num_rows == opened.read(TABLE, attempts={}).count() == 0


@pytest.mark.parametrize("storage", ["folder", "uri"])
def test_snapshots_of_an_unpartitioned_table_are_replaced_deleted_and_compacted_into_one_file(
    tmp_path: Path, storage: str, request: pytest.FixtureRequest
) -> None:
    folder = open_lake(str(tmp_path), pytest.fail)
    lake = folder
    if storage == "uri":
        spark: SparkSession = request.getfixturevalue("spark")
        lake = open_lake(f"file://{folder.uri}", lambda: spark)
    whole = replace(TABLE, partition_by=())
    lake.create(whole)
    for number, night in enumerate([NIGHT, "2026-02-01", NIGHT, "2026-02-02", "2026-02-01"]):
        lake.replace(whole, rows(("a", "x", number), ("b's", "y", number))[: 2 - number // 4], snapshot_id=night, attempt_id="1")
    expected = [
        (NIGHT, "a", "x", 2),
        (NIGHT, "b's", "y", 2),
        ("2026-02-01", "a", "x", 4),
        ("2026-02-02", "a", "x", 3),
        ("2026-02-02", "b's", "y", 3),
    ]
    assert query_rows(folder.duckdb_query(whole)) == expected
    assert query_rows(folder.duckdb_query(whole, cluster_id="b's")) == [row for row in expected if row[1] == "b's"]
    lake.replace(whole, rows(("a", "x", 0)), snapshot_id=NIGHT, attempt_id="2")
    assert lake.attempts(whole) == {Attempt(NIGHT, "1"), Attempt(NIGHT, "2"), LATER, Attempt("2026-02-02", "1")}
    lake.delete(whole, ["2026-02-02"], [Attempt(NIGHT, "2")])
    lake.compact(whole)
    assert len(folder.dataset(whole).files) == 1
    assert query_rows(folder.duckdb_query(whole, snapshot_id=NIGHT)) == expected[:2]
    assert [tuple(row.values()) for row in lake.read_local(whole, snapshot_id=["2026-02-01", "2026-02-02"]).to_pylist()] == expected[2:3]


@pytest.mark.parametrize("writer", ["delta-rs", "DuckDB", "Spark", "Spark on other storage", "TableFileWriter"])
def test_each_writer_compresses_its_files(writer: str, tmp_path: Path, spark: SparkSession) -> None:
    lake, partition = open_lake(str(tmp_path), lambda: spark), {"snapshot_id": NIGHT, "attempt_id": "1", "suite": "x"}
    lake.create(TABLE)
    written = rows(("a", "x", 1), ("b", "x", 2))
    match writer:
        case "DuckDB":
            lake.replace(TABLE, DuckdbEngine().from_arrow(written.append_column("snapshot_id", [[NIGHT] * 2])), **partition)
        case "Spark":
            lake.replace(TABLE, spark.createDataFrame(written), **partition)
        case "Spark on other storage":
            open_lake(tmp_path.as_uri(), lambda: spark).replace(TABLE, written, **partition)
        case "TableFileWriter":
            file_writer = TableFileWriter(str(tmp_path), partition, TABLE)
            file_writer.write(written)
            lake.replace(TABLE, [file_writer.close()], **partition)
        case "delta-rs":
            lake.replace(TABLE, written, **partition)
    (file,) = DeltaTable(lake.path(TABLE)).file_uris()
    metadata = pq.read_metadata(file).row_group(0)
    assert {metadata.column(index).compression for index in range(metadata.num_columns)} == {"ZSTD"}


def test_a_selection_without_files_has_the_declared_columns_and_no_row(lake: Lake) -> None:
    for query in (lake.duckdb_query(TABLE, snapshot_id="2027-01-01"), lake.duckdb_query(TABLE, attempts={})):
        result = duckdb.sql(query)
        assert result.fetchall() == []
        assert dict(zip(result.columns, map(str, result.types), strict=True)) == {
            "snapshot_id": "VARCHAR",
            "cluster_id": "VARCHAR",
            "suite": "VARCHAR",
            "rows": "BIGINT",
        }


def test_duckdb_gets_no_query_for_a_folder_that_looks_like_a_pattern(tmp_path: Path) -> None:
    pattern_like = open_lake(str(tmp_path / "lake[1]"), pytest.fail)
    pattern_like.create(TABLE)
    assert pattern_like.duckdb_query(TABLE) is None
    assert pattern_like.dataset(TABLE).count_rows() == 0


def test_a_second_writer_of_a_lake_is_refused(tmp_path: Path) -> None:
    lake = open_lake(str(tmp_path), pytest.fail)
    with lake.sole_writer(), pytest.raises(AuditError, match="another run is writing to the lake"), lake.sole_writer():
        pass


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
# Texts that could end, continue or comment out a literal, in any order.
PIECES = st.lists(st.sampled_from([*HOSTILE, "a", ";", "(", ")", ",", " OR ", "=", "$", "{", "}"]), min_size=1, max_size=4).map("".join)


def all_rows(lake: Lake, table: Table) -> list[tuple]:
    return sorted((row["snapshot_id"], row["cluster_id"], row["suite"], row["rows"]) for row in lake.read_local(table).to_pylist())


@given(snapshots=st.lists(PIECES, min_size=2, max_size=2, unique=True), clusters=st.lists(PIECES, min_size=2, max_size=2, unique=True))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_replacing_one_cluster_changes_no_other_cluster_or_snapshot(
    tmp_path_factory: pytest.TempPathFactory, snapshots: list[str], clusters: list[str]
) -> None:
    lake, table = open_lake(str(tmp_path_factory.mktemp("lake")), pytest.fail), replace(TABLE, partition_by=("snapshot_id",))
    lake.create(table)
    expected = {(snapshot, cluster): number for number, (snapshot, cluster) in enumerate((s, c) for s in snapshots for c in clusters)}
    for (snapshot, cluster), number in expected.items():
        lake.replace(table, pa.table({"suite": ["x"], "rows": [number]}), snapshot_id=snapshot, attempt_id="1", cluster_id=cluster)
    for snapshot, cluster in expected:
        expected[snapshot, cluster] += 10
        rewritten = pa.table({"suite": ["x"], "rows": [expected[snapshot, cluster]]})
        lake.replace(table, rewritten, snapshot_id=snapshot, attempt_id="1", cluster_id=cluster)
        current = sorted((*key, "x", number) for key, number in expected.items())
        assert all_rows(lake, table) == current
        assert query_rows(lake.duckdb_query(table)) == current
        assert [row[3] for row in query_rows(lake.duckdb_query(table, snapshot_id=snapshot, cluster_id=[cluster]))] == [
            expected[snapshot, cluster]
        ]
        assert [row[3] for row in query_rows(lake.duckdb_query(table, attempts={cluster: Attempt(snapshot, "1")}))] == [
            expected[snapshot, cluster]
        ]
    lake.delete(table, snapshots[:1])
    assert {row[0] for row in all_rows(lake, table)} == {snapshots[1]}


def test_spark_replaces_and_reads_only_the_cluster_whose_id_looks_like_sql(tmp_path: Path, spark: SparkSession) -> None:
    folder = open_lake(str(tmp_path), pytest.fail)
    lake = open_lake(f"file://{tmp_path}", lambda: spark)
    table = replace(TABLE, partition_by=("snapshot_id",))
    lake.create(table)
    lake.replace(table, rows(*((cluster, "x", 0) for cluster in HOSTILE)), snapshot_id="s", attempt_id="1")
    for number, cluster in enumerate(("x') OR true --", "\\'", "${env:HOME}", "a\nb\r\tc"), start=1):
        lake.replace(table, rows((cluster, "x", number)), snapshot_id="s", attempt_id="1", cluster_id=cluster)
    changed = {row["cluster_id"]: row["rows"] for row in folder.read_local(table).to_pylist()}
    assert changed == dict.fromkeys(HOSTILE, 0) | {"x') OR true --": 1, "\\'": 2, "${env:HOME}": 3, "a\nb\r\tc": 4}
    read = lake.read(table, snapshot_id="s", cluster_id=HOSTILE[:5]).collect()
    assert sorted(row["cluster_id"] for row in read) == sorted(HOSTILE[:5])


def test_spark_reads_a_quoted_literal_as_its_text(spark: SparkSession) -> None:
    (row,) = spark.range(1).selectExpr(*(spark_literal(text) for text in HOSTILE)).collect()
    assert list(row) == HOSTILE


def test_duckdb_reads_a_quoted_literal_as_its_text() -> None:
    assert duckdb.sql(f"SELECT {', '.join(standard_literal(text) for text in HOSTILE)}").fetchall() == [tuple(HOSTILE)]


def test_unknown_scheme_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(AuditError, match=r"lake wasbs://a/b cannot be opened: its scheme is wasbs, and the known ones are file, s3a, "):
        open_lake("wasbs://a/b", pytest.fail)
