"""Partition logs of a large kafka-log-dirs document as columns.

    {"broker":1,"logDirs":[{"logDir":"/d","error":null,"partitions":[{"partition":"orders-0","size":5,"offsetLag":0,"isFuture":false}]}]}
    topic orders   partition 0   broker_id 1   log_dir 0   future false   size_bytes 5   offset_lag 0

Only a document exactly as the tool prints it is read here; formats/kafka_log_dirs.py reads any other.
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
    """A row of each array is a partition's log on a broker."""

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

    def names(self, of: NDArray[Any]) -> pa.Array:
        """Return the log dir of each of these logs, given by index; null for -1."""
        numbers = pa.array(self.log_dir[of] if len(self) else of, pa.int32(), mask=of < 0)
        return pa.DictionaryArray.from_arrays(numbers, pa.array([line.log_dir for line in self.log_dirs], pa.string())).cast(pa.string())

    def repeated(self) -> bool:
        """Return whether a log occurs twice."""
        topic = self.topic.dictionary_encode().indices.to_numpy().astype(np.int64) << 32 | self.partition
        on = self.broker_id << 1 | self.future
        order = np.lexsort((on, topic))
        return bool(((np.diff(topic[order]) == 0) & (np.diff(on[order]) == 0)).any())

    def facts(self) -> Iterator[ReplicaOnDisk]:
        """Return the logs as formats/kafka_log_dirs.py parses them."""
        columns = (self.broker_id, self.partition, self.future, self.log_dir, self.size_bytes, self.offset_lag)
        for topic, (broker_id, partition, future, log_dir, size, lag) in zip(
            self.topic.to_pylist(), zip(*(column.tolist() for column in columns), strict=True), strict=True
        ):
            yield ReplicaOnDisk(
                broker_id, topic, partition, future, self.log_dirs[log_dir].log_dir, size, None if lag == UNKNOWN_LAG else lag
            )


def read(data: bytes, document: bytes) -> ReplicaLogs | None:
    """Return the logs of a document; None if it is not exactly as the tool prints it, or has a broker, log dir or log twice."""
    if not document.isascii() or b"\\" in document or b"\n" in document.rstrip():
        return None
    options = json.ParseOptions(explicit_schema=_DOCUMENT, unexpected_field_behavior="error")
    try:
        found = json.read_json(pa.BufferReader(document), json.ReadOptions(use_threads=False, block_size=len(document) + 1), options)
    except (pa.ArrowException, ValueError):
        return None
    if len(found) != 1:
        return None
    brokers = found["brokers"].combine_chunks()
    documents, (brokers, _) = brokers, _elements(brokers)
    log_dirs, of_broker = _elements(brokers.field("logDirs"))
    logs, of_log_dir = _elements(log_dirs.field("partitions"))
    name = pc.extract_regex(logs.field("partition"), _NAME)
    broker_ids, names = brokers.field("broker"), log_dirs.field("logDir")
    complete = [documents, brokers, broker_ids, brokers.field("logDirs"), log_dirs, names, log_dirs.field("partitions"), logs, name]
    complete += [logs.field(column) for column in ("partition", "size", "offsetLag", "isFuture")]
    if any(column.null_count for column in complete):
        return None
    ids = broker_ids.to_numpy(zero_copy_only=False)
    sizes = logs.field("size").to_numpy(zero_copy_only=False)
    topics = pc.unique(name.field("topic")).to_pylist()
    if ((ids < 0) | (ids > _MOST_INT)).any() or (sizes < 0).any() or "." in topics or ".." in topics:
        return None
    answers = [LogDirsAnswer(id) for id in ids.tolist()]
    dirs = [LogDirLine(*line) for line in zip(ids[of_broker].tolist(), names.to_pylist(), log_dirs.field("error").to_pylist(), strict=True)]
    once = len(set(answers)) == len(answers) and len({line[:2] for line in dirs}) == len(dirs)
    partitions = pc.cast(name.field("partition"), pa.int64()).to_numpy(zero_copy_only=False)
    read = ReplicaLogs(
        data, answers, dirs, name.field("topic"), partitions, ids[of_broker][of_log_dir],
        of_log_dir, logs.field("isFuture").to_numpy(zero_copy_only=False), sizes, logs.field("offsetLag").to_numpy(zero_copy_only=False),
    )  # fmt: skip
    return read if once and not read.repeated() else None


def of_facts(facts: Sequence[ReplicaOnDisk]) -> ReplicaLogs:
    """Put facts into columns."""
    code: dict[str, int] = {}
    log_dirs = np.array([code.setdefault(fact.log_dir, len(code)) for fact in facts], np.int32)
    return ReplicaLogs(
        b"", [], [LogDirLine(-1, log_dir, None) for log_dir in code], pa.array([fact.topic for fact in facts], pa.string()),
        np.array([fact.partition for fact in facts], np.int64), np.array([fact.broker_id for fact in facts], np.int64), log_dirs,
        np.array([fact.future for fact in facts], np.bool_), np.array([fact.size_bytes for fact in facts], np.int64),
        np.array([UNKNOWN_LAG if fact.offset_lag is None else fact.offset_lag for fact in facts], np.int64),
    )  # fmt: skip


def _elements(lists: pa.ListArray) -> tuple[pa.Array, NDArray[np.int32]]:
    """Return the elements of all lists, and the index of the list of each element."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    return lists.flatten(), np.repeat(np.arange(len(lists), dtype=np.int32), lengths)
