"""Deletion of expired nights and superseded attempts, and compaction of the rows that remain.

Rows are deleted from `snapshot` first, so that readers see either the whole night or nothing of it. `input_file` and `parameter`, which list
the attempts, are last: after an interruption, the next run finds what is left. Each cluster keeps its newest published night, however old.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from jobs.lake.lake import Lake
from jobs.lake.publication import attempt_of
from jobs.lake.selection import Attempt, newest_attempts
from jobs.schema import ABSENT_CLUSTER, INPUT_FILE, PARAMETER, SNAPSHOT, TABLES

_LAST = (INPUT_FILE, PARAMETER)


class Deleted(NamedTuple):
    """What a maintenance deleted: the ids of expired snapshots, sorted, and the superseded attempts of other snapshots."""

    snapshot_ids: list[str]
    superseded: set[Attempt]


def expired(published: Iterable[Mapping[str, Any]], known: Collection[str], keep_nights: int) -> list[str]:
    """Return the known snapshots that are older than the newest `keep_nights` published ones, sorted.

    `published` are rows of `snapshot`. The newest published snapshot of each cluster never expires, nor does an unpublished snapshot that
    is newer than the oldest one that remains.
    """
    newest_of_cluster = dict(sorted((row["cluster_id"], row["snapshot_id"]) for row in published))
    remaining = sorted({row["snapshot_id"] for row in published})[-keep_nights:]
    return sorted(id for id in known if remaining and id < remaining[0] and id not in newest_of_cluster.values())


def superseded(begun: Collection[Attempt], published: Collection[Attempt], absent: Collection[Attempt]) -> set[Attempt]:
    """Return the attempts that neither readers nor running tasks use.

    Of each snapshot, readers use the attempt that `snapshot` names; if it names none, the newest attempt with rows in `absent_cluster`.
    Tasks use the newest attempt that has begun. An attempt with a higher number is being ingested.
    """
    newest_begun, newest_absent = newest_attempts(begun), newest_attempts(absent)
    published_ids = {attempt.snapshot_id for attempt in published}
    used = {*published, *newest_begun.values(), *(newest_absent[id] for id in newest_absent.keys() - published_ids)}
    return {attempt for attempt in begun if attempt not in used}


def maintain_tables(lake: Lake, *, keep_nights: int, vacuum_hours: int) -> Deleted:
    """Delete expired snapshots and superseded attempts, then compact and vacuum every table."""
    published, begun = lake.read_local(SNAPSHOT).to_pylist(), lake.attempts(PARAMETER)
    known = {attempt.snapshot_id for attempt in begun | lake.attempts(INPUT_FILE)}  # an interrupted ingest has not begun its attempt
    expired_ids = expired(published, known, keep_nights)
    unused = {
        attempt
        for attempt in superseded(begun, {attempt_of(row) for row in published}, lake.attempts(ABSENT_CLUSTER))
        if attempt.snapshot_id not in expired_ids
    }
    for table in (SNAPSHOT, *(table for table in TABLES if table not in (SNAPSHOT, *_LAST)), *_LAST):
        lake.delete(table, expired_ids, unused)
        lake.compact(table)
        lake.vacuum(table, vacuum_hours)
    return Deleted(expired_ids, unused)
