"""What a night publishes, which clusters are absent from it and why, and what readers see of both."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from expectations.limits import limits
from jobs import cli
from jobs.errors import IncompleteNight, NothingReadable
from jobs.lake.lake import Lake, open_lake
from jobs.night import GATES, Night
from jobs.report.absent import absent_cluster_report, unread_files
from jobs.report.tables import print_parts
from jobs.schema import BROKER, BROKER_BALANCE, CLUSTER, INPUT_FILE, REJECTED_INPUT, TABLES, VALIDATION, Table
from jobs.views import DuckdbViews, statements

FIRST, SECOND, THIRD = "2026-01-01", "2026-01-02", "2026-01-03"
BAD_INPUT, BAD_TABLE = ("ingest", "partition", "not_empty"), ("computed", "failover", "one_outcome")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """An empty lake; nothing in this file needs Spark."""
    lake = open_lake(str(tmp_path / "lake"), pytest.fail)
    for table in TABLES:
        lake.create(table)
    return lake


def write(night: Night, table: Table, rows: list[dict[str, Any]]) -> None:
    rows = [{"snapshot_id": night.snapshot_id, **row} for row in rows]
    night.lake.replace(table, pa.Table.from_pylist(rows, table.schema), snapshot_id=night.snapshot_id)


def judged(cluster_id: str, *broken: tuple[str, str, str]) -> list[dict[str, Any]]:
    """A row of `validation` for each suite, and one for each broken rule."""
    row = {"cluster_id": cluster_id, "severity": "hard", "success": True, "broken_rows": 0, "example": None, "sentence": "It holds."}
    passed = [{**row, "gate": gate, "suite": table.name, "rule": "key"} for gate, tables in GATES.items() for table in tables]
    failed = {"success": False, "broken_rows": 2, "example": f'{{"cluster_id":"{cluster_id}","topic":"t"}}', "sentence": "It must hold."}
    return [*passed, *({**row, "gate": gate, "suite": suite, "rule": rule, **failed} for gate, suite, rule in broken)]


def night(
    lake: Lake,
    snapshot_id: str,
    *sound: str,
    withheld: dict[str, list[tuple[str, str, str]]] | None = None,
    unreadable: tuple[str, ...] = (),
) -> Night:
    """A night up to its last check: the clusters that hold, those that break these rules, and those without a readable file."""
    made, broken = Night(lake, snapshot_id), withheld or {}
    read = [*sound, *broken]
    write(made, CLUSTER, [{"cluster_id": id, "controller": "kraft", "elr": False, "sources": ["kafka-topics"]} for id in read])
    write(made, BROKER, [{"cluster_id": id, "broker_id": 1, "live": True} for id in read])
    counts = {field.name: 1 for field in BROKER_BALANCE.schema if not field.nullable and pa.types.is_integer(field.type)}
    write(made, BROKER_BALANCE, [{"cluster_id": id, **counts, "live": True} for id in read])
    files = [
        {"cluster_id": id, "file": "topics.txt", "format": "kafka-topics" if id in read else None, "entries": 1, "size_bytes": 9}
        for id in (*read, *unreadable)
    ]
    files.append({"cluster_id": ".", "file": "README", "format": None, "entries": 1, "size_bytes": 9})
    write(
        made, INPUT_FILE, [{**file, "accepted": int(file["format"] is not None), "rejected": int(file["format"] is None)} for file in files]
    )
    rejected = {id: "unknown format" for id in (*broken, *unreadable)} | {".": "is beside the folders of the clusters"}
    write(
        made,
        REJECTED_INPUT,
        [
            {"cluster_id": id, "file": "README" if id == "." else "topics.txt", "line": 1, "entry": 0, "text": "", "reason": reason}
            for id, reason in rejected.items()
        ],
    )
    write(made, VALIDATION, [row for id in read for row in judged(id, *broken.get(id, []))])
    return made


def ask(lake: Lake, sql: str) -> list[tuple[Any, ...]]:
    return DuckdbViews(lake).execute(sql).fetchall()


def absent(lake: Lake, snapshot_id: str) -> list[tuple[Any, ...]]:
    return ask(lake, f"SELECT cluster_id, last_snapshot_id, reason FROM absent_cluster WHERE snapshot_id = '{snapshot_id}' ORDER BY 1")


@pytest.fixture
def vanished(lake: Lake) -> Lake:
    """Two clusters published in the first night, one of them in the second."""
    assert night(lake, FIRST, "east", "west").publish(limits()).absent == []
    night(lake, SECOND, "east").publish(limits())
    return lake


def test_a_cluster_without_a_folder_is_absent(vanished: Lake) -> None:
    assert absent(vanished, SECOND) == [("west", FIRST, "no folder")]


def test_views_mark_the_rows_of_an_absent_cluster_as_stale(vanished: Lake) -> None:
    expected = [
        (FIRST, "east", False, 1, False),
        (FIRST, "west", True, 1, True),
        (SECOND, "east", True, 0, False),
    ]
    for view in ("snapshot", "broker"):
        columns = "snapshot_id, cluster_id, latest, snapshot_age, stale"
        assert ask(vanished, f"SELECT {columns} FROM {view} ORDER BY 1, 2") == expected


def test_every_view_of_published_rows_has_the_age(lake: Lake) -> None:
    views = DuckdbViews(lake)
    every_night = {"parameter", "absent_cluster", "all_input_file", "all_rejected_input", "all_validation"}
    for view in statements(lambda table: table.name).keys() - every_night:
        names = [column[0] for column in views.execute(f"SELECT * FROM {view}").description]
        assert sorted(set(names)) == sorted(names), view
        assert {"latest", "snapshot_age", "stale"} <= set(names), view


def test_a_night_that_publishes_nothing_makes_all_others_older(vanished: Lake) -> None:
    outcome = night(vanished, THIRD, withheld={"east": [BAD_TABLE]}).publish(limits())
    assert outcome.published == []
    assert absent(vanished, THIRD) == [("east", SECOND, "withheld"), ("west", FIRST, "no folder")]
    ages = ask(vanished, "SELECT cluster_id, snapshot_id, snapshot_age, stale FROM broker WHERE latest ORDER BY 1")
    assert ages == [("east", SECOND, 1, True), ("west", FIRST, 2, True)]


def test_a_retired_cluster_is_not_missed(vanished: Lake) -> None:
    again = night(vanished, SECOND, "east", unreadable=("north",))
    assert again.publish(limits(), {"west", "north"}).absent == []
    assert absent(vanished, SECOND) == []


def test_a_retired_cluster_whose_dumps_are_read_and_withheld_is_reported(lake: Lake) -> None:
    night(lake, FIRST, withheld={"east": [BAD_INPUT]}).publish(limits(), {"east"})
    assert absent(lake, FIRST) == [("east", None, "withheld")]


def test_a_rerun_that_publishes_the_cluster_ends_its_absence(vanished: Lake) -> None:
    night(vanished, SECOND, "east", "west").publish(limits())
    assert absent(vanished, SECOND) == []
    assert ask(vanished, "SELECT count(*) FROM snapshot WHERE stale") == [(0,)]


@pytest.mark.parametrize(("nights", "missed"), [(2, [("west", FIRST, "no folder")]), (1, [])])
def test_a_cluster_is_missed_for_as_many_published_nights_as_the_limit(vanished: Lake, nights: int, missed: list[tuple[str, ...]]) -> None:
    night(vanished, THIRD, "east").publish(replace(limits(), absent_cluster_nights=nights))
    assert absent(vanished, THIRD) == missed


def test_clusters_that_were_never_published_are_absent_with_their_cause(lake: Lake) -> None:
    outcome = night(lake, FIRST, "east", withheld={"bare": [BAD_INPUT]}, unreadable=("blank",)).publish(limits())
    assert outcome.published == ["east"]
    assert outcome.absent == [
        {"cluster_id": "bare", "last_snapshot_id": None, "reason": "withheld", "detail": "partition.not_empty: It must hold."},
        {"cluster_id": "blank", "last_snapshot_id": None, "reason": "nothing readable", "detail": "topics.txt: unknown format"},
    ]


def test_a_cluster_that_not_every_gate_has_judged_is_withheld_with_that_cause(lake: Lake) -> None:
    made = night(lake, FIRST, "east")
    write(made, VALIDATION, [row for row in judged("east") if row["suite"] not in ("scenario", "failover")])
    ((row,), published) = (outcome := made.publish(limits())).absent, outcome.published
    assert (row["reason"], row["detail"], published) == ("withheld", "not every check has run: failover, scenario", [])


def test_rows_of_nights_that_are_not_published_are_readable(lake: Lake) -> None:
    night(lake, FIRST, withheld={"bare": [BAD_INPUT]}, unreadable=("blank",)).publish(limits())
    assert ask(lake, "SELECT rule FROM all_validation WHERE NOT success") == [("not_empty",)]
    assert ask(lake, "SELECT cluster_id FROM all_input_file ORDER BY 1") == [(".",), ("bare",), ("blank",)]
    assert ask(lake, "SELECT cluster_id FROM all_rejected_input ORDER BY 1") == [(".",), ("bare",), ("blank",)]
    assert ask(lake, "SELECT count(*) FROM validation") == ask(lake, "SELECT count(*) FROM input_file") == [(0,)]


@pytest.fixture
def shown(lake: Lake, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """What `report` prints of the absent clusters of a night in 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")

    def show(snapshot_id: str) -> str:
        print_parts(absent_cluster_report(DuckdbViews(lake), snapshot_id))
        return " ".join(capsys.readouterr().out.split())

    return show


