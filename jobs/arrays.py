"""Conversions between Arrow columns and numpy arrays."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Ints = npt.NDArray[np.int64]
Matrix = npt.NDArray[np.int64]

NO_BROKER = -(1 << 40)  # fills a matrix of broker ids after the end of each list; no broker has this id


def to_ints(column: pa.Array | pa.ChunkedArray, null: int) -> Ints:
    """Convert a column of integers or booleans; `null` replaces nulls."""
    integers: Ints = column.cast(pa.int64()).fill_null(null).to_numpy(zero_copy_only=False)
    return integers


def to_matrix(lists: pa.ListArray, null: int = NO_BROKER) -> Matrix:
    """Convert lists to the columns of a matrix, padded with NO_BROKER; `null` replaces null elements."""
    lengths = to_ints(pc.list_value_length(lists), 0)
    matrix = np.full((lengths.max(initial=0), len(lists)), NO_BROKER)
    columns, rows = list_positions(lengths)
    matrix[rows, columns] = to_ints(lists.flatten(), null)
    return matrix


def to_lists(matrix: Matrix, chosen: npt.NDArray[np.bool_]) -> pa.ListArray:
    """Convert the chosen elements of each row of a matrix to a list."""
    offsets = np.concatenate([[0], np.cumsum(chosen.sum(axis=1))])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(matrix[chosen], pa.int32()))


def one_batch(rows: pa.Table) -> pa.RecordBatch:
    """Return all rows of a table as one batch."""
    return next(iter(rows.combine_chunks().to_batches()), pa.RecordBatch.from_pylist([], rows.schema))


def elements_in(lists: Matrix, others: Matrix) -> Matrix:
    """Return the elements of each list that the other list of its column has too, and NO_BROKER in place of its other elements."""
    found = np.zeros(lists.shape, bool)
    for other in others:
        found |= lists == other
    return np.where(found, lists, NO_BROKER)


def distinct_columns(*matrices: Matrix) -> tuple[list[tuple[tuple[int, ...], ...]], Ints]:
    """Stack matrices and return their distinct columns, split by matrix, and the index of the distinct column of each column."""
    rows = np.ascontiguousarray(np.concatenate(matrices).T)
    keys = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(rows.shape[1] * rows.itemsize), len(rows), [None, pa.py_buffer(rows)]
    ).dictionary_encode()
    distinct = np.frombuffer(b"".join(keys.dictionary.to_pylist()), rows.dtype).reshape(-1, rows.shape[1])
    parts = [slice(*ends) for ends in pairwise([0, *np.cumsum([len(matrix) for matrix in matrices]).tolist()])]
    return [tuple([tuple(row[part]) for part in parts]) for row in distinct.tolist()], keys.indices.to_numpy()


def pick(matrix: Matrix, position: Ints, column: Ints, default: int) -> Ints:
    """Return one element of each of these columns of a matrix: positions count from 1, and `default` replaces those outside the matrix."""
    exists = (position > 0) & (position <= len(matrix))
    return np.where(exists, matrix[np.where(exists, position, 1) - 1, column], default) if len(matrix) else np.full(len(position), default)


def list_positions(lengths: Ints) -> tuple[Ints, Ints]:
    """Return, for each element of concatenated lists, the index of its list and its index in that list, from 0."""
    index = np.repeat(np.arange(len(lengths)), lengths)
    return index, np.arange(len(index)) - (np.cumsum(lengths) - lengths)[index]


def run_starts(*columns: pa.Array | pa.ChunkedArray) -> Ints:
    """Return the index of the first row of each run of rows with equal values in all columns, and the number of rows."""
    rows = len(columns[0])
    if not rows:
        return np.zeros(1, dtype=np.int64)
    changes = np.zeros(rows - 1, dtype=np.bool_)
    for column in columns:
        changes |= np.asarray(pc.not_equal(column.slice(1), column.slice(0, rows - 1)))
    return np.concatenate([[0], np.flatnonzero(changes) + 1, [rows]])
