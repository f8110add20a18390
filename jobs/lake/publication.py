"""publish: the row of `snapshot` that makes a cluster's night visible, for every cluster whose hard rules hold, and `absent_cluster` for the others.

no folder           published in one of the last nights, and the source has no folder of that name
nothing readable    its folder is there, and no file in it can be read
withheld            its tables break a hard rule, or a check has not run
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from jobs.schema import FOLDER

Rows = Iterable[Mapping[str, Any]]
NO_FOLDER, NOTHING_READABLE, WITHHELD = "no folder", "nothing readable", "withheld"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The ids of the clusters that a night published, and the rows of `absent_cluster` for those that it did not."""

    published: list[str]
    absent: list[dict[str, Any]]


def sound(validation: Rows, suites: frozenset[str]) -> set[str]:
    """The clusters that every suite has judged, with no hard rule broken."""
    judged: dict[str, set[str]] = defaultdict(set)
    broken = set()
    for row in validation:
        judged[row["cluster_id"]].add(row["suite"])
        if row["severity"] == "hard" and row["success"] is False:
            broken.add(row["cluster_id"])
    return {cluster_id for cluster_id, by in judged.items() if suites <= by and cluster_id not in broken}


def newest(snapshot: Rows, *, before: str) -> dict[str, str]:
    """Of each cluster, the newest published snapshot before this one."""
    earlier = [(row["cluster_id"], row["snapshot_id"]) for row in snapshot if row["snapshot_id"] < before]
    return dict(sorted(earlier))


def absent(
    earlier: Mapping[str, str],
    nights: Collection[str],
    *,
    published: Collection[str],
    withheld: Mapping[str, str],
    unreadable: Mapping[str, str],
    retired: Collection[str],
) -> list[dict[str, Any]]:
    """The rows of `absent_cluster`, sorted by cluster, without their snapshot.

    `earlier` has each cluster's newest snapshot before this night; `nights` are those whose clusters are missed. `withheld` and `unreadable`
    have the cause by cluster. A `retired` cluster is not missed, but one whose dumps were read and withheld is reported all the same.
    """
    missed = {id for id, snapshot_id in earlier.items() if snapshot_id in nights} - {*published, *withheld, *unreadable, *retired}
    causes = {id: (NO_FOLDER, "the source has no folder of this name") for id in missed}
    causes |= {id: (NOTHING_READABLE, detail) for id, detail in unreadable.items() if id not in retired}
    causes |= {id: (WITHHELD, detail) for id, detail in withheld.items()}
    return [
        {"cluster_id": id, "last_snapshot_id": earlier.get(id), "reason": reason, "detail": detail}
        for id, (reason, detail) in sorted(causes.items())
    ]


def why_withheld(validation: Rows, suites: frozenset[str]) -> str:
    """The first hard rule that a cluster breaks, or the suites that no check has judged, from its rows of `validation`."""
    rows = sorted(validation, key=lambda row: (row["suite"], row["rule"]))
    for row in rows:
        if row["severity"] == "hard" and row["success"] is False:
            return "{suite}.{rule}: {sentence}".format(**row)
    return f"not every check has run: {', '.join(sorted(suites - {row['suite'] for row in rows}))}"


def located(file: str, reason: str) -> str:
    """What is wrong with a file; a reason about the cluster's folder itself needs no name."""
    return reason if file == FOLDER else f"{file}: {reason}"


def why_unreadable(rejected: Rows) -> str:
    """What is wrong with the first file of a cluster without a readable one, from its rows of `rejected_input`."""
    files = {row["file"]: row["reason"] for row in sorted(rejected, key=lambda row: (row["file"], row["line"]), reverse=True)}
    if not files:
        return "its files are empty or hidden"
    *others, (file, reason) = files.items()
    return located(file, reason) + (f" (and {len(others)} more)" if others else "")
