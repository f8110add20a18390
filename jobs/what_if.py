"""what_if: one failure as asked, on a published snapshot."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.errors import AuditError
from jobs.lake.lake import Lake
from jobs.names import storable_id
from jobs.night import Night
from jobs.schema import BROKER, LOG_DIR, REPLICA, SNAPSHOT, Table
from jobs.steps import failover


@dataclass(frozen=True, slots=True)
class Question:
    """Brokers, racks and log dirs of a cluster that fail: the brokers in this order, then each rack's others in the order of their ids,
    then the log dirs, each a broker's id, a colon and a path.
    """

    id: str
    cluster_id: str
    brokers: Sequence[int] = ()
    racks: Sequence[str] = ()
    log_dirs: Sequence[str] = ()
    unclean: bool | None = None  # None: as each topic's config says
    controlled_shutdown: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", storable_id(self.id))


def answer(lake: Lake, snapshot_id: str | None, question: Question) -> str:
    """Work the question out on a published snapshot, by default the cluster's newest, and store the answer; returns the snapshot's id."""
    night = Night(lake, published(lake, snapshot_id, question.cluster_id))
    row = _scenario(night, question)
    spark = night.session()

    def of_cluster(table: Table) -> DataFrame:
        return night.read(table).where(F.col("cluster_id") == question.cluster_id)

    of, replica = {table: of_cluster(table) for table in failover.READS}, of_cluster(REPLICA) if question.log_dirs else None
    asked = spark.createDataFrame([row], failover.ASKED)
    for table in failover.WRITES:
        lake.create(table)  # the night may be of an older version
    night.write(failover.WRITES, failover.outcome(asked, of, replica=replica), scenario_set=question.id, cluster_id=question.cluster_id)
    return night.snapshot_id


def published(lake: Lake, snapshot_id: str | None, cluster_id: str) -> str:
    """The snapshot that is meant: as named, or the cluster's newest; an AuditError if it is not published."""
    pairs = {(row["cluster_id"], row["snapshot_id"]) for row in lake.rows(SNAPSHOT)}
    nights = [night for cluster, night in pairs if cluster == cluster_id]
    if not nights:
        raise AuditError(f"no published snapshot of cluster {cluster_id} in {lake.uri}: it has {_list({cluster for cluster, _ in pairs})}")
    if snapshot_id is None:
        return max(nights)
    if snapshot_id not in nights:
        raise AuditError(f"snapshot {snapshot_id} of cluster {cluster_id} is not published in {lake.uri}: there are {_list(nights)}")
    return snapshot_id


def _scenario(night: Night, question: Question) -> tuple[Any, ...]:
    """What is asked, as a row."""
    brokers = sorted(night.rows(BROKER), key=lambda row: row["broker_id"])
    rack_of = {row["broker_id"]: row["rack"] for row in brokers if row["live"] and row["cluster_id"] == question.cluster_id}
    if unknown := [id for id in question.brokers if id not in rack_of]:
        raise AuditError(f"cluster {question.cluster_id} has no live broker {_list(unknown)}: it has {_list(rack_of)}")
    if unknown := [rack for rack in question.racks if rack not in rack_of.values()]:
        raise AuditError(
            f"cluster {question.cluster_id} has no live broker on rack {_list(unknown)}: its racks are {_list(filter(None, rack_of.values()))}"
        )
    if not question.brokers and not question.racks and not question.log_dirs:
        raise AuditError("a what-if needs at least one broker, rack or log dir that fails")
    fail = [*question.brokers, *(id for rack in question.racks for id, of in rack_of.items() if of == rack)]
    if question.log_dirs:
        fail += _without_log_dirs(night, question, rack_of)
    row = (night.snapshot_id, question.cluster_id, question.id, question.id, "what-if", list(dict.fromkeys(fail)), list(question.racks))
    return (*row, question.unclean, question.controlled_shutdown, list(question.log_dirs))


def _without_log_dirs(night: Night, question: Question, live: Collection[int]) -> list[int]:
    """The brokers whose log dirs all fail: such a broker halts."""
    if question.controlled_shutdown:
        raise AuditError("a log dir fails, it is not stopped in order: ask without a controlled shutdown")
    rows = [row for row in night.rows(LOG_DIR) if row["cluster_id"] == question.cluster_id and row["broker_id"] in live]
    known: dict[int, set[str]] = {}
    for row in rows:
        known.setdefault(row["broker_id"], set()).add(f"{row['broker_id']}:{row['log_dir']}")
    if unknown := set(question.log_dirs) - {place for places in known.values() for place in places}:
        raise AuditError(
            f"cluster {question.cluster_id} has no live log dir {_list(unknown)}: it has {_list({p for places in known.values() for p in places})}"
        )
    return [broker for broker, places in sorted(known.items()) if places <= set(question.log_dirs)]


def _list(names: Collection[object]) -> str:
    return ", ".join(str(name) for name in sorted(set(names), key=str)) or "none"
