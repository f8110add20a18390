"""`topology-audit query`: both engines read only the published views and write nothing; the output suits people or programs."""

from __future__ import annotations

import csv
import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from io import StringIO
from pathlib import Path

import duckdb
import pytest
from pyspark.sql import SparkSession

from jobs.errors import AuditError
from jobs.lake.lake import open_lake
from jobs.report import query_output
from jobs.report.query_output import Format
from jobs.schema import BROKER, CLUSTER, HOT_KEY, SNAPSHOT, TABLES, Table
from jobs.views import DuckdbViews, query_duckdb, query_spark, script
from tests.jobs.empty_lake import empty_lake
from tests.jobs.rows import rows

Query = Callable[..., tuple[list[str], list[tuple[object, ...]]]]
CAPACITY = 5.0 * 2**30


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with a published cluster of two brokers and an unpublished cluster; next to it is a file outside the lake."""
    folder = tmp_path_factory.mktemp("query") / "lake"
    lake = empty_lake(folder)

    def write(table: Table, *given: dict[str, object]) -> None:
        lake.replace(table, rows(table, *given), snapshot_id="s", attempt_id="1")

    write(CLUSTER, {"cluster_id": "c"}, {"cluster_id": "unpublished"})
    capacity = {"disk_capacity_bytes": CAPACITY}
    write(BROKER, *({"broker_id": id, "live": True, **capacity} for id in (1001, 1002)), {"broker_id": 9, "cluster_id": "unpublished"})
    write(HOT_KEY, {"topic": "t", "rank": 1, "key": b"\xff"})
    write(SNAPSHOT, {"cluster_id": "c", "published_at": 0})
    duckdb.sql("SELECT 1 AS secret").write_parquet(str(folder.parent / "outside.parquet"))
    return folder


@pytest.fixture(params=["duckdb", "spark on a folder", "spark on a URI"])
def query(folder: Path, request: pytest.FixtureRequest) -> Query:
    if request.param == "duckdb":
        return lambda sql, rows=100: query_duckdb(open_lake(str(folder), pytest.fail), sql, rows)
    spark: SparkSession = request.getfixturevalue("spark")
    uri = str(folder) if request.param == "spark on a folder" else f"file://{folder}"
    return lambda sql, rows=100: query_spark(open_lake(uri, lambda: spark), sql, rows)


@pytest.fixture
def query_in_spark(folder: Path, spark: SparkSession) -> Query:
    return lambda sql, rows=100: query_spark(open_lake(str(folder), lambda: spark), sql, rows)


def contents(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.parent.rglob("*") if path.is_file() and not path.name.endswith(".crc")}


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT broker_id FROM broker WHERE latest ORDER BY 1;", [(1001,), (1002,)]),
        ("WITH brokers AS (SELECT * FROM Broker) SELECT count(*) FROM brokers JOIN cluster USING (cluster_id)", [(2,)]),
        ("SELECT cluster_id FROM cluster UNION ALL VALUES ('v') ORDER BY 1", [("c",), ("v",)]),
        ("SELECT (SELECT max(broker_id) FROM broker) + 1", [(1003,)]),
        ("VALUES (1)", [(1,)]),
        ("SELECT '${env:HOME}', ';'", [("${env:HOME}", ";")]),
    ],
)
def test_a_query_returns_published_rows(query: Query, sql: str, expected: list[tuple[object, ...]]) -> None:
    assert query(sql)[1] == expected


def test_engines_give_the_same_python_values(query: Query) -> None:
    names, found = query("SELECT cluster_id, published_at, disk_capacity_bytes, key FROM snapshot JOIN broker USING (cluster_id) JOIN hot_key USING (cluster_id) LIMIT 1")  # fmt: skip
    assert names == ["cluster_id", "published_at", "disk_capacity_bytes", "key"]
    assert query_output.text(names, found, Format.json) == (
        '[\n{"cluster_id": "c", "published_at": "1970-01-01T00:00:00+00:00", "disk_capacity_bytes": 5368709120.0, "key": "ff"}\n]\n'
    )


BOTH_REFUSE = [
    "CREATE TABLE x AS SELECT 1",
    "CREATE VIEW broker AS SELECT 1",
    "DROP VIEW broker",
    "INSERT INTO broker SELECT * FROM broker",
    "DELETE FROM broker",
    "SET threads = 1",
    "SELECT 1; SELECT 2",
    "SELECT 1; DROP VIEW broker",
    "EXPLAIN SELECT 1",
    "",
    "SELECT * FROM _broker",
    "SELECT * FROM information_schema.tables",
    'WITH "outside.parquet" AS (SELECT 1 AS a) SELECT * FROM broker',
    "SELECT count(*) FROM broker WHERE rack IN (SELECT content FROM read_text('/etc/passwd'))",
]


@pytest.mark.parametrize(
    "sql",
    [
        *BOTH_REFUSE,
        "COPY (SELECT 1) TO '{outside}'",
        "COPY broker TO '{lake}/stolen.csv'",
        "COPY broker FROM '{outside}'",
        "ATTACH '{lake}/x.db'",
        "SELECT * FROM '{outside}'",
        "SELECT * FROM read_parquet('{outside}')",
        "SELECT * FROM read_parquet('{lake}/broker/*/*.parquet')",
        "SELECT * FROM delta_scan('{lake}/broker')",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM 'file.csv'",
        "SELECT (SELECT count(*) FROM glob('{lake}/*'))",
        "SELECT * FROM query('SELECT 1')",
        "SELECT * FROM duckdb_settings()",
        "SELECT * FROM sys",  # a Python variable
        "DESCRIBE '{outside}'",
        "SHOW TABLES",
        "PRAGMA database_list",
        "INSTALL httpfs",
        "LOAD httpfs",
        "CALL pragma_version()",
        "EXPORT DATABASE '{lake}/x'",
    ],
)
def test_duckdb_refuses_anything_but_one_query_on_the_views(folder: Path, sql: str) -> None:
    before = contents(folder)
    with pytest.raises(AuditError) as refused:
        query_duckdb(open_lake(str(folder), pytest.fail), sql.format(lake=folder, outside=folder.parent / "outside.parquet"), 100)
    assert len(str(refused.value).splitlines()) == 1
    assert contents(folder) == before


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM '{outside}'",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('{lake}/../outside.parquet')",
        "COPY (SELECT 1) TO '{outside}'",
        "ATTACH '{outside}.db'",
        "SET enable_external_access = true",
        "INSTALL httpfs",
        "SELECT * FROM sys",
    ],
)
def test_the_duckdb_connection_reads_no_file_outside_the_lake(folder: Path, sql: str) -> None:
    sys = duckdb.sql("SELECT 1")  # DuckDB could resolve the name of this variable
    with pytest.raises(duckdb.Error):
        DuckdbViews(open_lake(str(folder), pytest.fail)).execute(sql.format(lake=folder, outside=folder.parent / "outside.parquet"))
    assert sys.fetchall() == [(1,)]


@pytest.mark.parametrize(
    "sql",
    [
        *BOTH_REFUSE,
        "SELECT * FROM parquet.`{outside}`",
        "SELECT * FROM delta.`{lake}/broker`",
        "SELECT * FROM text.`/etc/passwd`",
        "SELECT * FROM csv.`/etc/passwd`",
        "SELECT * FROM spark_catalog.default.broker",
        "SELECT * FROM IDENTIFIER('text.`/etc/passwd`')",
        "SELECT * FROM table_changes_by_path('{lake}/broker', 0)",
        "SELECT (SELECT count(*) FROM text.`/etc/passwd`)",
        "SELECT * FROM broker JOIN LATERAL (SELECT * FROM text.`/etc/passwd`)",
        "SELECT reflect('java.lang.System', 'getProperty', 'user.home')",
        "SELECT count(*) FROM broker WHERE Java_Method('java.lang.System', 'getProperty', 'user.home') = ''",
        "SELECT IDENTIFIER('reflect')('java.lang.System', 'getProperty', 'user.home')",
        "SELECT TRANSFORM(broker_id) USING 'cat' AS (x STRING) FROM broker",
        "FROM broker INSERT INTO broker SELECT *",
        "ADD JAR /x.jar",
        "CACHE TABLE broker",
        "SHOW TABLES",
        "EXECUTE IMMEDIATE 'SELECT 1'",
        "BEGIN SELECT 1; END",
    ],
)
def test_spark_refuses_anything_but_one_query_on_the_views(query_in_spark: Query, folder: Path, sql: str) -> None:
    before = contents(folder)
    with pytest.raises(AuditError) as refused:
        query_in_spark(sql.format(lake=folder, outside=folder.parent / "outside.parquet"))
    assert len(str(refused.value).splitlines()) == 1
    assert contents(folder) == before


def test_a_session_reads_paths_again_after_a_query(query_in_spark: Query, folder: Path, spark: SparkSession) -> None:
    read = f"SELECT secret FROM parquet.`{folder.parent / 'outside.parquet'}`"
    for sql in (read, "SELECT * FROM broker", "SELECT 1 / 0"):
        with suppress(AuditError):
            query_in_spark(sql)
        assert spark.sql(read).collect() == [(1,)]


def test_the_printed_views_are_valid_for_a_lake_path_with_quotes() -> None:
    lake = open_lake("/a/lake's `own`", pytest.fail)
    printed = duckdb.extract_statements(script(lake, "duckdb"))
    assert len(printed) == len(script(lake, "spark").split(";\n")) - 1 > len(TABLES)
    assert {statement.type for statement in printed} == {duckdb.StatementType.CREATE}
    assert "delta.`/a/lake's ``own``/broker`" in script(lake, "spark")


NAMES = ["topic", "partition", "size_bytes", "records", "share", "replicas"]
ROWS = [("a|b", 12345, 3 * 2**30, 1234567, 0.123456, [1001, 1002]), ('x"\x1b[31m,\n', None, 512, None, 2.0, []), ("", 0, 0, 0, 1e-9, None)]


def test_formats_for_people_have_units_and_formats_for_programs_exact_values() -> None:
    table = query_output.text(NAMES, ROWS, Format.table)
    assert [line.split() for line in table.splitlines()[2:4]] == [
        ["a|b", "12345", "3", "GiB", "1,234,567", "0.1235", "[1001,", "1002]"],
        ['x"\\x1b[31m,\\n', "512", "B", "2", "[]"],
    ]
    assert query_output.text(NAMES, ROWS[:1], Format.vertical) == (
        "── row 1 ──\ntopic       a|b\npartition   12345\nsize_bytes  3 GiB\nrecords     1,234,567\nshare       0.1235\nreplicas    [1001, 1002]\n"
    )
    assert query_output.text(NAMES, ROWS[:1], Format.markdown).splitlines() == [
        "| topic | partition | size_bytes | records | share | replicas |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
        "| a\\|b | 12345 | 3 GiB | 1,234,567 | 0.1235 | [1001, 1002] |",
    ]
    assert json.loads(query_output.text(NAMES, ROWS, Format.json)) == [dict(zip(NAMES, row, strict=True)) for row in ROWS]


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("broker_id", 1001, "1001"),
        ("leader_before", 10_000, "10000"),
        ("partitions", 10_000, "10,000"),
        ("at_risk_size_bytes", 1536 * 2**20, "1.5 GiB"),
        ("size_bytes", -2048, "-2 KiB"),
        ("size_bytes", 5000.0 * 2**40, "5,000 TiB"),
        ("throttle_bytes_per_s", 2.5e6, "2.384 MiB/s"),
        ("mean_record_bytes", 96.75, "96.75 B"),
        ("skew", 12345.6, "12,346"),
        ("skew", float("nan"), "nan"),
        ("published_at", datetime(2026, 1, 31, 2, tzinfo=UTC), "2026-01-31 02:00:00+00:00"),
        ("key", b"order-1", "order-1"),
        ("key", b"\x00\xff", "0x00ff"),
        ("latest", True, "true"),
        ("configs", {"retention.ms": "1"}, "{retention.ms: 1}"),
        ("rack", None, ""),
    ],
)
def test_the_name_of_a_column_decides_how_its_values_are_shown(name: str, value: object, expected: str) -> None:
    assert query_output.text([name], [(value,)], Format.vertical) == f"── row 1 ──\n{name}  {expected}".rstrip() + "\n"


def test_other_csv_readers_can_distinguish_null_from_the_empty_string(tmp_path: Path) -> None:
    written = query_output.text(NAMES, ROWS, Format.csv)
    assert [*csv.reader(StringIO(written))] == [
        NAMES,
        ["a|b", "12345", str(3 * 2**30), "1234567", "0.123456", "[1001, 1002]"],
        ['x"\x1b[31m,\n', "", "512", "", "2.0", "[]"],
        ["", "0", "0", "0", "1e-09", ""],
    ]
    assert written.splitlines()[-1].startswith('"",0')
    (tmp_path / "f.csv").write_text(written)
    read = duckdb.sql(f"SELECT topic, records FROM read_csv('{tmp_path}/f.csv', allow_quoted_nulls = false)").fetchall()
    assert read == [("a|b", 1234567), ('x"\x1b[31m,\n', None), ("", 0)]


def test_json_contains_the_values_of_csv_and_null_for_infinity() -> None:
    names, row = ["a", "b", "c", "d", "e"], (float("inf"), Decimal("1.5"), datetime(2026, 1, 1, tzinfo=UTC), b"\x01", {"k": [None]})
    written = query_output.text(names, [row], Format.json)
    assert json.loads(written, parse_constant=pytest.fail) == [
        {"a": None, "b": 1.5, "c": "2026-01-01T00:00:00+00:00", "d": "01", "e": {"k": [None]}}
    ]
    assert query_output.text(names, [row], Format.csv).splitlines()[1] == ',1.5,2026-01-01T00:00:00+00:00,01,"{""k"": [null]}"'
    assert json.loads(query_output.text(names, [], Format.json)) == []
    with pytest.raises(AuditError, match="two columns are named a"):
        query_output.text(["a", "a"], [(1, 2)], Format.json)


def test_a_table_wider_than_the_terminal_is_printed_as_vertical() -> None:
    whole = query_output.text(NAMES, ROWS, Format.table)
    widest = max(map(len, whole.splitlines()))
    assert query_output.text(NAMES, ROWS, Format.table, 200) == whole
    assert widest > 60
    assert query_output.text(NAMES, ROWS, Format.table, 60) == query_output.text(NAMES, ROWS, Format.vertical)


def command(folder: Path, *arguments: str) -> list[str]:
    return [str(Path(sys.executable).with_name("topology-audit")), "query", "--lake", str(folder), *arguments]


def on_a_terminal(columns: int, arguments: list[str]) -> str:
    main, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    process = subprocess.Popen(arguments, stdout=terminal, stderr=subprocess.DEVNULL, env=environment)
    os.close(terminal)
    shown = b""
    try:
        while piece := os.read(main, 65536):
            shown += piece
    except OSError:  # the process has ended
        pass
    os.close(main)
    assert process.wait() == 0
    return shown.decode().replace("\r\n", "\n")


def test_output_is_a_table_or_vertical_on_a_terminal_and_csv_in_a_pipe(folder: Path) -> None:
    sql = "SELECT cluster_id, broker_id, disk_capacity_bytes FROM broker WHERE latest ORDER BY broker_id"
    shown = on_a_terminal(80, command(folder, sql))
    assert [line.split() for line in shown.splitlines()[2:]] == [["c", "1001", "5", "GiB"], ["c", "1002", "5", "GiB"]]
    whole = on_a_terminal(80, command(folder, "SELECT * FROM broker WHERE latest ORDER BY broker_id"))
    assert whole.startswith("── row 1 ──\nsnapshot_id ")
    assert all(len(line) <= 80 for line in whole.splitlines())
    piped = subprocess.run(command(folder, sql, "--rows", "1"), capture_output=True, text=True, check=True)
    assert piped.stdout == f"cluster_id,broker_id,disk_capacity_bytes\nc,1001,{CAPACITY}\n"
    assert piped.stderr == "only the first 1 rows are printed: --rows prints more\n"
    named = subprocess.run(command(folder, sql, "--format", "table"), capture_output=True, text=True, check=True)
    assert named.stdout == shown
    assert named.stderr == ""


def test_a_reader_may_close_the_pipe_early(folder: Path) -> None:
    sql = "SELECT range, repeat('x', 1000) FROM range(1000)"
    first = subprocess.Popen(command(folder, sql, "--rows", "1000"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert first.stdout is not None
    assert first.stderr is not None
    first.stdout.readline()
    first.stdout.close()
    assert first.stderr.read() == ""
    assert first.wait() == 0
