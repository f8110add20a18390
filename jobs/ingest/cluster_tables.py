"""The tables of one cluster, from the files in its folder."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import pyarrow as pa
from pyarrow import fs

from jobs.ingest.dump import Rejected
from jobs.ingest.partition_lines import ParsedChunk
from jobs.ingest.policy import KINDS, policy_tables
from jobs.ingest.reading import Reading, read_chunks, read_dump
from jobs.ingest.resolve import ParsedFile, resolve_cluster
from jobs.ingest.source import ClusterFolder, DumpFile, LazyBytes, UnreadableFile, read_bytes
from jobs.schema import (
    ACL,
    BROKER,
    CLIENT_QUOTA,
    CLUSTER,
    COMMITTED_OFFSET,
    CONFIG,
    CONSUMER_GROUP,
    GROUP_MEMBER,
    INPUT_FILE,
    KEY_SAMPLE,
    LOG_DIR,
    OBSERVED_ASSIGNMENT,
    PARTITION,
    PARTITION_LOAD,
    PROPOSED_REASSIGNMENT,
    REJECTED_INPUT,
    REPLICA,
    TOPIC,
    Table,
)

WRITES: tuple[Table, ...] = (
    CLUSTER,
    INPUT_FILE,
    REJECTED_INPUT,
    BROKER,
    LOG_DIR,
    TOPIC,
    PARTITION,
    REPLICA,
    CONSUMER_GROUP,
    GROUP_MEMBER,
    OBSERVED_ASSIGNMENT,
    COMMITTED_OFFSET,
    KEY_SAMPLE,
    PARTITION_LOAD,
    CONFIG,
    CLIENT_QUOTA,
    ACL,
    PROPOSED_REASSIGNMENT,
    *(kind.table for kind in KINDS.values()),
)


def cluster_tables(
    system: fs.FileSystem, cluster: ClusterFolder, snapshot_id: str, chunks: Mapping[str, Sequence[ParsedChunk]] | None = None
) -> list[pa.Table]:
    """Return the rows of a cluster, a table for each of WRITES; `chunks` has the chunks that are already parsed, by file name."""
    chunks = chunks or {}
    with _garbage_collector_disabled():
        files = [
            ParsedFile(file.name, file.size_bytes, file.written_at, _read(system, file, chunks.get(file.name, ())))
            for file in cluster.files
        ]
        rows = resolve_cluster(files, cluster.configuration.kafka_version)
        policy = policy_tables(cluster.configuration.policy, snapshot_id, rows[CLUSTER.name])
        return with_keys({**rows, **policy}, snapshot_id, cluster.cluster_id)


def with_keys(rows: Mapping[str, pa.Table], snapshot_id: str, cluster_id: str) -> list[pa.Table]:
    """Return resolved rows in the order of WRITES, with snapshot_id and cluster_id as the first columns."""
    tables = []
    for table in WRITES:
        columns = rows[table.name].columns
        keys = [pa.chunked_array([pa.repeat(value, len(rows[table.name]))]) for value in (snapshot_id, cluster_id)]
        tables.append(pa.table([*keys, *columns], schema=table.schema))
    return tables


@contextmanager
def _garbage_collector_disabled() -> Iterator[None]:
    """Disable the garbage collector: parsed objects contain no cycles, and without it the ingest takes half the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _read(system: fs.FileSystem, file: DumpFile, chunks: Sequence[ParsedChunk]) -> Reading:
    if chunks and sum(chunk.size_bytes for chunk in chunks) == file.size_bytes:
        return read_chunks(chunks, LazyBytes(system, file))
    try:
        reading = read_dump(read_bytes(system, file))
    except UnreadableFile as e:
        return Reading(None, [], [Rejected(1, "", str(e))])
    # Desktops and version control put hidden files beside the dumps: these are listed, but have no rejected entry.
    return Reading(None, [], []) if reading.format is None and _is_hidden(file) else reading


def _is_hidden(file: DumpFile) -> bool:
    return any(name.startswith(".") for name in file.name.split("/"))
