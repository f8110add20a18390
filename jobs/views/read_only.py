"""Checks that a text is one read-only query on the published views, with the parser of the engine that will run it.

Each engine is also locked: DuckDB reads only files of the lake, and Spark does not read files by path (duckdb_engine.py, spark_engine.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from jobs.errors import AuditError

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway, JavaObject
    from pyspark.sql import SparkSession

_ONE_QUERY = "query takes one statement that only reads: SELECT, WITH, FROM or VALUES"
# DuckDB: nodes that read rows, sources of rows, and table functions that read neither files nor settings.
_DUCKDB_NODES = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}
_DUCKDB_SOURCES = {"BASE_TABLE", "TABLE_FUNCTION", "SUBQUERY", "JOIN", "EMPTY", "EXPRESSION_LIST", "PIVOT", "SHOW_REF"}
_DUCKDB_FUNCTIONS = {"unnest", "range", "generate_series"}
# Spark: table functions that read no table; nodes that run a program or compute the name of a table or function; functions that call Java.
_SPARK_FUNCTIONS = {
    *("range", "explode", "explode_outer", "posexplode", "posexplode_outer", "inline", "inline_outer", "stack", "json_tuple"),
    *("variant_explode", "variant_explode_outer"),
}
_SPARK_REFUSED = {"ScriptTransformation", "PlanWithUnresolvedIdentifier", "ExpressionWithUnresolvedIdentifier"}
_JAVA_CALLS = {"reflect", "try_reflect", "java_method"}


def check_duckdb(sql: str, views: Collection[str]) -> None:
    """Raise an AuditError unless DuckDB parses the text as one query on these views."""
    import duckdb

    with duckdb.connect() as parser:
        ((text,),) = parser.execute("SELECT json_serialize_sql(?)", [sql]).fetchall()
    parsed = json.loads(text)
    if parsed["error"]:
        is_syntax_error = parsed["error_type"] == "parser"
        raise AuditError(f"DuckDB cannot run the query: {' '.join(parsed['error_message'].split())}" if is_syntax_error else _ONE_QUERY)
    if len(parsed["statements"]) != 1:
        raise AuditError(_ONE_QUERY)
    parts = [*_dicts(parsed["statements"][0])]
    ctes = [entry["key"] for part in parts if "cte_map" in part for entry in part["cte_map"]["map"]]
    tables = []
    for part in parts:
        node_type = str(part.get("type", ""))
        if (node_type.endswith("_NODE") and node_type not in _DUCKDB_NODES) or (
            "sample" in part and "alias" in part and node_type not in _DUCKDB_SOURCES
        ):
            raise AuditError(_ONE_QUERY)
        if node_type == "BASE_TABLE":
            tables.append([name for name in (part["catalog_name"], part["schema_name"], part["table_name"]) if name])
        elif node_type == "TABLE_FUNCTION":
            _check_function(part["function"]["function_name"], _DUCKDB_FUNCTIONS)
        elif node_type == "SHOW_REF" and part["query"] is None:  # SHOW TABLES and the like; DESCRIBE and SUMMARIZE have a query
            raise AuditError(_ONE_QUERY)
    _check_tables(tables, ctes, views)


def check_spark(spark: SparkSession, sql: str, views: Collection[str]) -> None:
    """Raise an AuditError unless Spark parses the text as one query on these views, and a ParseException if it is not SQL."""
    from pyspark.errors import ParseException

    parser = spark._jsparkSession.sessionState().sqlParser()
    try:
        plan = parser.parseQuery(sql)
    except ParseException:
        parser.parsePlan(sql)  # raises if it is not SQL
        raise AuditError(_ONE_QUERY) from None
    tables, ctes = [], []
    for kind, node in _nodes(plan, spark.sparkContext._gateway):
        if kind in _SPARK_REFUSED:
            raise AuditError(f"query refuses programs and computed names ({kind})")
        if kind == "UnresolvedRelation":
            tables.append(_texts(node.multipartIdentifier()))
        elif kind == "UnresolvedWith":
            ctes += [relation._1() for relation in _items(node.cteRelations().iterator())]
        elif kind == "UnresolvedTableValuedFunction":
            _check_function(_texts(node.name())[-1], _SPARK_FUNCTIONS)
        elif kind == "UnresolvedFunction" and (name := _texts(node.nameParts())[-1]).lower() in _JAVA_CALLS:
            raise AuditError(f"query refuses function {name}: it calls Java")
    _check_tables(tables, ctes, views)


def _check_tables(tables: Collection[list[str]], ctes: Collection[str], views: Collection[str]) -> None:
    if refused := [name for name in ctes if not re.fullmatch(r"\w+", name)]:  # outside its scope an engine could read it as a file name
        raise AuditError(f"query refuses the name {refused[0]!r} after WITH: use letters, digits and _")
    known = {name.lower() for name in (*ctes, *views)}
    if unknown := [names for names in tables if len(names) != 1 or names[0].lower() not in known]:
        raise AuditError(f"{'.'.join(unknown[0])} is not a view of the lake: `topology-audit describe` lists the views")


def _check_function(name: str, allowed: Collection[str]) -> None:
    if name.lower() not in allowed:
        raise AuditError(f"query refuses table function {name}: it accepts {', '.join(sorted(allowed))}")


def _dicts(part: object) -> Iterator[dict[str, Any]]:
    """Yield every object of a JSON document."""
    if isinstance(part, dict):
        yield part
        part = [*part.values()]
    if isinstance(part, list):
        for element in part:
            yield from _dicts(element)


def _nodes(plan: JavaObject, gateway: JavaGateway) -> Iterator[tuple[str, JavaObject]]:
    """Yield every node of a parsed plan with the name of its class, in expressions and their subqueries too."""
    from py4j.java_gateway import JavaObject, is_instance_of

    waiting: list[object] = [plan]
    while waiting:
        if not isinstance(part := waiting.pop(), JavaObject):
            continue
        if is_instance_of(gateway, part, "org.apache.spark.sql.catalyst.trees.TreeNode"):
            yield part.getClass().getSimpleName(), part
        if is_instance_of(gateway, part, "scala.collection.Iterable"):
            waiting += _items(part.iterator())
        elif is_instance_of(gateway, part, "scala.Product"):
            waiting += _items(part.productIterator())


def _items(iterator: JavaObject) -> Iterator[Any]:
    while iterator.hasNext():
        yield iterator.next()


def _texts(names: JavaObject) -> list[str]:
    return [str(name) for name in _items(names.iterator())]
