"""The tables that rules read, in DuckDB."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
from pyarrow.dataset import Dataset

from jobs.errors import AuditError

SAMPLE_ROWS = 20  # rows that break a rule, as examples
# DuckDB writes to disk what exceeds it. A night of 49 million sampled keys then takes up to three times as long with half of it.
_MEMORY_LIMIT = "1GiB"


class BrokenRows(NamedTuple):
    """The rows of one cluster that break a rule: their number, and the first of them as JSON, sorted."""

    cluster_id: str
    count: int
    sample: list[str]


class FilteredDataset(NamedTuple):
    """These columns of the rows of a dataset that fulfil a condition in SQL."""

    dataset: Dataset
    columns: Sequence[str]
    condition: str


class DuckdbTables:
    """Tables by name, to be queried: rows in memory, queries over files of this machine, or datasets on other storage."""

    def __init__(self, tables: Mapping[str, pa.Table | str | FilteredDataset]) -> None:
        self._connection = duckdb.connect(
            config={"memory_limit": _MEMORY_LIMIT, "temp_directory": tempfile.gettempdir(), "preserve_insertion_order": False}
        )
        for name, rows in tables.items():
            if isinstance(rows, str):
                self._connection.execute(f"CREATE VIEW {name} AS {rows}")
            elif isinstance(rows, FilteredDataset):
                self._connection.register(f"all_{name}", rows.dataset)
                columns = ", ".join(f'"{column}"' for column in rows.columns)
                self._connection.execute(f"CREATE VIEW {name} AS SELECT {columns} FROM all_{name} WHERE {rows.condition}")
            else:
                self._connection.register(name, rows)

    def query(self, sql: str, purpose: str) -> list[dict[str, Any]]:
        """Return the rows of a query; `purpose` names it in the error that it may raise."""
        try:
            return self._connection.sql(sql).to_arrow_table().to_pylist()
        except duckdb.Error as error:
            raise AuditError(f"{purpose} cannot be evaluated: {str(error).strip().partition(chr(10))[0]}") from error

    def broken_rows(self, sql: str, purpose: str) -> list[BrokenRows]:
        """Return the rows of a rule's query, counted by cluster."""
        counted = f"count(*) AS broken_rows, min(CAST(to_json(broken) AS VARCHAR), {SAMPLE_ROWS}) AS sample"
        rows = self.query(f"SELECT cluster_id, {counted} FROM ({sql}) AS broken GROUP BY cluster_id ORDER BY cluster_id", purpose)
        return [BrokenRows(row["cluster_id"], row["broken_rows"], row["sample"]) for row in rows]


def tables_read(queries: Iterable[str]) -> set[str]:
    """Return the names that queries read from: tables, and the names of their own subqueries."""
    union = " UNION ALL ".join(f"SELECT 1 FROM ({query})" for query in queries)
    names = "SELECT DISTINCT unnest(json_extract_string(json_serialize_sql(?), '$..table_name'))"
    with duckdb.connect() as connection:  # threads cannot share DuckDB's default connection
        return {name for (name,) in connection.execute(names, [union]).fetchall()}
