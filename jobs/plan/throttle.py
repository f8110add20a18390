"""The throttle of a plan: how fast replicas may be copied while each network link stays under its share of its capacity."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jobs.plan.question import Row
from kafka_model.cruise_control.columnar import Cluster, Floats, Ints
from kafka_model.cruise_control.limits import NETWORK_IN, NETWORK_OUT

# The sources of a link's current load, as plan.throttle_load_source names them.
FROM_BROKER, FROM_PARTITIONS, INCOMPLETE, UNKNOWN = "broker", "partition_load", "partition_load, incomplete", "unknown"


class Throttle(NamedTuple):
    """Bytes per second that copying may use, and the broker whose link allows the least. All None: a network capacity is unknown."""

    bytes_per_s: float | None = None  # 0: that link is over its share already
    broker_id: int | None = None
    load_source: str | None = None  # of that link's current load
    unknown_load_brokers: tuple[int, ...] = ()  # that copy, and whose current load is unknown or incomplete


class _LinkLoad(NamedTuple):
    bytes_per_s: float
    source: str


class _Headroom(NamedTuple):
    bytes_per_s: float
    broker_id: int
    load_source: str


def compute_throttle(brokers: Sequence[Row], cluster: Cluster, moves: Iterable[Row], share: float) -> Throttle:
    """Return the throttle for rows of `plan_move`: leaders send, and brokers with new replicas receive.

    The current load of a link is what the broker reports, otherwise the sum over its partitions. Without a copy, every link counts.
    """
    copying = [move for move in moves if move["added_replicas"]]
    used_by = {
        "out": {move["leader_before"] for move in copying},
        "in": {broker_id for move in copying for broker_id in move["added_replicas"]},
    }
    partition_loads = _loads_from_partitions(cluster)
    headrooms = []
    unknown = set()
    for index, row in enumerate(sorted(brokers, key=lambda row: row["broker_id"])):
        for direction, broker_ids in used_by.items():
            if not row["live"] or (copying and row["broker_id"] not in broker_ids):
                continue
            capacity = row[f"network_{direction}_capacity_bytes_per_s"]
            if capacity is None:
                return Throttle()
            reported = row.get(f"network_{direction}_bytes_per_s")
            load = partition_loads[direction][index] if reported is None else _LinkLoad(reported, FROM_BROKER)
            if load.source in (INCOMPLETE, UNKNOWN):
                unknown.add(row["broker_id"])
            headrooms.append(_Headroom(max(share * capacity - load.bytes_per_s, 0.0), row["broker_id"], load.source))
    return Throttle(*min(headrooms), tuple(sorted(unknown))) if headrooms else Throttle()


def _loads_from_partitions(cluster: Cluster) -> Mapping[str, list[_LinkLoad]]:
    """Return each broker's load as the sum over its partitions, as Cruise Control's goals count it.

    Every replica receives what its leader receives. A leader sends to consumers and followers.
    """
    brokers = len(cluster.broker_ids)
    row, slot = np.nonzero((cluster.replicas >= 0) & (cluster.leader >= 0)[:, None])
    has_leader = np.flatnonzero(cluster.leader >= 0)
    return {
        "in": _sum_by_broker(cluster.load(NETWORK_IN)[row], cluster.replicas[row, slot], brokers),
        "out": _sum_by_broker(cluster.load(NETWORK_OUT)[has_leader], cluster.leader[has_leader], brokers),
    }


def _sum_by_broker(kib_per_s: Floats, broker: Ints, brokers: int) -> list[_LinkLoad]:
    """Return the sum of each broker's loads. The source states whether all, some or none of them are known."""
    missing = np.isnan(kib_per_s)
    sums = np.bincount(broker, np.nan_to_num(kib_per_s) * 2.0**10, brokers).tolist()
    gaps, counts = np.bincount(broker[missing], minlength=brokers).tolist(), np.bincount(broker, minlength=brokers).tolist()
    sources = [FROM_PARTITIONS if not gap else UNKNOWN if gap == count else INCOMPLETE for gap, count in zip(gaps, counts, strict=True)]
    return [_LinkLoad(total, source) for total, source in zip(sums, sources, strict=True)]
