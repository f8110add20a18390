"""Arrow columns as numpy's arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Ints = npt.NDArray[np.int64]
Matrix = npt.NDArray[np.int64]

NOBODY = -(1 << 40)  # where a list of brokers has ended: no broker's id


def numbers(column: pa.Array, null: int) -> Ints:
    """A column of whole numbers or booleans."""
    return column.cast(pa.int64()).fill_null(null).to_numpy(zero_copy_only=False)


def by_place(lists: pa.ListArray, null: int = NOBODY) -> Matrix:
    """Lists as columns of a matrix, each followed by NOBODY."""
    lengths = numbers(pc.list_value_length(lists), 0)
    matrix = np.full((lengths.max(initial=0), len(lists)), NOBODY)
    columns, nth = spread(lengths)
    matrix[nth, columns] = numbers(lists.flatten(), null)
    return matrix


def at_place(matrix: Matrix, place: Ints, column: Ints, none: int) -> Ints:
    """What the columns of a matrix have at a place, from 1; none: there is no such place."""
    there = (place > 0) & (place <= len(matrix))
    return np.where(there, matrix[np.where(there, place, 1) - 1, column], none) if len(matrix) else np.full(len(place), none)


def spread(lengths: Ints) -> tuple[Ints, Ints]:
    """Of lists one after the other, each element's list, and its place there, from 0."""
    of = np.repeat(np.arange(len(lengths)), lengths)
    return of, np.arange(len(of)) - (np.cumsum(lengths) - lengths)[of]
