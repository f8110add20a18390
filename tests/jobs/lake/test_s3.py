"""A lake in S3 (`pytest -m s3`), on S3Proxy, an S3 server that keeps objects in a folder."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.cli import BUNDLED
from jobs.errors import AuditError
from jobs.lake import write_lock
from jobs.lake.lake import Lake, open_lake
from jobs.lake.write_lock import object_lock
from jobs.schema import PARAMETER, SNAPSHOT, TABLES, VALIDATION
from jobs.spark.jars import fetch, java
from jobs.spark.session import session

pytestmark = pytest.mark.s3

S3PROXY = "org.gaul:s3proxy:4.1.0"  # 2.6.0 ignores If-None-Match
NIGHT = "2026-01-01"
LAKE = "s3a://audit/lake"
CLOCKS = {SNAPSHOT: ("published_at",), VALIDATION: ("seconds",)}


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Start S3Proxy with an empty bucket, and set the AWS_* variables for it."""
    folder = tmp_path_factory.mktemp("s3")
    (folder / "objects" / "audit").mkdir(parents=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "s3proxy.endpoint": f"http://127.0.0.1:{port}",
        "s3proxy.authorization": "aws-v2-or-v4",
        "s3proxy.identity": "identity",
        "s3proxy.credential": "secret",
        "jclouds.provider": "filesystem-nio2",
        "jclouds.filesystem.basedir": folder / "objects",
        "jclouds.identity": "unused",
        "jclouds.credential": "unused",
    }
    (folder / "s3proxy.conf").write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    jars = ":".join(map(str, fetch(S3PROXY, transitive=True)))
    (folder / "logback.xml").write_text('<configuration><root level="warn"/></configuration>')  # it logs every request by default
    options = [f"-Dlogback.configurationFile={folder / 'logback.xml'}", "-cp", jars]
    command = [java(), *options, "org.gaul.s3proxy.Main", "--properties", str(folder / "s3proxy.conf")]
    variables = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "identity",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
    }
    with (folder / "s3proxy.log").open("wb") as log, pytest.MonkeyPatch.context() as environment:
        server = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            _wait_for(port)
            for name, value in variables.items():
                environment.setenv(name, value)
            yield
        finally:
            server.terminate()
            server.wait()


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 120
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            assert time.monotonic() < deadline, "S3Proxy does not listen"
            time.sleep(0.2)


def command(*arguments: str) -> str:
    """Run `topology-audit` and return its output."""
    done = subprocess.run([Path(sys.executable).with_name("topology-audit"), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def comparable_rows(lake: Lake) -> dict[str, list[str]]:
    """Return the rows of every table as text, without the columns that contain the time of the run."""
    rows = {}
    for table in TABLES:
        columns = [name for name in table.schema.names if name not in CLOCKS.get(table, ())]
        rows[table.name] = sorted(str(row) for row in lake.dataset(table).to_table(columns).to_pylist())
    return rows


@pytest.fixture(scope="module")
def night(s3: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the bundled night in S3, and return the folder of its report."""
    report = tmp_path_factory.mktemp("report")
    command("nightly", str(BUNDLED), "--lake", LAKE, "--snapshot", NIGHT, "--report", str(report))
    return report


def test_a_night_in_s3_has_the_rows_of_a_night_in_a_folder(night: Path, tmp_path: Path) -> None:
    command("nightly", str(BUNDLED), "--lake", str(tmp_path), "--snapshot", NIGHT)
    expected, actual = (comparable_rows(open_lake(uri, pytest.fail)) for uri in (str(tmp_path), LAKE))
    assert expected[PARAMETER.name] == [str({"snapshot_id": NIGHT, "name": "scale", "value": "small"})]
    assert [name for name, rows in expected.items() if actual[name] != rows] == []


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_a_query_reads_a_lake_in_s3(night: Path, engine: str) -> None:
    sql = "SELECT cluster_id, snapshot_id FROM snapshot ORDER BY cluster_id"
    assert command("query", sql, "--lake", LAKE, "--engine", engine, "--format", "csv").splitlines() == [
        "cluster_id,snapshot_id",
        f"orders-eu,{NIGHT}",
        f"payments-us,{NIGHT}",
    ]


def test_the_report_of_a_night_in_s3_is_written_to_a_folder(night: Path) -> None:
    page = night / "index.html"
    written_by_the_night = page.read_text()
    page.unlink()
    command("report", "--lake", LAKE, "--snapshot", NIGHT, "--report", str(night))
    assert "orders-eu" in written_by_the_night
    assert page.read_text() == written_by_the_night


WRITER = """
import sys
import pyarrow as pa
from jobs.lake.lake import open_lake
from jobs.schema import BY_NAME
from jobs.spark.session import session

writer, writes = sys.argv[1], int(sys.argv[2])
table = BY_NAME["parameter"]
spark = session(s3=True)
lake = open_lake("s3a://audit/shared", lambda: spark)
lake.create(table)
print("ready", flush=True)
sys.stdin.readline()
for number in range(writes):
    lake.replace(table, pa.table({"name": ["writer"], "value": [writer]}), snapshot_id=f"{writer}-{number}", attempt_id="1")
"""


def test_two_writers_of_a_table_in_s3_lose_no_commit(s3: None) -> None:
    writes = 8
    arguments = [sys.executable, "-c", WRITER]
    writers = [
        subprocess.Popen([*arguments, name, str(writes)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for name in ("a", "b")
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:  # both start to write when both have started Spark
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.flush()
    assert [writer.wait() for writer in writers] == [0, 0]
    lake = open_lake("s3a://audit/shared", pytest.fail)
    snapshots = sorted(lake.dataset(PARAMETER).to_table(["snapshot_id"])["snapshot_id"].to_pylist())
    assert snapshots == sorted(f"{name}-{number}" for name in ("a", "b") for number in range(writes))


@pytest.fixture(scope="module")
def spark(s3: None) -> Iterator[SparkSession]:
    """A session that reads S3; the session of other tests has no such jars."""
    spark = session(s3=True, **{"spark.master": "local[2]"})
    yield spark
    spark.stop()


def test_a_lock_in_s3_has_one_holder(spark: SparkSession) -> None:
    path = "s3a://audit/held.lock"
    with object_lock(spark, path, wait_s=0), pytest.raises(AuditError, match=r"held\.lock exists"), object_lock(spark, path, wait_s=2):
        pytest.fail("two holders")
    with object_lock(spark, path, wait_s=0):  # released above
        pass


def test_the_lock_of_a_killed_writer_is_taken_over(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    path = "s3a://audit/killed.lock"
    monkeypatch.setattr(write_lock, "LEASE_S", 3.0)
    monkeypatch.setattr(write_lock, "_RENEW_S", 1e9)  # a killed process renews nothing
    with pytest.raises(AuditError, match=r"killed\.lock expired"), object_lock(spark, path, wait_s=0), object_lock(spark, path, wait_s=60):
        pass


def test_a_renewed_lock_is_not_taken_over(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    path = "s3a://audit/renewed.lock"
    monkeypatch.setattr(write_lock, "LEASE_S", 6.0)
    monkeypatch.setattr(write_lock, "_RENEW_S", 1.0)
    with (
        object_lock(spark, path, wait_s=0),
        pytest.raises(AuditError, match=r"renewed\.lock exists"),
        object_lock(spark, path, wait_s=15),
    ):
        pytest.fail("two holders")
