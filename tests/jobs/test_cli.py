"""The command line: help of every command, and one clear line with a non-zero exit code for every error."""

import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs import cli, ingest
from jobs.errors import AuditError, IncompleteNight
from jobs.lake.lake import open_lake
from jobs.night import NIGHT, NightlyRun
from jobs.schema import CLUSTER, INPUT_FILE
from jobs.spark.scale import Scale
from jobs.views import VIEWS, DuckdbViews
from tests.jobs.command import Command
from tests.jobs.rows import rows
from tests.web_pages import external_references

COMMANDS = [
    "nightly",
    "step",
    "check",
    "publish",
    "report",
    "notify",
    "what-if",
    "plan",
    "query",
    "views",
    "describe",
    "generate",
    "maintain",
    "airflow",
]


def run(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("topology-audit")), *arguments]
    return subprocess.run(
        command, cwd=cwd, env={**os.environ, "COLUMNS": "200", **environment}, capture_output=True, text=True, timeout=300
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(command: Command, name: str) -> None:
    done = command.run(name, "--help")
    assert done.returncode == 0
    assert "Usage: topology-audit" in done.stdout


def test_help_names_every_command(tmp_path: Path) -> None:
    text = run("--help", cwd=tmp_path).stdout
    assert [name for name in COMMANDS if name not in text] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["step", "failovr"], "no step failovr: there are ingest, change, replica_assignment"),
        (["check", "everything"], "no gate everything: there are ingest, computed"),
        (["plan", "--cluster", "c", "--add", "x"], "--add 'x' must be ID or ID:RACK"),
        (["plan", "--cluster", "c", "--replication-factor", "t=0"], "--replication-factor t=0: it must be a whole number, 1 or more"),
        (["plan", "--cluster", "c"], "there is no audit in lake"),
        (["what-if", "--cluster", "c"], "needs at least one --broker, --rack or --log-dir"),
        (["query", "SELECT 1"], "there is no audit in lake"),
        (["report"], "there is no audit in lake"),
        (["describe", "verdct"], "no table, view or rule is named verdct: similar names are verdict"),
        (["nightly", "--snapshot", "../up"], "snapshot name '../up' is not valid"),
        (["what-if", "--cluster", "c", "--broker", "1", "--id", "x') OR true --"], """id "x') OR true --" is not valid"""),
        (["what-if", "--cluster", "c", "--broker", "1", "--id", "bob's"], 'id "bob\'s" is not valid'),
        (["what-if", "--cluster", "c", "--broker", "1", "--id", "nightly"], "id 'nightly' is reserved"),
        (["plan", "--cluster", "c", "--id", "../../../x"], "id '../../../x' is not valid"),
        (["plan", "--cluster", "c", "--id", "nightly"], "id 'nightly' is reserved"),
        (["plan", "--cluster", "c", "--id", ""], "id '' is not valid"),
        (["nightly", "--set", "start_index"], "must be NAME=VALUE"),
        (["generate", "."], "is not empty: name an empty or new folder"),
    ],
)
def test_an_error_is_one_line_and_writes_nothing(tmp_path: Path, command: Command, arguments: list[str], message: str) -> None:
    (tmp_path / "file").touch()
    assert_one_line(command.run(*arguments), message)
    assert not list(tmp_path.glob("lake/*/_delta_log"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["query", "SELECT 1"], "there is no audit in lake"), (["nightly", "no-such-folder"], "no-such-folder")],
)
def test_an_error_of_a_process_is_one_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    assert_one_line(run(*arguments, cwd=tmp_path), message)
    assert not list(tmp_path.glob("lake/*/_delta_log"))


