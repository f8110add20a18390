"""capture: what a live cluster says of itself through the admin protocol, as a file that the ingest reads beside dumps or in their place.

    java_client.py   Kafka's own client, which asks
    cluster.py       what is asked, and the lines that the answers become
    connection.py    how to connect: a client.properties, or an Airflow connection

A capture is JSON lines, gzipped, ending with a line that counts them; it may be taken near the cluster and audited elsewhere, and read
twice it is the same tables. It has no secrets: neither what the connection is made with, nor a config that the broker calls sensitive. Of a
cluster that cannot be read it says just that, so that yesterday's does not stand in for it.
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
from jobs.capture.java_client import Connection, JavaClient, NotAnswered, java_client
from jobs.errors import AuditError
from jobs.ingest.source import filesystem

FILE = "topology-capture.jsonl.gz"
_CLUSTERS = 4  # captured at once


def capture_clusters(
    source: str, clusters: Mapping[str, Callable[[JavaClient], Mapping[str, str]]], *, login_jars: Sequence[str] = (), key_records: int = 0
) -> dict[str, str]:
    """Write a capture of each cluster into the folder of its name, by the properties of its connection; returns why some cannot be read.

    `key_records`: of each partition, so many last records are read for their keys.
    """
    for name in clusters:
        if name in ("", ".", "..") or name.startswith(".") or "/" in name:
            raise AuditError(f"cluster {name!r} has no name for a folder")
    with java_client(login_jars) as client, ThreadPoolExecutor(_CLUSTERS) as pool:
        connections = {name: _told(connection, client) for name, connection in clusters.items()}
        told = pool.map(lambda name: _capture(client, f"{source.rstrip('/')}/{name}", connections[name], key_records), clusters)
        return {name: why for name, why in zip(clusters, told, strict=True) if why is not None}


def _told(connection: Callable[[JavaClient], Mapping[str, str]], client: JavaClient) -> Mapping[str, str] | AuditError:
    try:
        return connection(client)
    except AuditError as e:
        return e


def _capture(client: JavaClient, folder: str, properties: Mapping[str, str] | AuditError, key_records: int) -> str | None:
    captured_at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    why = None
    try:
        if isinstance(properties, AuditError):
            raise properties
        connection = Connection(client, properties)
        try:
            lines = [*read_cluster(connection, captured_at, key_records)]
        finally:
            connection.close()
    except (NotAnswered, AuditError) as e:
        why = str(e)
        head: Line = {"capture": FORMAT, "version": VERSION, "captured_at": captured_at}
        lines = [head, {"untold": "the cluster", "why": why, "unsupported": False}]
    _write(folder, [*lines, {"end": len(lines)}])
    return why


def _write(folder: str, lines: Iterable[Line]) -> None:
    """The lines as a file, whole or not at all."""
    text = "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)
    data = gzip.compress(text.encode("utf-8", "surrogatepass"), 6, mtime=0)
    system, path = filesystem(f"{folder}/{FILE}")
    try:
        system.create_dir(str(Path(path).parent))
        if isinstance(system, fs.LocalFileSystem):
            part = Path(path).with_name(f".{FILE}.{os.getpid()}")
            part.write_bytes(data)
            part.replace(path)
        else:
            with system.open_output_stream(path, compression=None) as stream:
                stream.write(data)
    except OSError as e:
        raise AuditError(f"the capture cannot be written to {folder}: {e}".splitlines()[0]) from e
