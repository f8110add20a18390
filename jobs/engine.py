"""Where one SQL text runs: in DuckDB in this process, or in Spark.

A text names its relations in braces, as in `SELECT * FROM {partition} p`. It uses Spark's functions; DuckDB has those of another name as macros.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from jobs.schema import Table
from jobs.schema.failure import HARMS, LEADER_MOVED
from jobs.spark.session import dataframe_from_arrow

if TYPE_CHECKING:
    import duckdb
    from pyspark.sql import DataFrame, SparkSession

Batches = Iterable[pa.RecordBatch]

_PREDICATES = {"LEADER_MOVED": LEADER_MOVED, "HARMS": ", ".join(f"{harm} AS {name}" for name, harm in HARMS.items())}
# Functions of Spark that have another name in DuckDB.
_MACROS = (
    "array_intersect(list, other) AS list_filter(list, lambda element: list_contains(other, element))",
    "element_at(list, position) AS list[position]",
    "explode(list) AS unnest(list)",
    "sequence(first, last) AS generate_series(first, last)",
    "size(list) AS len(list)",
    "slice(list, first, length) AS list[first:first + length - 1]",
)


class Engine(Protocol):
    """Runs SQL texts on relations. Each engine takes Arrow tables, and rows that it returned itself."""

    def sql(self, text: str, **relations: Any) -> Any:
        """Return the rows of a query."""

    def map_batches(self, rows: Any, function: Callable[[Batches], Iterator[pa.RecordBatch]], table: Table) -> Any:
        """Return the rows of a table that a function computes from batches of rows."""

    def materialize(self, rows: Any, table: Table | None) -> Any:
        """Compute rows once, for queries that read them more than once; `table` consists of exactly these rows, if there is one."""


@dataclass(frozen=True)
class DuckdbEngine:
    """Runs SQL texts in this process. A relation is an Arrow table, or a query on the files of a lake; rows are Arrow tables."""

    def sql(self, text: str, **relations: pa.Table | str) -> pa.Table:
        with self._connection.cursor() as cursor:  # Arrow tables are registered for one query
            for name, relation in relations.items():
                if not isinstance(relation, str):
                    cursor.register(name, relation)
            names = {name: f"({relation})" if isinstance(relation, str) else name for name, relation in relations.items()}
            return cursor.sql(text.format(**names)).to_arrow_table()

    def map_batches(self, rows: pa.Table, function: Callable[[Batches], Iterator[pa.RecordBatch]], table: Table) -> pa.Table:
        batches = rows.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], rows.schema)]
        return pa.Table.from_batches(function(batches), table.schema)

    def materialize(self, rows: pa.Table, table: Table | None) -> pa.Table:
        return rows if table is None else rows.select(table.schema.names).cast(table.schema)

    @cached_property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        import duckdb

        connection = duckdb.connect()
        for macro in _MACROS:
            connection.execute(f"CREATE MACRO {macro}")
        return connection


@dataclass(frozen=True)
class SparkEngine:
    """Runs SQL texts in Spark, at any size; rows are DataFrames."""

    spark: SparkSession

    def sql(self, text: str, **relations: pa.Table | DataFrame) -> DataFrame:
        dataframes: dict[str, Any] = {name: self._dataframe(relation) for name, relation in relations.items()}
        return self.spark.sql(text, **dataframes)

    def map_batches(self, rows: DataFrame, function: Callable[[Batches], Iterator[pa.RecordBatch]], table: Table) -> DataFrame:
        return rows.mapInArrow(function, table.columns)

    def materialize(self, rows: DataFrame, table: Table | None) -> DataFrame:
        return dataframe_from_arrow(self.spark, rows.toArrow(), None if table is None else table.columns)

    def _dataframe(self, relation: pa.Table | DataFrame) -> DataFrame:
        return dataframe_from_arrow(self.spark, relation) if isinstance(relation, pa.Table) else relation


def sql_text(module: str, name: str) -> str:
    """Return the SQL text `<name>.sql` beside a module, with the predicates of jobs.schema.failure in place of their names in braces."""
    text = Path(module).with_name(f"{name}.sql").read_text(encoding="utf-8")
    for predicate, condition in _PREDICATES.items():
        text = text.replace(f"{{{predicate}}}", condition)
    return text
