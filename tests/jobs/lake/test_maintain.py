"""Old nights leave the lake whole; what stays is the same rows in fewer files."""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from jobs.lake.lake import Lake, open_lake
from jobs.lake.maintenance import delete_expired_reports, expired, maintain
from jobs.report.folder import name_snapshot
from jobs.schema import ABSENT_CLUSTER, BROKER, INPUT_FILE, SNAPSHOT, TABLES

NIGHTS = [f"2026-01-0{day}" for day in range(1, 6)]


def published(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"snapshot_id": snapshot_id, "cluster_id": cluster_id} for snapshot_id, cluster_id in pairs]


@pytest.mark.parametrize(
    ("keep_nights", "gone"),
    [(1, ["2026-01-02", "2026-01-03", "2026-01-04"]), (2, ["2026-01-02", "2026-01-03"]), (4, []), (400, [])],
)
def test_the_newest_nights_stay_and_the_newest_of_each_cluster(keep_nights: int, gone: list[str]) -> None:
    rows = published(*((night, "a") for night in NIGHTS), ("2026-01-01", "b"))
    assert expired(rows, NIGHTS, keep_nights) == gone


def test_a_night_that_was_not_published_goes_with_those_before_it() -> None:
    rows = published(("2026-01-02", "a"), ("2026-01-04", "a"))
    assert expired(rows, NIGHTS, 1) == ["2026-01-01", "2026-01-02", "2026-01-03"]
    assert expired(rows, NIGHTS, 2) == ["2026-01-01"]
    assert expired([], NIGHTS, 1) == []


def nights(lake: Lake, folder: Path) -> None:
    """Five nights of cluster a, the first of b too, a file for each row."""
    for table in TABLES:
        lake.create(table)
    for night in NIGHTS:
        clusters = ["a", "b"] if night == NIGHTS[0] else ["a"]
        for id in clusters:
            file = {"file": "topics.txt", "entries": 1, "accepted": 1, "rejected": 0, "size_bytes": 9}
            for table, more in ((INPUT_FILE, file), (BROKER, {"broker_id": 1, "live": True})):
                row = {"snapshot_id": night, "cluster_id": id, **more}
                write_deltalake(folder / table.name, pa.Table.from_pylist([row], table.schema), mode="append")
        rows = [{"snapshot_id": night, "cluster_id": id, "published_at": datetime(2026, 1, 1, tzinfo=UTC)} for id in clusters]
        lake.replace(SNAPSHOT, pa.Table.from_pylist(rows, SNAPSHOT.schema), snapshot_id=night)
        absent = [{"cluster_id": "b", "reason": "no folder", "detail": "gone"}] if night != NIGHTS[0] else []
        schema = pa.schema([field for field in ABSENT_CLUSTER.schema if field.name != "snapshot_id"])
        lake.replace(ABSENT_CLUSTER, pa.Table.from_pylist(absent, schema), snapshot_id=night)


def left(lake: Lake, folder: Path) -> None:
    """What must be there once the second and third night have left: one file a night, or of all nights."""
    pairs = [("2026-01-01", "a"), ("2026-01-01", "b"), ("2026-01-04", "a"), ("2026-01-05", "a")]
    for table in (SNAPSHOT, INPUT_FILE, BROKER):
        assert sorted((row["snapshot_id"], row["cluster_id"]) for row in lake.read_local(table).to_pylist()) == pairs
        files = sorted(path.parent.name for path in (folder / table.name).rglob("part-*.parquet"))
        assert files == (
            [SNAPSHOT.name] if table is SNAPSHOT else ["snapshot_id=2026-01-01", "snapshot_id=2026-01-04", "snapshot_id=2026-01-05"]
        )


def test_an_absence_leaves_with_its_night(tmp_path: Path) -> None:
    lake = open_lake(str(tmp_path), pytest.fail)
    nights(lake, tmp_path)
    maintain(lake, keep_nights=2, vacuum_hours=0)
    assert sorted(row["snapshot_id"] for row in lake.read_local(ABSENT_CLUSTER).to_pylist()) == ["2026-01-04", "2026-01-05"]


def test_a_night_of_which_no_dump_could_be_read_leaves_with_those_before_it(tmp_path: Path) -> None:
    lake = open_lake(str(tmp_path), pytest.fail)
    nights(lake, tmp_path)
    file = {"snapshot_id": "2026-01-03b", "cluster_id": "a", "file": "x", "entries": 1, "accepted": 0, "rejected": 1, "size_bytes": 1}
    write_deltalake(tmp_path / INPUT_FILE.name, pa.Table.from_pylist([file], INPUT_FILE.schema), mode="append")
    assert maintain(lake, keep_nights=2, vacuum_hours=0) == ["2026-01-02", "2026-01-03", "2026-01-03b"]


def test_what_leaves_is_gone_and_what_stays_is_whole(tmp_path: Path) -> None:
    lake = open_lake(str(tmp_path), pytest.fail)
    nights(lake, tmp_path)
    assert maintain(lake, keep_nights=2, vacuum_hours=0) == ["2026-01-02", "2026-01-03"]
    left(lake, tmp_path)
    assert maintain(lake, keep_nights=2, vacuum_hours=0) == []
    left(lake, tmp_path)


def test_reports_of_deleted_nights_are_deleted_beside_the_lake_and_in_airflows_folder(tmp_path: Path) -> None:
    lake, airflow = open_lake(str(tmp_path / "lake"), pytest.fail), tmp_path / "airflow"
    nights(lake, tmp_path / "lake")
    folders = {night: (tmp_path / "lake" / "reports" / night, airflow / "nightly" / f"scheduled__{night}") for night in NIGHTS}
    for night, of_night in folders.items():
        for folder in of_night:
            name_snapshot(folder, night)
            for path in (folder / "snapshot.txt", folder):
                os.utime(path, (0, 0))
    deleted = delete_expired_reports(lake, airflow, keep_nights=2, unchanged_hours=24)
    # The first night is the newest of cluster b.
    assert deleted == [folders[night][place] for place in (0, 1) for night in ("2026-01-02", "2026-01-03")]
    assert {night for night, of_night in folders.items() if all(folder.exists() for folder in of_night)} == {*NIGHTS} - {
        "2026-01-02",
        "2026-01-03",
    }
    assert not any(folder.exists() for folder in deleted)


def test_spark_does_the_same_to_a_lake_on_other_storage(tmp_path: Path, spark: SparkSession) -> None:
    folder = open_lake(str(tmp_path), pytest.fail)
    nights(folder, tmp_path)
    for table in TABLES:
        if table not in (SNAPSHOT, INPUT_FILE, BROKER):
            shutil.rmtree(tmp_path / table.name)  # a lake of an older version has not all tables; and Spark takes seconds for each
    assert maintain(open_lake(tmp_path.as_uri(), lambda: spark), keep_nights=2, vacuum_hours=0) == ["2026-01-02", "2026-01-03"]
    left(folder, tmp_path)
