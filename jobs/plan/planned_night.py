"""The night after a plan: every rule on a cluster once the plan is done, beside what it says of the cluster as it is.

What ingest wrote of the cluster is changed as the plan changes it, and a night of it is worked out and judged, in a lake of its own beside
the lake, gone when it is told. So each rule says of the plan what it will say of the cluster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc

from expectations.limits import Limits
from jobs import ingest
from jobs.failure.counts import PartitionState
from jobs.lake.lake import Lake, open_lake
from jobs.night import JOBS, PARAMETERS, Night
from jobs.schema import BROKER, LOG_DIR, PARTITION, REPLICA, SNAPSHOT, TOPIC, VALIDATION, Table

# Of the night before; rules read no others of it (tests/jobs/plan/test_planned_night.py).
READS_PREVIOUS = tuple(dict.fromkeys(table for job in JOBS.values() for table in getattr(job, "READS_PREVIOUS", ())))
Rows = list[dict[str, Any]]
Key = tuple[str, int]


def rules(night: Night, cluster_id: str, limits: Limits, brokers: Rows, settled: Mapping[Key, PartitionState]) -> Rows:
    """The rows of `plan_rule`, of a plan with these brokers at its end, and these of its partitions, in the order in which it is done."""
    told = {table: night.of_cluster(table, cluster_id) for table in ingest.WRITES}
    before = {(row["suite"], row["rule"]): row for row in night.of_cluster(VALIDATION, cluster_id).to_pylist()}
    (published,) = (row for row in night.rows(SNAPSHOT) if row["cluster_id"] == cluster_id)
    earlier = published["previous_snapshot_id"]
    with _beside(night.lake) as lake:
        then = Night(lake, night.snapshot_id)
        then.begin(
            [*done(told, brokers, settled).values()],
            {name: value for name, value in night.parameters().items() if name in PARAMETERS},
            night.scale,
        )
        if earlier is not None:
            published |= {"snapshot_id": earlier, "previous_snapshot_id": None}
            lake.replace(SNAPSHOT, pa.Table.from_pylist([published], SNAPSHOT.schema), snapshot_id=earlier)
            for table in READS_PREVIOUS:
                lake.replace(table, Night(night.lake, earlier).of_cluster(table, cluster_id), snapshot_id=earlier)
        then.run(None, {}, limits, None)
        judged = then.rows(VALIDATION)
    return [_beside_each_other(before.get((row["suite"], row["rule"]), {"success": None, "broken_rows": 0}), row) for row in judged]


def done(told: Mapping[Table, pa.Table], brokers: Rows, settled: Mapping[Key, PartitionState]) -> dict[Table, pa.Table]:
    """A cluster's tables once these partitions are as said; all else as it was."""
    of = {"snapshot_id": "", "cluster_id": told[BROKER]["cluster_id"][0].as_py()}
    known = set(told[BROKER]["broker_id"].to_pylist())
    coming = [of | row for row in brokers if row["broker_id"] not in known]
    partitions, partition = _parted(told[PARTITION], settled)
    replicas, replica = _parted(told[REPLICA], settled)
    factors = {topic: len(state.replicas) for (topic, number), state in settled.items() if number == 0}
    topics = [row | {"replication_factor": factors.get(row["topic"], row["replication_factor"])} for row in told[TOPIC].to_pylist()]
    copied = _copied(replicas, partitions, told, settled)
    sizes = {(row["topic"], row["partition"], row["broker_id"]): row["size_bytes"] for row in copied}
    changed = {
        BROKER: _with(told[BROKER], coming, BROKER),
        TOPIC: pa.Table.from_pylist(topics, TOPIC.schema) if factors else told[TOPIC],
        PARTITION: _with(partition, [row | _as((row["topic"], row["partition"]), settled, sizes) for row in partitions], PARTITION),
        REPLICA: _with(replica, copied, REPLICA),
    }
    return {table: changed.get(table, rows) for table, rows in told.items()}


