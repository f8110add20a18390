"""Small tables written by hand, and the tables that a step computes from them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from jobs.engine import DuckdbEngine, DuckdbRows, Engine, SparkEngine
from jobs.schema import Table
from jobs.spark.session import dataframe_from_arrow
from jobs.spark.worker_rows import WorkerRows, complete
from jobs.steps.stage import ARROW_TABLES, InThisProcess, Result, Stages, run_stages, transform
from kafka_model.release import LATEST


def rows(declared: Table, *given: dict[str, Any]) -> pa.Table:
    """Return rows of a table, by default of snapshot `s`, attempt 1 and cluster `c`.

    A missing column is null, or empty if it must not be null.
    """
    empty = {"string": "", "bool": False, "int32": 0, "int64": 0, "double": 0.0}
    defaults = {field.name: None if field.nullable else empty.get(str(field.type), []) for field in declared.schema}
    defaults |= {"snapshot_id": "s", "attempt_id": "1", "cluster_id": "c", "kafka_version": str(LATEST)}
    return pa.Table.from_pylist([defaults | row for row in given], declared.schema)


def table(spark: SparkSession, declared: Table, *given: dict[str, Any]) -> DataFrame:
    """Return such rows as a DataFrame."""
    return dataframe_from_arrow(spark, rows(declared, *given), declared.columns)


def sorted_rows(df: DataFrame, *names: str) -> list[tuple[Any, ...]]:
    """Return these columns of every row, sorted as text."""
    return sorted((tuple(row) for row in df.select(*names).collect()), key=str)


def run_step(step: ModuleType, *inputs: DataFrame, **options: Any) -> tuple[DataFrame, ...]:
    """Return the tables that a step computes from its inputs on a small night; `options` are passed to its `transform` by name.

    It must compute the same rows in Spark and in DuckDB.
    """
    tables = (*step.READS, *getattr(step, "READS_PREVIOUS", ()))
    arranged = [rows.toArrow() if table in ARROW_TABLES else rows for table, rows in zip(tables, inputs, strict=True)]
    engine = SparkEngine(inputs[0].sparkSession)
    computed = materialized(transform(step, arranged, engine=engine, **options), engine)
    arrow = [rows if isinstance(rows, pa.Table) else rows.toArrow() for rows in arranged]
    in_duckdb = DuckdbEngine()
    return equal_rows(engine, step.WRITES, computed, materialized(transform(step, arrow, engine=in_duckdb, **options), in_duckdb))


def equal_rows(
    engine: SparkEngine, tables: Sequence[Table], computed: Sequence[DataFrame], in_duckdb: Sequence[DuckdbRows | pa.Table]
) -> tuple[DataFrame, ...]:
    """Return the computed rows of each table, evaluated once, after a check that DuckDB has the same ones in any order."""
    evaluated = []
    for table, rows, others in zip(tables, computed, in_duckdb, strict=True):
        one, two = (complete(table, each if isinstance(each, pa.Table) else each.toArrow()) for each in (rows, others))
        assert sorted(one.to_pylist(), key=str) == sorted(two.to_pylist(), key=str)
        evaluated.append(engine.from_arrow(one, table))
    return tuple(evaluated)


def materialized(step: Stages[Result] | Result, engine: Engine) -> Result:
    """Return the result of a generator of stages, run as on a small night."""
    return run_stages(step, InThisProcess(engine))


def rows_of_workers(step: ModuleType, inputs: Sequence[DataFrame], rows_in_batch: int) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each table of the first WorkerRows that a step yields, computed from batches of this size."""
    rows = next(transform(step, [each.toArrow() for each in inputs], engine=DuckdbEngine()))
    assert isinstance(rows, WorkerRows)
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for table, computed in rows.compute(iter(rows.input.toArrow().combine_chunks().to_batches(rows_in_batch))):
        found[table.name] += complete(table, computed).to_pylist()
    return {name: sorted(each, key=str) for name, each in found.items()}
