"""The clusters that a night publishes, the absent ones with their reason, and both as readers see them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from expectations.limits import limits
from jobs import cli, ingest
from jobs.errors import IncompleteNight, NothingReadable
from jobs.lake.folder_lake import FolderLake
from jobs.lake.lake import Lake
from jobs.lake.selection import Attempt
from jobs.night import GATES, NightlyRun, Task, reads, writes
from jobs.report.absent import absent_cluster_report, unread_files
from jobs.report.tables import print_parts
from jobs.schema import ABSENT_CLUSTER, BROKER, BROKER_BALANCE, CLUSTER, INPUT_FILE, PARAMETER, REJECTED_INPUT, VALIDATION, Table
from jobs.spark.scale import Scale
from jobs.views import DuckdbViews, statements
from tests.jobs.empty_lake import empty_lake

FIRST, SECOND, THIRD = "2026-01-01", "2026-01-02", "2026-01-03"
BAD_INPUT, BAD_TABLE = ("ingest", "partition", "not_empty"), ("computed", "failover", "one_outcome")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Return an empty lake. No test in this file needs Spark."""
    return empty_lake(tmp_path / "lake")


def write(night: NightlyRun, table: Table, rows: list[dict[str, Any]]) -> None:
    night.replace(table, pa.Table.from_pylist([{"snapshot_id": night.snapshot_id, **row} for row in rows], table.schema))


def validation_rows(cluster_id: str, *broken: tuple[str, str, str]) -> list[dict[str, Any]]:
    """Return a row of `validation` for each suite, and one for each broken rule."""
    row = {
        "cluster_id": cluster_id,
        "severity": "hard",
        "success": True,
        "broken_rows": 0,
        "waived_rows": 0,
        "example": None,
        "sentence": "It holds.",
    }
    passed = [{**row, "gate": gate, "suite": table.name, "rule": "key"} for gate, tables in GATES.items() for table in tables]
    failed = {"success": False, "broken_rows": 2, "example": f'{{"cluster_id":"{cluster_id}","topic":"t"}}', "sentence": "It must hold."}
    return [*passed, *({**row, "gate": gate, "suite": suite, "rule": rule, **failed} for gate, suite, rule in broken)]


def night(
    lake: Lake,
    snapshot_id: str,
    *sound: str,
    withheld: dict[str, list[tuple[str, str, str]]] | None = None,
    unreadable: tuple[str, ...] = (),
) -> NightlyRun:
    """Write an attempt of a night up to its last check.

    It has sound clusters, clusters that break these rules, and clusters without a readable file.
    """
    written_night, broken = NightlyRun(lake, snapshot_id), withheld or {}
    written_night.begin([table.schema.empty_table() for table in ingest.WRITES], {}, Scale.SMALL)
    read = [*sound, *broken]
    cluster = {
        "controller": "kraft",
        "controller_assumed": False,
        "elr": False,
        "kafka_version": "4.4.0",
        "kafka_version_source": "assumed",
        "sources": ["kafka-topics"],
    }
    write(written_night, CLUSTER, [cluster | {"cluster_id": id} for id in read])
    write(written_night, BROKER, [{"cluster_id": id, "broker_id": 1, "live": True} for id in read])
    counts = {field.name: 1 for field in BROKER_BALANCE.schema if not field.nullable and pa.types.is_integer(field.type)}
    write(written_night, BROKER_BALANCE, [{"cluster_id": id, **counts, "live": True} for id in read])
    files = [
        {"cluster_id": id, "file": "topics.txt", "format": "kafka-topics" if id in read else None, "entries": 1, "size_bytes": 9}
        for id in (*read, *unreadable)
    ]
    files.append({"cluster_id": ".", "file": "README", "format": None, "entries": 1, "size_bytes": 9})
    write(
        written_night,
        INPUT_FILE,
        [{**file, "accepted": int(file["format"] is not None), "rejected": int(file["format"] is None), "skipped": 0} for file in files],
    )
    rejected = {id: "unknown format" for id in (*broken, *unreadable)} | {".": "is beside the folders of the clusters"}
    write(
        written_night,
        REJECTED_INPUT,
        [
            {"cluster_id": id, "file": "README" if id == "." else "topics.txt", "line": 1, "entry": 0, "text": "", "reason": reason}
            for id, reason in rejected.items()
        ],
    )
    write(written_night, VALIDATION, [row for id in read for row in validation_rows(id, *broken.get(id, []))])
    return written_night


