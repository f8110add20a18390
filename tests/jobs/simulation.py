"""Failures simulated on tables of a few rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.engine import DuckdbEngine, SparkEngine
from jobs.failure.cluster_state import cluster_states
from jobs.failure.scenarios import Scenario
from jobs.schema import BROKER, CLUSTER, PARTITION, Table
from jobs.steps import failover
from jobs.steps.stage import ARROW_TABLES
from jobs.views.failover_rows import Dialect, failover_rows
from tests.jobs.rows import assert_same_rows, materialized


def simulated(scenarios: Sequence[Scenario], tables: Mapping[Table, DataFrame]) -> tuple[DataFrame, ...]:
    """Compute `scenario`, the rows of the view `failover`, and `failover_load` of these failures.

    `tables` are the inputs of the step and, if log dirs fail, `replica`.
    """
    spark = tables[PARTITION].sparkSession
    inputs: dict[Table, Any] = {table: rows.toArrow() if table in ARROW_TABLES else rows for table, rows in tables.items()}
    states = cluster_states(inputs[CLUSTER].to_pylist(), inputs[BROKER].to_pylist())
    computed = materialized(failover.simulate(SparkEngine(spark), scenarios, states, inputs), SparkEngine(spark))
    arrow = {table: rows.toArrow() for table, rows in tables.items()}
    others = materialized(failover.simulate(in_duckdb := DuckdbEngine(), scenarios, states, arrow), in_duckdb)
    for table, rows, other in zip(failover.WRITES, computed, others, strict=True):
        assert_same_rows(table, rows.toArrow(), other.toArrow())
    written = dict(zip(failover.WRITES, computed, strict=True)) | {PARTITION: tables[PARTITION]}
    stored = {table.name: rows.withColumn("attempt_id", F.lit("1")) for table, rows in written.items()}
    view = spark.sql(failover_rows(lambda table: f"{{{table.name}}}", Dialect.SPARK), **stored)
    scenario, _, _, load = computed
    return scenario, view, load
