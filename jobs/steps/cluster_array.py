"""A cluster's rows as the arrays of kafka_model.cruise_control.columnar, and the one definition of a partition's size.

The disk load of a partition is what Cruise Control reports (`partition_load`), otherwise the size of the leader's replica, otherwise that
of the largest replica. Each replica counts with its partition's load, as in Cruise Control. The size of a new copy is the size of the
leader's replica, otherwise that of the largest replica, otherwise the disk load.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jobs.arrays import list_positions
from kafka_model.cruise_control.columnar import Cluster, Floats, Ints
from kafka_model.cruise_control.limits import CPU, DISK, NETWORK_IN, NETWORK_OUT

_MIB, _KIB = 2.0**20, 2.0**10
# Columns of each resource, and the unit of the goals in the unit of the column.
_LOADS = {
    DISK: ("disk_bytes", _MIB),
    NETWORK_IN: ("network_in_bytes_per_s", _KIB),
    NETWORK_OUT: ("network_out_bytes_per_s", _KIB),
    CPU: ("cpu_percent", 1.0),
}
_CAPACITIES = {
    DISK: ("disk_capacity_bytes", _MIB),
    NETWORK_IN: ("network_in_capacity_bytes_per_s", _KIB),
    NETWORK_OUT: ("network_out_capacity_bytes_per_s", _KIB),
    CPU: ("cpu_capacity_percent", 1.0),
}


class ClusterArrays(NamedTuple):
    """A cluster, and the sizes of its replicas in bytes; an unknown size is NaN."""

    cluster: Cluster
    replica_size_bytes: Floats  # in the shape of cluster.replicas
    copy_size_bytes: Floats  # size of a new replica of each partition


def cluster_arrays(brokers: Sequence[Mapping[str, Any]], partitions: pa.Table) -> ClusterArrays:
    """Return a cluster's arrays: brokers sorted by id, partitions by topic and number.

    `brokers` have broker_id, rack, live and capacities. `partitions` have the columns topic, partition, leader, replicas,
    replica_size_bytes and those of `partition_load`, which are null where Cruise Control reports no load. A broker without `host`
    gets a host of its own. The host of a broker without a rack is its rack, as in Cruise Control (MonitorUtils.getRackHandleNull). Replicas on brokers that are not in `brokers` are left out.
    """
    known = sorted(brokers, key=lambda row: row["broker_id"])
    ids = np.array([row["broker_id"] for row in known], dtype=np.int64)
    hosts = tuple(row.get("host") or f"of broker {row['broker_id']}" for row in known)
    racks = [row["rack"] or host for row, host in zip(known, hosts, strict=True)]
    rack_index = {rack: index for index, rack in enumerate(sorted(set(racks)))}
    partitions = partitions.sort_by([("topic", "ascending"), ("partition", "ascending")]).combine_chunks()
    topics = partitions["topic"].combine_chunks().dictionary_encode() if len(partitions) else pa.array([], pa.string()).dictionary_encode()
    replicas, sizes = _replicas_with_sizes(partitions, ids)
    leader = _indexes(partitions["leader"].fill_null(-1).to_numpy().astype(np.int64), ids)
    log_size = _leader_or_largest(replicas, sizes, leader)
    reported = _floats(partitions["disk_bytes"])
    disk_load = np.where(np.isnan(reported), log_size, reported)
    loads = {name: _floats(partitions[column]) / unit for name, (column, unit) in _LOADS.items()} | {DISK: disk_load / _MIB}
    capacities = {name: _floats([row[column] for row in known]) / unit for name, (column, unit) in _CAPACITIES.items()}
    cluster = Cluster(
        broker_ids=ids,
        racks=np.array([rack_index[rack] for rack in racks], dtype=np.int64),
        live=np.array([row["live"] for row in known], dtype=np.bool_),
        disk_capacity=capacities[DISK] * _MIB,
        topics=tuple(topics.dictionary.to_pylist()),
        topic=topics.indices.to_numpy(zero_copy_only=False).astype(np.int64),
        partition=partitions["partition"].to_numpy().astype(np.int64),
        replicas=replicas,
        leader=leader,
        size=np.nan_to_num(disk_load),
        racks_known=any(row["rack"] is not None or row.get("host") for row in known if row["live"]),
        loads=loads,
        capacities=capacities,
        rack_names=tuple(rack_index),
        hosts=hosts,
    )
    return ClusterArrays(cluster, sizes, np.where(np.isnan(log_size), disk_load, log_size))


def _floats(column: Any) -> Floats:
    array = column if isinstance(column, pa.ChunkedArray) else pa.array(column, pa.float64())
    return np.asarray(pc.cast(array, pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)


def _indexes(broker_ids: Ints, ids: Ints) -> Ints:
    """Return the index of each broker in the sorted `ids`, or -1 if it is not there."""
    if not len(ids):
        return np.full(len(broker_ids), -1, dtype=np.int64)
    index = np.minimum(np.searchsorted(ids, broker_ids), len(ids) - 1)
    return np.where(ids[index] == broker_ids, index, -1)


def _replicas_with_sizes(partitions: pa.Table, ids: Ints) -> tuple[Ints, Floats]:
    """Return the brokers of each partition's replicas as a row of indexes, -1 after the last one, and the replicas' sizes."""
    row, slot = list_positions(_list_lengths(partitions["replicas"]))
    broker = _indexes(pc.list_flatten(partitions["replicas"]).to_numpy().astype(np.int64), ids)
    size_counts = _list_lengths(partitions["replica_size_bytes"])
    listed = slot < size_counts[row]
    all_sizes = _floats(pc.list_flatten(partitions["replica_size_bytes"]))
    size = np.full(len(row), np.nan)
    size[listed] = all_sizes[(np.cumsum(size_counts) - size_counts)[row[listed]] + slot[listed]]
    known = broker >= 0
    row, broker, size = row[known], broker[known], size[known]
    counts = np.bincount(row, minlength=len(partitions))
    _, slot = list_positions(counts)
    shape = len(partitions), int(counts.max(initial=1))
    replicas, sizes = np.full(shape, -1, dtype=np.int64), np.full(shape, np.nan)
    replicas[row, slot], sizes[row, slot] = broker, size
    return replicas, sizes


def _list_lengths(lists: pa.ChunkedArray) -> Ints:
    return np.asarray(pc.fill_null(pc.list_value_length(lists), 0).to_numpy(), dtype=np.int64)


def _leader_or_largest(replicas: Ints, sizes: Floats, leader: Ints) -> Floats:
    """Return the size of each leader's replica, or of the largest replica if that is unknown; NaN if no size is known."""
    is_leader = (replicas == leader[:, None]) & (replicas >= 0)
    leader_size: Floats = np.fmax.reduce(np.where(is_leader, sizes, np.nan), axis=1)
    largest_size: Floats = np.fmax.reduce(sizes, axis=1)
    return np.where(np.isnan(leader_size), largest_size, leader_size)
