"""The published views in DuckDB: in this process, without Spark and Java."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from jobs.errors import AuditError
from jobs.lake.delta_files import no_rows
from jobs.lake.selection import Attempt, Selection
from jobs.lake.sql_literal import standard_literal
from jobs.schema import SNAPSHOT, TABLES, VERDICT
from jobs.views.definitions import statements, verdict_query
from jobs.views.read_only import check_duckdb

if TYPE_CHECKING:
    import duckdb
    from pyarrow.dataset import Dataset

    from jobs.lake.lake import Lake


def verdicts(lake: Lake, snapshots: pa.Table) -> pa.Table:
    """Return the rows of `verdict` for rows of `snapshot` that are to be published."""
    if not len(snapshots):
        return VERDICT.schema.empty_table()
    result = DuckdbViews(lake, snapshots).execute(verdict_query())
    columns = zip(VERDICT.schema, zip(*result.fetchall(), strict=True), strict=True)
    return pa.table([pa.array(values, field.type) for field, values in columns], VERDICT.schema)


def query_duckdb(lake: Lake, sql: str, rows: int) -> tuple[list[str], list[tuple[object, ...]]]:
    """Return the column names and the first rows of a read-only query on the views."""
    import duckdb

    check_duckdb(sql, statements(lambda table: table.name))
    try:
        result = DuckdbViews(lake).execute(sql)
        return [column[0] for column in result.description or ()], result.fetchmany(rows)
    except duckdb.Error as error:
        raise AuditError(f"DuckDB cannot run the query: {' '.join(str(error).split())}") from None


class DuckdbViews:
    """A DuckDB connection with the published views of a lake, over the files that delta-rs lists for each Delta table.

    A view is created when a query first names it, because this reads the log of each Delta table behind it. Before a query that names no
    view, such as SHOW TABLES, all are created.
    """

    def __init__(self, lake: Lake, unpublished: pa.Table | None = None) -> None:
        """Open the views of the published snapshots, or of these rows of `snapshot` as if they were published, and no others."""
        import duckdb

        self._lake, self._unpublished = lake, unpublished
        self._connection = duckdb.connect()
        self._connection.execute("SET TimeZone = 'UTC'")
        self._lock()
        # DuckDB lists the names in a query as they are if no view has them. Temporary views do not exist for this cursor.
        self._resolver = self._connection.cursor()
        self._tables = {f"_{table.name}": table for table in TABLES}
        self._views = statements(lambda table: f'"_{table.name}"')
        self._created: set[str] = set()

    def _lock(self) -> None:
        """Let no query read another file than the lake's: no other folder, no network, no variable of this process."""
        for setting in (
            *([f"allowed_directories = [{standard_literal(str(self._lake.folder))}]"] if self._lake.folder else ()),
            "enable_external_access = false",
            "autoinstall_known_extensions = false",
            "autoload_known_extensions = false",
            "python_enable_replacements = false",
            "lock_configuration = true",
        ):
            self._connection.execute(f"SET {setting}")

    def execute(self, sql: str, parameters: Sequence[object] = ()) -> duckdb.DuckDBPyConnection:
        """Run a query. Fetch its rows before the next call."""
        opened_later: list[str] = []
        for name in self._names_in(sql) or self._views:
            self._create(name, opened_later)
        for name in opened_later:
            self._open(name)
        return self._connection.execute(sql, parameters)

    def _create(self, name: str, opened_later: list[str]) -> None:
        """Create a view and all that it reads. The tables among them have no rows until they are opened.

        DuckDB binds each view when it is created, with all that it reads: for the files of 400 nights this took longer than the query.
        """
        if name in self._created:
            return
        self._created.add(name)
        if name in self._tables:
            self._connection.execute(f'CREATE TEMPORARY VIEW "{name}" AS {no_rows(self._tables[name].stored)}')
            opened_later.append(name)
            return
        definition = self._views[name]
        if name == SNAPSHOT.name:  # every other view reads it: as a table it is computed once
            for table in self._names_in(definition):
                self._open(table)
            self._connection.execute(f'CREATE TEMPORARY TABLE "{name}" AS {definition}')
            return
        # `snapshot` first: a table that is opened later has the rows of the attempts that it names.
        for other in sorted(self._names_in(definition), key=lambda name: name != SNAPSHOT.name):
            self._create(other, opened_later)
        self._connection.execute(f'CREATE TEMPORARY VIEW "{name}" AS {definition}')

    def _open(self, name: str) -> None:
        """Let a view read the rows of a table."""
        self._created.add(name)
        table, only = self._tables[name], {}
        if self._unpublished is not None:
            only = {column: self._unpublished[column].unique().to_pylist() for column in Attempt._fields}
        if table is SNAPSHOT and self._unpublished is not None:
            query = self._registered(name, self._unpublished)
        else:
            query = self._lake.duckdb_query(table.stored, **only) or self._registered(name, self._lake.dataset(table))
            if only:  # a dataset has the rows of all nights
                query = f"SELECT * FROM ({query}) WHERE {Selection(only).sql(standard_literal)}"
        self._connection.execute(f'CREATE OR REPLACE TEMPORARY VIEW "{name}" AS {query}')

    def _registered(self, name: str, rows: pa.Table | Dataset) -> str:
        """Return a query on rows of Arrow."""
        self._connection.register(f"{name}_rows", rows)
        return f'FROM "{name}_rows"'

    def _names_in(self, sql: str) -> set[str]:
        """Return the tables and views that a query reads; if DuckDB cannot list them, all that are words of the query."""
        import duckdb

        try:
            names = {name.lower() for name in self._resolver.get_table_names(sql)}
        except duckdb.Error:
            names = {word.lower() for word in re.findall(r"\w+", sql)}
        return names & (self._tables.keys() | self._views.keys())
