"""Reports of expired nights are deleted, those of other nights and everything outside the folder of reports stay."""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from pathlib import Path

import pytest

from jobs.report.folder import delete_reports, name_snapshot

HOUR = 3600
OLD, KEPT = "2026-01-01", "2026-01-02"


def expired(ids: Collection[str]) -> list[str]:
    return [id for id in ids if id < KEPT]


def report(folder: Path, snapshot_id: str, *, hours_old: float = 100) -> Path:
    name_snapshot(folder, snapshot_id)
    (folder / "validation").mkdir()
    (folder / "validation" / "index.html").touch()
    age(folder, hours_old)
    return folder


def age(folder: Path, hours_old: float) -> None:
    then = time.time() - hours_old * HOUR
    for path in sorted([folder, *folder.rglob("*")], reverse=True):
        os.utime(path, (then, then), follow_symlinks=False)


def delete(root: Path) -> list[str]:
    deleted = delete_reports(root, expired, unchanged_since=time.time() - 24 * HOUR)
    return [str(folder.relative_to(root)) for folder in deleted]


@pytest.mark.parametrize("folder", ["{night}", "nightly/manual__{night}T02:00:00+00:00", "{night}/what-if/orders-eu/x"])
def test_the_report_of_an_expired_night_is_deleted_and_that_of_a_kept_night_stays(tmp_path: Path, folder: str) -> None:
    old, kept = (report(tmp_path / folder.format(night=night), night) for night in (OLD, KEPT))
    assert delete(tmp_path) == [folder.format(night=OLD)]
    assert not old.exists()
    assert (kept / "validation" / "index.html").exists()


def test_an_answer_about_an_expired_night_goes_with_its_page(tmp_path: Path) -> None:
    answer = report(tmp_path / OLD / "plan" / "c" / "plan-1", OLD)
    night = tmp_path / OLD
    name_snapshot(night, OLD)
    age(night, 100)
    assert delete(tmp_path) == [OLD]
    assert not answer.exists()


def test_a_report_that_a_run_still_writes_to_stays(tmp_path: Path) -> None:
    running = report(tmp_path / "nightly" / "run", OLD)
    age(running / "validation" / "index.html", 1)
    assert delete(tmp_path) == []
    age(running, 100)
    assert delete(tmp_path) == ["nightly/run"]


def test_a_folder_that_names_no_snapshot_stays(tmp_path: Path) -> None:
    (tmp_path / OLD / "notes").mkdir(parents=True)
    name_snapshot(tmp_path / "deeper" / "than" / "any" / "report" / "is", OLD)
    name_snapshot(tmp_path, OLD)  # the folder of all reports is no report
    age(tmp_path, 100)
    before = sorted(tmp_path.rglob("*"))
    assert delete(tmp_path) == []
    assert sorted(tmp_path.rglob("*")) == before


def test_symbolic_links_are_not_followed(tmp_path: Path) -> None:
    outside, root = report(tmp_path / "outside" / "run", OLD), tmp_path / "reports"
    inside = report(root / "nightly" / "run", OLD)
    (inside / "link").symlink_to(outside)
    (root / "dag").symlink_to(outside.parent)
    (root / "nightly" / "linked-run").symlink_to(outside)
    (root / "nightly" / "named-by-link").mkdir()
    (root / "nightly" / "named-by-link" / "snapshot.txt").symlink_to(outside / "snapshot.txt")
    age(tmp_path, 100)
    assert delete(root) == ["nightly/run"]
    assert (outside / "validation" / "index.html").exists()
    assert (root / "nightly" / "named-by-link").exists()


def test_without_a_folder_of_reports_nothing_is_deleted(tmp_path: Path) -> None:
    assert delete_reports(tmp_path / "none", expired, unchanged_since=time.time()) == []
