"""Failures simulated on tables of a few rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame

from jobs.engine import SparkEngine
from jobs.failure.cluster_state import cluster_states
from jobs.failure.scenarios import Scenario
from jobs.schema import BROKER, CLUSTER, PARTITION, Table
from jobs.steps import failover
from jobs.steps.stage import ARROW_TABLES
from tests.jobs.rows import materialized


def simulated(scenarios: Sequence[Scenario], tables: Mapping[Table, DataFrame]) -> tuple[DataFrame, ...]:
    """Compute `scenario`, `failover` and `failover_load` of these failures from the inputs of the step and, if log dirs fail, `replica`."""
    spark = tables[PARTITION].sparkSession
    inputs: dict[Table, Any] = {table: rows.toArrow() if table in ARROW_TABLES else rows for table, rows in tables.items()}
    states = cluster_states(inputs[CLUSTER].to_pylist(), inputs[BROKER].to_pylist())
    return materialized(failover.simulate(SparkEngine(spark), scenarios, states, inputs))