def test_a_cluster_withheld_for_bad_input_names_rule_row_file_and_reason(lake: Lake, shown: Callable[[str], str]) -> None:
    night(lake, FIRST, withheld={"bare": [BAD_INPUT, BAD_TABLE]}).publish(limits())
    text = shown(FIRST)
    assert text.startswith("Absent from 2026-01-01: 1 cluster bare: withheld It was never published. partition.not_empty: It must hold.")
    assert '2 rows break it, for example {"cluster_id":"bare","topic":"t"}' in text
    assert "Its files: topics.txt (kafka-topics, 1 accepted) Rejected: topics.txt, line 1: unknown format Bad input: " in text
    assert "bug of this project" not in text


def test_a_cluster_withheld_for_a_computed_table_is_a_bug_of_this_project(lake: Lake, shown: Callable[[str], str]) -> None:
    night(lake, FIRST, withheld={"east": [BAD_TABLE]}).publish(limits())
    text = shown(FIRST)
    assert "failover.one_outcome: It must hold. 2 rows break it" in text
    assert "a bug of this project, not of the dumps" in text
    assert "Bad input" not in text


def test_absent_clusters_come_with_their_last_night_and_the_way_out(vanished: Lake, shown: Callable[[str], str]) -> None:
    text = shown(SECOND)
    assert "west: no folder Readers still see 2026-01-01." in text
    assert "--retired west" in text
    night(vanished, THIRD, "east", unreadable=("west",)).publish(limits())
    assert "west: nothing readable Readers still see 2026-01-01. Rejected: topics.txt, line 1: unknown format" in shown(THIRD)


