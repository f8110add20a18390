"""Disk space that a plan may use on each broker, and the sizes of replicas and new copies.

The capacity of a broker's disk is disk_capacity_bytes of the broker, otherwise the sum of its volumes, as kafka-log-dirs.sh reports them.
Kafka adds no replica to a cordoned log dir (KIP-1066), so that the free space of a volume with only such log dirs does not count.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jobs.plan.question import Row
from jobs.schema import LOG_DIR, PARTITION, REPLICA, Table
from jobs.steps.cluster_array import ClusterArrays
from kafka_model.cruise_control.columnar import Bools, Cluster
from kafka_model.cruise_control.plan_state import DiskSpace


class _Volumes(NamedTuple):
    """Capacity and used bytes of a broker's volumes, and those of the volumes whose log dirs are all cordoned."""

    capacity: float
    used: float
    cordoned_capacity: float
    cordoned_used: float


def disk_space(rows: Mapping[Table, pa.Table], brokers: Sequence[Row], arrays: ClusterArrays, share: float) -> DiskSpace:
    """Limit each broker to a share of its disk's capacity; a broker of unknown capacity has no limit.

    A replica of unknown size counts with the size of a new copy, which is 0 if no size of the partition is known.
    """
    cluster = arrays.cluster
    volumes = _volumes_by_broker(rows[LOG_DIR], rows[REPLICA])
    capacity, volume_used, cordoned_used = np.full(len(brokers), math.nan), np.zeros(len(brokers)), np.zeros(len(brokers))
    for index, row in enumerate(sorted(brokers, key=lambda row: row["broker_id"])):
        known = volumes.get(row["broker_id"])
        if row["disk_capacity_bytes"] is not None:
            capacity[index] = row["disk_capacity_bytes"]
        elif known:
            capacity[index], volume_used[index] = known.capacity, known.used
        if known:
            capacity[index] -= known.cordoned_capacity
            cordoned_used[index] = known.cordoned_used
    copy_sizes = np.nan_to_num(arrays.copy_size_bytes)
    sizes = np.where(np.isnan(arrays.replica_size_bytes), copy_sizes[:, None], arrays.replica_size_bytes)
    # A replica out of sync counts with its size after it has caught up.
    sizes = np.where(_in_sync(rows[PARTITION], cluster), sizes, np.fmax(sizes, copy_sizes[:, None]))
    replica_sizes = np.where(cluster.replicas >= 0, sizes, 0.0)
    # A broker may store replicas that it is not assigned, and other files on the same volume.
    stored_index = np.searchsorted(cluster.broker_ids, rows[REPLICA]["broker_id"].to_numpy())
    stored = np.bincount(stored_index, rows[REPLICA]["size_bytes"].fill_null(0).to_numpy(), len(brokers))
    partition, slot = np.nonzero(cluster.replicas >= 0)
    assigned = np.bincount(cluster.replicas[partition, slot], replica_sizes[partition, slot], len(brokers))
    used = np.maximum(np.maximum(stored, assigned), volume_used)
    limit = np.where(np.isnan(capacity), math.inf, capacity * share + cordoned_used)
    return DiskSpace(limit, used, replica_sizes, copy_sizes)


def _volumes_by_broker(log_dirs: pa.Table, replicas: pa.Table) -> dict[int, _Volumes]:
    """Return the volumes of each broker whose log dirs all have a known capacity. Failed log dirs are left out.

    Log dirs with the same total and the same usable bytes are on one volume.
    """
    sums = replicas.group_by(["broker_id", "log_dir"]).aggregate([("size_bytes", "sum")]).to_pylist()
    stored = {(row["broker_id"], row["log_dir"]): row["size_bytes_sum"] or 0 for row in sums}
    by_volume: dict[int, dict[tuple[object, ...], list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in log_dirs.to_pylist():
        if row["error"] is None:
            total, usable = row["total_bytes"], row["usable_bytes"]
            by_volume[row["broker_id"]][(row["log_dir"],) if None in (total, usable) else (total, usable)].append(row)
    volumes = {}
    for broker_id, volume_rows in by_volume.items():
        if all(row["capacity_bytes"] is not None for rows in volume_rows.values() for row in rows):
            parts = [_volume(rows, sum(stored.get((broker_id, row["log_dir"]), 0) for row in rows)) for rows in volume_rows.values()]
            volumes[broker_id] = _Volumes(*(sum(values) for values in zip(*parts, strict=True)))
    return volumes


def _volume(log_dirs: Sequence[Row], stored: int) -> _Volumes:
    """Return the values of the volume with these log dirs, in which replicas of so many bytes are stored."""
    row = log_dirs[-1]
    capacity, total, usable = float(row["capacity_bytes"]), row["total_bytes"], row["usable_bytes"]
    used = 0.0 if None in (total, usable) else float(total - usable)
    if all(row["cordoned"] for row in log_dirs):
        return _Volumes(capacity, used, capacity, max(used, stored))
    return _Volumes(capacity, used, 0.0, 0.0)


def _in_sync(partitions: pa.Table, cluster: Cluster) -> Bools:
    """Return whether each replica is in the ISR, in the shape of the cluster's replicas."""
    isr = partitions.select(["topic", "partition", "isr"]).sort_by([("topic", "ascending"), ("partition", "ascending")])["isr"]
    isr = isr.combine_chunks()
    row = np.repeat(np.arange(len(isr)), pc.list_value_length(isr).to_numpy())
    broker = np.searchsorted(cluster.broker_ids, pc.list_flatten(isr).to_numpy())
    in_sync = np.zeros(cluster.replicas.shape, dtype=np.bool_)
    for slot in range(cluster.replicas.shape[1]):
        is_here = cluster.replicas[row, slot] == broker
        in_sync[row[is_here], slot] = True
    return in_sync
