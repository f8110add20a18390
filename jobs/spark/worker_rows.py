"""Rows of tables that Spark's workers compute as Arrow.

A lake stores them without Spark's own rows (`Lake.computed`): Spark needs longer to convert Arrow batches and to write them than the workers
need to compute them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from jobs.schema import Table

Batches = Iterator[pa.RecordBatch]
# From the batches that a task reads to pairs of a table and some of its rows.
Compute = Callable[[Batches], "Iterable[tuple[Table, pa.Table]]"]


@dataclass(frozen=True, slots=True)
class WorkerRows:
    """Rows of `tables` that `compute` returns for the batches of `input`, with all columns of their table.

    `longest_bytes` is a DataFrame with one value: the bytes of the longest value of `input`.
    """

    input: DataFrame
    compute: Compute
    tables: tuple[Table, ...]
    longest_bytes: DataFrame | None = None

    def in_this_process(self) -> list[pa.Table]:
        """Compute the rows of each table in this process."""
        pieces: dict[str, list[pa.Table]] = {table.name: [table.schema.empty_table()] for table in self.tables}
        for table, rows in self.compute(iter(self.input.toArrow().combine_chunks().to_batches())):
            pieces[table.name].append(rows.select(table.schema.names).cast(table.schema))
        return [pa.concat_tables(pieces[table.name]) for table in self.tables]
