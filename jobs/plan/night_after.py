"""The night after a plan: the results of rules once the plan is done, beside those of the night that it was made for.

The ingested tables of the cluster are changed as the plan changes the cluster. A night of them runs in a temporary lake in the same
storage, which is deleted afterwards. So a rule has the result that it will have on the real cluster. Rules that read no table that a plan
changes, or that a step computes from such a table, keep their results and are not evaluated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc

from expectations.limits import Limits
from jobs import ingest
from jobs.failure.counts import PartitionState
from jobs.lake.lake import Lake, open_lake
from jobs.night import JOBS, PARAMETERS, NightlyRun, computed_from
from jobs.plan.question import Row
from jobs.schema import BROKER, LOG_DIR, PARTITION, REPLICA, SNAPSHOT, TOPIC, VALIDATION, Table
from jobs.snapshot import Snapshot

# The tables of the previous night that steps read. Rules read no others of it.
READS_PREVIOUS = tuple(dict.fromkeys(table for step in JOBS.values() for table in getattr(step, "READS_PREVIOUS", ())))
# The ingested tables that a plan changes.
CHANGES = (BROKER, TOPIC, PARTITION, REPLICA)
_SAME_COLUMNS = ("suite", "rule", "severity", "success", "broken_rows", "example", "sentence")

PartitionKey = tuple[str, int]  # topic and number
States = Mapping[PartitionKey, PartitionState]


class ReplicaKey(NamedTuple):
    """The key of a row of `replica` within a cluster."""

    topic: str
    partition: int
    broker_id: int


class LogDirKey(NamedTuple):
    """A log dir of a broker; None: unknown."""

    broker_id: int
    log_dir: str | None


def rules_after_plan(snapshot: Snapshot, cluster_id: str, limits: Limits, brokers: Sequence[Row], states: States) -> list[Row]:
    """Return the rows of `plan_rule` for a plan that leaves these brokers and changes partitions to these states."""
    tables = {table: snapshot.of_cluster(table, cluster_id) for table in ingest.WRITES}
    before = {(row["suite"], row["rule"]): row for row in snapshot.of_cluster(VALIDATION, cluster_id).to_pylist()}
    with _temporary_lake(snapshot.lake) as lake:
        night_after = NightlyRun(lake, snapshot.snapshot_id, checked_tables=computed_from(CHANGES))
        parameters = {name: value for name, value in snapshot.parameters().items() if name in PARAMETERS}
        night_after.begin([*tables_after_plan(tables, brokers, states).values()], parameters, snapshot.scale)
        if previous := snapshot.earlier().get(cluster_id):
            for table in (SNAPSHOT, *READS_PREVIOUS):
                rows = Snapshot.of_attempt(snapshot.lake, previous).of_cluster(table, cluster_id)
                lake.replace(table, rows, **previous._asdict())
        night_after.steps_and_checks(limits, None)
        evaluated = {(row["suite"], row["rule"]): row for row in night_after.rows(VALIDATION)}
    return [_rule_row(before.get(rule), row) for rule, row in {**before, **evaluated}.items()]


def _rule_row(before: Row | None, after: Row) -> Row:
    return {name: after[name] for name in _SAME_COLUMNS} | {
        "success_before": None if before is None else before["success"],
        "broken_rows_before": 0 if before is None else before["broken_rows"],
    }


def tables_after_plan(tables: Mapping[Table, pa.Table], brokers: Iterable[Row], states: States) -> dict[Table, pa.Table]:
    """Return a cluster's ingested tables with new brokers, and with partitions in these states."""
    known = set(tables[BROKER]["broker_id"].to_pylist())
    cluster_key = _cluster_key(tables)
    new_brokers = [cluster_key | row for row in brokers if row["broker_id"] not in known]
    partitions = _split(tables[PARTITION], states)
    replicas = _split(tables[REPLICA], states)
    factors = {topic: len(state.replicas) for (topic, number), state in states.items() if number == 0}
    topics = [row | {"replication_factor": factors.get(row["topic"], row["replication_factor"])} for row in tables[TOPIC].to_pylist()]
    replicas_after = _replicas_after(replicas.changed, partitions.changed, tables, states)
    sizes = {ReplicaKey(row["topic"], row["partition"], row["broker_id"]): row["size_bytes"] for row in replicas_after}
    changed = (
        _append(BROKER, tables[BROKER], new_brokers),
        pa.Table.from_pylist(topics, TOPIC.schema) if factors else tables[TOPIC],
        _append(PARTITION, partitions.unchanged, [_partition_after(row, states, sizes) for row in partitions.changed]),
        _append(REPLICA, replicas.unchanged, replicas_after),
    )
    return {**tables, **dict(zip(CHANGES, changed, strict=True))}


def _cluster_key(tables: Mapping[Table, pa.Table]) -> Row:
    """Return the columns that every row of the cluster has; the night after the plan sets the snapshot."""
    return {"snapshot_id": "", "cluster_id": tables[BROKER]["cluster_id"][0].as_py()}