def query(lake: Lake, sql: str) -> list[tuple[Any, ...]]:
    return DuckdbViews(lake).execute(sql).fetchall()


def absent(lake: Lake, snapshot_id: str) -> list[tuple[Any, ...]]:
    return query(lake, f"SELECT cluster_id, last_snapshot_id, reason FROM absent_cluster WHERE snapshot_id = '{snapshot_id}' ORDER BY 1")


@pytest.fixture
def without_west(lake: Lake) -> Lake:
    """Two clusters published in the first night, one of them in the second."""
    assert night(lake, FIRST, "east", "west").publish(limits()).absent == []
    night(lake, SECOND, "east").publish(limits())
    return lake


def test_a_cluster_without_a_folder_is_absent(without_west: Lake) -> None:
    assert absent(without_west, SECOND) == [("west", FIRST, "no folder")]


def test_views_mark_the_rows_of_an_absent_cluster_as_stale(without_west: Lake) -> None:
    expected = [
        (FIRST, "east", False, 1, False),
        (FIRST, "west", True, 1, True),
        (SECOND, "east", True, 0, False),
    ]
    for view in ("snapshot", "broker"):
        columns = "snapshot_id, cluster_id, latest, snapshot_age, stale"
        assert query(without_west, f"SELECT {columns} FROM {view} ORDER BY 1, 2") == expected


def test_every_view_of_published_rows_has_the_age(lake: Lake) -> None:
    views = DuckdbViews(lake)
    every_night = {"parameter", "notification", "absent_cluster", "all_input_file", "all_rejected_input", "all_validation"}
    for view in statements(lambda table: table.name).keys() - every_night:
        names = [column[0] for column in views.execute(f"SELECT * FROM {view}").description]
        assert sorted(set(names)) == sorted(names), view
        assert {"latest", "snapshot_age", "stale"} <= set(names), view


def test_a_night_that_publishes_nothing_makes_all_others_older(without_west: Lake) -> None:
    outcome = night(without_west, THIRD, withheld={"east": [BAD_TABLE]}).publish(limits())
    assert outcome.published == []
    assert absent(without_west, THIRD) == [("east", SECOND, "withheld"), ("west", FIRST, "no folder")]
    ages = query(without_west, "SELECT cluster_id, snapshot_id, snapshot_age, stale FROM broker WHERE latest ORDER BY 1")
    assert ages == [("east", SECOND, 1, True), ("west", FIRST, 2, True)]


def test_a_retired_cluster_is_not_absent(without_west: Lake) -> None:
    again = night(without_west, SECOND, "east", unreadable=("north",))
    assert again.publish(limits(), {"west", "north"}).absent == []
    assert absent(without_west, SECOND) == []


def test_a_retired_cluster_whose_dumps_are_read_and_withheld_is_reported(lake: Lake) -> None:
    night(lake, FIRST, withheld={"east": [BAD_INPUT]}).publish(limits(), {"east"})
    assert absent(lake, FIRST) == [("east", None, "withheld")]


def test_a_rerun_that_publishes_the_cluster_ends_its_absence(without_west: Lake) -> None:
    night(without_west, SECOND, "east", "west").publish(limits())
    assert absent(without_west, SECOND) == []
    assert query(without_west, "SELECT count(*) FROM snapshot WHERE stale") == [(0,)]


def seen(lake: Lake) -> list[tuple[Any, ...]]:
    """Return the attempt of each published row of `broker`, and the absent clusters."""
    brokers = query(lake, "SELECT cluster_id, attempt_id FROM broker ORDER BY ALL")
    return [*brokers, *query(lake, "SELECT cluster_id, attempt_id, reason FROM absent_cluster ORDER BY ALL")]


def test_a_rerun_is_hidden_until_it_is_published(lake: Lake) -> None:
    night(lake, FIRST, "east", withheld={"west": [BAD_INPUT]}).publish(limits())
    published = [("east", "1"), ("west", "1", "withheld")]
    assert seen(lake) == published
    rerun = night(lake, FIRST, "west", withheld={"east": [BAD_TABLE]})
    assert seen(lake) == published
    rerun.publish(limits())
    # The rerun withholds the cluster that the first attempt published: as after a first attempt, readers do not see it in this night.
    assert seen(lake) == [("west", "2"), ("east", "2", "withheld")]


