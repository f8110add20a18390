"""Captures: the state of a live cluster, read through the admin protocol and written as a file that ingest reads like a dump.

    java_client.py   Kafka's own client, which sends the requests
    cluster.py       the requests, and the lines of the capture
    connection.py    connection properties from a client.properties or an Airflow connection

A capture is a gzipped file of JSON lines; the last line counts the others. It can be written near the cluster and audited elsewhere; reading
it twice gives the same tables. It contains no secrets: no connection properties, and no config that a broker marks as sensitive. If a cluster
cannot be read, its capture contains only the reason, so that the capture of the day before is not used again.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from pyarrow import fs

from jobs.capture.cluster import FORMAT, VERSION, Line, read_cluster
from jobs.capture.java_client import Connection, JavaClient, RequestFailed, java_client
from jobs.errors import AuditError
from jobs.ingest.source import filesystem

FILE = "topology-capture.jsonl.gz"
_PARALLEL_CLUSTERS = 4


def capture_clusters(
    source: str, clusters: Mapping[str, Callable[[JavaClient], Mapping[str, str]]], *, login_jars: Sequence[str] = (), key_records: int = 0
) -> dict[str, str]:
    """Write a capture of each cluster into the folder of its name, and return the reason for each cluster that cannot be read.

    `key_records` is the number of last records of each partition whose keys are read.
    """
    for name in clusters:
        if name in ("", ".", "..") or name.startswith(".") or "/" in name:
            raise AuditError(f"cluster {name!r} cannot be a folder: use a name that is not empty, has no / and does not start with a dot")
    with java_client(login_jars) as client, ThreadPoolExecutor(_PARALLEL_CLUSTERS) as pool:
        connections = {name: _properties(connection, client) for name, connection in clusters.items()}
        reasons = pool.map(lambda name: _capture(client, f"{source.rstrip('/')}/{name}", connections[name], key_records), clusters)
        return {name: reason for name, reason in zip(clusters, reasons, strict=True) if reason is not None}


def _properties(connection: Callable[[JavaClient], Mapping[str, str]], client: JavaClient) -> Mapping[str, str] | AuditError:
    try:
        return connection(client)
    except AuditError as e:
        return e


def _capture(client: JavaClient, folder: str, properties: Mapping[str, str] | AuditError, key_records: int) -> str | None:
    """Write the capture of a cluster. If the cluster cannot be read, return the reason."""
    captured_at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    reason = None
    try:
        if isinstance(properties, AuditError):
            raise properties
        connection = Connection(client, properties)
        try:
            lines = [*read_cluster(connection, captured_at, key_records)]
        finally:
            connection.close()
    except (RequestFailed, AuditError) as e:
        reason = str(e)
        head: Line = {"capture": FORMAT, "version": VERSION, "captured_at": captured_at}
        lines = [head, {"missing": "the cluster", "why": reason, "unsupported": False}]
    _write(folder, [*lines, {"end": len(lines)}])
    return reason


def _write(folder: str, lines: Iterable[Line]) -> None:
    """Write the lines to a file. A failure leaves no partial file."""
    text = "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)
    data = gzip.compress(text.encode("utf-8", "surrogatepass"), 6, mtime=0)
    system, path = filesystem(f"{folder}/{FILE}")
    try:
        system.create_dir(str(Path(path).parent))
        if isinstance(system, fs.LocalFileSystem):
            partial_file = Path(path).with_name(f".{FILE}.{os.getpid()}")
            partial_file.write_bytes(data)
            partial_file.replace(path)
        else:
            with system.open_output_stream(path, compression=None) as stream:
                stream.write(data)
    except OSError as e:
        raise AuditError(f"the capture cannot be written to {folder}: {e}".splitlines()[0]) from e
