"""Conversions between Arrow columns and numpy arrays."""

import pyarrow as pa

from jobs.arrays import run_starts


def test_a_run_ends_where_a_column_changes() -> None:
    names, numbers = pa.chunked_array([["a", "a"], ["a", "b"]]), pa.array([1, 1, 2, 2])
    assert run_starts(names).tolist() == [0, 3, 4]
    assert run_starts(names, numbers).tolist() == [0, 2, 3, 4]
    assert run_starts(names.slice(0, 1)).tolist() == [0, 1]
    assert run_starts(names.slice(0, 0), numbers.slice(0, 0)).tolist() == [0]