def test_a_rerun_that_publishes_no_cluster_reports_its_own_absent_clusters(lake: Lake) -> None:
    night(lake, FIRST, "east").publish(limits())
    for attempt_id, reason in (("2", BAD_TABLE), ("3", BAD_INPUT)):
        night(lake, FIRST, withheld={"east": [reason]}).publish(limits())
        assert seen(lake) == [("east", attempt_id, "withheld")]
        assert query(lake, "SELECT suite FROM all_validation WHERE NOT success") == [(reason[1],)]
    assert query(lake, "SELECT count(*) FROM parameter") == [(0,)]


def test_a_reader_that_opened_the_snapshot_before_a_publication_sees_the_attempt_before_it(lake: Lake) -> None:
    night(lake, FIRST, withheld={"east": [BAD_TABLE]}).publish(limits())
    night(lake, FIRST, "east", withheld={"west": [BAD_TABLE]}).publish(limits())
    reader = DuckdbViews(lake)
    assert reader.execute("SELECT attempt_id FROM snapshot").fetchall() == [("2",)]
    night(lake, FIRST, "east", "west").publish(limits())
    assert reader.execute("SELECT cluster_id, attempt_id FROM broker").fetchall() == [("east", "2")]
    assert reader.execute("SELECT cluster_id, attempt_id FROM absent_cluster").fetchall() == [("west", "2")]
    assert reader.execute("SELECT name, value, attempt_id FROM parameter").fetchall() == [("scale", "small", "2")]


def test_the_tenth_attempt_is_newer_than_the_ninth(lake: Lake) -> None:
    for attempt_id in ("8", "9"):
        lake.replace(PARAMETER, pa.table({"name": ["scale"], "value": ["small"]}), snapshot_id=FIRST, attempt_id=attempt_id)
    assert night(lake, FIRST, "east").attempt == NightlyRun(lake, FIRST).attempt == Attempt(FIRST, "10")
    assert query(lake, "SELECT DISTINCT attempt_id FROM all_input_file") == [("10",)]


def test_the_next_night_is_compared_with_the_published_attempt(lake: Lake) -> None:
    night(lake, FIRST, "east").publish(limits())
    night(lake, FIRST, "east")  # never published
    assert night(lake, SECOND, "east").earlier() == {"east": Attempt(FIRST, "1")}


