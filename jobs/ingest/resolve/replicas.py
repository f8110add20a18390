"""Replicas: assigned ones with their logs on disk, and logs on disk without an assigned replica."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jobs.ingest import replica_logs
from jobs.ingest.facts import AssignedReplicas, ReplicaOnDisk
from jobs.ingest.partitions import Partitions
from jobs.ingest.replica_logs import UNKNOWN_LAG, ReplicaLogs
from jobs.ingest.resolve.evidence import Evidence
from jobs.ingest.resolve.rows import schema_of, table_of
from jobs.schema import REPLICA

_RESERVED = pa.array([f"AAAAAAAAAAAAAAAAAAAAA{last}" for last in "AQg"])  # DirectoryId: migrating, unassigned, lost
_NO_LOG = -1


class ReplicaRow(NamedTuple):
    """A row of `replica` for a log on disk without an assigned replica."""

    topic: str
    partition: int
    broker_id: int
    log_dir: str | None = None
    size_bytes: int | None = None
    offset_lag: int | None = None
    future_log_dir: str | None = None
    replica_index: int | None = None
    in_sync: bool = False
    directory_id: str | None = None


def replica_table(evidence: Evidence, partitions: Partitions) -> pa.Table:
    """Return every replica, assigned or only on disk."""
    logs = evidence.columns.logs
    if logs is None:
        logs = replica_logs.from_facts(evidence.facts(ReplicaOnDisk))
    assigned, unassigned_logs = _assigned(partitions, logs)
    assigned = _with_log_dirs_of_reassignments(assigned, evidence)
    if not len(unassigned_logs):
        return assigned
    keys = [(name, "ascending") for name in ("topic", "partition", "broker_id")]
    return pa.concat_tables([assigned, _unassigned(unassigned_logs)]).sort_by(keys)


def _assigned(partitions: Partitions, logs: ReplicaLogs) -> tuple[pa.Table, ReplicaLogs]:
    """Return the assigned replicas with their logs, and the logs without an assigned replica."""
    replicas = partitions.replicas()
    partition_row = partitions.rows_of(logs.topic, logs.partition)
    keys, log_keys = replicas.row.astype(np.int64) << 32 | replicas.broker_id, partition_row << 32 | logs.broker_id
    replica_row = np.minimum(np.searchsorted(keys, log_keys), max(len(keys) - 1, 0))
    is_assigned = partition_row >= 0
    is_assigned[is_assigned] = keys[replica_row[is_assigned]] == log_keys[is_assigned]
    log_of_replica = np.full((2, len(keys)), _NO_LOG)  # its current log, and the future log that an intra-broker move is writing
    log_of_replica[logs.future[is_assigned].astype(int), replica_row[is_assigned]] = np.flatnonzero(is_assigned)
    current, future = log_of_replica
    on_disk = current != _NO_LOG
    size, lag = (logs.size_bytes[current], logs.offset_lag[current]) if len(logs) else (current, current)
    directory = partitions.directories_of(replicas)
    columns = {
        "topic": partitions.topic_names().take(pa.array(replicas.row)),
        "partition": pa.array(partitions.partition[replicas.row]),
        "broker_id": pa.array(replicas.broker_id),
        "replica_index": pa.array(replicas.index),
        "in_sync": pa.array(replicas.in_sync),
        "log_dir": logs.log_dir_names(current),
        "size_bytes": pa.array(size, mask=~on_disk),
        "offset_lag": pa.array(lag, mask=~on_disk | (lag == UNKNOWN_LAG)),
        "future_log_dir": logs.log_dir_names(future),
        "directory_id": pc.if_else(pc.is_in(directory, _RESERVED), None, directory),
    }
    return pa.table(columns, schema=schema_of(REPLICA)), logs.take(np.flatnonzero(~is_assigned))


def _with_log_dirs_of_reassignments(assigned: pa.Table, evidence: Evidence) -> pa.Table:
    """Fill unknown log dirs with those of kafka-reassign-partitions, and reject its entries that kafka-log-dirs contradicts."""
    origins = {
        (fact.topic, fact.partition, broker_id): (origin, log_dir)
        for origin in evidence.origins[AssignedReplicas].values()
        for fact in [origin.fact]
        for broker_id, log_dir in zip(fact.replicas, fact.log_dirs or (), strict=False)
        if log_dir is not None
    }
    if not origins:
        return assigned
    log_dirs = assigned["log_dir"].to_pylist()
    keys = zip(*(assigned[name].to_pylist() for name in ("topic", "partition", "broker_id")), strict=True)
    for row, key in enumerate(keys):
        origin, log_dir = origins.get(key, (None, None))
        if origin is not None and log_dirs[row] not in (None, log_dir):
            evidence.reject(origin, f"log dir {log_dirs[row]} on broker {key[2]}, not {log_dir}")
        log_dirs[row] = log_dirs[row] or log_dir
    index = assigned.schema.get_field_index("log_dir")
    return assigned.set_column(index, assigned.schema.field(index), pa.array(log_dirs, pa.string()))


def _unassigned(logs: ReplicaLogs) -> pa.Table:
    rows: dict[tuple[str, int, int], ReplicaRow] = {}
    for fact in logs.facts():
        key = (fact.topic, fact.partition, fact.broker_id)
        row = rows.get(key, ReplicaRow(*key))
        if fact.future:
            rows[key] = row._replace(future_log_dir=fact.log_dir)
        else:
            rows[key] = row._replace(log_dir=fact.log_dir, size_bytes=fact.size_bytes, offset_lag=fact.offset_lag)
    return table_of(REPLICA, [*rows.values()])
