"""A rule: a Great Expectations expectation with a name, a sentence, a severity, and a query for the rows that break it.

GX's UnexpectedRowsExpectation runs its query twice, once to fetch rows and once to count them, and tells the whole batch from its
parts only by its rows. A batch here holds many clusters, and one sick cluster must not speak for the others: so the rule has a metric
of its own, which asks once, and answers with the broken rows of each cluster and the first of them. Success is that there are none.

A query names its own table `{batch}` and other tables of the snapshot by their names, and every row that it returns says its
`cluster_id`. As an example, `SELECT cluster_id, topic FROM {batch} WHERE leader IS NULL`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, ClassVar

import great_expectations.expectations as gxe
from great_expectations.execution_engine import ExecutionEngine, PandasExecutionEngine, SparkDFExecutionEngine
from great_expectations.expectations.expectation import Expectation
from great_expectations.expectations.metrics.metric_provider import metric_value
from great_expectations.expectations.metrics.query_metric_provider import QueryMetricProvider

from jobs.schema import Table

HARD, SOFT = "critical", "warning"


# Who answers a query with how many rows of each cluster it returns, and the first of them as JSON: Spark, or where rows are few, DuckDB.
ASKING: ContextVar[Callable[[str], list[dict[str, Any]]]] = ContextVar("ASKING")


class BrokenRowsByCluster(QueryMetricProvider):
    """How many rows of each cluster a query returns, and the first of them as JSON."""

    metric_name = "broken_rows.by_cluster"
    value_keys = ("unexpected_rows_query",)
    query_param_name: ClassVar[str] = "unexpected_rows_query"

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(cls, metric_value_kwargs: dict[str, Any], **_: Any) -> list[dict[str, Any]]:
        return ASKING.get()(cls._get_query_from_metric_value_kwargs(metric_value_kwargs))

    @metric_value(engine=SparkDFExecutionEngine)
    def _spark(cls, metric_value_kwargs: dict[str, Any], **_: Any) -> list[dict[str, Any]]:
        return ASKING.get()(cls._get_query_from_metric_value_kwargs(metric_value_kwargs))


class ExpectNoBrokenRows(gxe.UnexpectedRowsExpectation):
    """Expect the query to return no row of any cluster."""

    metric_dependencies: ClassVar[tuple[str, ...]] = (BrokenRowsByCluster.metric_name,)

    def _validate(
        self,
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any] | None = None,
        execution_engine: ExecutionEngine | None = None,
    ) -> dict[str, Any]:
        clusters = metrics[BrokenRowsByCluster.metric_name]
        broken_rows = sum(cluster["broken_rows"] for cluster in clusters)
        return {"success": not clusters, "result": {"observed_value": broken_rows, "details": {"clusters": clusters}}}


def hard(rule: str, sentence: str, query: str) -> Expectation:
    """A rule about our answers: if it breaks, they contradict themselves or their input, and the cluster is withheld."""
    return ExpectNoBrokenRows(unexpected_rows_query=query, description=sentence, severity=HARD, meta={"rule": rule})


def soft(
    rule: str, sentence: str, query: str, *, measured: str, limit: object, formula: str, change: str, told: str | None = None
) -> Expectation:
    """A rule about the cluster: if it breaks, that is a finding. `told` queries the clusters that tell what it needs; none: all do.

    Every broken row says what was measured, the limit, what must hold between them (a text without quotes), and the smallest change that
    clears it: expressions over the columns of the query.
    """
    explained = f"{measured} AS measured, {limit} AS limit_value, '{formula}' AS formula, {change} AS smallest_change"
    return soft_as_told(rule, sentence, f"SELECT offence.*, {explained} FROM ({query}) AS offence", told=told)


def soft_as_told(rule: str, sentence: str, query: str, *, told: str | None = None) -> Expectation:
    """The same of rows that explain themselves."""
    return ExpectNoBrokenRows(unexpected_rows_query=query, description=sentence, severity=SOFT, meta={"rule": rule, "told": told})


def equal(key: str, *, said: str, found: str) -> str:
    """A query for the keys of which two queries do not say the same: `said` in one, `found` in the other; null where there is no row."""
    return f"SELECT * FROM ({said}) FULL JOIN ({found}) USING ({key}) WHERE said IS DISTINCT FROM found"


def one_row_per_key(table: Table) -> Expectation:
    """The key of a table tells its rows apart; a null in it is a value as any other."""
    key = ", ".join(column for column in table.key if column != "snapshot_id")
    # Rows are told apart by their hash, a quarter of the work; those of equal hash by the key.
    alike = f"SELECT xxhash64({key}) AS hash FROM {{batch}} GROUP BY hash HAVING count(*) > 1"
    query = f"SELECT {key}, count(*) AS rows FROM {{batch}} WHERE xxhash64({key}) IN ({alike}) GROUP BY {key} HAVING count(*) > 1"
    return hard("one_row_per_key", f"A row of {table.name} has its key ({key}) to itself.", query)
