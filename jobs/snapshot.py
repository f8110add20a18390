"""One snapshot of a lake: its attempts, its rows, its parameters, and its scale. Importing it imports neither Spark nor the steps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from jobs.errors import AuditError, listed, suggestion
from jobs.lake.lake import Lake, Rows
from jobs.lake.publication import attempt_of, newest
from jobs.lake.selection import Attempt, Values, newest_attempts
from jobs.names import snapshot_name
from jobs.schema import PARAMETER, SNAPSHOT, Table
from jobs.spark.scale import Scale

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SCALE = "scale"  # the parameter that ingest writes


@dataclass
class Snapshot:
    """One attempt of a snapshot in a lake, published or not: by default the newest that has begun."""

    lake: Lake
    snapshot_id: str

    def __post_init__(self) -> None:
        snapshot_name(self.snapshot_id)

    @classmethod
    def of_attempt(cls, lake: Lake, attempt: Attempt) -> Self:
        """Return this attempt of a snapshot, for example a published one."""
        snapshot = cls(lake, attempt.snapshot_id)
        snapshot.attempt = attempt
        return snapshot

    @cached_property
    def attempt(self) -> Attempt:
        """The attempt whose rows are read and written; an AuditError if none has begun."""
        begun = self._newest_attempt()
        if begun is None:
            raise AuditError(
                f"lake {self.lake.uri} has nothing of snapshot {self.snapshot_id}: run `step ingest --snapshot {self.snapshot_id}` first"
            )
        return begun

    def next_attempt(self) -> Attempt:
        """Return the attempt that the next ingest starts."""
        begun = self._newest_attempt()
        return Attempt(self.snapshot_id, str(begun.number + 1 if begun else 1))

    def _newest_attempt(self) -> Attempt | None:
        return newest_attempts(self.lake.attempts(PARAMETER)).get(self.snapshot_id)

    def earlier(self) -> dict[str, Attempt]:
        """Return the published attempt of each cluster's newest snapshot before this one, by cluster id."""
        return newest(self.lake.read_local(SNAPSHOT).to_pylist(), before=self.snapshot_id)

    def read(self, table: Table, **where: Values) -> DataFrame:
        return self.lake.read(table, **self.attempt._asdict(), **where)

    def read_local(self, table: Table, **where: Values) -> pa.Table:
        """Read rows into this process."""
        return self.lake.read_local(table, **self.attempt._asdict(), **where)

    def rows(self, table: Table) -> list[dict[str, Any]]:
        return self.read_local(table).to_pylist()

    def of_cluster(self, table: Table, cluster_id: str) -> pa.Table:
        """Read a cluster's rows into this process."""
        return self.read_local(table, cluster_id=cluster_id)

    def relation(self, table: Table, **where: Values) -> Any:
        """Return rows as a relation of the lake's engine."""
        return self.lake.relation(table, **self.attempt._asdict(), **where)

    def replace(self, table: Table, rows: Rows, **where: Values) -> None:
        """Replace the rows of this attempt that `where` selects."""
        self.lake.replace(table, rows, **self.attempt._asdict(), **where)

    @cached_property
    def scale(self) -> Scale:
        """The scale that ingest decided; an AuditError if ingest has not run."""
        return Scale(self.parameters()[SCALE])

    def parameters(self) -> dict[str, str]:
        """Return the values of the attempt's parameters by name, its scale among them."""
        return {row["name"]: row["value"] for row in self.rows(PARAMETER)}


def published_snapshot(lake: Lake, snapshot_id: str | None, cluster_id: str) -> Snapshot:
    """Return the published attempt of a cluster's snapshot, by default of its newest; raise an AuditError if there is none."""
    published = lake.read_local(SNAPSHOT).to_pylist()
    attempts = {row["snapshot_id"]: attempt_of(row) for row in published if row["cluster_id"] == cluster_id}
    if not attempts:
        clusters = [row["cluster_id"] for row in published]
        raise AuditError(
            f"no published snapshot of cluster {cluster_id} in {lake.uri}: it has {listed(clusters)}{suggestion(cluster_id, clusters)}"
        )
    if snapshot_id is not None and snapshot_id not in attempts:
        raise AuditError(f"snapshot {snapshot_id} of cluster {cluster_id} is not published in {lake.uri}: there are {listed(attempts)}")
    return Snapshot.of_attempt(lake, attempts[snapshot_id or max(attempts)])