class _Split(NamedTuple):
    """The rows of the partitions that change, and the other rows."""

    changed: list[Row]
    unchanged: pa.Table


def _split(rows: pa.Table, states: States) -> _Split:
    keys = zip(rows["topic"].to_pylist(), rows["partition"].to_pylist(), strict=True)
    is_changed = pa.array([key in states for key in keys], pa.bool_())
    return _Split(rows.filter(is_changed).to_pylist(), rows.filter(pc.invert(is_changed)))


def _append(table: Table, rows: pa.Table, more: Sequence[Row]) -> pa.Table:
    return pa.concat_tables([rows, pa.Table.from_pylist(list(more), rows.schema)]).cast(table.schema)


def _partition_after(row: Row, states: States, sizes: Mapping[ReplicaKey, int | None]) -> Row:
    """Return a row of `partition` in its state after the plan; no reassignment is under way."""
    topic, number = row["topic"], row["partition"]
    state = states[topic, number]
    return row | {
        "leader": state.leader,
        "replicas": list(state.replicas),
        "isr": sorted(state.isr),
        "elr": None if state.elr is None else list(state.elr),
        "last_known_elr": None if state.last_known_elr is None else list(state.last_known_elr),
        "adding_replicas": None,
        "removing_replicas": None,
        "replica_size_bytes": [sizes[ReplicaKey(topic, number, broker)] for broker in state.replicas],
    }


def _replicas_after(replicas: Sequence[Row], partitions: Sequence[Row], tables: Mapping[Table, pa.Table], states: States) -> list[Row]:
    """Return the rows of `replica` of the partitions that change.

    A new copy, and a replica that gets in sync, has the size of the leader's replica. Replicas that the plan removes are deleted. A
    replica that was on disk without being assigned stays there.
    """
    rows_of: dict[PartitionKey, dict[int, Row]] = {}
    for row in replicas:
        rows_of.setdefault((row["topic"], row["partition"]), {})[row["broker_id"]] = row
    leaders = {(row["topic"], row["partition"]): row["leader"] for row in partitions}
    log_dirs = _LogDirs(tables)
    after = []
    for key, state in states.items():
        existing = rows_of.get(key, {})
        size = _copy_size(existing, leaders[key])
        for index, broker in enumerate(state.replicas):
            row = existing.get(broker) or {
                **_cluster_key(tables),
                "topic": key[0],
                "partition": key[1],
                "broker_id": broker,
                "in_sync": False,
                "log_dir": log_dirs.place(broker),
                "size_bytes": size,
            }
            in_sync = broker in state.isr
            caught_up = {"size_bytes": size, "offset_lag": 0} if in_sync and not row["in_sync"] else {}
            after.append(row | caught_up | {"replica_index": index, "in_sync": in_sync})
        for broker, row in existing.items():
            if broker not in state.replicas:
                log_dirs.remove(broker, row["log_dir"])
                if row["replica_index"] is None:
                    after.append(row)
    return after


def _copy_size(replicas: Mapping[int, Row], leader: int | None) -> int | None:
    """Return the size of the leader's replica, otherwise of the largest replica; None: no size is known."""
    sizes = {broker: row["size_bytes"] for broker, row in replicas.items() if row["size_bytes"] is not None}
    return sizes[leader] if leader in sizes else max(sizes.values(), default=None)


class _LogDirs:
    """The number of replicas in each log dir, while a plan places and removes replicas."""

    def __init__(self, tables: Mapping[Table, pa.Table]) -> None:
        log_dirs = tables[LOG_DIR]
        accepting = log_dirs.filter(pc.and_not(pc.is_null(log_dirs["error"]), log_dirs["cordoned"].fill_null(False)))
        self._paths: dict[int, list[str]] = {}
        for broker, path in sorted(zip(accepting["broker_id"].to_pylist(), accepting["log_dir"].to_pylist(), strict=True)):
            self._paths.setdefault(broker, []).append(path)
        used = zip(tables[REPLICA]["broker_id"].to_pylist(), tables[REPLICA]["log_dir"].to_pylist(), strict=True)
        self._replicas = Counter(LogDirKey(broker, path) for broker, path in used)

    def place(self, broker: int) -> str | None:
        """Add a replica to the log dir of the broker with the fewest replicas (LogManager.nextLogDirs); None: none is known.

        A log dir that has failed or is cordoned takes no replica.
        """
        path = min(self._paths.get(broker, ()), key=lambda path: self._replicas[LogDirKey(broker, path)], default=None)
        self._replicas[LogDirKey(broker, path)] += 1
        return path

    def remove(self, broker: int, path: str | None) -> None:
        """Remove a replica from a log dir."""
        self._replicas[LogDirKey(broker, path)] -= 1


@contextmanager
def _temporary_lake(lake: Lake) -> Iterator[Lake]:
    """Yield an empty lake in a folder of this lake, so that every process that can open this lake can open it; then delete it."""
    temporary = open_lake(f"{lake.uri.rstrip('/')}/.planned-{uuid4().hex}", lake.spark)
    try:
        yield temporary
    finally:
        temporary.remove()
