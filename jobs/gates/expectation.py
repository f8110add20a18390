"""The rules as expectations of Great Expectations (GX), which validates the rows that break them.

GX's own expectations report one result for a whole batch. A batch here has the rows of many clusters, and a broken rule counts against its
own cluster alone, so the expectation reports the broken rows of each cluster.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, ClassVar

import pandas as pd
from great_expectations.execution_engine import ExecutionEngine, PandasExecutionEngine
from great_expectations.expectations.expectation import BatchExpectation
from great_expectations.expectations.metrics.metric_provider import metric_value
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider
from great_expectations.render import LegacyDiagnosticRendererType, RenderedTableContent
from great_expectations.render.renderer.renderer import renderer

from expectations.rule import Rule
from jobs.gates.duckdb_tables import SAMPLE_ROWS, BrokenRows

_COLUMNS = ("rule", "cluster_id", "broken_rows", "row")
_SEVERITY = {"hard": "critical", "soft": "warning"}


def batch(broken: Mapping[str, Sequence[BrokenRows]]) -> pd.DataFrame:
    """Return the rows that break rules, by rule name: each row as JSON, beside the number of broken rows in its cluster.

    The first row of every cluster comes first, then the second ones.
    """
    rows = [
        (rule, cluster.cluster_id, cluster.count, cluster.sample[number])
        for rule, clusters in broken.items()
        for number in range(SAMPLE_ROWS)
        for cluster in clusters
        if number < len(cluster.sample)
    ]
    return pd.DataFrame(rows, columns=list(_COLUMNS), dtype=object)


class RowsOfRule(TableMetricProvider):
    """The rows of a batch that break a rule."""

    metric_name = "table.rows_of_rule"
    value_keys = ("rule",)

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(
        cls, execution_engine: PandasExecutionEngine, metric_domain_kwargs: dict[str, Any], metric_value_kwargs: dict[str, Any], **_: Any
    ) -> list[dict[str, Any]]:
        rows = execution_engine.get_domain_records(metric_domain_kwargs)
        return rows[rows["rule"] == metric_value_kwargs["rule"]].to_dict("records")


class ExpectNoBrokenRows(BatchExpectation):
    """Expect the batch to have no row that breaks a rule."""

    rule: str
    metric_dependencies: ClassVar[tuple[str, ...]] = (RowsOfRule.metric_name,)
    success_keys: ClassVar[tuple[str, ...]] = ("rule",)

    def _validate(
        self,
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any] | None = None,
        execution_engine: ExecutionEngine | None = None,
    ) -> dict[str, Any]:
        rows = metrics[RowsOfRule.metric_name]
        clusters: dict[str, dict[str, Any]] = {}
        for row in rows:
            clusters.setdefault(row["cluster_id"], {"broken_rows": row["broken_rows"], "example": row["row"]})
        details = {"clusters": clusters, "rows": [row["row"] for row in rows[:SAMPLE_ROWS]]}
        count = sum(cluster["broken_rows"] for cluster in clusters.values())
        return {"success": not rows, "result": {"observed_value": count, "details": details}}

    @classmethod
    @renderer(renderer_type=LegacyDiagnosticRendererType.UNEXPECTED_TABLE)
    def _diagnostic_unexpected_table_renderer(
        cls, configuration: Any = None, result: Any = None, runtime_configuration: Any = None
    ) -> list[RenderedTableContent]:
        """Return the sample rows as a table of the page."""
        rows = [json.loads(row) for row in result.result["details"]["rows"]]
        if not rows:
            return []
        cells = [[escape(str(value)) for value in row.values()] for row in rows]  # GX does not escape the cells of a table
        return [RenderedTableContent(header_row=list(rows[0]), table=cells)]


def expectation(rule: Rule) -> ExpectNoBrokenRows:
    """Return the expectation that no row breaks a rule."""
    return ExpectNoBrokenRows(rule=rule.name, description=rule.sentence, severity=_SEVERITY[rule.severity], meta={"query": rule.query})
