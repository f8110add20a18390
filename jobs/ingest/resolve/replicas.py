"""Replicas: each assigned one with its log on disk, and the logs of replicas that are not assigned."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jobs.ingest import replica_logs
from jobs.ingest.facts import ReplicaOnDisk
from jobs.ingest.partitions import Partitions
from jobs.ingest.replica_logs import UNKNOWN_LAG, ReplicaLogs
from jobs.ingest.resolve.evidence import Evidence
from jobs.ingest.resolve.rows import schema_of, table_of
from jobs.schema import REPLICA

_RESERVED = pa.array([f"AAAAAAAAAAAAAAAAAAAAA{last}" for last in "AQg"])  # DirectoryId: migrating, unassigned, lost
_NONE = -1  # no log


class ReplicaRow(NamedTuple):
    """A row of `replica` that is only found on disk."""

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
    """Return every replica, assigned or only found on disk."""
    logs = evidence.columns.logs
    if logs is None:
        logs = replica_logs.of_facts(evidence.of(ReplicaOnDisk))
    assigned, others = _assigned(partitions, logs)
    if not len(others):
        return assigned
    keys = [(name, "ascending") for name in ("topic", "partition", "broker_id")]
    return pa.concat_tables([assigned, _unassigned(others)]).sort_by(keys)


def _assigned(partitions: Partitions, logs: ReplicaLogs) -> tuple[pa.Table, ReplicaLogs]:
    """Return the assigned replicas with their logs, and the logs of no assigned replica."""
    row, broker_id, index, in_sync = partitions.replicas()
    of_row = partitions.rows_of(logs.topic, logs.partition)
    keys, wanted = row.astype(np.int64) << 32 | broker_id, of_row << 32 | logs.broker_id
    position = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    matches = of_row >= 0
    matches[matches] = keys[position[matches]] == wanted[matches]
    found = np.full((2, len(keys)), _NONE)  # by replica: its log, and the log that an intra-broker move is writing
    found[logs.future[matches].astype(int), position[matches]] = np.flatnonzero(matches)
    current, future = found
    on_disk = current != _NONE
    size, lag = (logs.size_bytes[current], logs.offset_lag[current]) if len(logs) else (current, current)
    directory = partitions.directory_of(row, index)
    columns = {
        "topic": partitions.topic_names().take(pa.array(row)),
        "partition": pa.array(partitions.partition[row]),
        "broker_id": pa.array(broker_id),
        "replica_index": pa.array(index),
        "in_sync": pa.array(in_sync),
        "log_dir": logs.names(current),
        "size_bytes": pa.array(size, mask=~on_disk),
        "offset_lag": pa.array(lag, mask=~on_disk | (lag == UNKNOWN_LAG)),
        "future_log_dir": logs.names(future),
        "directory_id": pc.if_else(pc.is_in(directory, _RESERVED), None, directory),
    }
    return pa.table(columns, schema=schema_of(REPLICA)), logs.take(np.flatnonzero(~matches))


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
