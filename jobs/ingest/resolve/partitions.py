"""Partitions: replicas being added and removed, offsets, sizes of replicas, and load."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from jobs.ingest import end_offsets, partitions
from jobs.ingest.facts import AssignedReplicas, EndOffset, GroupOffset, OngoingReassignment, PartitionLine, PartitionRates, StartOffset
from jobs.ingest.partitions import NO_LEADER, Partitions
from jobs.ingest.resolve.evidence import Evidence, contradiction, differences, fill_gaps
from jobs.ingest.resolve.rows import schema_of, table_of
from jobs.schema import PARTITION, PARTITION_LOAD

_UNKNOWN = -1  # offset


def compare_assignments(evidence: Evidence) -> None:
    """Reject replicas of kafka-reassign-partitions that other dumps contradict; add its adding and removing replicas to the partitions."""
    for kind in (AssignedReplicas, OngoingReassignment):
        for origin in evidence.origins[kind].values():
            fact = origin.fact
            partition = evidence.origins[PartitionLine].get((fact.topic, fact.partition))
            if partition is None:
                evidence.reject(origin, "no dump has the partition's leader and ISR")
                continue
            same_fields = type(fact)(*(getattr(partition.fact, name) for name in fact._fields))
            if text := differences(same_fields, fact):
                evidence.reject(origin, contradiction(partition, origin, text))
            elif isinstance(fact, OngoingReassignment):
                moving = partition.fact._replace(adding_replicas=fact.adding_replicas, removing_replicas=fact.removing_replicas)
                evidence.origins[PartitionLine][fact[:2]] = partition.with_fact(fill_gaps(partition.fact, moving))


def all_partitions(evidence: Evidence) -> Partitions:
    """Return all partitions, sorted by topic and partition."""
    lines, facts = evidence.columns.lines.partitions, evidence.facts(PartitionLine)
    if not facts:
        return lines
    unsorted = partitions.concat([lines, partitions.from_facts(facts)] if len(lines) else [partitions.from_facts(facts)])
    return unsorted.take(unsorted.sorted_rows())


def partition_table(evidence: Evidence, sorted_partitions: Partitions, replica: pa.Table) -> pa.Table:
    """Return the partitions with their offsets and the sizes of their replicas."""
    ends, starts = _end_offsets(evidence, sorted_partitions), _start_offsets(evidence, sorted_partitions)
    leader, recovering = sorted_partitions.leader, sorted_partitions.leader_recovering
    columns = {
        "topic": sorted_partitions.topic_names(),
        "partition": pa.array(sorted_partitions.partition),
        "leader": pa.array(leader, mask=leader == NO_LEADER),
        "replicas": sorted_partitions.lists("replicas"),
        "isr": sorted_partitions.lists("isr", ascending=True),
        "elr": sorted_partitions.lists("elr", ascending=True),
        "last_known_elr": sorted_partitions.lists("last_known_elr"),
        "adding_replicas": sorted_partitions.lists("adding_replicas", empty_is_null=True),
        "removing_replicas": sorted_partitions.lists("removing_replicas", empty_is_null=True),
        "log_end_offset": pa.array(ends, mask=ends == _UNKNOWN),
        "leader_recovering": pa.array(recovering == 1, mask=recovering < 0),
        "log_start_offset": pa.array(starts, mask=starts == _UNKNOWN),
    }
    columns["replica_size_bytes"] = _sizes(columns["replicas"], replica)
    return pa.table(columns, schema=schema_of(PARTITION))


def _end_offsets(evidence: Evidence, sorted_partitions: Partitions) -> NDArray[np.int64]:
    """Return the end offset of each partition: from kafka-get-offsets, otherwise the largest that a group reports."""
    group_offsets: list[GroupOffset] = [fact for fact in evidence.facts(GroupOffset) if fact.log_end_offset is not None]
    offsets = np.full(len(sorted_partitions), _UNKNOWN)
    rows = _rows(sorted_partitions, group_offsets)
    largest = np.maximum([fact.log_end_offset for fact in group_offsets], 0).astype(np.int64)
    np.maximum.at(offsets, rows[rows >= 0], largest[rows >= 0])
    ends = evidence.columns.ends or end_offsets.from_facts(evidence.facts(EndOffset))
    rows = sorted_partitions.rows_of(ends.topic, ends.partition)
    offsets[rows[rows >= 0]] = ends.offset[rows >= 0]
    return offsets


def _start_offsets(evidence: Evidence, sorted_partitions: Partitions) -> NDArray[np.int64]:
    facts: list[StartOffset] = evidence.facts(StartOffset)
    offsets = np.full(len(sorted_partitions), _UNKNOWN)
    rows = _rows(sorted_partitions, facts)
    offsets[rows[rows >= 0]] = np.array([fact.offset for fact in facts], np.int64)[rows >= 0]
    return offsets


def _rows(sorted_partitions: Partitions, facts: Sequence[GroupOffset | StartOffset]) -> NDArray[np.int64]:
    topics = pa.array([fact.topic for fact in facts], pa.string())
    return sorted_partitions.rows_of(topics, np.array([fact.partition for fact in facts], np.int64))


def _sizes(replicas: pa.ListArray, replica: pa.Table) -> pa.ListArray:
    """Return the size of each partition's replicas, in the order of its assignment; `replica` is sorted by its key."""
    assigned = replica.filter(replica["replica_index"].is_valid())
    starts, lengths = np.array(replicas.offsets)[:-1], np.array(replicas.value_lengths())
    row_of_replica = np.empty(len(assigned), np.int64)
    row_of_replica[np.repeat(starts, lengths) + assigned["replica_index"].to_numpy()] = np.arange(len(assigned))
    return pa.ListArray.from_arrays(replicas.offsets, assigned["size_bytes"].take(pa.array(row_of_replica)).combine_chunks())


def load_table(evidence: Evidence) -> pa.Table:
    """Return the load of each partition's leader."""
    return table_of(PARTITION_LOAD, sorted(evidence.facts(PartitionRates)))
