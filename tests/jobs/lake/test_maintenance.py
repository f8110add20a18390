"""Maintenance deletes expired nights and superseded attempts as a whole, and compacts the other rows into fewer files."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from jobs import cli
from jobs.lake.lake import Lake, open_lake
from jobs.lake.maintenance import Deleted, expired, maintain_tables, superseded
from jobs.lake.selection import Attempt
from jobs.report.folder import name_snapshot
from jobs.schema import ABSENT_CLUSTER, BROKER, INPUT_FILE, PARAMETER, SNAPSHOT, TABLES, Table

NIGHTS = [f"2026-01-0{day}" for day in range(1, 6)]
FILE = {"file": "topics.txt", "entries": 1, "accepted": 1, "rejected": 0, "size_bytes": 9, "skipped": 0}


def published(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"snapshot_id": snapshot_id, "cluster_id": cluster_id} for snapshot_id, cluster_id in pairs]


@pytest.mark.parametrize(
    ("keep_nights", "deleted"),
    [(1, ["2026-01-02", "2026-01-03", "2026-01-04"]), (2, ["2026-01-02", "2026-01-03"]), (4, []), (400, [])],
)
def test_the_newest_nights_and_the_newest_night_of_each_cluster_remain(keep_nights: int, deleted: list[str]) -> None:
    rows = published(*((night, "a") for night in NIGHTS), ("2026-01-01", "b"))
    assert expired(rows, NIGHTS, keep_nights) == deleted


def test_an_unpublished_night_expires_with_the_published_nights_before_it() -> None:
    rows = published(("2026-01-02", "a"), ("2026-01-04", "a"))
    assert expired(rows, NIGHTS, 1) == ["2026-01-01", "2026-01-02", "2026-01-03"]
    assert expired(rows, NIGHTS, 2) == ["2026-01-01"]
    assert expired([], NIGHTS, 1) == []


@pytest.mark.parametrize(
    ("begun", "published", "absent", "deleted"),
    [
        ("1", "1", "", ""),
        ("1 2", "1", "", ""),  # the second is under way
        ("1 2 3", "1", "", "2"),  # the second was abandoned
        ("1 2 3", "3", "1 2", "1 2"),
        ("9 10", "10", "", "9"),
        ("1 2 3", "", "1 2", "1"),  # the second published no cluster, and the third is under way
    ],
)
def test_attempts_that_neither_readers_nor_tasks_use_are_superseded(begun: str, published: str, absent: str, deleted: str) -> None:
    used = (attempts_of("n", ids) for ids in (begun, published, absent))
    assert superseded(*used) == attempts_of("n", deleted)


def test_nights_have_their_own_attempts() -> None:
    begun = attempts_of("m", "1 2 3") | attempts_of("n", "1 2")
    assert superseded(begun, attempts_of("m", "3") | attempts_of("n", "1"), set()) == attempts_of("m", "1 2")


def attempts_of(night: str, ids: str) -> set[Attempt]:
    return {Attempt(night, id) for id in ids.split()}


def write_nights(lake: Lake, folder: Path) -> None:
    """Write five nights of cluster a, and the first of cluster b, with one file per row. The last night has superseded attempts."""
    for table in TABLES:
        lake.create(table)
    for night in NIGHTS:
        for id in ("9", "10") if night == NIGHTS[-1] else ("1",):
            write_attempt(lake, folder, Attempt(night, id))


def write_attempt(lake: Lake, folder: Path, attempt: Attempt) -> None:
    night, key = attempt.snapshot_id, attempt._asdict()
    clusters = ["a", "b"] if night == NIGHTS[0] else ["a"]
    lake.replace(PARAMETER, pa.table({"name": ["scale"], "value": ["small"]}), **key)
    for id in clusters:
        append(folder, INPUT_FILE, key | {"cluster_id": id} | FILE)
        append(folder, BROKER, key | {"cluster_id": id, "broker_id": 1, "live": True})
    rows = [{**key, "cluster_id": id, "published_at": datetime(2026, 1, 1, tzinfo=UTC)} for id in clusters]
    lake.replace(SNAPSHOT, pa.Table.from_pylist(rows, SNAPSHOT.schema), snapshot_id=night)
    absent = [{"snapshot_id": night, "cluster_id": "b", "reason": "no folder", "detail": "gone"}] if night != NIGHTS[0] else []
    lake.replace(ABSENT_CLUSTER, pa.Table.from_pylist(absent, ABSENT_CLUSTER.schema), **key)


def append(folder: Path, table: Table, row: dict[str, Any]) -> None:
    write_deltalake(folder / table.name, pa.Table.from_pylist([row], table.stored.schema), mode="append")


def assert_two_nights_deleted(lake: Lake, folder: Path) -> None:
    """Assert that the second and third night and the superseded attempt are deleted.

    The others have one file per night, or one of all nights.
    """
    keys = [("2026-01-01", "1", "a"), ("2026-01-01", "1", "b"), ("2026-01-04", "1", "a"), ("2026-01-05", "10", "a")]
    for table in (SNAPSHOT, INPUT_FILE, BROKER):
        rows = lake.read_local(table.stored).to_pylist()
        assert sorted((row["snapshot_id"], row["attempt_id"], row["cluster_id"]) for row in rows) == keys
        files = sorted(path.parent.relative_to(folder / table.name).as_posix() for path in (folder / table.name).rglob("part-*.parquet"))
        assert files == (["."] if table is SNAPSHOT else sorted({f"snapshot_id={night}/attempt_id={id}" for night, id, _ in keys}))


def test_absent_clusters_are_deleted_with_their_night(tmp_path: Path) -> None:
    lake = open_lake(str(tmp_path), pytest.fail)
    write_nights(lake, tmp_path)
    maintain_tables(lake, keep_nights=2, vacuum_hours=0)
    assert sorted(row["snapshot_id"] for row in lake.read_local(ABSENT_CLUSTER).to_pylist()) == ["2026-01-04", "2026-01-05"]


def test_a_night_without_a_readable_dump_is_deleted_with_those_before_it(tmp_path: Path) -> None:
    lake = open_lake(str(tmp_path), pytest.fail)
    write_nights(lake, tmp_path)
    append(tmp_path, INPUT_FILE, {"snapshot_id": "2026-01-03b", "attempt_id": "1", "cluster_id": "a"} | FILE)
    assert maintain_tables(lake, keep_nights=2, vacuum_hours=0).snapshot_ids == ["2026-01-02", "2026-01-03", "2026-01-03b"]


def test_expired_nights_are_deleted_and_the_others_keep_all_rows(tmp_path: Path) -> None:
    lake = open_lake(str(tmp_path), pytest.fail)
    write_nights(lake, tmp_path)
    assert maintain_tables(lake, keep_nights=2, vacuum_hours=0) == Deleted(["2026-01-02", "2026-01-03"], {Attempt("2026-01-05", "9")})
    assert_two_nights_deleted(lake, tmp_path)
    assert maintain_tables(lake, keep_nights=2, vacuum_hours=0) == Deleted([], set())
    assert_two_nights_deleted(lake, tmp_path)


def test_reports_of_deleted_nights_are_deleted_in_the_lake_and_in_airflows_folder(tmp_path: Path) -> None:
    lake, airflow = tmp_path / "lake", tmp_path / "airflow"
    write_nights(open_lake(str(lake), pytest.fail), lake)
    folders = {night: (lake / "reports" / night, airflow / "nightly" / f"scheduled__{night}") for night in NIGHTS}
    for night, folders_of_night in folders.items():
        for folder in folders_of_night:
            name_snapshot(folder, night)
            for path in (folder / "snapshot.txt", folder):
                os.utime(path, (0, 0))
    cli.maintain(str(lake), keep_nights=2, vacuum_hours=24, reports=airflow)
    # The first night is the newest of cluster b.
    deleted = {night for night, folders_of_night in folders.items() if not any(folder.exists() for folder in folders_of_night)}
    assert deleted == {"2026-01-02", "2026-01-03"}
    assert all(folder.exists() for night in {*NIGHTS} - deleted for folder in folders[night])


def test_spark_maintains_a_lake_on_other_storage(tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = open_lake(str(tmp_path), pytest.fail)
    write_nights(folder, tmp_path)
    monkeypatch.setattr("jobs.lake.maintenance.TABLES", (SNAPSHOT, INPUT_FILE, BROKER, PARAMETER))  # Spark takes seconds for each table
    deleted = maintain_tables(open_lake(tmp_path.as_uri(), lambda: spark), keep_nights=2, vacuum_hours=0)
    assert deleted == Deleted(["2026-01-02", "2026-01-03"], {Attempt("2026-01-05", "9")})
    assert_two_nights_deleted(folder, tmp_path)
