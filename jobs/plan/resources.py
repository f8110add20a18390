"""What a plan may use while it runs: disk space and network.

A disk's capacity is the broker's, as capacity.json reports it, otherwise the sum of its volumes, as kafka-log-dirs.sh reports them. A new
replica gets the size of its leader's log, or of the largest replica if that is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jobs.schema import LOG_DIR, PARTITION, REPLICA, Table
from jobs.steps.cluster_array import ClusterArrays
from kafka_model.cruise_control.columnar import Cluster, Floats, Ints
from kafka_model.cruise_control.limits import NETWORK_IN, NETWORK_OUT
from kafka_model.cruise_control.plan_state import DiskSpace

_KEY = ["topic", "partition"]
# Where the load of a link is known from.
BROKER_LOAD, PARTITION_LOADS, INCOMPLETE, UNKNOWN = "broker", "partition_load", "partition_load, incomplete", "unknown"


@dataclass(frozen=True, slots=True)
class Throttle:
    """What copying may use of each link, and whose link allows the least; None: a capacity is unknown. 0: that link is over its share."""

    bytes_per_s: float | None = None
    broker_id: int | None = None
    source: str | None = None  # of what that link carries now
    unknown: tuple[int, ...] = ()  # brokers that copy and whose load is not wholly known


def disks(rows: Mapping[Table, pa.Table], brokers: Sequence[Mapping[str, Any]], arrays: ClusterArrays, limit: float) -> DiskSpace:
    """Disk space by broker, replica and partition. What has no known size counts as 0, and a broker of unknown capacity has no limit."""
    volumes = _volumes(rows[LOG_DIR])
    capacity, other = np.full(len(brokers), math.nan), np.zeros(len(brokers))
    for place, row in enumerate(sorted(brokers, key=lambda row: row["broker_id"])):
        total, used = volumes.get(row["broker_id"], (math.nan, 0.0))
        known = row["disk_capacity_bytes"]
        capacity[place], other[place] = (total, used) if known is None else (known, 0.0)
    cluster = arrays.cluster
    stored, copied = _sizes(rows, arrays)
    # A broker may store replicas of no partition, and other files on the same volume.
    at = np.searchsorted(cluster.broker_ids, rows[REPLICA]["broker_id"].to_numpy())
    every = np.bincount(at, rows[REPLICA]["size_bytes"].fill_null(0).to_numpy(), len(brokers)) if len(at) else np.zeros(len(brokers))
    of, slot = np.nonzero(cluster.replicas >= 0)
    assigned = np.bincount(cluster.replicas[of, slot], stored[of, slot], len(brokers))
    used = np.maximum(np.maximum(every, assigned), other)
    return DiskSpace(np.where(np.isnan(capacity), math.inf, capacity * limit), used, stored, copied)


def _volumes(log_dirs: pa.Table) -> dict[int, tuple[float, float]]:
    """The capacity and the used bytes of each broker's volumes; a broker with a log dir of unknown capacity is left out."""
    found: dict[int, dict[tuple[Any, ...], tuple[float, float]]] = {}
    unknown = set()
    for row in log_dirs.to_pylist():
        total, usable = row["total_bytes"], row["usable_bytes"]
        if row["error"] is not None:
            continue
        if row["capacity_bytes"] is None:
            unknown.add(row["broker_id"])
            continue
        # Log dirs that report the same total and the same free bytes are on one volume.
        volume = (total, usable) if None not in (total, usable) else (row["log_dir"],)
        used = 0.0 if None in (total, usable) else float(total - usable)
        found.setdefault(row["broker_id"], {})[volume] = float(row["capacity_bytes"]), used
    return {
        id: (sum(capacity for capacity, _ in of.values()), sum(used for _, used in of.values()))
        for id, of in found.items()
        if id not in unknown
    }


