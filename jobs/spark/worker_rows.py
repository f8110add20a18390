"""Rows of tables that Spark's workers compute as Arrow.

A lake stores them without Spark's own rows (`Lake.computed`): Spark needs longer to convert Arrow batches and to write them than the workers
need to compute them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from jobs.engine import DuckdbRows
    from jobs.schema import Table

Batches = Iterator[pa.RecordBatch]
# From the batches that a task reads to pairs of a table and some of its rows.
Compute = Callable[[Batches], "Iterable[tuple[Table, pa.Table]]"]


@dataclass(frozen=True, slots=True)
class WorkerRows:
    """Rows of `tables` that `compute` returns for the batches of `input`, with all columns of their table.

    The tables `deduplicated` are short, and several tasks may return the same rows of them. The tables `intermediate` are not part of the
    lake: only the rest of the step reads their rows. Each call of `compute` gets the batches of a part of `input`, or none. All rows with the same
    value of the column `together`, if there is one, reach the same call.
    """

    input: DataFrame | DuckdbRows
    compute: Compute
    tables: tuple[Table, ...]
    deduplicated: frozenset[Table] = frozenset()
    intermediate: frozenset[Table] = frozenset()
    together: str | None = None

    def in_this_process(self) -> list[pa.Table]:
        """Compute the rows of each table in this process."""
        pieces: dict[str, list[pa.Table]] = {table.name: [] for table in self.tables}
        rows_of_input = self.input.toArrow()
        for table, rows in self.compute(iter(rows_of_input.combine_chunks().to_batches())):
            pieces[table.name].append(complete(table, rows))
        return [self.merged(table, pieces[table.name]) for table in self.tables]

    def merged(self, table: Table, pieces: Sequence[pa.Table]) -> pa.Table:
        """Return the rows of all pieces, equal ones once in a deduplicated table. Different rows with the same key remain."""
        rows = pa.concat_tables([table.schema.empty_table(), *pieces]).combine_chunks()
        if table not in self.deduplicated or not len(rows):
            return rows
        key = pc.binary_join_element_wise(*(rows[name].cast(pa.string()) for name in table.key), "\0").combine_chunks()
        _, first, index = np.unique(key.dictionary_encode().indices.to_numpy(), return_index=True, return_inverse=True)
        return rows.take(first) if rows.take(first[index]).equals(rows) else rows


def summed(table: Table, rows: Sequence[pa.Table]) -> pa.Table:
    """Return a row for each key of a table, with the sums of its other columns over all rows."""
    sums = {f"{name}_sum": name for name in table.schema.names if name not in table.key}
    totals = pa.concat_tables(rows).group_by(list(table.key)).aggregate([(name, "sum") for name in sums.values()])
    return complete(table, totals.rename_columns(sums))


def complete(table: Table, rows: pa.Table) -> pa.Table:
    """Return rows with the columns of their table, in order and type."""
    return rows.select(table.schema.names).cast(table.schema)


def rows_of_each(batches: Batches, column: str) -> Iterator[pa.Table]:
    """Yield the rows of each value of a column: the batches of a call may have several values of the column `together`."""
    if read := list(batches):
        rows = pa.Table.from_batches(read)
        values = pc.unique(rows[column])
        for value in values:
            yield rows if len(values) == 1 else rows.filter(pc.equal(rows[column], value))
