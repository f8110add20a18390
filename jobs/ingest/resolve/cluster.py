"""The row of the cluster: its controller, id, quorum and the formats of its files."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import pyarrow as pa

from jobs.ingest.facts import ActiveController, ControllerKind, FeatureLevel, KafkaClusterId, QuorumVoters, TopicLine
from jobs.ingest.partitions import Partitions
from jobs.ingest.resolve.evidence import Evidence
from jobs.ingest.resolve.rows import table_of
from jobs.schema import CLUSTER

_METADATA_VERSION, _ELR_VERSION = "metadata.version", "eligible.leader.replicas.version"


class ClusterRow(NamedTuple):
    """A row of `cluster`."""

    controller: str
    controller_assumed: bool
    elr: bool
    sources: list[str]
    captured_at: datetime | None
    kafka_cluster_id: str | None
    controller_id: int | None
    voters: list[int] | None


def cluster_table(evidence: Evidence, partitions: Partitions, input_file: pa.Table) -> pa.Table:
    """Return the row of the cluster; no row if no file is readable."""
    sources = _sources(input_file)
    if not sources:
        return table_of(CLUSTER, [])
    kind, elr = _controller(evidence, partitions)
    active, voters = evidence.facts(ActiveController), evidence.facts(QuorumVoters)
    row = ClusterRow(
        controller=kind or "zookeeper",
        controller_assumed=kind is None,
        elr=elr,
        sources=sources,
        captured_at=max((file.written_at for file in evidence.files), default=None),
        kafka_cluster_id=next((fact.kafka_cluster_id for fact in evidence.facts(KafkaClusterId)), None),
        controller_id=active[0].node_id if active else None,
        voters=list(voters[0].node_ids) if voters else None,
    )
    return table_of(CLUSTER, [row])


def _controller(evidence: Evidence, partitions: Partitions) -> tuple[str | None, bool]:
    """Return the kind of controller, None if no file shows it, and whether it maintains eligible leader replicas."""
    features = evidence.facts(FeatureLevel)
    if features:
        finalized = {fact.feature for fact in features if fact.finalized}
        return "kraft" if _METADATA_VERSION in finalized else "zookeeper", _ELR_VERSION in finalized
    kinds = {fact.controller for fact in evidence.facts(ControllerKind)}
    topics: list[TopicLine] = evidence.facts(TopicLine)
    elr_is_known = partitions.any_known("elr")
    elr = elr_is_known and (
        partitions.any_broker_in("elr")
        or partitions.any_broker_in("last_known_elr")
        or (bool(topics) and all("min.insync.replicas" in topic.configs for topic in topics))
    )
    if "kraft" in kinds or (elr_is_known and not kinds):
        return "kraft", elr
    return "zookeeper" if kinds else None, elr


def _sources(input_file: pa.Table) -> list[str]:
    """Return the formats of the files that have an accepted entry, or no entry at all."""
    return sorted({row["format"] for row in input_file.to_pylist() if row["format"] and (row["accepted"] or not row["entries"])})
