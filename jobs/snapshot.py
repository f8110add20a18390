"""One snapshot of a lake: its rows, its parameters, and its scale. Importing it imports neither Spark nor the steps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from jobs.errors import AuditError, listed
from jobs.lake.lake import Lake
from jobs.lake.selection import Values
from jobs.names import snapshot_name
from jobs.schema import PARAMETER, SNAPSHOT, Table
from jobs.spark.scale import Scale

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SCALE = "scale"  # the parameter that ingest writes


@dataclass(frozen=True)
class Snapshot:
    """A snapshot in a lake, published or not."""

    lake: Lake
    snapshot_id: str

    def __post_init__(self) -> None:
        snapshot_name(self.snapshot_id)

    def read(self, table: Table) -> DataFrame:
        return self.lake.read(table, snapshot_id=self.snapshot_id)

    def rows(self, table: Table) -> list[dict[str, Any]]:
        return self.lake.read_local(table, snapshot_id=self.snapshot_id).to_pylist()

    def of_cluster(self, table: Table, cluster_id: str) -> pa.Table:
        """Read a cluster's rows into this process."""
        return self.lake.read_local(table, snapshot_id=self.snapshot_id, cluster_id=cluster_id)

    def replace(self, table: Table, rows: pa.Table, **where: Values) -> None:
        """Replace the rows of this snapshot that `where` selects."""
        self.lake.replace(table, rows, snapshot_id=self.snapshot_id, **where)

    @cached_property
    def scale(self) -> Scale:
        """The scale that ingest decided; an AuditError if ingest has not run."""
        parameters = self.parameters() if self.lake.exists(PARAMETER) else {}
        if SCALE not in parameters:
            raise AuditError(
                f"lake {self.lake.uri} has nothing of snapshot {self.snapshot_id}: run `step ingest --snapshot {self.snapshot_id}` first"
            )
        return Scale(parameters[SCALE])

    def parameters(self) -> dict[str, str]:
        """Return the values of the snapshot's parameters by name, its scale among them."""
        return {row["name"]: row["value"] for row in self.rows(PARAMETER)}


def published_snapshot(lake: Lake, snapshot_id: str | None, cluster_id: str) -> Snapshot:
    """Return the named snapshot of a cluster, or its newest; raise an AuditError if it is not published."""
    published = {(row["cluster_id"], row["snapshot_id"]) for row in lake.read_local(SNAPSHOT).to_pylist()}
    snapshot_ids = [snapshot for cluster, snapshot in published if cluster == cluster_id]
    if not snapshot_ids:
        clusters = listed(cluster for cluster, _ in published)
        raise AuditError(f"no published snapshot of cluster {cluster_id} in {lake.uri}: it has {clusters}")
    if snapshot_id is None:
        return Snapshot(lake, max(snapshot_ids))
    if snapshot_id not in snapshot_ids:
        raise AuditError(f"snapshot {snapshot_id} of cluster {cluster_id} is not published in {lake.uri}: there are {listed(snapshot_ids)}")
    return Snapshot(lake, snapshot_id)
