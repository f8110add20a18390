"""maintain: delete old nights and their reports, compact the other nights, and remove files that no reader can still be reading.

A night is deleted from `snapshot` first, so that readers see all of it or nothing. Each cluster keeps its newest published night, however
old.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from jobs.lake.lake import Lake
from jobs.report.folder import delete_reports
from jobs.schema import SNAPSHOT, TABLES


def expired(published: Iterable[Mapping[str, Any]], known: Collection[str], keep_nights: int) -> list[str]:
    """Of the known snapshots, those older than the newest `keep_nights` published ones, but for the newest of each cluster.

    `published` are rows of `snapshot`. Of nights that are not published, those stay that are newer than the oldest that is kept.
    """
    of_cluster = dict(sorted((row["cluster_id"], row["snapshot_id"]) for row in published))
    kept = sorted({row["snapshot_id"] for row in published})[-keep_nights:]
    return sorted(id for id in known if kept and id < kept[0] and id not in of_cluster.values())


def maintain(lake: Lake, *, keep_nights: int, vacuum_hours: int) -> list[str]:
    """Expire, compact and vacuum every table of a lake; returns the snapshots that left."""
    published = lake.rows(SNAPSHOT)
    gone = expired(published, lake.snapshots(), keep_nights)
    for table in (SNAPSHOT, *(table for table in TABLES if table is not SNAPSHOT)):
        if lake.has(table):  # a lake of an older version has not all of them
            lake.expire(table, gone)
            lake.compact(table)
            lake.vacuum(table, vacuum_hours)
    return gone


def delete_expired_reports(lake: Lake, more: Path | None, *, keep_nights: int, unchanged_hours: int) -> list[Path]:
    """Delete the reports of expired snapshots beside the lake's tables and in one more folder; returns their folders."""
    published = lake.rows(SNAPSHOT)
    return [
        folder
        for root in (lake.folder and lake.folder / "reports", more)
        if root
        for folder in delete_reports(
            root, lambda ids: expired(published, ids, keep_nights), unchanged_since=time.time() - unchanged_hours * 3600
        )
    ]
