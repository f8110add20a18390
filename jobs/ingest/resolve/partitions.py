"""Partitions: what kafka-reassign-partitions adds to them, their offsets and their load."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from jobs.ingest import end_offsets, partitions
from jobs.ingest.facts import Assigned, EndOffset, GroupOffset, PartitionLine, PartitionRates, Reassigning, StartOffset
from jobs.ingest.partitions import NO_LEADER, Partitions
from jobs.ingest.resolve.evidence import Evidence, contradiction, differences, fill_gaps
from jobs.ingest.resolve.rows import schema_of, table_of
from jobs.schema import PARTITION, PARTITION_LOAD

_UNKNOWN = -1  # offset


def compare_assignments(evidence: Evidence) -> None:
    """Reject replicas of kafka-reassign-partitions that other dumps contradict, and take from it which are added and removed."""
    for kind in (Assigned, Reassigning):
        for origin in evidence.standing[kind].values():
            fact = origin.fact
            partition = evidence.standing[PartitionLine].get((fact.topic, fact.partition))
            if partition is None:
                evidence.reject(origin, "no dump has the partition's leader and ISR")
                continue
            known = type(fact)(*(getattr(partition.fact, name) for name in fact._fields))
            if found := differences(known, fact):
                evidence.reject(origin, contradiction(partition, origin, found))
            elif isinstance(fact, Reassigning):
                moving = partition.fact._replace(adding_replicas=fact.adding_replicas, removing_replicas=fact.removing_replicas)
                evidence.standing[PartitionLine][fact[:2]] = partition.with_fact(fill_gaps(partition.fact, moving))


def partitions_of(evidence: Evidence) -> Partitions:
    """Return all partitions in the order of topic and partition."""
    lines, facts = evidence.columns.lines.partitions, evidence.of(PartitionLine)
    if not facts:
        return lines
    found = partitions.concat([lines, partitions.of_facts(facts)] if len(lines) else [partitions.of_facts(facts)])
    return found.take(found.order())


def partition_table(evidence: Evidence, found: Partitions, replica: pa.Table) -> pa.Table:
    """Return the partitions with their offsets and the sizes of their replicas."""
    ends, starts = _end_offsets(evidence, found), _start_offsets(evidence, found)
    columns = {
        "topic": found.topic_names(),
        "partition": pa.array(found.partition),
        "leader": pa.array(found.leader, mask=found.leader == NO_LEADER),
        "replicas": found.lists("replicas"),
        "isr": found.lists("isr", in_order=True),
        "elr": found.lists("elr", in_order=True),
        "last_known_elr": found.lists("last_known_elr"),
        "adding_replicas": found.lists("adding_replicas", empty=False),
        "removing_replicas": found.lists("removing_replicas", empty=False),
        "log_end_offset": pa.array(ends, mask=ends == _UNKNOWN),
        "leader_recovering": pa.array(found.recovering == 1, mask=found.recovering < 0),
        "log_start_offset": pa.array(starts, mask=starts == _UNKNOWN),
    }
    columns["replica_size_bytes"] = _sizes(columns["replicas"], replica)
    return pa.table(columns, schema=schema_of(PARTITION))


def _end_offsets(evidence: Evidence, found: Partitions) -> NDArray[np.int64]:
    """Return the end offset of each partition: of kafka-get-offsets, otherwise the largest that a group has."""
    of_groups: list[GroupOffset] = [fact for fact in evidence.of(GroupOffset) if fact.log_end_offset is not None]
    offsets = np.full(len(found), _UNKNOWN)
    rows = _rows(found, of_groups)
    largest = np.maximum([fact.log_end_offset for fact in of_groups], 0).astype(np.int64)
    np.maximum.at(offsets, rows[rows >= 0], largest[rows >= 0])
    ends = evidence.columns.ends or end_offsets.of_facts(evidence.of(EndOffset))
    rows = found.rows_of(ends.topic, ends.partition)
    offsets[rows[rows >= 0]] = ends.offset[rows >= 0]
    return offsets


def _start_offsets(evidence: Evidence, found: Partitions) -> NDArray[np.int64]:
    facts: list[StartOffset] = evidence.of(StartOffset)
    offsets = np.full(len(found), _UNKNOWN)
    rows = _rows(found, facts)
    offsets[rows[rows >= 0]] = np.array([fact.offset for fact in facts], np.int64)[rows >= 0]
    return offsets


def _rows(found: Partitions, facts: Sequence[GroupOffset | StartOffset]) -> NDArray[np.int64]:
    topics = pa.array([fact.topic for fact in facts], pa.string())
    return found.rows_of(topics, np.array([fact.partition for fact in facts], np.int64))


def _sizes(replicas: pa.ListArray, replica: pa.Table) -> pa.ListArray:
    """Return the bytes of each partition's replicas, in the order of its assignment; `replica` is in the order of its key."""
    assigned = replica.filter(replica["replica_index"].is_valid())
    starts, lengths = np.array(replicas.offsets)[:-1], np.array(replicas.value_lengths())
    position = np.empty(len(assigned), np.int64)
    position[np.repeat(starts, lengths) + assigned["replica_index"].to_numpy()] = np.arange(len(assigned))
    return pa.ListArray.from_arrays(replicas.offsets, assigned["size_bytes"].take(pa.array(position)).combine_chunks())


def load_table(evidence: Evidence) -> pa.Table:
    """Return the load of each partition's leader."""
    return table_of(PARTITION_LOAD, sorted(evidence.of(PartitionRates)))
