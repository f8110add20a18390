"""The published views of a lake: their SQL, and how DuckDB and Spark query them. jobs/views/definitions.py describes the views."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobs.lake.sql_literal import standard_literal
from jobs.views.definitions import ADDED_COLUMNS, EVERY_NIGHT, VIEWS, View, statements
from jobs.views.duckdb_engine import DuckdbViews, query_duckdb, verdicts
from jobs.views.failover_rows import Dialect
from jobs.views.spark_engine import query_spark

if TYPE_CHECKING:
    from jobs.lake.lake import Lake

__all__ = [
    "ADDED_COLUMNS",
    "EVERY_NIGHT",
    "VIEWS",
    "DuckdbViews",
    "View",
    "query_duckdb",
    "query_spark",
    "script",
    "statements",
    "verdicts",
]


def script(lake: Lake, engine: str) -> str:
    """Return a script that creates the views in another session: spark-sql with Delta, or DuckDB with its delta extension."""
    if engine == "spark":
        views = statements(lambda table: f"delta.`{lake.path(table).replace('`', '``')}`", Dialect.SPARK)
        return "".join(f"CREATE OR REPLACE TEMPORARY VIEW `{name}` AS {query.strip()};\n" for name, query in views.items())
    views = statements(lambda table: f"delta_scan({standard_literal(lake.path(table))})")
    return "".join(f'CREATE OR REPLACE VIEW "{name}" AS {query.strip()};\n' for name, query in views.items())
