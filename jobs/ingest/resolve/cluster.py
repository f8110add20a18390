"""The row of the cluster: its controller, release, id, quorum and the formats of its files."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

import pyarrow as pa

from jobs.ingest.facts import (
    ActiveController,
    ControllerKind,
    FeatureLevel,
    KafkaClusterId,
    QuorumVoters,
    RegisteredController,
    TopicLine,
)
from jobs.ingest.partitions import Partitions
from jobs.ingest.resolve.evidence import Evidence
from jobs.ingest.resolve.rows import table_of
from jobs.schema import CLUSTER
from kafka_model.release import LATEST, LATEST_WITH_ZOOKEEPER, Release, UnknownVersion, parse_metadata_version

_METADATA_VERSION, _ELR_VERSION = "metadata.version", "eligible.leader.replicas.version"


class ClusterRow(NamedTuple):
    """A row of `cluster`."""

    controller: str
    controller_assumed: bool
    elr: bool
    kafka_version: str
    kafka_version_source: str
    sources: list[str]
    captured_at: datetime | None
    kafka_cluster_id: str | None
    controller_id: int | None
    voters: list[int] | None
    controllers: list[int] | None
    features: list[tuple[str, str]] | None


def cluster_table(evidence: Evidence, partitions: Partitions, input_file: pa.Table, configured_version: Release | None) -> pa.Table:
    """Return the row of the cluster; no row if no file is readable."""
    sources = _sources(input_file)
    if not sources:
        return table_of(CLUSTER, [])
    kind, elr = _controller(evidence, partitions)
    if kind is None and configured_version:
        kind = _only_controller(configured_version)
    controller = kind or "zookeeper"
    kafka_version, version_source = (configured_version, "configured") if configured_version else _kafka_version(evidence, controller)
    active, voters = evidence.facts(ActiveController), evidence.facts(QuorumVoters)
    row = ClusterRow(
        controller=controller,
        controller_assumed=kind is None,
        elr=elr,
        kafka_version=str(kafka_version),
        kafka_version_source=version_source,
        sources=sources,
        captured_at=max((file.written_at for file in evidence.files), default=None),
        kafka_cluster_id=next((fact.kafka_cluster_id for fact in evidence.facts(KafkaClusterId)), None),
        controller_id=active[0].node_id if active else None,
        voters=list(voters[0].node_ids) if voters else None,
        controllers=_controllers(evidence),
        features=sorted((fact.feature, fact.level) for fact in evidence.facts(FeatureLevel)) or None,
    )
    return table_of(CLUSTER, [row])


def _controllers(evidence: Evidence) -> list[int] | None:
    node_ids = {fact.node_id for fact in evidence.facts(RegisteredController)}
    return sorted(node_ids.union(*(fact.node_ids for fact in evidence.facts(QuorumVoters)))) or None


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


def _only_controller(version: Release) -> str | None:
    """Return the kind of controller of a release that has one kind only: ZooKeeper before 2.8, KRaft since 4.0."""
    if version >= Release(4, 0, 0):
        return "kraft"
    return "zookeeper" if version < Release(2, 8, 0) else None


def _kafka_version(evidence: Evidence, controller: str) -> tuple[Release, str]:
    """Return the release of the finalized metadata version, otherwise the newest one with this kind of controller, and the source."""
    for fact in evidence.facts(FeatureLevel):
        if fact.feature == _METADATA_VERSION and fact.finalized:
            with suppress(UnknownVersion):
                return parse_metadata_version(fact.level), "metadata_version"
    return LATEST if controller == "kraft" else LATEST_WITH_ZOOKEEPER, "assumed"


def _sources(input_file: pa.Table) -> list[str]:
    """Return the formats of the files that have an accepted entry, or no entry at all."""
    return sorted({row["format"] for row in input_file.to_pylist() if row["format"] and (row["accepted"] or not row["entries"])})
