"""Failures simulated on tables of a few rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.engine import DuckdbEngine, SparkEngine
from jobs.failure.cluster_state import cluster_states
from jobs.failure.scenarios import Scenario
from jobs.schema import BROKER, CLUSTER, PARTITION, Table
from jobs.steps import failover
from jobs.steps.stage import ARROW_TABLES
from jobs.views.failover_rows import Dialect, failover_rows
from tests.jobs.rows import equal_rows, materialized


def simulated(scenarios: Sequence[Scenario], tables: Mapping[Table, DataFrame]) -> tuple[DataFrame, ...]:
    """Compute `scenario`, the rows of the view `failover`, and `failover_load` of these failures.

    `tables` are the inputs of the step and, if log dirs fail, `replica`.
    """
    spark = tables[PARTITION].sparkSession
    inputs: dict[Table, Any] = {table: rows.toArrow() if table in ARROW_TABLES else rows for table, rows in tables.items()}
    states = cluster_states(inputs[CLUSTER].to_pylist(), inputs[BROKER].to_pylist())
    engine, in_duckdb = SparkEngine(spark), DuckdbEngine()
    arrow = {table: rows if isinstance(rows, pa.Table) else rows.toArrow() for table, rows in inputs.items()}
    computed = equal_rows(
        engine,
        failover.WRITES,
        materialized(failover.simulate(engine, scenarios, states, inputs), engine),
        materialized(failover.simulate(in_duckdb, scenarios, states, arrow), in_duckdb),
    )
    written = dict(zip(failover.WRITES, computed, strict=True)) | {PARTITION: tables[PARTITION]}
    stored = {table.name: rows.withColumn("attempt_id", F.lit("1")) for table, rows in written.items()}
    view = spark.sql(failover_rows(lambda table: f"{{{table.name}}}", Dialect.SPARK), **stored)
    scenario, _, _, load = computed
    return scenario, view, load
