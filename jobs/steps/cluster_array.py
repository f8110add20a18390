"""A cluster's rows as arrays of kafka_model.cruise_control.columnar: brokers, and partitions with their replicas and leaders' loads."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jobs.arrays import list_positions
from kafka_model.cruise_control.columnar import Cluster, Floats, Ints
from kafka_model.cruise_control.limits import CPU, DISK, NETWORK_IN, NETWORK_OUT

# Columns in bytes, and the units of the goals in these.
_LOADS = {
    DISK: ("disk_bytes", 2.0**20),
    NETWORK_IN: ("network_in_bytes_per_s", 2.0**10),
    NETWORK_OUT: ("network_out_bytes_per_s", 2.0**10),
    CPU: ("cpu_percent", 1.0),
}
_CAPACITIES = {
    DISK: ("disk_capacity_bytes", 2.0**20),
    NETWORK_IN: ("network_in_capacity_bytes_per_s", 2.0**10),
    NETWORK_OUT: ("network_out_capacity_bytes_per_s", 2.0**10),
    CPU: ("cpu_capacity_percent", 1.0),
}


def cluster_of(brokers: Sequence[Mapping[str, Any]], partitions: pa.Table) -> Cluster:
    """Brokers by their ids (broker_id, rack, live, capacities), and partitions (topic, partition, replicas, leader, loads) in their order.

    A broker without a rack is on one of its own; a replica on a broker that is not among these is none.
    """
    known = sorted(brokers, key=lambda row: row["broker_id"])
    ids = np.array([row["broker_id"] for row in known], dtype=np.int64)
    racks = [row["rack"] if row["rack"] is not None else f"broker {row['broker_id']}" for row in known]
    names = {rack: at for at, rack in enumerate(sorted(set(racks)))}
    partitions = partitions.sort_by([("topic", "ascending"), ("partition", "ascending")]).combine_chunks()
    topics = partitions["topic"].combine_chunks().dictionary_encode() if len(partitions) else pa.array([], pa.string()).dictionary_encode()
    capacities = {name: _floats([row[column] for row in known]) / unit for name, (column, unit) in _CAPACITIES.items()}
    loads = {
        name: _floats(partitions[column]) / unit if column in partitions.column_names else np.full(len(partitions), math.nan)
        for name, (column, unit) in _LOADS.items()
    }
    return Cluster(
        ids,
        np.array([names[rack] for rack in racks], dtype=np.int64),
        np.array([row["live"] for row in known], dtype=np.bool_),
        capacities[DISK] * 2.0**20,
        tuple(topics.dictionary.to_pylist()),
        topics.indices.to_numpy(zero_copy_only=False).astype(np.int64),
        partitions["partition"].to_numpy().astype(np.int64),
        _matrix(partitions["replicas"], ids),
        _places(partitions["leader"].fill_null(-1).to_numpy().astype(np.int64), ids),
        np.nan_to_num(loads[DISK] * 2.0**20),
        any(row["rack"] is not None for row in known if row["live"]),
        loads,
        capacities,
        tuple(names),
    )


def _floats(column: Any) -> Floats:
    array = column if isinstance(column, pa.ChunkedArray) else pa.array(column, pa.float64())
    return np.asarray(pc.cast(array, pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)


def _places(values: Ints, ids: Ints) -> Ints:
    """Where each value stands among the ids; -1: nowhere."""
    if not len(ids):
        return np.full(len(values), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(ids, values), len(ids) - 1)
    return np.where(ids[at] == values, at, -1)


def _matrix(replicas: pa.ChunkedArray, ids: Ints) -> Ints:
    """A row for each list, places of brokers, -1 behind the last."""
    lengths = pc.fill_null(pc.list_value_length(replicas), 0).to_numpy().astype(np.int64)
    places = _places(pc.list_flatten(replicas).to_numpy().astype(np.int64), ids)
    row, _ = list_positions(lengths)
    known = places >= 0
    row, places = row[known], places[known]
    counts = np.bincount(row, minlength=len(lengths))
    row, slot = list_positions(counts)
    matrix = np.full((len(lengths), int(counts.max(initial=1))), -1, dtype=np.int64)
    matrix[row, slot] = places
    return matrix
