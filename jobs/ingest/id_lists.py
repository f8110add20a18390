"""Loops over the broker id lists of partitions, compiled if there are many partitions.

Importing numba, which compiles them, takes 0.8 s: below COMPILED_FROM partitions, plain Python runs the same functions in less time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

COMPILED_FROM = 10_000


def copy_lists(starts: Any, ends: Any, ids: Any, ascending: bool) -> Any:
    """Copy one list of each partition. Return the offsets and values of the copies; the values of each list are sorted if `ascending`."""
    return _loop(_copy_lists, len(starts))(starts, ends, ids, ascending)


def list_replicas(list_starts: Any, ids: Any) -> Any:
    """Return four arrays, in which a row is a replica: the partition's row, the broker, its index in the assignment, whether it is in sync.

    The replicas of a partition are sorted by broker id. The first three columns of `list_starts` are the index in `ids` where the partition's
    replicas start, where its ISR starts, and where its ISR ends.
    """
    return _loop(_list_replicas, len(list_starts))(list_starts, ids)


def _loop(function: Callable[..., Any], partitions: int) -> Callable[..., Any]:
    return function if partitions < COMPILED_FROM else _compiled(function)


@cache
def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    from numba import njit

    return njit(cache=True, nogil=True)(function)


def _copy_lists(starts: Any, ends: Any, ids: Any, ascending: bool) -> Any:
    offsets = np.zeros(len(starts) + 1, dtype=np.int32)
    for row in range(len(starts)):
        offsets[row + 1] = offsets[row] + (ends[row] - starts[row])
    values = np.empty(offsets[-1], dtype=np.int32)
    for row in range(len(starts)):
        list_start = offsets[row]
        for i in range(ends[row] - starts[row]):
            value, position = ids[starts[row] + i], list_start + i
            while ascending and position > list_start and values[position - 1] > value:
                values[position] = values[position - 1]
                position -= 1
            values[position] = value
    return offsets, values


def _list_replicas(list_starts: Any, ids: Any) -> Any:
    total = 0
    for row in range(len(list_starts)):
        total += list_starts[row, 1] - list_starts[row, 0]
    rows, brokers, indices = np.empty(total, dtype=np.int32), np.empty(total, dtype=np.int32), np.empty(total, dtype=np.int32)
    in_sync = np.empty(total, dtype=np.bool_)
    end = 0
    for row in range(len(list_starts)):
        start = end
        for index in range(list_starts[row, 1] - list_starts[row, 0]):
            broker, position = ids[list_starts[row, 0] + index], end
            while position > start and brokers[position - 1] > broker:
                brokers[position], indices[position] = brokers[position - 1], indices[position - 1]
                position -= 1
            brokers[position], indices[position] = broker, index
            end += 1
        for position in range(start, end):
            rows[position] = row
            in_sync[position] = False
            for member in range(list_starts[row, 1], list_starts[row, 2]):
                if ids[member] == brokers[position]:
                    in_sync[position] = True
                    break
    return rows, brokers, indices, in_sync
