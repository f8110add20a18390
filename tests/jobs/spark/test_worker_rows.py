"""The rows that a call of a worker function gets."""

import pyarrow as pa

from jobs.spark.worker_rows import rows_of_each


def test_a_call_gets_several_values_of_a_column_or_no_batches() -> None:
    one, two = (pa.record_batch({"id": ids, "row": rows}) for ids, rows in ((["b", "a"], [1, 2]), (["a", "b"], [3, 4])))
    assert [rows["row"].to_pylist() for rows in rows_of_each(iter([one, two]), "id")] == [[1, 4], [2, 3]]
    assert [rows["row"].to_pylist() for rows in rows_of_each(iter([one.slice(0, 1), two.slice(1)]), "id")] == [[1, 4]]
    assert [*rows_of_each(iter([]), "id")] == []
