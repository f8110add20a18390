"""publish: the row of `snapshot` that makes a cluster's night visible, for every cluster whose hard rules hold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

Rows = Iterable[Mapping[str, Any]]


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
