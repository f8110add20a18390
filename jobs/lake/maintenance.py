"""Deletion of expired nights, and compaction of the nights that remain.

Rows are deleted from `snapshot` first, so that readers see either the whole night or nothing of it. Each cluster keeps its newest published
night, however old.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from jobs.lake.lake import Lake
from jobs.schema import SNAPSHOT, TABLES


def expired(published: Iterable[Mapping[str, Any]], known: Collection[str], keep_nights: int) -> list[str]:
    """Return the known snapshots that are older than the newest `keep_nights` published ones, sorted.

    `published` are rows of `snapshot`. The newest published snapshot of each cluster never expires, nor does an unpublished snapshot that
    is newer than the oldest one that remains.
    """
    newest_of_cluster = dict(sorted((row["cluster_id"], row["snapshot_id"]) for row in published))
    remaining = sorted({row["snapshot_id"] for row in published})[-keep_nights:]
    return sorted(id for id in known if remaining and id < remaining[0] and id not in newest_of_cluster.values())


def maintain_tables(lake: Lake, *, keep_nights: int, vacuum_hours: int) -> list[str]:
    """Delete expired snapshots, then compact and vacuum every table; return the ids of the deleted snapshots."""
    expired_ids = expired(lake.read_local(SNAPSHOT).to_pylist(), lake.snapshots(), keep_nights)
    for table in (SNAPSHOT, *(table for table in TABLES if table is not SNAPSHOT)):
        lake.delete(table, expired_ids)
        lake.compact(table)
        lake.vacuum(table, vacuum_hours)
    return expired_ids
