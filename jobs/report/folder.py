"""The folders of reports. Each names its snapshot in a file, so that `maintain` can delete it with the snapshot.

LAKE/reports/<snapshot>/ has a night's page and its Data Docs; in it, what-if/<cluster>/<id>/ and plan/<cluster>/<id>/ have the pages of each
what-if and plan. Airflow has a folder per DAG and run: <Variable topology_reports>/<dag id>/<run id>/.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Collection
from pathlib import Path

SNAPSHOT_FILE = "snapshot.txt"
_DEPTH = 4  # of a what-if or plan below the folder of all reports


def name_snapshot(folder: Path, snapshot_id: str) -> None:
    """Write the name of the snapshot that the folder's report is about."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SNAPSHOT_FILE).write_text(f"{snapshot_id}\n", encoding="utf-8")


def delete_reports(root: Path, expired: Callable[[Collection[str]], Collection[str]], *, unchanged_since: float) -> list[Path]:
    """Delete the reports of expired snapshots; returns their folders.

    A folder without the file that names its snapshot stays, as does one in which anything changed after `unchanged_since`, since a run may
    still write to it. Symbolic links are not followed.
    """
    named = dict(_named(root, _DEPTH))
    gone = set(expired(set(named.values())))
    deleted = []
    for folder in sorted(folder for folder, snapshot_id in named.items() if snapshot_id in gone):
        if folder.exists() and _last_change(folder) < unchanged_since:
            shutil.rmtree(folder)
            deleted.append(folder)
    return deleted


def _named(folder: Path, depth: int) -> list[tuple[Path, str]]:
    """Folders at most so far below this one that name their snapshot."""
    found = []
    for entry in os.scandir(folder) if depth and folder.is_dir() else ():
        if entry.is_dir(follow_symlinks=False):
            name = Path(entry.path, SNAPSHOT_FILE)
            if name.is_file() and not name.is_symlink():
                found.append((Path(entry.path), name.read_text(encoding="utf-8", errors="replace").strip()))
            found += _named(Path(entry.path), depth - 1)
    return found


def _last_change(folder: Path) -> float:
    paths = [folder, *(Path(where, name) for where, folders, files in os.walk(folder) for name in (*folders, *files))]
    return max(path.lstat().st_mtime for path in paths)
