"""The row of the cluster: its controller, its id, its quorum and the formats that it was read from."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import pyarrow as pa

from jobs.ingest.facts import ActiveController, ControllerSign, FeatureLevel, KafkaClusterId, QuorumVoters, TopicLine
from jobs.ingest.partitions import Partitions
from jobs.ingest.resolve.evidence import Evidence
from jobs.ingest.resolve.rows import table_of
from jobs.schema import CLUSTER

_METADATA_VERSION, _ELR_VERSION = "metadata.version", "eligible.leader.replicas.version"


class ClusterRow(NamedTuple):
    """A row of `cluster`."""

    controller: str
    elr: bool
    sources: list[str]
    captured_at: datetime | None
    kafka_cluster_id: str | None
    controller_id: int | None
    voters: list[int] | None


def cluster_table(evidence: Evidence, partitions: Partitions, input_file: pa.Table) -> pa.Table:
    """Return the row of the cluster; none if no file is readable, as input_file and rejected_input state."""
    sources = _sources(input_file)
    if not sources:
        return table_of(CLUSTER, [])
    controller, elr = _controller(evidence, partitions)
    active, voters = evidence.of(ActiveController), evidence.of(QuorumVoters)
    row = ClusterRow(
        controller=controller,
        elr=elr,
        sources=sources,
        captured_at=max((file.written_at for file in evidence.files), default=None),
        kafka_cluster_id=next((fact.kafka_cluster_id for fact in evidence.of(KafkaClusterId)), None),
        controller_id=active[0].node_id if active else None,
        voters=list(voters[0].node_ids) if voters else None,
    )
    return table_of(CLUSTER, [row])


def _controller(evidence: Evidence, partitions: Partitions) -> tuple[str, bool]:
    """Return the kind of controller, and whether it keeps eligible leader replicas."""
    features = evidence.of(FeatureLevel)
    if features:
        finalized = {fact.feature for fact in features if fact.finalized}
        return "kraft" if _METADATA_VERSION in finalized else "zookeeper", _ELR_VERSION in finalized
    signs = {fact.controller for fact in evidence.of(ControllerSign)}
    topics: list[TopicLine] = evidence.of(TopicLine)
    known = partitions.knows("elr")
    elr = known and (
        partitions.names_any("elr")
        or partitions.names_any("last_known_elr")
        or (bool(topics) and all("min.insync.replicas" in topic.configs for topic in topics))
    )
    return "kraft" if "kraft" in signs or (known and not signs) else "zookeeper", elr


def _sources(input_file: pa.Table) -> list[str]:
    """Return the formats of the files of which an entry was accepted, or which have no entries."""
    columns = (input_file[name].to_pylist() for name in ("format", "entries", "accepted"))
    return sorted({format for format, entries, accepted in zip(*columns, strict=True) if format and (accepted or not entries)})
