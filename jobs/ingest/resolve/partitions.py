"""Partitions: replicas being added and removed, offsets, sizes of replicas, and load."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from jobs.ingest import offset_columns, partitions
from jobs.ingest.facts import AssignedReplicas, EndOffset, GroupOffset, OngoingReassignment, PartitionLine, PartitionRates, StartOffset
from jobs.ingest.offset_columns import OffsetColumns
from jobs.ingest.partitions import NO_LEADER, Partitions
from jobs.ingest.resolve.evidence import Evidence, contradiction, differences, fill_gaps
from jobs.ingest.resolve.offsets import line_by_line
from jobs.ingest.resolve.origin import Origin
from jobs.ingest.resolve.rows import schema_of, table_of
from jobs.schema import PARTITION, PARTITION_LOAD, PROPOSED_REASSIGNMENT

_UNKNOWN = -1  # offset
_NO_PARTITION = "no dump has the partition's leader and ISR"


class ProposalRow(NamedTuple):
    """A row of `proposed_reassignment`."""

    file: str
    topic: str
    partition: int | None
    replicas: tuple[int, ...] | None
    log_dirs: tuple[str | None, ...] | None


def compare_assignments(evidence: Evidence) -> None:
    """Reject replicas of kafka-reassign-partitions that other dumps contradict; add its adding and removing replicas to the partitions."""
    for kind in (AssignedReplicas, OngoingReassignment):
        for key, origin in [*evidence.origins[kind].items()]:
            fact = origin.fact
            partition = evidence.origins[PartitionLine].get((fact.topic, fact.partition))
            if partition is None:
                evidence.reject(origin, _NO_PARTITION)
                del evidence.origins[kind][key]
                continue
            same_fields = type(fact)(*(getattr(partition.fact, name, None) for name in fact._fields))
            if text := differences(same_fields, fact):
                evidence.reject(origin, contradiction(partition, origin, text))
                del evidence.origins[kind][key]
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
    _set_reported(offsets, evidence, sorted_partitions, EndOffset, evidence.columns.ends)
    return offsets


def _start_offsets(evidence: Evidence, sorted_partitions: Partitions) -> NDArray[np.int64]:
    offsets = np.full(len(sorted_partitions), _UNKNOWN)
    _set_reported(offsets, evidence, sorted_partitions, StartOffset, evidence.columns.starts)
    return offsets


def _set_reported(
    offsets: NDArray[np.int64],
    evidence: Evidence,
    sorted_partitions: Partitions,
    kind: type[EndOffset | StartOffset],
    columns: OffsetColumns | None,
) -> None:
    """Set the offsets that kafka-get-offsets or a capture reports, and reject those of partitions that no dump describes."""
    reported = columns or offset_columns.from_facts(evidence.facts(kind))
    rows = sorted_partitions.rows_of(reported.topic, reported.partition)
    is_known = rows >= 0
    offsets[rows[is_known]] = reported.offset[is_known]
    if is_known.all():
        return
    origins = [*evidence.origins[kind].values()]
    if columns is not None:
        sources = (file for file in evidence.files if file.reading.ends is columns or file.reading.starts is columns)
        origins += [Origin(file, parsed) for file in sources for parsed in line_by_line(file, columns).reading.parsed]
    for origin, row in zip(origins, _rows(sorted_partitions, [origin.fact for origin in origins]), strict=True):
        if row < 0:
            evidence.reject(origin, _NO_PARTITION)


def _rows(sorted_partitions: Partitions, facts: Sequence[GroupOffset | StartOffset | EndOffset]) -> NDArray[np.int64]:
    topics = pa.array([fact.topic for fact in facts], pa.string())
    return sorted_partitions.rows_of(topics, np.array([fact.partition for fact in facts], np.int64))


def _sizes(replicas: pa.ListArray, replica: pa.Table) -> pa.ListArray:
    """Return the size of each partition's replicas, in the order of its assignment; `replica` is sorted by its key."""
    assigned = replica.filter(replica["replica_index"].is_valid())
    starts, lengths = np.array(replicas.offsets)[:-1], np.array(replicas.value_lengths())
    row_of_replica = np.empty(len(assigned), np.int64)
    row_of_replica[np.repeat(starts, lengths) + assigned["replica_index"].to_numpy()] = np.arange(len(assigned))
    return pa.ListArray.from_arrays(replicas.offsets, assigned["size_bytes"].take(pa.array(row_of_replica)).combine_chunks())


def proposal_table(evidence: Evidence) -> pa.Table:
    """Return the partitions and topics of the plans."""
    rows = [ProposalRow(origin.file.name, *origin.fact) for origin in evidence.proposals.values()]
    return table_of(PROPOSED_REASSIGNMENT, sorted(rows, key=lambda row: (row.topic, row.file, row.partition or 0)))


def load_table(evidence: Evidence) -> pa.Table:
    """Return the load of each partition's leader."""
    return table_of(PARTITION_LOAD, sorted(evidence.facts(PartitionRates)))
