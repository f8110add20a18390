"""Loops over the broker id lists of partitions, compiled where there are many partitions.

Compiling needs numba, whose import takes 0.8 s: below COMPILED_FROM partitions, Python runs the same functions in less.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

COMPILED_FROM = 10_000


def gather(starts: Any, ends: Any, ids: Any, in_order: bool) -> Any:
    """Copy one id list of each partition; returns the offsets and values of the copies, sorted within each list if `in_order`."""
    return _loop(_gather, len(starts))(starts, ends, ids, in_order)


def explode(at: Any, ids: Any) -> Any:
    """List every replica of every partition by broker id: the partition's row, the broker, its index in the assignment, whether in sync.

    `at` has a row for each partition: where in `ids` the replicas start, where the ISR starts, and where the ISR ends.
    """
    return _loop(_explode, len(at))(at, ids)


def _loop(function: Callable[..., Any], partitions: int) -> Callable[..., Any]:
    return function if partitions < COMPILED_FROM else _compiled(function)


@cache
def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    from numba import njit

    return njit(cache=True, nogil=True)(function)


def _gather(starts: Any, ends: Any, ids: Any, in_order: bool) -> Any:
    offsets = np.zeros(len(starts) + 1, dtype=np.int32)
    for row in range(len(starts)):
        offsets[row + 1] = offsets[row] + (ends[row] - starts[row])
    values = np.empty(offsets[-1], dtype=np.int32)
    for row in range(len(starts)):
        first = offsets[row]
        for i in range(ends[row] - starts[row]):
            value, position = ids[starts[row] + i], first + i
            while in_order and position > first and values[position - 1] > value:
                values[position] = values[position - 1]
                position -= 1
            values[position] = value
    return offsets, values


def _explode(at: Any, ids: Any) -> Any:
    total = 0
    for row in range(len(at)):
        total += at[row, 1] - at[row, 0]
    rows, brokers, indices = np.empty(total, dtype=np.int32), np.empty(total, dtype=np.int32), np.empty(total, dtype=np.int32)
    in_sync = np.empty(total, dtype=np.bool_)
    end = 0
    for row in range(len(at)):
        first = end
        for index in range(at[row, 1] - at[row, 0]):
            broker, position = ids[at[row, 0] + index], end
            while position > first and brokers[position - 1] > broker:
                brokers[position], indices[position] = brokers[position - 1], indices[position - 1]
                position -= 1
            brokers[position], indices[position] = broker, index
            end += 1
        for position in range(first, end):
            rows[position] = row
            in_sync[position] = False
            for member in range(at[row, 1], at[row, 2]):
                if ids[member] == brokers[position]:
                    in_sync[position] = True
                    break
    return rows, brokers, indices, in_sync