def _sizes(rows: Mapping[Table, pa.Table], arrays: ClusterArrays) -> tuple[Floats, Floats]:
    """Return the bytes of each replica, in the shape of the cluster's, and of a new copy of each partition; an unknown size is 0.

    A replica out of sync counts with its size after it has caught up.
    """
    partitions = rows[PARTITION].select([*_KEY, "leader", "isr"]).sort_by([(name, "ascending") for name in _KEY])
    cluster, sizes, copied = arrays.cluster, arrays.replica_size_bytes, np.nan_to_num(arrays.copy_size_bytes)
    caught_up = np.where(_in_sync(partitions, cluster), sizes, np.fmax(sizes, copied[:, None]))
    stored = np.where(np.isnan(sizes), copied[:, None], caught_up)
    return np.where(cluster.replicas >= 0, stored, 0.0), copied


def _in_sync(partitions: pa.Table, cluster: Cluster) -> np.ndarray:
    """Whether each replica is in the ISR."""
    isr = partitions["isr"].combine_chunks()
    row = np.repeat(np.arange(len(isr)), pc.list_value_length(isr).to_numpy())
    at = np.searchsorted(cluster.broker_ids, pc.list_flatten(isr).to_numpy())
    found = np.zeros(cluster.replicas.shape, dtype=np.bool_)
    for slot in range(cluster.replicas.shape[1]):
        here = cluster.replicas[row, slot] == at
        found[row[here], slot] = True
    return found


def throttle(brokers: Sequence[Mapping[str, Any]], cluster: Cluster, moves: Sequence[Mapping[str, Any]], share: float) -> Throttle:
    """Keep each link that copying uses under its share of its capacity, with what the link carries now.

    Leaders send and new replicas receive. A link's load is what the broker reports, otherwise the sum over its partitions.
    """
    copied = [move for move in moves if move["added_replicas"]]
    busy = {"out": {move["leader_before"] for move in copied}, "in": {id for move in copied for id in move["added_replicas"]}}
    sums = _partition_loads(cluster)
    room: list[tuple[float, int, str]] = []
    unknown = set()
    for place, row in enumerate(sorted(brokers, key=lambda row: row["broker_id"])):
        for way, ids in busy.items():
            if row["live"] and (row["broker_id"] in ids or not copied):
                capacity = row[f"network_{way}_capacity_bytes_per_s"]
                if capacity is None:
                    return Throttle()
                load, source = sums[way][place]
                if (reported := row.get(f"network_{way}_bytes_per_s")) is not None:
                    load, source = reported, BROKER_LOAD
                if source in (INCOMPLETE, UNKNOWN):
                    unknown.add(row["broker_id"])
                room.append((max(share * capacity - load, 0.0), row["broker_id"], source))
    least = min(room, default=None)
    return Throttle() if least is None else Throttle(*least, tuple(sorted(unknown)))


def _partition_loads(cluster: Cluster) -> dict[str, list[tuple[float, str]]]:
    """Each broker's load as the sum over its partitions, as the goals count it: every replica takes in what its leader does, and a leader
    sends to consumers and followers.
    """
    brokers = len(cluster.broker_ids)
    of, slot = np.nonzero((cluster.replicas >= 0) & (cluster.leader >= 0)[:, None])
    led = np.flatnonzero(cluster.leader >= 0)
    return {
        "in": _summed(cluster.load(NETWORK_IN)[of], cluster.replicas[of, slot], brokers),
        "out": _summed(cluster.load(NETWORK_OUT)[led], cluster.leader[led], brokers),
    }


def _summed(loads: Floats, at: Ints, brokers: int) -> list[tuple[float, str]]:
    """The bytes per second of each broker, and whether all of its partitions report theirs."""
    missing = np.isnan(loads)
    sums = np.bincount(at, np.nan_to_num(loads) * 2.0**10, brokers).tolist()
    gaps, counts = np.bincount(at[missing], minlength=brokers).tolist(), np.bincount(at, minlength=brokers).tolist()
    sources = [PARTITION_LOADS if not gap else UNKNOWN if gap == count else INCOMPLETE for gap, count in zip(gaps, counts, strict=True)]
    return list(zip(sums, sources, strict=True))
