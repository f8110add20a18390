"""Decide which clusters of a night are published, and why the others are absent.

no folder           the cluster was published in one of the last nights, and the source has no folder of its name
nothing readable    the source has its folder, and no file in it can be read
withheld            its tables break a hard rule, or a check has not run
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from jobs.lake.selection import Attempt
from jobs.schema import FOLDER

Rows = Iterable[Mapping[str, Any]]
NO_FOLDER, NOTHING_READABLE, WITHHELD = "no folder", "nothing readable", "withheld"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The ids of the clusters that a night published, and the rows of `absent_cluster` for those that it did not."""

    published: list[str]
    absent: list[dict[str, Any]]


def sound(validation: Rows, suites: frozenset[str]) -> set[str]:
    """Return the clusters with results of every suite that break no hard rule."""
    suites_of: dict[str, set[str]] = defaultdict(set)
    broken = set()
    for row in validation:
        suites_of[row["cluster_id"]].add(row["suite"])
        if row["severity"] == "hard" and row["success"] is False:
            broken.add(row["cluster_id"])
    return {cluster_id for cluster_id, checked in suites_of.items() if suites <= checked and cluster_id not in broken}


def attempt_of(published: Mapping[str, Any]) -> Attempt:
    """Return the attempt that a row of `snapshot` publishes."""
    return Attempt(published["snapshot_id"], published["attempt_id"])


def newest(snapshot: Rows, *, before: str) -> dict[str, Attempt]:
    """Return the published attempt of each cluster's newest snapshot before this one."""
    earlier = [row for row in snapshot if row["snapshot_id"] < before]
    return {row["cluster_id"]: attempt_of(row) for row in sorted(earlier, key=lambda row: str(row["snapshot_id"]))}


def absent(
    earlier: Mapping[str, Attempt],
    nights: Collection[str],
    *,
    published: Collection[str],
    withheld: Mapping[str, str],
    unreadable: Mapping[str, str],
    retired: Collection[str],
) -> list[dict[str, Any]]:
    """Return the rows of `absent_cluster`, sorted by cluster, without their snapshot id.

    `earlier` maps each cluster to its newest published attempt before this night; a cluster is expected if that is of one of `nights`.
    `withheld` and `unreadable` map clusters to the cause. A `retired` cluster is not expected, but it is reported if it is withheld.
    """
    last = {id: attempt.snapshot_id for id, attempt in earlier.items()}
    missing = {id for id, snapshot_id in last.items() if snapshot_id in nights} - {*published, *withheld, *unreadable, *retired}
    causes = {id: (NO_FOLDER, "the source has no folder of this name") for id in missing}
    causes |= {id: (NOTHING_READABLE, detail) for id, detail in unreadable.items() if id not in retired}
    causes |= {id: (WITHHELD, detail) for id, detail in withheld.items()}
    return [
        {"cluster_id": id, "last_snapshot_id": last.get(id), "reason": reason, "detail": detail}
        for id, (reason, detail) in sorted(causes.items())
    ]


def why_withheld(validation: Rows, suites: frozenset[str]) -> str:
    """Return the first hard rule that a cluster breaks, or the suites without results, from its rows of `validation`."""
    rows = sorted(validation, key=lambda row: (row["suite"], row["rule"]))
    for row in rows:
        if row["severity"] == "hard" and row["success"] is False:
            return "{suite}.{rule}: {sentence}".format(**row)
    return f"not every check has run: {', '.join(sorted(suites - {row['suite'] for row in rows}))}"


def located(file: str, reason: str) -> str:
    """Return a reason with the name of its file; a reason about the cluster's folder itself has no name."""
    return reason if file == FOLDER else f"{file}: {reason}"


def why_unreadable(rejected: Rows) -> str:
    """Return what is wrong with the first file of a cluster without a readable file, from its rows of `rejected_input`."""
    files = {row["file"]: row["reason"] for row in sorted(rejected, key=lambda row: (row["file"], row["line"]), reverse=True)}
    if not files:
        return "its files are empty or hidden"
    *others, (file, reason) = files.items()
    return located(file, reason) + (f" (and {len(others)} more)" if others else "")
