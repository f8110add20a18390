"""What changed in each cluster since its previous published night."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jobs.report.absent import AbsentCluster, absent_clusters
from jobs.report.rows import Row, by_cluster, rows

if TYPE_CHECKING:
    from jobs.views import DuckdbViews

# The kinds of failures in the view `survival`, in words, in the order in which a message names them, and the cause of their findings.
FAILURES = {"broker": "any broker", "stop": "the shutdown of any broker", "rack": "any rack", "pair": "any two brokers"}
_CAUSES = {"broker": "one broker is fatal", "stop": "one broker is fatal", "rack": "one rack is fatal", "pair": "two brokers are fatal"}


@dataclass(slots=True)
class ClusterChanges:
    """What is different in one cluster from its previous published night.

    `newly_fatal` and `newly_safe` have the harms (data, reads, writes) of each kind of failure. `repaired_findings` are rows of the previous
    night. A cluster is newly absent or newly present compared to the previous night of the lake.
    """

    cluster_id: str
    newly_fatal: dict[str, list[str]] = field(default_factory=dict)
    newly_safe: dict[str, list[str]] = field(default_factory=dict)
    new_findings: list[Row] = field(default_factory=list)
    repaired_findings: list[Row] = field(default_factory=list)
    newly_absent: AbsentCluster | None = None
    newly_present: bool = False

    def __bool__(self) -> bool:
        return any((self.newly_fatal, self.newly_safe, self.new_findings, self.repaired_findings, self.newly_absent, self.newly_present))


def cluster_changes(connection: DuckdbViews, snapshot_id: str) -> list[ClusterChanges]:
    """Return the clusters of a published night that changed, in the order of their ids."""
    published = rows(connection, "SELECT cluster_id, previous_snapshot_id FROM snapshot WHERE snapshot_id = ?", [snapshot_id])
    changes = {row["cluster_id"]: ClusterChanges(row["cluster_id"]) for row in published}
    _add_absences(connection, snapshot_id, changes)
    previous = {row["cluster_id"]: row["previous_snapshot_id"] for row in published if row["previous_snapshot_id"]}
    if previous:
        _add_survival(connection, snapshot_id, previous, changes)
        _add_findings(connection, snapshot_id, previous, changes)
    return [changes[cluster_id] for cluster_id in sorted(changes) if changes[cluster_id]]


def _add_absences(connection: DuckdbViews, snapshot_id: str, changes: dict[str, ClusterChanges]) -> None:
    nights = "SELECT snapshot_id FROM snapshot UNION ALL SELECT snapshot_id FROM absent_cluster"
    [night_before] = rows(connection, f"SELECT max(snapshot_id) AS id FROM ({nights}) WHERE snapshot_id < ?", [snapshot_id])
    absent_before = {cluster.cluster_id for cluster in absent_clusters(connection, night_before["id"] or "")}
    for cluster in absent_clusters(connection, snapshot_id):
        if cluster.cluster_id not in absent_before:
            changes[cluster.cluster_id] = ClusterChanges(cluster.cluster_id, newly_absent=cluster)
    for cluster_id in absent_before & changes.keys():
        changes[cluster_id].newly_present = changes[cluster_id].newly_absent is None


def _add_survival(connection: DuckdbViews, snapshot_id: str, previous: Mapping[str, str], changes: Mapping[str, ClusterChanges]) -> None:
    """Add the failures that a cluster survived before and does not survive now, and the reverse. An unknown answer is no change."""
    nights = [snapshot_id, *set(previous.values())]
    query = (
        f"SELECT snapshot_id, cluster_id, kind, harm, survives FROM survival WHERE snapshot_id IN ({_marks(nights)}) ORDER BY kind, harm"
    )
    answers = {
        (row["snapshot_id"], row["cluster_id"], row["kind"], row["harm"]): row["survives"] for row in rows(connection, query, nights)
    }
    for (night, cluster_id, kind, harm), survives in answers.items():
        before = answers.get((previous.get(cluster_id), cluster_id, kind, harm))
        if night == snapshot_id and None not in (before, survives) and before != survives:
            changed = changes[cluster_id].newly_safe if survives else changes[cluster_id].newly_fatal
            changed.setdefault(kind, []).append(harm)


def _add_findings(connection: DuckdbViews, snapshot_id: str, previous: Mapping[str, str], changes: Mapping[str, ClusterChanges]) -> None:
    """Add the new findings, and those of the previous night whose rule the cluster now fulfills. A waived finding is neither."""
    nights = [snapshot_id, *set(previous.values())]
    query = (
        "SELECT snapshot_id, cluster_id, cause, priority, consequence, problem, smallest_change, suite, rule, is_new, owner, waived_until FROM finding "
        f"WHERE snapshot_id IN ({_marks(nights)}) ORDER BY priority, broken_rows DESC, cause"
    )
    found = by_cluster(rows(connection, query, nights))
    fulfilled: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for row in rows(connection, "SELECT cluster_id, suite, rule FROM validation WHERE snapshot_id = ? AND success", [snapshot_id]):
        fulfilled[row["cluster_id"]].add((row["suite"], row["rule"]))
    for cluster_id, night_before in previous.items():
        now = [row for row in found[cluster_id] if row["snapshot_id"] == snapshot_id]
        before = [row for row in found[cluster_id] if row["snapshot_id"] == night_before and row["waived_until"] is None]
        causes = {row["cause"] for row in now}
        changes[cluster_id].new_findings = [row for row in now if row["is_new"] and row["waived_until"] is None]
        changes[cluster_id].repaired_findings = [
            row for row in before if row["cause"] not in causes and (row["suite"], row["rule"]) in fulfilled[cluster_id]
        ]
        waived = {row["cause"] for row in now if row["waived_until"] is not None}
        for kind in [kind for kind in changes[cluster_id].newly_fatal if _CAUSES[kind] in waived]:
            del changes[cluster_id].newly_fatal[kind]


def _marks(values: Sequence[object]) -> str:
    """Return as many parameter marks as there are values."""
    return ", ".join("?" for _ in values)
