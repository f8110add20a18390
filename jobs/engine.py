"""Where one SQL text runs: in DuckDB in this process, or in Spark.

A text names its relations in braces, as in `SELECT * FROM {partition} p`. It uses Spark's functions; DuckDB has those of another name as macros.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from jobs.schema import Table
from jobs.schema.failure import HARMS, LEADER_MOVED
from jobs.spark.session import dataframe_from_arrow

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from pyspark.sql import DataFrame, SparkSession

ColumnFunction = Callable[[pa.Array], pa.Array]

_PREDICATES = {"LEADER_MOVED": LEADER_MOVED, "HARMS": ", ".join(f"{harm} AS {name}" for name, harm in HARMS.items())}
# DuckDB writes to disk what exceeds it. With 1 GiB a night of 100 clusters of 40 brokers takes a tenth longer; with this, the process, its
# workers and the JVM stay below 4 GiB.
_DUCKDB_MEMORY = "1.75GiB"
# Functions of Spark that have another name in DuckDB.
_MACROS = (
    "array_except(list, other) AS list_filter(list, lambda element: NOT list_contains(other, element))",
    "array_intersect(list, other) AS list_filter(list, lambda element: list_contains(other, element))",
    "array_join(list, separator) AS array_to_string(list, separator)",
    "array_repeat(element, times) AS repeat([element], times)",
    "collect_list(element) AS list(element)",
    "div(dividend, divisor) AS dividend // divisor",
    "element_at(list, position) AS list[position]",
    "explode(list) AS unnest(list)",
    "get(list, index) AS list[index + 1]",
    "sequence(first, last) AS generate_series(first, last)",
    "size(list) AS len(list)",
    "slice(list, first, length) AS list[first:first + length - 1]",
    "timestamp_micros(micros) AS make_timestamptz(micros)",
    "try_validate_utf8(bytes) AS TRY(decode(bytes))",
    "unix_micros(moment) AS epoch_us(moment)",
)
_SPARK_LAMBDA = re.compile(r"\btransform\((\w+), (\w+) ->")  # of Spark's function on lists
_SPARK_HUGEINT = "DECIMAL(38, 0)"  # DuckDB divides decimals as doubles


class Engine(Protocol):
    """Runs SQL texts on relations. Each engine takes Arrow tables, and rows that it returned itself."""

    def sql(self, text: str, **relations: Any) -> Any:
        """Return the rows of a query, which is computed when they are read."""

    def add_function(self, name: str, function: ColumnFunction, takes: str, returns: str) -> None:
        """Let SQL texts call a function from a column of one type to one of another. Spark prefers its own function of this name."""

    def from_arrow(self, rows: pa.Table, table: Table | None = None) -> Any:
        """Return rows of this process as rows of this engine; `table` declares them, if there is one."""


def duckdb_connection() -> DuckDBPyConnection:
    """Return a connection to an empty database in this process, with a limit on its memory."""
    import duckdb

    connection = duckdb.connect(
        config={"memory_limit": _DUCKDB_MEMORY, "temp_directory": tempfile.gettempdir(), "preserve_insertion_order": False}
    )
    connection.execute("SET TimeZone = 'UTC'")
    return connection


@dataclass(frozen=True, slots=True)
class DuckdbRows:
    """Rows of a view or table of a DuckDB connection."""

    connection: DuckDBPyConnection
    name: str

    def toArrow(self) -> pa.Table:
        """Return the rows as Arrow, as the method of Spark's DataFrame does."""
        return self.connection.table(self.name).to_arrow_table()

    def materialized(self) -> DuckdbRows:
        """Compute the rows once, for queries that read them more than once."""
        name = f"{self.name}_computed"
        self.connection.execute(f"CREATE TEMP TABLE {name} AS FROM {self.name}")
        return DuckdbRows(self.connection, name)


class DuckdbEngine:
    """Runs SQL texts in this process, for one thread. A relation can also be a query on the files of a lake."""

    def __init__(self) -> None:
        self._connection = duckdb_connection()
        self._numbers = count(1)
        self._functions = set[str]()
        for macro in _MACROS:
            self._connection.execute(f"CREATE MACRO {macro}")

    def sql(self, text: str, **relations: DuckdbRows | pa.Table | str) -> DuckdbRows:
        sources = {
            name: f"({relation})" if isinstance(relation, str) else self.from_arrow(relation).name for name, relation in relations.items()
        }
        query = _SPARK_LAMBDA.sub(r"list_transform(\1, lambda \2:", text).replace(_SPARK_HUGEINT, "HUGEINT").format(**sources)
        return self._named(lambda name: self._connection.execute(f"CREATE TEMP VIEW {name} AS {query}"))

    def add_function(self, name: str, function: ColumnFunction, takes: str, returns: str) -> None:
        from duckdb.func import PythonUDFType

        if name in self._functions:
            return
        self._functions.add(name)

        def of_column(column: pa.ChunkedArray) -> pa.Array:
            return function(column.combine_chunks())

        # Without declared side effects DuckDB calls it once more for each use of its result.
        self._connection.create_function(name, of_column, [takes], returns, type=PythonUDFType.ARROW, side_effects=True)

    def from_arrow(self, rows: DuckdbRows | pa.Table, table: Table | None = None) -> DuckdbRows:
        return self._named(lambda name: self._connection.register(name, rows)) if isinstance(rows, pa.Table) else rows

    def _named(self, create: Callable[[str], object]) -> DuckdbRows:
        name = f"rows_{next(self._numbers)}"
        create(name)
        return DuckdbRows(self._connection, name)


@dataclass(frozen=True)
class SparkEngine:
    """Runs SQL texts in Spark, at any size; rows are DataFrames."""

    spark: SparkSession

    def sql(self, text: str, **relations: pa.Table | DataFrame) -> DataFrame:
        dataframes: dict[str, Any] = {name: self.from_arrow(relation) for name, relation in relations.items()}
        return self.spark.sql(text, **dataframes)

    def add_function(self, name: str, function: ColumnFunction, takes: str, returns: str) -> None:
        from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]

        if not self.spark.catalog.functionExists(name):
            self.spark.udf.register(name, arrow_udf(function, returns))

    def from_arrow(self, rows: DataFrame | pa.Table, table: Table | None = None) -> DataFrame:
        return dataframe_from_arrow(self.spark, rows, None if table is None else table.columns) if isinstance(rows, pa.Table) else rows


def sql_text(module: str, name: str, **expressions: str) -> str:
    """Return the SQL text `<name>.sql` beside a module, with expressions and the predicates of jobs.schema.failure in place of their names in braces."""
    text = Path(module).with_name(f"{name}.sql").read_text(encoding="utf-8")
    for expression, sql in (_PREDICATES | expressions).items():
        text = text.replace(f"{{{expression}}}", sql)
    return text
