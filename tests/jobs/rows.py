"""Tables of a few rows by hand, and the rows that a job makes of them."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from jobs.schema import Table
from jobs.spark.session import dataframe_from_arrow
from jobs.steps.stage import Materializer, Result, Stages, run_stages, transform


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
    return dataframe_from_arrow(spark, rows(of, *given), of.columns)


def told(df: DataFrame, *names: str) -> list[tuple[Any, ...]]:
    """These columns of every row, sorted."""
    return sorted((tuple(row) for row in df.select(*names).collect()), key=str)


def run_step(step: ModuleType, *inputs: DataFrame, **options: Any) -> tuple[DataFrame, ...]:
    """The tables that a step computes from these, as on a small night; `options` are those of its `transform`."""
    as_arrow, tables = getattr(step, "READS_AS_ARROW", ()), (*step.READS, *getattr(step, "READS_PREVIOUS", ()))
    given = [rows.toArrow() if table in as_arrow else rows for table, rows in zip(tables, inputs, strict=True)]
    return materialized(transform(step, given, **options))


def materialized(step: Stages[Result] | Result) -> Result:
    """The result of a generator of stages, as on a small night."""
    return run_stages(step, Materializer(True, pytest.fail))