def _parted(rows: pa.Table, settled: Mapping[Key, PartitionState]) -> tuple[Rows, pa.Table]:
    """The rows of these partitions, and the others."""
    keys = zip(rows["topic"].to_pylist(), rows["partition"].to_pylist(), strict=True)
    theirs = pa.array([key in settled for key in keys], pa.bool_())
    return rows.filter(theirs).to_pylist(), rows.filter(pc.invert(theirs))


def _with(rows: pa.Table, more: Rows, of: Table) -> pa.Table:
    return pa.concat_tables([rows, pa.Table.from_pylist(more, rows.schema)]).cast(of.schema)


def _as(key: Key, settled: Mapping[Key, PartitionState], sizes: Mapping[tuple[str, int, int], int | None]) -> dict[str, Any]:
    """A partition's columns in its state, its reassignment done."""
    state = settled[key]
    return {
        "leader": state.leader, "replicas": list(state.replicas), "isr": sorted(state.isr),
        "elr": None if state.elr is None else list(state.elr), "last_known_elr": None if state.last_known_elr is None else list(state.last_known_elr),
        "adding_replicas": None, "removing_replicas": None, "replica_size_bytes": [sizes[*key, broker] for broker in state.replicas],
    }  # fmt: skip


def _copied(replicas: Rows, partitions: Rows, told: Mapping[Table, pa.Table], settled: Mapping[Key, PartitionState]) -> Rows:
    """The replicas of the partitions that change. What catches up comes to the size that the leader has; what leaves is deleted. A new one
    goes to the log dir of its broker that holds the fewest (LogManager.nextLogDirs).
    """
    held: dict[Key, dict[int, dict[str, Any]]] = {}
    for row in replicas:
        held.setdefault((row["topic"], row["partition"]), {})[row["broker_id"]] = row
    leaders = {(row["topic"], row["partition"]): row["leader"] for row in partitions}
    sound = told[LOG_DIR].filter(pc.is_null(told[LOG_DIR]["error"]))
    dirs: dict[int, list[str]] = {}
    for broker, path in sorted(zip(sound["broker_id"].to_pylist(), sound["log_dir"].to_pylist(), strict=True)):
        dirs.setdefault(broker, []).append(path)
    lying = Counter(zip(told[REPLICA]["broker_id"].to_pylist(), told[REPLICA]["log_dir"].to_pylist(), strict=True))
    found = []
    for key, state in settled.items():
        here = held.get(key, {})
        sizes = [row["size_bytes"] for row in here.values() if row["size_bytes"] is not None]
        leader_size = here.get(leaders[key], {}).get("size_bytes")
        size = max(sizes, default=None) if leader_size is None else leader_size
        one = {"snapshot_id": "", "cluster_id": told[PARTITION]["cluster_id"][0].as_py(), "topic": key[0], "partition": key[1]}
        for index, broker in enumerate(state.replicas):
            row = here.get(broker)
            if row is None:
                path = min(dirs.get(broker, ()), key=lambda each: lying[broker, each], default=None)
                lying[broker, path] += 1
                row = one | {"broker_id": broker, "in_sync": False, "log_dir": path, "size_bytes": size}
            caught_up = broker in state.isr
            if caught_up and not row["in_sync"]:
                row = row | {"size_bytes": size, "offset_lag": 0}
            found.append(row | {"replica_index": index, "in_sync": caught_up})
        for broker, row in here.items():
            if broker not in state.replicas:
                lying[broker, row["log_dir"]] -= 1
                if row["replica_index"] is None:  # it was nobody's before
                    found.append(row)
    return found


@contextmanager
def _beside(lake: Lake) -> Iterator[Lake]:
    """A lake of its own where the lake lies, so that whoever reaches the one reaches the other."""
    beside = open_lake(f"{lake.uri.rstrip('/')}/.planned-{uuid4().hex}", lake.spark)
    try:
        yield beside
    finally:
        beside.remove()


def _beside_each_other(before: Mapping[str, Any], then: Mapping[str, Any]) -> dict[str, Any]:
    same = {name: then[name] for name in ("suite", "rule", "severity", "success", "broken_rows", "example", "sentence")}
    return same | {"success_before": before["success"], "broken_rows_before": before["broken_rows"]}