def test_an_interrupted_ingest_has_begun_no_attempt(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    night(lake, FIRST, "east").publish(limits())
    replace_rows = FolderLake.replace

    def interrupt(lake: FolderLake, table: Table, *rows: Any, **where: Any) -> None:
        replace_rows(lake, table, *rows, **where)
        if table is CLUSTER:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(FolderLake, "replace", interrupt)
        with pytest.raises(KeyboardInterrupt):
            night(lake, FIRST, "north")
    assert NightlyRun(lake, FIRST).attempt == Attempt(FIRST, "1")
    assert night(lake, FIRST, "west").attempt == Attempt(FIRST, "2")
    assert seen(lake) == [("east", "1")]


@pytest.mark.parametrize(("nights", "expected"), [(2, [("west", FIRST, "no folder")]), (1, [])])
def test_a_cluster_is_absent_for_as_many_published_nights_as_the_limit(
    without_west: Lake, nights: int, expected: list[tuple[str, ...]]
) -> None:
    night(without_west, THIRD, "east").publish(replace(limits(), absent_cluster_nights=nights))
    assert absent(without_west, THIRD) == expected


def test_clusters_that_were_never_published_are_absent_with_their_cause(lake: Lake) -> None:
    outcome = night(lake, FIRST, "east", withheld={"bare": [BAD_INPUT]}, unreadable=("blank",)).publish(limits())
    assert outcome.published == ["east"]
    assert outcome.absent == [
        {"cluster_id": "bare", "last_snapshot_id": None, "reason": "withheld", "detail": "partition.not_empty: It must hold."},
        {"cluster_id": "blank", "last_snapshot_id": None, "reason": "nothing readable", "detail": "topics.txt: unknown format"},
    ]


def test_a_cluster_without_the_results_of_every_gate_is_withheld_for_that_reason(lake: Lake) -> None:
    written_night = night(lake, FIRST, "east")
    write(written_night, VALIDATION, [row for row in validation_rows("east") if row["suite"] not in ("scenario", "failover")])
    ((row,), published) = (outcome := written_night.publish(limits())).absent, outcome.published
    assert (row["reason"], row["detail"], published) == ("withheld", "not every check has run: failover, scenario", [])


def test_rows_of_nights_that_are_not_published_are_readable(lake: Lake) -> None:
    night(lake, FIRST, withheld={"bare": [BAD_INPUT]}, unreadable=("blank",)).publish(limits())
    assert query(lake, "SELECT rule FROM all_validation WHERE NOT success") == [("not_empty",)]
    assert query(lake, "SELECT cluster_id FROM all_input_file ORDER BY 1") == [(".",), ("bare",), ("blank",)]
    assert query(lake, "SELECT cluster_id FROM all_rejected_input ORDER BY 1") == [(".",), ("bare",), ("blank",)]
    assert query(lake, "SELECT count(*) FROM validation") == query(lake, "SELECT count(*) FROM input_file") == [(0,)]


@pytest.fixture
def printed(lake: Lake, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Return a function that prints the absent clusters of a night as `report` does in 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")

    def show(snapshot_id: str) -> str:
        print_parts(absent_cluster_report(DuckdbViews(lake), snapshot_id))
        return " ".join(capsys.readouterr().out.split())

    return show


def test_a_cluster_withheld_for_bad_input_names_rule_row_file_and_reason(lake: Lake, printed: Callable[[str], str]) -> None:
    night(lake, FIRST, withheld={"bare": [BAD_INPUT, BAD_TABLE]}).publish(limits())
    text = printed(FIRST)
    assert text.startswith("Absent from 2026-01-01: 1 cluster bare: withheld It was never published. partition.not_empty: It must hold.")
    assert '2 rows break it, for example {"cluster_id":"bare","topic":"t"}' in text
    assert "Its files: topics.txt (kafka-topics, 1 accepted) Rejected: topics.txt, line 1: unknown format Bad input: " in text
    assert "bug of this project" not in text


def test_a_cluster_withheld_for_a_computed_table_is_a_bug_of_this_project(lake: Lake, printed: Callable[[str], str]) -> None:
    night(lake, FIRST, withheld={"east": [BAD_TABLE]}).publish(limits())
    text = printed(FIRST)
    assert "failover.one_outcome: It must hold. 2 rows break it" in text
    assert "a bug of this project, not of the dumps" in text
    assert "Bad input" not in text


def test_absent_clusters_are_reported_with_their_last_night_and_what_to_do(without_west: Lake, printed: Callable[[str], str]) -> None:
    text = printed(SECOND)
    assert "west: no folder Readers still see 2026-01-01." in text
    assert "--retired west" in text
    night(without_west, THIRD, "east", unreadable=("west",)).publish(limits())
    assert "west: nothing readable Readers still see 2026-01-01. Rejected: topics.txt, line 1: unknown format" in printed(THIRD)


def test_unread_files_are_listed_with_the_reason(lake: Lake) -> None:
    night(lake, FIRST, "east", unreadable=("blank",)).publish(limits())
    assert unread_files(DuckdbViews(lake), FIRST) == [
        ("README", "is beside the folders of the clusters"),
        ("blank/topics.txt", "unknown format"),
    ]


def test_report_puts_absent_clusters_first_and_fails(without_west: Lake, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(IncompleteNight, match=r"absent from snapshot 2026-01-02 \(view absent_cluster\): west \(no folder: ") as refused:
        cli.report(without_west.uri, SECOND)
    assert refused.value.exit_code == 3
    assert capsys.readouterr().out.startswith(f"Absent: west (no folder)\nNight {SECOND}: 1 cluster published")
    page = Path(without_west.uri, "reports", SECOND, "index.html").read_text()
    assert 0 < page.index("Absent from") < page.index("Clusters, the worst first")
    cli.report(without_west.uri, FIRST)
    assert "absent" not in capsys.readouterr().out.lower()


def test_publish_lists_absent_clusters_and_writes_the_outcome(lake: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    night(lake, FIRST, "east", "west").publish(limits())
    night(lake, SECOND, "east")
    cli.publish(lake.uri, SECOND, report=tmp_path / "pages")
    assert "absent west: no folder: the source has no folder of this name" in capsys.readouterr().out
    absent = [{"cluster_id": "west", "last_snapshot_id": FIRST, "reason": "no folder", "detail": "the source has no folder of this name"}]
    written = json.loads((tmp_path / "pages" / "published.json").read_text())
    assert written == {"snapshot_id": SECOND, "clusters": ["east"], "absent": absent}
    cli.publish(lake.uri, SECOND, retired=["north, west"])
    cli.report(lake.uri, SECOND)
    assert "bsent" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        ({"east/topics.txt": b"garbage"}, "topics.txt: unknown format"),
        ({"east/.DS_Store": b"\0"}, "its files are empty or hidden"),
        ({"east/x/empty": b"", "README": b"read me"}, "its files are empty or hidden"),
        ({}, "the folder contains no file"),
    ],
)
def test_a_source_without_a_readable_dump_fails_and_its_reasons_are_stored(
    lake: Lake, tmp_path: Path, data: dict[str, bytes], cause: str
) -> None:
    source = tmp_path / "source"
    (source / "east").mkdir(parents=True)
    for name, text in data.items():
        (source / name).parent.mkdir(exist_ok=True)
        (source / name).write_bytes(text)
    night(lake, FIRST, "east").publish(limits())
    with pytest.raises(NothingReadable, match=f"has no readable dump, for example in cluster east: {cause}; ") as refused:
        NightlyRun(lake, SECOND).ingest(str(source), {})
    assert refused.value.exit_code == 5
    assert len(query(lake, f"SELECT * FROM all_input_file WHERE snapshot_id = '{SECOND}' AND cluster_id = 'east'")) == 1
    assert query(lake, "SELECT snapshot_id FROM snapshot") == [(FIRST,)]
    assert Attempt(SECOND, "1") in lake.attempts(INPUT_FILE)


def test_a_rerun_without_a_readable_dump_leaves_the_published_attempt(lake: Lake, tmp_path: Path) -> None:
    (tmp_path / "source" / "east").mkdir(parents=True)
    (tmp_path / "source" / "east" / "topics.txt").write_text("garbage")
    night(lake, FIRST, "east").publish(limits())
    with pytest.raises(NothingReadable):
        NightlyRun(lake, FIRST).ingest(str(tmp_path / "source"), {})
    assert seen(lake) == [("east", "1")]
    assert query(lake, "SELECT attempt_id, reason FROM all_rejected_input") == [("2", "unknown format")]


def test_a_cluster_without_a_readable_file_stops_at_ingest_and_the_others_go_on(lake: Lake, tmp_path: Path) -> None:
    for name, text in {"east": "broker_id,rack\n1,a\n", "blank": "garbage\n"}.items():
        (tmp_path / "source" / name).mkdir(parents=True)
        (tmp_path / "source" / name / "brokers.txt").write_text(text)
    written_night = NightlyRun(lake, FIRST)
    written_night.ingest(str(tmp_path / "source"), {})
    assert [row["cluster_id"] for row in written_night.rows(CLUSTER)] == ["east"]
    assert sorted(row["cluster_id"] for row in written_night.rows(INPUT_FILE)) == ["blank", "east"]
    assert [row["reason"] for row in written_night.publish(limits()).absent] == ["nothing readable", "withheld"]


def test_the_declared_tables_of_publish_are_those_that_it_reads_and_writes(lake: Lake) -> None:
    read, written = set(), set()

    class RecordedLake(FolderLake):
        def read_local(self, table: Table, **where: Any) -> pa.Table:
            read.add(table.name)
            return FolderLake.read_local(self, table, **where)

        def duckdb_query(self, table: Table, **where: Any) -> str | None:
            if table.name != ABSENT_CLUSTER.name:  # the view `snapshot` computes ages with it, which no verdict contains
                read.add(table.name)
            return FolderLake.duckdb_query(self, table, **where)

        def replace(self, table: Table, rows: Any, **where: Any) -> None:
            written.add(table.name)
            FolderLake.replace(self, table, rows, **where)

    night(lake, FIRST, "east", unreadable=("west",))
    task = Task("publish", "")
    NightlyRun(RecordedLake(lake.uri, pytest.fail), FIRST).publish(limits())
    assert (read, written) == ({table.name for table in reads(task)}, {table.name for table in writes(task)})
