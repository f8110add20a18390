"""The tables that rules read, in DuckDB."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
from pyarrow.dataset import Dataset

from jobs.engine import duckdb_connection
from jobs.errors import AuditError

SAMPLE_ROWS = 20  # rows that break a rule, as examples


class BrokenRows(NamedTuple):
    """The rows of one cluster that break a rule.

    `sample` has the first rows that are not waived as JSON, sorted, and `owner` the names of their owners. If all rows are waived, both are those
    of the waived rows, and `waived_until` is the day on which the first of them is no longer waived.
    """

    cluster_id: str
    count: int  # of the rows that are not waived
    sample: list[str]
    owner: str | None
    waived_count: int
    waived_until: date | None


class FilteredDataset(NamedTuple):
    """These columns of the rows of a dataset that fulfil a condition in SQL."""

    dataset: Dataset
    columns: Sequence[str]
    condition: str


class DuckdbTables:
    """Tables by name, to be queried: rows in memory, queries over files of this machine, or datasets on other storage."""

    def __init__(self, tables: Mapping[str, pa.Table | str | FilteredDataset]) -> None:
        self._connection = duckdb_connection()
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

    def columns(self, sql: str, purpose: str) -> list[str]:
        """Return the names of a query's columns."""
        return [row["column_name"] for row in self.query(f"DESCRIBE {sql}", purpose)]

    def broken_rows(self, sql: str, purpose: str, *, owner: str = "NULL", waived_until: str = "NULL") -> list[BrokenRows]:
        """Return the rows of a rule's query by cluster; `owner` and `waived_until` are SQL over the columns of a row."""
        grouped = f"""
            SELECT cluster_id, CAST({owner} AS VARCHAR) AS owner, CAST({waived_until} AS DATE) AS waived_until, count(*) AS rows,
                min(CAST(to_json(broken) AS VARCHAR), {SAMPLE_ROWS}) AS sample
            FROM ({sql}) AS broken GROUP BY ALL ORDER BY cluster_id
        """
        return [_of_cluster(id, list(groups)) for id, groups in groupby(self.query(grouped, purpose), itemgetter("cluster_id"))]


def _of_cluster(cluster_id: str, groups: Sequence[Mapping[str, Any]]) -> BrokenRows:
    """Return the rows of a cluster from groups of rows with the same owner and the same end of the waiver."""
    active, waived = ([group for group in groups if (group["waived_until"] is None) == is_active] for is_active in (True, False))
    shown = active or waived
    return BrokenRows(
        cluster_id,
        count=sum(group["rows"] for group in active),
        sample=sorted(row for group in shown for row in group["sample"])[:SAMPLE_ROWS],
        owner=", ".join(sorted({group["owner"] for group in shown} - {None})) or None,
        waived_count=sum(group["rows"] for group in waived),
        waived_until=None if active else min(group["waived_until"] for group in waived),
    )


def tables_read(queries: Iterable[str]) -> set[str]:
    """Return the names that queries read from: tables, and the names of their own subqueries."""
    return set().union(*tables_read_by_each(queries))


def tables_read_by_each(queries: Iterable[str]) -> list[set[str]]:
    """Return for each query the names that it reads from: tables, and the names of its own subqueries."""
    names = "SELECT json_extract_string(json_serialize_sql(query), '$..table_name') FROM (SELECT unnest(?::VARCHAR[]) AS query)"
    with duckdb.connect() as connection:  # threads cannot share DuckDB's default connection
        return [set(names_of_query) for (names_of_query,) in connection.execute(names, [list(queries)]).fetchall()]
