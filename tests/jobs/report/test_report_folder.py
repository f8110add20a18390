"""Deletion of the reports of expired nights. All other reports, and everything outside the folder of reports, stay."""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from pathlib import Path

import pytest

from jobs.report.folder import delete_reports, name_snapshot

HOUR = 3600
OLD, KEPT = "2026-01-01", "2026-01-02"


def expired(snapshot_ids: Collection[str]) -> list[str]:
    return [snapshot_id for snapshot_id in snapshot_ids if snapshot_id < KEPT]


def write_report(folder: Path, snapshot_id: str, *, hours_old: float = 100) -> Path:
    """Write a report with Data Docs into a folder, last changed so many hours ago, and return the folder."""
    name_snapshot(folder, snapshot_id)
    (folder / "validation").mkdir()
    (folder / "validation" / "index.html").touch()
    set_age(folder, hours_old)
    return folder


def set_age(folder: Path, hours_old: float) -> None:
    """Set the modification time of a path and of everything below it."""
    changed_at = time.time() - hours_old * HOUR
    for path in sorted([folder, *folder.rglob("*")], reverse=True):
        os.utime(path, (changed_at, changed_at), follow_symlinks=False)


def delete_expired(root: Path) -> list[str]:
    """Delete the expired reports that have not changed for 24 hours, and return their folders below the root."""
    deleted = delete_reports(root, expired, unchanged_since=time.time() - 24 * HOUR)
    return [str(folder.relative_to(root)) for folder in deleted]


@pytest.mark.parametrize("folder", ["{night}", "nightly/manual__{night}T02:00:00+00:00", "{night}/what-if/orders-eu/x"])
def test_only_reports_of_expired_nights_are_deleted(tmp_path: Path, folder: str) -> None:
    old, kept = (write_report(tmp_path / folder.format(night=night), night) for night in (OLD, KEPT))
    assert delete_expired(tmp_path) == [folder.format(night=OLD)]
    assert not old.exists()
    assert (kept / "validation" / "index.html").exists()


def test_a_plan_of_an_expired_night_is_deleted_with_the_night(tmp_path: Path) -> None:
    plan = write_report(tmp_path / OLD / "plan" / "c" / "plan-1", OLD)
    night = tmp_path / OLD
    name_snapshot(night, OLD)
    set_age(night, 100)
    assert delete_expired(tmp_path) == [OLD]
    assert not plan.exists()


def test_a_report_that_changed_recently_stays(tmp_path: Path) -> None:
    running = write_report(tmp_path / "nightly" / "run", OLD)
    set_age(running / "validation" / "index.html", 1)
    assert delete_expired(tmp_path) == []
    set_age(running, 100)
    assert delete_expired(tmp_path) == ["nightly/run"]


def test_a_folder_without_a_snapshot_file_or_too_deep_stays(tmp_path: Path) -> None:
    (tmp_path / OLD / "notes").mkdir(parents=True)
    name_snapshot(tmp_path / "deeper" / "than" / "any" / "report" / "is", OLD)
    name_snapshot(tmp_path, OLD)  # the root is not a report
    set_age(tmp_path, 100)
    before = sorted(tmp_path.rglob("*"))
    assert delete_expired(tmp_path) == []
    assert sorted(tmp_path.rglob("*")) == before


def test_symbolic_links_are_not_followed(tmp_path: Path) -> None:
    outside, root = write_report(tmp_path / "outside" / "run", OLD), tmp_path / "reports"
    inside = write_report(root / "nightly" / "run", OLD)
    (inside / "link").symlink_to(outside)
    (root / "dag").symlink_to(outside.parent)
    (root / "nightly" / "linked-run").symlink_to(outside)
    (root / "nightly" / "named-by-link").mkdir()
    (root / "nightly" / "named-by-link" / "snapshot.txt").symlink_to(outside / "snapshot.txt")
    set_age(tmp_path, 100)
    assert delete_expired(root) == ["nightly/run"]
    assert (outside / "validation" / "index.html").exists()
    assert (root / "nightly" / "named-by-link").exists()


def test_a_missing_folder_of_reports_is_no_error(tmp_path: Path) -> None:
    assert delete_reports(tmp_path / "none", expired, unchanged_since=time.time()) == []
