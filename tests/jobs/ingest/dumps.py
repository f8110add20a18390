"""Lines of dumps, and the rows that the ingest makes of some files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from jobs.ingest.reading import Reading, read_dump
from jobs.ingest.resolve import ParsedFile, resolve_cluster

NOW = datetime(2026, 11, 21, 2, 0, 0, tzinfo=UTC)
TOPIC = "Topic: {}\tPartitionCount: {}\tReplicationFactor: 2\tConfigs: {}\n"
PARTITION = "\tTopic: {}\tPartition: {}\tLeader: {}\tReplicas: {}\tIsr: {}\n"
ELR = "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\tElr: {}\tLastKnownElr: {}\n"
LOG_DIRS = '{{"brokers":[{{"broker":{},"logDirs":[{{"logDir":"{}","error":null,"partitions":[{}]}}]}}]}}\n'

Tables = Mapping[str, pa.Table]


def resolved(*, read_file: Callable[[bytes], Reading] = read_dump, **files: str) -> Tables:
    """Resolve files that were written a second apart, in this order."""
    return resolved_bytes({name: text.encode() for name, text in files.items()}, read_file)


def resolved_bytes(files: Mapping[str, bytes], read_file: Callable[[bytes], Reading] = read_dump) -> Tables:
    """Resolve files of any content that were written a second apart, in this order."""
    return resolve_cluster(
        ParsedFile(name, len(data), NOW + timedelta(seconds=second), read_file(data)) for second, (name, data) in enumerate(files.items())
    )


def rows(tables: Tables, table: str, *columns: str) -> list[Any]:
    """Return these columns of every row: tuples, or values if there is one column; all columns if none is named."""
    if len(columns) == 1:
        return tables[table][columns[0]].to_pylist()
    return list(zip(*(column.to_pylist() for column in tables[table].select(columns or tables[table].column_names).columns), strict=True))


def rejects(tables: Tables) -> list[tuple[object, ...]]:
    """Return file, line and reason of every rejected entry."""
    return rows(tables, "rejected_input", "file", "line", "reason")