def assert_one_line(done: subprocess.CompletedProcess[str], message: str) -> None:
    assert done.returncode == 1
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["what-if", "--broker", "three", "--cluster", "c"], "Invalid value for '--broker'"),
        (["nightly", "--lakes", "x"], "No such option"),
        (["nigthly"], "No such command 'nigthly'"),
        (["query"], "Missing argument 'sql'"),
        (["nightly", "--limits", "no-such-file"], "Invalid value for '--limits'"),
    ],
)
def test_a_wrong_option_is_an_error_of_one_line(command: Command, arguments: list[str], message: str) -> None:
    done = command.run(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("environment", [{"PATH": "/nowhere", "JAVA_HOME": ""}, {"JAVA_HOME": "/nowhere"}])
def test_a_missing_java_is_an_error_of_one_line(tmp_path: Path, environment: dict[str, str]) -> None:
    done = run("nightly", "--lake", (tmp_path / "lake").as_uri(), cwd=tmp_path, **environment)
    assert done.returncode == 1
    assert re.fullmatch(r"topology-audit: no java .*: install Java 17 or 21, or set JAVA_HOME to one\n", done.stderr)
    assert not (tmp_path / "lake").exists()


def test_equal_seeds_generate_equal_fleets(tmp_path: Path, command: Command) -> None:
    for name in ("one", "two"):
        assert command.run("generate", name, "--clusters", "2", "--seed", "5").returncode == 0
    files = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*") if path.is_file())
    assert len(files) == 14
    assert [file for file in files if (tmp_path / "one" / file).read_bytes() != (tmp_path / "two" / file).read_bytes()] == []


@pytest.fixture(scope="module")
def first_night(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A working directory with the lake of one night on the bundled snapshot, as in the README, and the process that wrote it without Java."""
    folder = tmp_path_factory.mktemp("first-night")
    return folder, run("nightly", "--snapshot", "2026-01-01", cwd=folder, JAVA_HOME="/nowhere")


def test_a_night_prints_its_verdicts_and_writes_its_pages(first_night: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    folder, done = first_night
    assert done.returncode == 0, done.stderr
    tasks = re.findall(r"^✓ +(\d+)/(\d+) +\w+ .* \+ *([\d.]+) s +([\d.]+) s$", done.stdout, re.M)
    assert [int(number) for number, *_ in tasks] == list(range(1, len(NIGHT) + 1))
    assert {int(all_tasks) for _, all_tasks, *_ in tasks} == {len(NIGHT)}
    durations, elapsed = [float(duration) for *_, duration, _ in tasks], float(tasks[-1][-1])
    assert sum(durations) == pytest.approx(elapsed, abs=0.1 * len(tasks))  # each is rounded to 0.1 s
    end = done.stdout[done.stdout.index("Night 2026-01-01: 2 clusters published") :].splitlines()
    assert any(line.startswith("✗ payments-us: If broker 12 dies, 9 partitions lose data, 9 go offline and 39") for line in end)
    assert (len(end) <= 24, end[-1].startswith("Next: topology-audit query")) == (True, True)
    report = folder / "lake/reports/2026-01-01"
    assert (report / "snapshot.txt").read_text() == "2026-01-01\n"
    assert 'href="validation/index.html"' in (report / "index.html").read_text()
    assert external_references(report.rglob("*.html")) == []
    assert (report / "metrics.prom").read_text().endswith("# EOF\n")


def test_a_report_fails_on_a_condition_and_prints_its_findings_alone(
    first_night: tuple[Path, subprocess.CompletedProcess[str]], tmp_path: Path, command: Command
) -> None:
    shutil.copytree(first_night[0] / "lake", tmp_path / "lake")
    report = ("report", "--snapshot", "2026-01-01")
    failed = command.run(*report, "--format", "json", "--fail-on", "data")
    assert failed.returncode == 6
    assert failed.stderr.strip() == "topology-audit: --fail-on: payments-us: one broker's death loses data"
    assert {finding["cluster_id"] for finding in json.loads(failed.stdout)["findings"]} == {"orders-eu", "payments-us"}
    assert command.run(*report, "--fail-on", "new").returncode == 0  # nothing is new in the first night
    detailed = command.run(*report, "--details")
    assert "NO: 9 lose data, 9 offline" in detailed.stdout


def test_a_night_without_a_cluster_names_it_and_is_published(
    first_night: tuple[Path, subprocess.CompletedProcess[str]], tmp_path: Path, command: Command, spark: SparkSession
) -> None:
    """The night uses the session of the tests."""
    shutil.copytree(first_night[0] / "lake", tmp_path / "lake")
    newest = ("query", "SELECT DISTINCT 'newest is ' || snapshot_id AS line FROM verdict WHERE latest")
    assert "newest is 2026-01-01" in command.run(*newest).stdout
    shutil.copytree(cli.BUNDLED / "orders-eu", tmp_path / "one" / "orders-eu")
    (tmp_path / "one" / "README.md").write_text("The other cluster is missing.")
    done = command.run("nightly", "one", "--snapshot", "2026-01-02")
    assert done.returncode == 3, done.stderr
    assert done.stderr.startswith("topology-audit: absent from snapshot 2026-01-02 (view absent_cluster): payments-us (no folder: ")
    assert "Absent: payments-us (no folder)" in done.stdout
    assert "Not read (1): README.md: is beside the folders of the clusters: move it into one" in done.stdout
    page = (tmp_path / "lake/reports/2026-01-02/index.html").read_text()
    assert page.index("Absent from 2026-01-02: 1 cluster") < page.index("Clusters, the worst first")
    assert "newest is 2026-01-02" in command.run(*newest).stdout

    refused = run("query", "--engine", "spark", "SELECT lieder FROM partition", cwd=tmp_path)
    assert refused.returncode == 1
    assert "Spark cannot run the query: " in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1

    what_if = command.run("what-if", "--cluster", "orders-eu", "--broker", "1", "--broker", "3", "--id", "both")
    assert what_if.returncode == 0, what_if.stderr
    assert "Who takes over" in what_if.stdout
    assert (tmp_path / "lake/reports/2026-01-02/what-if/orders-eu/both/index.html").exists()
    refused = command.run("what-if", "--cluster", "orders-eu", "--broker", "9")
    assert refused.returncode == 1
    assert refused.stderr.strip() == "topology-audit: cluster orders-eu has no live broker 9: it has 1, 2, 3"
    refused = command.run("what-if", "--cluster", "order-eu", "--broker", "1")
    assert refused.stderr.strip().endswith("it has orders-eu, payments-us; did you mean orders-eu?")


@pytest.fixture
def two_nights(tmp_path: Path) -> str:
    """A lake with two nights of a cluster without any check, so that it is withheld from both."""
    lake = open_lake(str(tmp_path / "lake"), pytest.fail)
    for night in ("2026-01-01", "2026-01-02"):
        tables = {CLUSTER: rows(CLUSTER, {"snapshot_id": night}), INPUT_FILE: rows(INPUT_FILE, {"snapshot_id": night})}
        NightlyRun(lake, night).begin([tables.get(table, table.schema.empty_table()) for table in ingest.WRITES], {}, Scale.SMALL)
    return str(tmp_path / "lake")


@pytest.mark.parametrize("snapshot", [["--snapshot", "2020-01-01"], []])
def test_a_report_of_a_snapshot_that_never_existed_is_an_error_and_writes_no_page(
    two_nights: str, snapshot: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["topology-audit", "report", "--lake", two_nights, *snapshot])
    with pytest.raises(SystemExit) as exited:
        cli.main()
    assert exited.value.code == 1
    requested = snapshot[-1] if snapshot else f"{datetime.now(UTC):%Y-%m-%d}"
    message = (
        f"topology-audit: lake {two_nights} has no snapshot {requested}: it has 2026-01-01 to 2026-01-02, choose one with --snapshot\n"
    )
    assert capsys.readouterr() == ("", message)
    assert not Path(two_nights, "reports").exists()


def test_a_report_of_a_snapshot_that_withheld_every_cluster_names_them(two_nights: str) -> None:
    cli.publish(two_nights, "2026-01-02")
    with pytest.raises(IncompleteNight, match=r"absent from snapshot 2026-01-02 .*: c \(withheld: not every check has run: "):
        cli.report(two_nights, "2026-01-02")


def test_a_report_of_a_night_that_was_not_published_is_an_error(two_nights: str) -> None:
    with pytest.raises(AuditError, match=r"snapshot 2026-01-01 in lake .* has not been published"):
        cli.report(two_nights, "2026-01-01")


def test_views_prints_sql_for_another_session(command: Command) -> None:
    done = command.run("views", "--engine", "duckdb")
    assert done.returncode == 0
    assert 'CREATE OR REPLACE VIEW "verdict"' in done.stdout


def test_the_queries_of_the_readme_and_the_examples_of_the_views_have_rows(
    first_night: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    queries = re.findall(r'query (?:--engine spark )?"(SELECT [^"]+)"', (Path(__file__).parents[2] / "README.md").read_text())
    assert len(queries) > 3
    connection = DuckdbViews(open_lake(str(first_night[0] / "lake"), pytest.fail))
    queries += [view.example for view in VIEWS.values()]
    without_rows = {sql for sql in queries if not connection.execute(sql).fetchall()}
    # The first night has no previous one.
    assert without_rows == {VIEWS[name].example for name in ("change_summary", "harmed_partition_cause", "survival_change")}


@pytest.mark.parametrize(("lines", "scales"), [(1, []), (100_000, [Scale.LARGE])])
def test_a_night_in_a_folder_starts_spark_if_it_is_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: int, scales: list[Scale]
) -> None:
    started = []

    def start(lake: str, scale: Scale) -> None:
        started.append(scale)
        raise AuditError("Spark starts no further in this test")

    monkeypatch.setattr(cli, "_spark", start)
    (tmp_path / "dumps" / "c").mkdir(parents=True)
    partitions = "".join(
        f"\tTopic: t\tPartition: {number}\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\tElr: N/A\tLastKnownElr: N/A\n" for number in range(lines)
    )
    (tmp_path / "dumps" / "c" / "topics.txt").write_text(
        f"Topic: t\tPartitionCount: {lines}\tReplicationFactor: 2\tConfigs: \n{partitions}"
    )
    with pytest.raises(AuditError, match="Spark starts no further") if scales else nullcontext():
        cli.nightly(str(tmp_path / "dumps"), str(tmp_path / "lake"))
    assert started == scales
