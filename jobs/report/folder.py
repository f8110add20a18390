"""Report folders. A file in each one names its snapshot, so that `maintain` can delete the folder with the snapshot.

LAKE/reports/<snapshot>/ contains a night's page and its Data Docs. Its subfolders what-if/<cluster>/<id>/ and plan/<cluster>/<id>/ contain
the page of each what-if and plan. Airflow has a folder for each DAG run: <Variable topology_reports>/<dag id>/<run id>/.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Collection
from pathlib import Path

SNAPSHOT_FILE = "snapshot.txt"
AHEAD = "ahead"  # subfolder of a night's report with an empty file for each task that `ingest` ran ahead, such as step-remedy
_MAX_DEPTH = 4  # folders from the root of all reports to that of a what-if or plan


def name_snapshot(folder: Path, snapshot_id: str) -> None:
    """Write the snapshot of the folder's report into its snapshot file."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SNAPSHOT_FILE).write_text(f"{snapshot_id}\n", encoding="utf-8")


def delete_reports(root: Path, expired: Callable[[Collection[str]], Collection[str]], *, unchanged_since: float) -> list[Path]:
    """Delete the reports of expired snapshots and return their folders.

    A folder without a snapshot file stays. A folder with a file changed after `unchanged_since` (a POSIX time) also stays, because a run may
    still write to it. Symbolic links are not followed.
    """
    snapshot_by_folder = dict(_report_folders(root, _MAX_DEPTH))
    expired_snapshots = set(expired(set(snapshot_by_folder.values())))
    deleted = []
    for folder in sorted(folder for folder, snapshot_id in snapshot_by_folder.items() if snapshot_id in expired_snapshots):
        if folder.exists() and _last_change(folder) < unchanged_since:
            shutil.rmtree(folder)
            deleted.append(folder)
    return deleted


def _report_folders(folder: Path, max_depth: int) -> list[tuple[Path, str]]:
    """Return the folders, up to `max_depth` levels down, that have a snapshot file, each with its snapshot."""
    folders = []
    for entry in os.scandir(folder) if max_depth and folder.is_dir() else ():
        if entry.is_dir(follow_symlinks=False):
            file = Path(entry.path, SNAPSHOT_FILE)
            if file.is_file() and not file.is_symlink():
                folders.append((Path(entry.path), file.read_text(encoding="utf-8", errors="replace").strip()))
            folders += _report_folders(Path(entry.path), max_depth - 1)
    return folders


def _last_change(folder: Path) -> float:
    paths = [folder, *(Path(parent, name) for parent, folders, files in os.walk(folder) for name in (*folders, *files))]
    return max(path.lstat().st_mtime for path in paths)
