"""Tables of a few rows by hand, and the rows that a job makes of them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from jobs.lake.lake import frame
from jobs.schema import Table


def rows(of: Table, *given: dict[str, Any]) -> pa.Table:
    """The rows of one night and cluster; a column that is not given is null, or empty where none may be."""
    empty = {"string": "", "bool": False, "int32": 0, "int64": 0, "double": 0.0}
    whole = [
        {field.name: None if field.nullable else empty.get(str(field.type), []) for field in of.schema}
        | {"snapshot_id": "s", "cluster_id": "c"}
        | row
        for row in given
    ]
    return pa.Table.from_pylist(whole, of.schema)


def table(spark: SparkSession, of: Table, *given: dict[str, Any]) -> DataFrame:
    """The same for Spark."""
    return frame(spark, of, rows(of, *given))


def told(df: DataFrame, *names: str) -> list[tuple[Any, ...]]:
    """These columns of every row, sorted."""
    return sorted((tuple(row) for row in df.select(*names).collect()), key=str)
