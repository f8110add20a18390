"""The published views in Spark."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from jobs.errors import AuditError
from jobs.schema import SNAPSHOT, TABLES, Table
from jobs.views.definitions import statements
from jobs.views.failover_rows import Dialect
from jobs.views.read_only import check_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from jobs.lake.lake import Lake


def query_spark(lake: Lake, sql: str, rows: int) -> tuple[list[str], list[tuple[object, ...]]]:
    """Return the column names and the first rows of a read-only query on the views."""
    from pyspark.errors import PySparkException

    logging.getLogger("SQLQueryContextLogger").disabled = True  # PySpark's logger, which prints the trace of a failed query
    spark, sql = lake.spark(), sql.strip().removesuffix(";")
    views = statements(lambda table: f"`_{table.name}`", Dialect.SPARK)
    try:
        with _locked(spark):
            check_spark(spark, sql, views)
            _create_views(lake, sql, views)
            result = spark.sql(sql)
            columns = result.limit(rows).toArrow().columns
        return result.columns, list(zip(*(column.to_pylist() for column in columns), strict=True))
    except PySparkException as error:
        raise AuditError(f"Spark cannot run the query: {str(error).strip().splitlines()[0]}") from None


@contextmanager
def _locked(spark: SparkSession) -> Iterator[None]:
    """Disable reading files by path and replacing ${env:HOME} in queries, and restore both at the end."""
    settings = ("spark.sql.runSQLOnFiles", "spark.sql.variable.substitute")
    before = {setting: spark.conf.get(setting) for setting in settings}
    for setting in settings:
        spark.conf.set(setting, "false")
    try:
        yield
    finally:
        for setting, value in before.items():
            spark.conf.set(setting, value)


def _create_views(lake: Lake, sql: str, views: Mapping[str, str]) -> None:
    """Create the views whose names are words of the query, and those that they read."""
    # `snapshot` first: a table that is opened later has the rows of the attempts that it names.
    tables = sorted(TABLES, key=lambda table: table is not SNAPSHOT)
    definitions, wanted, texts = {f"_{table.name}": table for table in tables} | dict(views), set(), [sql]
    while texts:
        names = {word.lower() for word in re.findall(r"\w+", texts.pop())} & definitions.keys() - wanted
        wanted |= names
        texts += [views[name] for name in names & views.keys()]
    for name, definition in definitions.items():  # in their order: a view reads only earlier ones
        if name in wanted and isinstance(definition, Table):
            lake.read(definition.stored).createOrReplaceTempView(name)
        elif name in wanted:
            lake.spark().sql(f"CREATE OR REPLACE TEMPORARY VIEW `{name}` AS {definition.strip()}")
