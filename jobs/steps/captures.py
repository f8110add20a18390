"""The time between the captures of two snapshots."""

from __future__ import annotations

import pyarrow as pa

from jobs.schema import CLUSTER

MIN_SECONDS = 600  # between two captures, to compute a rate: the capture time may be that of a later copy of the files
_SCHEMA = pa.schema(
    [*(CLUSTER.schema.field(name) for name in ("snapshot_id", "cluster_id", "captured_at")), pa.field("seconds", pa.float64())]
)


def seconds_between(cluster: pa.Table, previous_cluster: pa.Table) -> pa.Table:
    """Return the time of the capture of each cluster, and the seconds since the previous one; null if they are fewer than MIN_SECONDS."""
    previous = {row["cluster_id"]: row["captured_at"] for row in previous_cluster.to_pylist()}
    captures = []
    for row in cluster.to_pylist():
        captured_at, before = row["captured_at"], previous.get(row["cluster_id"])
        seconds = (captured_at - before).total_seconds() if captured_at and before else None
        captures.append({**row, "seconds": seconds if seconds is not None and seconds >= MIN_SECONDS else None})
    return pa.Table.from_pylist(captures, _SCHEMA)
