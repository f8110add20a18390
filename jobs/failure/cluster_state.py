"""Live brokers and controllers of a cluster, and the controller quorum when brokers die.

Controllers of a KRaft cluster may be brokers too. The death that leaves fewer than a majority of the quorum's voters is the last one that
changes anything: after it no leader is elected and no ISR shrinks, so a partition with a dead broker in its ISR accepts no acks=all writes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import pyarrow as pa

from kafka_model.failover.broker_failure import KRAFT_RULES_SINCE
from kafka_model.log.replication import MIN_ISR_CAPPED_SINCE
from kafka_model.release import RELEASES, Release, parse_release


@dataclass(frozen=True, slots=True)
class ClusterState:
    """What decides elections of a cluster, apart from its partitions and topics."""

    snapshot_id: str
    cluster_id: str
    controller: str  # "kraft" or "zookeeper"
    controller_id: int | None  # the active controller; None: unknown
    elr_enabled: bool
    election_rules: int  # position in KRAFT_RULES_SINCE; 0 for ZooKeeper, whose rules are always the same
    oldest_election_rules: int  # those of the oldest release that the cluster may run
    min_isr_capped: bool  # the brokers count at most all replicas as min.insync.replicas
    oldest_min_isr_capped: bool  # so does the oldest release that the cluster may run
    racks: Mapping[int, str | None]  # the rack of each live broker, in the order of their ids
    remaining_voters: frozenset[int] | None  # voters of the quorum that are not dead brokers; None: unknown, or ZooKeeper
    majority: int  # voters that the quorum needs

    @property
    def kraft(self) -> bool:
        return self.controller == "kraft"

    @property
    def _spare_voters(self) -> int:
        """Return how many voters may die before the quorum is lost; negative: it is lost already."""
        return len(self.remaining_voters or ()) - self.majority

    def quorum_lost(self, brokers: Collection[int]) -> bool:
        """Return whether the deaths of these brokers leave too few voters to elect an active controller."""
        dying_voters = len((self.remaining_voters or frozenset()).intersection(brokers))
        return dying_voters > max(self._spare_voters, 0)

    def effective_deaths(self, brokers: Sequence[int]) -> int:
        """Return how many of these deaths the controllers react to: those before the death that breaks the quorum, or all of them."""
        if not self.quorum_lost(brokers):
            return len(brokers)
        if self._spare_voters < 0:
            return 0
        voters = [broker for broker in brokers if broker in (self.remaining_voters or ())]
        breaking_voter = voters[self._spare_voters]
        return brokers.index(breaking_voter)

    def quorum_breaking_brokers(self) -> list[int]:
        """Return the live brokers whose death alone loses the quorum."""
        return [broker for broker in self.racks if self.quorum_lost([broker])]

    def quorum_breaking_pairs(self) -> list[tuple[int, int]]:
        """Return the pairs of live brokers whose deaths lose the quorum, the lower id first."""
        return [pair for pair in combinations(sorted(self.racks), 2) if self.quorum_lost(pair)]

    def quorum_breaking_sets(self) -> Iterator[frozenset[int]]:
        """Yield the smallest sets of live brokers whose deaths lose the quorum."""
        if self.remaining_voters is not None:
            live_voters = sorted(self.remaining_voters.intersection(self.racks))
            yield from map(frozenset, combinations(live_voters, max(self._spare_voters, 0) + 1))


def cluster_states(clusters: Iterable[Mapping[str, Any]], brokers: Iterable[Mapping[str, Any]]) -> dict[str, ClusterState]:
    """Compute the state of each cluster, by cluster id, from rows of `cluster` and `broker` of one snapshot."""
    racks: dict[str, dict[int, str | None]] = {}
    dead: dict[str, set[int]] = {}
    for broker in sorted(brokers, key=lambda row: row["broker_id"]):
        live = racks.setdefault(broker["cluster_id"], {})
        if broker["live"]:
            live[broker["broker_id"]] = broker["rack"]
        else:
            dead.setdefault(broker["cluster_id"], set()).add(broker["broker_id"])
    return {row["cluster_id"]: cluster_state(row, racks.get(row["cluster_id"], {}), dead.get(row["cluster_id"], ())) for row in clusters}


def cluster_state(cluster: Mapping[str, Any], racks: Mapping[int, str | None], dead: Collection[int]) -> ClusterState:
    """Compute the state of a cluster from its row of `cluster`, the racks of its live brokers by id, and its dead brokers."""
    voters = cluster["voters"] if cluster["controller"] == "kraft" else None
    return ClusterState(
        cluster["snapshot_id"],
        cluster["cluster_id"],
        cluster["controller"],
        cluster["controller_id"],
        bool(cluster["elr"]),
        *_election_rules(cluster),
        parse_release(cluster["kafka_version"]) >= MIN_ISR_CAPPED_SINCE,
        bool(cluster["elr"]) or oldest_release(cluster) >= MIN_ISR_CAPPED_SINCE,  # ELR is newer than the cap
        dict(sorted(racks.items())),
        None if voters is None else frozenset(voters).difference(dead),
        len(voters or ()) // 2 + 1,
    )


def oldest_release(cluster: Mapping[str, Any]) -> Release:
    """Return the oldest release that a cluster may run, by the source of its version."""
    version = parse_release(cluster["kafka_version"])
    return {"configured": version, "metadata_version": version.patches[0]}.get(cluster["kafka_version_source"], RELEASES[0])


def _election_rules(cluster: Mapping[str, Any]) -> tuple[int, int]:
    """Return the positions in KRAFT_RULES_SINCE of a cluster's release, and of the oldest release that it may run."""
    if cluster["controller"] != "kraft":
        return 0, 0
    version = parse_release(cluster["kafka_version"])
    oldest = oldest_release(cluster)
    lowest = KRAFT_RULES_SINCE.index(Release(3, 8, 0)) if cluster["elr"] else 0
    rules, oldest_rules = (max(bisect_right(KRAFT_RULES_SINCE, release) - 1, lowest) for release in (version, oldest))
    return rules, oldest_rules


_ELECTION_RULES = pa.schema(
    [
        pa.field("snapshot_id", pa.string()),
        pa.field("cluster_id", pa.string()),
        pa.field("kraft", pa.bool_()),
        pa.field("elr_enabled", pa.bool_()),
        pa.field("election_rules", pa.int32()),
        pa.field("oldest_election_rules", pa.int32()),
        pa.field("min_isr_capped", pa.bool_()),
        pa.field("oldest_min_isr_capped", pa.bool_()),
        pa.field("live_brokers", pa.list_(pa.int32())),
        pa.field("quorum_breaking_brokers", pa.list_(pa.int32())),
    ]
)


def cluster_election_rules(states: Iterable[ClusterState]) -> pa.Table:
    """Return a row per cluster for jobs.failure.election_inputs."""
    rows = [
        {
            "snapshot_id": state.snapshot_id,
            "cluster_id": state.cluster_id,
            "kraft": state.kraft,
            "elr_enabled": state.elr_enabled,
            "election_rules": state.election_rules,
            "oldest_election_rules": state.oldest_election_rules,
            "min_isr_capped": state.min_isr_capped,
            "oldest_min_isr_capped": state.oldest_min_isr_capped,
            "live_brokers": list(state.racks),
            "quorum_breaking_brokers": state.quorum_breaking_brokers(),
        }
        for state in states
    ]
    return pa.Table.from_pylist(rows, _ELECTION_RULES)
