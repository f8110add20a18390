"""Rows of named tuples as the columns of a declared table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from jobs.schema import Table

GIVEN = 2  # the first columns of every table, snapshot_id and cluster_id, which the caller of resolve_cluster adds


def schema_of(table: Table) -> pa.Schema:
    """Return a table's columns without snapshot_id and cluster_id."""
    return pa.schema(list(table.schema)[GIVEN:])


def table_of(table: Table, rows: Sequence[NamedTuple]) -> pa.Table:
    """Put rows, whose fields are named as the table's columns, into columns."""
    schema = schema_of(table)
    return pa.table([_column(field, rows) for field in schema], schema=schema)


def _column(field: pa.Field, rows: Sequence[NamedTuple]) -> pa.Array:
    values: list[Any] = [getattr(row, field.name) for row in rows]
    return pa.array(values, field.type)
