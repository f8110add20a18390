"""Named tuples as rows of a declared table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from jobs.schema import Table

_KEYS_OF_CALLER = 2  # snapshot_id and cluster_id, the first columns of every table: the caller of resolve_cluster adds them


def schema_of(table: Table) -> pa.Schema:
    """Return a table's columns without snapshot_id and cluster_id."""
    return pa.schema(list(table.schema)[_KEYS_OF_CALLER:])


def table_of(table: Table, rows: Sequence[NamedTuple]) -> pa.Table:
    """Return a table with these rows, whose fields have the names of the table's columns."""
    schema = schema_of(table)
    return pa.table([_column(field, rows) for field in schema], schema=schema)


def _column(field: pa.Field, rows: Sequence[NamedTuple]) -> pa.Array:
    values: list[Any] = [getattr(row, field.name) for row in rows]
    return pa.array(values, field.type)
