"""Bytes of a partition's replicas: what the leader stores, and what is lost when another replica becomes leader."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from jobs.arrays import Ints, Matrix, pick

UNKNOWN = -1  # a size
# SQL for the bytes that the leader of a row of `partition` stores; null: the size is unknown, or there is no leader.
LEADER_SIZE = "get(replica_size_bytes, CAST(array_position(replicas, leader) AS INT) - 1)"


def bytes_at_risk(
    sizes: Matrix, row: Ints, leader_before: Ints, leader: Ints, largest_survivor: Ints
) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Return the bytes that a lost leader stores and its successor does not, and whether they are unknown.

    `sizes` has a column per partition, `row` is the partition of each failure, and leaders are positions in its replicas, 0: none. Without a
    successor the size of the largest surviving replica counts.
    """
    size_before, size = (pick(sizes, position, row, UNKNOWN) for position in (leader_before, leader))
    size = np.where(leader > 0, size, largest_survivor)
    lost = (leader_before > 0) & (leader != leader_before)
    unknown = lost & ((size_before < 0) | (size < 0))
    return np.where(lost & ~unknown, np.maximum(size_before - size, 0), 0), unknown
