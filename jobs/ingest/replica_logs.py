"""Logs of replicas in a large kafka-log-dirs document, parsed into columns.

    {"broker":1,"logDirs":[{"logDir":"/d","error":null,"partitions":[{"partition":"orders-0","size":5,"offsetLag":0,"isFuture":false}]}]}
    topic orders   partition 0   broker_id 1   log_dir 0   future false   size_bytes 5   offset_lag 0

Only a document that is exactly as the tool prints it is parsed here; formats/kafka_log_dirs.py parses any other document.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import json

from jobs.ingest.facts import LogDirLine, LogDirsAnswer, ReplicaOnDisk

_LOG = pa.struct([("partition", pa.string()), ("size", pa.int64()), ("offsetLag", pa.int64()), ("isFuture", pa.bool_())])
_LOG_DIR = pa.struct([("logDir", pa.string()), ("error", pa.string()), ("partitions", pa.list_(_LOG))])
_BROKER = pa.struct([("broker", pa.int64()), ("logDirs", pa.list_(_LOG_DIR))])
_DOCUMENT = pa.schema([("version", pa.int64()), ("brokers", pa.list_(_BROKER))])
_NAME = r"^(?P<topic>[a-zA-Z0-9._-]{1,249})-(?P<partition>[0-9]{1,9})$"
_MOST_INT = 2**31 - 1
UNKNOWN_LAG = -1  # as the tool prints it


@dataclass(frozen=True, slots=True)
class ReplicaLogs:
    """Logs of partitions on brokers: a row of each array is a log."""

    data: bytes  # of the file, to read it again entry by entry
    answers: list[LogDirsAnswer]
    log_dirs: list[LogDirLine]
    topic: pa.StringArray
    partition: NDArray[np.int64]
    broker_id: NDArray[np.int64]
    log_dir: NDArray[np.int32]  # an index of log_dirs
    future: NDArray[np.bool_]
    size_bytes: NDArray[np.int64]
    offset_lag: NDArray[np.int64]  # or UNKNOWN_LAG

    def __len__(self) -> int:
        return len(self.partition)

    def take(self, rows: NDArray[Any]) -> ReplicaLogs:
        """Return some of the logs."""
        columns = {name: getattr(self, name)[rows] for name in ("partition", "broker_id", "log_dir", "future", "size_bytes", "offset_lag")}
        return replace(self, topic=self.topic.take(pa.array(rows)), **columns)

    def log_dir_names(self, rows: NDArray[Any]) -> pa.Array:
        """Return the log dir of the logs in these rows; null for row -1."""
        codes = pa.array(self.log_dir[rows] if len(self) else rows, pa.int32(), mask=rows < 0)
        return pa.DictionaryArray.from_arrays(codes, pa.array([line.log_dir for line in self.log_dirs], pa.string())).cast(pa.string())

    def has_duplicates(self) -> bool:
        """Return whether a log occurs twice."""
        partition = self.topic.dictionary_encode().indices.to_numpy().astype(np.int64) << 32 | self.partition
        copy = self.broker_id << 1 | self.future
        order = np.lexsort((copy, partition))
        return bool(((np.diff(partition[order]) == 0) & (np.diff(copy[order]) == 0)).any())

    def facts(self) -> Iterator[ReplicaOnDisk]:
        """Yield the logs as formats/kafka_log_dirs.py parses them."""
        columns = (self.broker_id, self.partition, self.future, self.log_dir, self.size_bytes, self.offset_lag)
        for topic, (broker_id, partition, future, log_dir, size, lag) in zip(
            self.topic.to_pylist(), zip(*(column.tolist() for column in columns), strict=True), strict=True
        ):
            yield ReplicaOnDisk(
                broker_id, topic, partition, future, self.log_dirs[log_dir].log_dir, size, None if lag == UNKNOWN_LAG else lag
            )


def read(data: bytes, document: bytes) -> ReplicaLogs | None:
    """Return the logs of a document; None if it is not exactly as the tool prints it, or contains a broker, log dir or log twice."""
    table = _read_json(document)
    if table is None:
        return None
    documents = table["brokers"].combine_chunks()
    brokers, _ = _elements(documents)
    log_dirs, broker_of_dir = _elements(brokers.field("logDirs"))
    logs, dir_of_log = _elements(log_dirs.field("partitions"))
    name = pc.extract_regex(logs.field("partition"), _NAME)
    required = [
        documents,
        brokers,
        log_dirs,
        logs,
        name,
        *map(brokers.field, ("broker", "logDirs")),
        *map(log_dirs.field, ("logDir", "partitions")),
    ]
    required += map(logs.field, ("partition", "size", "offsetLag", "isFuture"))
    if any(column.null_count for column in required):
        return None
    broker_ids, sizes = brokers.field("broker").to_numpy(zero_copy_only=False), logs.field("size").to_numpy(zero_copy_only=False)
    topics = pc.unique(name.field("topic")).to_pylist()
    if ((broker_ids < 0) | (broker_ids > _MOST_INT)).any() or (sizes < 0).any() or "." in topics or ".." in topics:
        return None
    dir_columns = (broker_ids[broker_of_dir].tolist(), log_dirs.field("logDir").to_pylist(), log_dirs.field("error").to_pylist())
    replica_logs = ReplicaLogs(
        data=data,
        answers=[LogDirsAnswer(broker_id) for broker_id in broker_ids.tolist()],
        log_dirs=[LogDirLine(*line) for line in zip(*dir_columns, strict=True)],
        topic=name.field("topic"),
        partition=pc.cast(name.field("partition"), pa.int64()).to_numpy(zero_copy_only=False),
        broker_id=broker_ids[broker_of_dir][dir_of_log],
        log_dir=dir_of_log,
        future=logs.field("isFuture").to_numpy(zero_copy_only=False),
        size_bytes=sizes,
        offset_lag=logs.field("offsetLag").to_numpy(zero_copy_only=False),
    )
    return None if _has_duplicate_dirs(replica_logs) or replica_logs.has_duplicates() else replica_logs


def _read_json(document: bytes) -> pa.Table | None:
    """Return the document as one row; None if it has other fields than the tool prints, or a character that JSON could also escape."""
    if not document.isascii() or b"\\" in document or b"\n" in document.rstrip():
        return None
    options = json.ParseOptions(explicit_schema=_DOCUMENT, unexpected_field_behavior="error")
    try:
        table = json.read_json(pa.BufferReader(document), json.ReadOptions(use_threads=False, block_size=len(document) + 1), options)
    except (pa.ArrowException, ValueError):
        return None
    return table if len(table) == 1 else None


def _has_duplicate_dirs(logs: ReplicaLogs) -> bool:
    return len(set(logs.answers)) < len(logs.answers) or len({line[:2] for line in logs.log_dirs}) < len(logs.log_dirs)


def from_facts(facts: Sequence[ReplicaOnDisk]) -> ReplicaLogs:
    """Convert facts to columns."""
    codes: dict[str, int] = {}
    log_dir = np.array([codes.setdefault(fact.log_dir, len(codes)) for fact in facts], np.int32)
    return ReplicaLogs(
        data=b"",
        answers=[],
        log_dirs=[LogDirLine(-1, name, None) for name in codes],
        topic=pa.array([fact.topic for fact in facts], pa.string()),
        partition=np.array([fact.partition for fact in facts], np.int64),
        broker_id=np.array([fact.broker_id for fact in facts], np.int64),
        log_dir=log_dir,
        future=np.array([fact.future for fact in facts], np.bool_),
        size_bytes=np.array([fact.size_bytes for fact in facts], np.int64),
        offset_lag=np.array([UNKNOWN_LAG if fact.offset_lag is None else fact.offset_lag for fact in facts], np.int64),
    )


def _elements(lists: pa.ListArray) -> tuple[pa.Array, NDArray[np.int32]]:
    """Return the elements of all lists, and the index of the list of each element."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    return lists.flatten(), np.repeat(np.arange(len(lists), dtype=np.int32), lengths)