def test_files_that_were_not_read_are_listed_with_the_reason(lake: Lake) -> None:
    night(lake, FIRST, "east", unreadable=("blank",)).publish(limits())
    assert unread_files(DuckdbViews(lake), FIRST) == [
        ("README", "is beside the folders of the clusters"),
        ("blank/topics.txt", "unknown format"),
    ]


def test_report_puts_absent_clusters_first_and_fails(vanished: Lake, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(IncompleteNight, match=r"absent from snapshot 2026-01-02 \(view absent_cluster\): west \(no folder: ") as refused:
        cli.report(vanished.uri, SECOND)
    assert refused.value.exit_code == 3
    assert capsys.readouterr().out.startswith(f"Absent from {SECOND}: 1 cluster")
    page = Path(vanished.uri, "reports", SECOND, "index.html").read_text()
    assert 0 < page.index("Absent from") < page.index("Verdicts of")
    cli.report(vanished.uri, FIRST)
    assert "Absent" not in capsys.readouterr().out


def test_publish_lists_the_absent_and_writes_the_outcome(lake: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
def test_a_source_without_a_readable_dump_fails_and_its_reasons_stay(
    lake: Lake, tmp_path: Path, data: dict[str, bytes], cause: str
) -> None:
    source = tmp_path / "source"
    (source / "east").mkdir(parents=True)
    for name, text in data.items():
        (source / name).parent.mkdir(exist_ok=True)
        (source / name).write_bytes(text)
    night(lake, FIRST, "east").publish(limits())
    with pytest.raises(NothingReadable, match=f"has no readable dump, for example in cluster east: {cause}; ") as refused:
        Night(lake, SECOND).ingest(str(source), {})
    assert refused.value.exit_code == 5
    assert len(ask(lake, f"SELECT * FROM all_input_file WHERE snapshot_id = '{SECOND}' AND cluster_id = 'east'")) == 1
    assert ask(lake, "SELECT snapshot_id FROM snapshot") == [(FIRST,)]
    assert SECOND in lake.snapshots()


def test_a_cluster_without_a_readable_file_stops_at_ingest_alone(lake: Lake, tmp_path: Path) -> None:
    for name, text in {"east": "t:0:7\n", "blank": "garbage\n"}.items():
        (tmp_path / "source" / name).mkdir(parents=True)
        (tmp_path / "source" / name / "offsets.txt").write_text(text)
    made = Night(lake, FIRST)
    made.ingest(str(tmp_path / "source"), {})
    assert [row["cluster_id"] for row in made.rows(CLUSTER)] == ["east"]
    assert sorted(row["cluster_id"] for row in made.rows(INPUT_FILE)) == ["blank", "east"]
    assert [row["reason"] for row in made.publish(limits()).absent] == ["nothing readable", "withheld"]
