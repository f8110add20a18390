"""The groups of a cluster as the dumps describe them, from the rows of consumer_assignment.sql."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jobs.arrays import Matrix, run_starts, to_ints, to_matrix
from jobs.failure.cluster_state import oldest_release
from jobs.steps.broker_racks import clusters_with_known_racks
from jobs.steps.group_assignors import Group
from kafka_model.assignor.group import Assignment, Member
from kafka_model.release import Release, parse_release

_OBSERVED = ["group_id", "member_id", "topic", "partition"]
_TOPIC = ["topic", "partition", "partitions", "topic_id", "replicas"]
_NO_RACK = -1


class Brokers(NamedTuple):
    """The release of a cluster's brokers, the oldest one that they may have, and the rack of each live broker that has one."""

    kafka_version: Release
    oldest_version: Release
    rack_of: Mapping[int, str] | None  # None: the racks are unknown


class _Topic(NamedTuple):
    partitions: int
    topic_id: str | None
    rack_set: frozenset[str] | None  # as in Group.rack_sets
    racks: Sequence[frozenset[str]]  # as in Group.racks


def brokers_by_cluster(cluster: pa.Table, broker: pa.Table) -> dict[str, Brokers]:
    """Return the brokers of each cluster. Clients see dead brokers without their rack: only live ones are in the metadata."""
    with_known_racks = clusters_with_known_racks(cluster, broker)
    racks: dict[str, dict[int, str]] = {}
    for row in broker.filter(pc.field("live") & pc.field("rack").is_valid()).to_pylist():
        racks.setdefault(row["cluster_id"], {})[row["broker_id"]] = row["rack"]
    brokers = {}
    for row in cluster.to_pylist():
        rack_of = racks.get(row["cluster_id"], {}) if row["cluster_id"] in with_known_racks else None
        brokers[row["cluster_id"]] = Brokers(parse_release(row["kafka_version"]), oldest_release(row), rack_of)
    return brokers


def described_groups(rows: pa.Table, brokers: Brokers) -> Iterator[tuple[str, Group]]:
    """Yield the id of each group of a cluster, and what the dumps contain about it."""
    has_group, has_topic = rows["group_id"].is_valid(), rows["topic"].is_valid()
    members = rows.filter(pc.invert(has_topic)).sort_by([("group_id", "ascending"), ("member_id", "ascending")]).to_pylist()
    observed = _observed(rows.select(_OBSERVED).filter(pc.and_(has_group, has_topic)))
    with_client_racks = {topic for member in members if member["rack"] is not None for topic in member["topics"]}
    topics = _topics(rows.select(_TOPIC).filter(pc.invert(has_group)), brokers.rack_of, with_client_racks)
    for group_id, of_group in groupby(members, itemgetter("group_id")):
        yield group_id, _group([*of_group], topics, observed.get(group_id, {}), brokers)


def _group(members: Sequence[Mapping[str, Any]], topics: Mapping[str, _Topic], observed: Assignment, brokers: Brokers) -> Group:
    subscribed = {topic: topics[topic] for member in members for topic in member["topics"] if topic in topics}
    return Group(
        protocol=members[0]["protocol"],
        assignor=members[0]["assignor"],
        stable=(members[0]["state"] or "").lower() == "stable",
        kafka_version=brokers.kafka_version,
        oldest_version=brokers.oldest_version,
        members=[Member(row["member_id"], tuple(row["topics"]), row["group_instance_id"], row["rack"]) for row in members],
        subscriptions_known=all(row["topics_known"] for row in members),
        client_racks_known=all(row["rack_known"] for row in members),
        partitions={name: topic.partitions for name, topic in subscribed.items()},
        topic_ids={name: topic.topic_id for name, topic in subscribed.items() if topic.topic_id is not None},
        rack_sets=[topic.rack_set for topic in subscribed.values()],
        racks={name: topic.racks for name, topic in subscribed.items()},
        observed=observed,
    )


def _observed(rows: pa.Table) -> dict[str, Assignment]:
    """Return the observed partitions of each member, sorted, by group."""
    ordered = rows.sort_by([(key, "ascending") for key in _OBSERVED])
    starts = run_starts(ordered["group_id"], ordered["member_id"])
    partitions = [*zip(ordered["topic"].to_pylist(), ordered["partition"].to_pylist(), strict=True)]
    observed: dict[str, Assignment] = {}
    members = ordered.select(["group_id", "member_id"]).take(starts[:-1]).to_pylist()
    for row, (start, end) in zip(members, pairwise(starts.tolist()), strict=True):
        observed.setdefault(row["group_id"], {})[row["member_id"]] = partitions[start:end]
    return observed


def _topics(rows: pa.Table, rack_of: Mapping[int, str] | None, with_client_racks: Collection[str]) -> dict[str, _Topic]:
    """Return the topics by name; those `with_client_racks` have the racks of each partition."""
    ordered = rows.sort_by([("topic", "ascending"), ("partition", "ascending")])
    starts = run_starts(ordered["topic"])
    names, racks = _racks(ordered["replicas"].combine_chunks(), rack_of or {})
    first_racks = racks[:, np.repeat(starts[:-1], np.diff(starts))]
    differing = np.add.reduceat((racks != first_racks).any(axis=0), starts[:-1]) if len(ordered) else []

    def racks_of(row: int) -> frozenset[str]:
        return frozenset(names[rack] for rack in racks[:, row].tolist() if rack != _NO_RACK)

    topics = {}
    described = ordered.drop_columns(["replicas"]).take(starts[:-1]).to_pylist()
    for row, differs, (start, end) in zip(described, differing, pairwise(starts.tolist()), strict=True):
        located = rack_of is not None and row["partition"] is not None
        rack_set = racks_of(start) if located and not differs else None
        racks_of_partitions = (
            [racks_of(partition) for partition in range(start, end)] if located and row["topic"] in with_client_racks else []
        )
        topics[row["topic"]] = _Topic(row["partitions"], row["topic_id"], rack_set, racks_of_partitions)
    return topics


def _racks(replicas: pa.ListArray, rack_of: Mapping[int, str]) -> tuple[list[str], Matrix]:
    """Return the names of the racks, and the racks of each list of brokers as a sorted column of indexes, each rack once."""
    names = sorted(set(rack_of.values()))
    rack_of_index = pa.array([names.index(rack) for rack in rack_of.values()], pa.int64())
    brokers = to_matrix(replicas)
    index = pc.index_in(pa.array(brokers.ravel()), pa.array(list(rack_of), pa.int64()))
    racks = np.sort(to_ints(rack_of_index.take(index), _NO_RACK).reshape(brokers.shape), axis=0)
    racks[1:][racks[1:] == racks[:-1]] = _NO_RACK
    return names, np.sort(racks, axis=0)
