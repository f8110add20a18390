"""Whether a text is one read-only query of known views, as the parser of the engine that will run it reads it.

Each engine is also locked: DuckDB reads no file but the lake's and Spark takes no path for a table (jobs/views/).
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
# DuckDB: the parts of a query that read rows, and the table functions that read no file and no setting.
_DUCKDB_NODES = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}
_DUCKDB_SOURCES = {"BASE_TABLE", "TABLE_FUNCTION", "SUBQUERY", "JOIN", "EMPTY", "EXPRESSION_LIST", "PIVOT", "SHOW_REF"}
_DUCKDB_FUNCTIONS = {"unnest", "range", "generate_series"}
# Spark: the table functions that read no table; what runs a program or names a table or function by a computed text; what calls Java.
_SPARK_FUNCTIONS = {
    *("range", "explode", "explode_outer", "posexplode", "posexplode_outer", "inline", "inline_outer", "stack", "json_tuple"),
    *("variant_explode", "variant_explode_outer"),
}
_SPARK_REFUSED = {"ScriptTransformation", "PlanWithUnresolvedIdentifier", "ExpressionWithUnresolvedIdentifier"}
_JAVA_CALLS = {"reflect", "try_reflect", "java_method"}


def check_duckdb(sql: str, views: Collection[str]) -> None:
    """Raise an AuditError unless DuckDB reads it as one query of these views."""
    import duckdb

    with duckdb.connect() as parser:
        ((text,),) = parser.execute("SELECT json_serialize_sql(?)", [sql]).fetchall()
    parsed = json.loads(text)
    if parsed["error"]:
        syntax = parsed["error_type"] == "parser"
        raise AuditError(f"DuckDB cannot answer it: {' '.join(parsed['error_message'].split())}" if syntax else _ONE_QUERY)
    if len(parsed["statements"]) != 1:
        raise AuditError(_ONE_QUERY)
    parts = [*_dicts(parsed["statements"][0])]
    ctes = [entry["key"] for part in parts if "cte_map" in part for entry in part["cte_map"]["map"]]
    tables = []
    for part in parts:
        type = str(part.get("type", ""))
        if (type.endswith("_NODE") and type not in _DUCKDB_NODES) or ("sample" in part and "alias" in part and type not in _DUCKDB_SOURCES):
            raise AuditError(_ONE_QUERY)
        if type == "BASE_TABLE":
            tables.append([name for name in (part["catalog_name"], part["schema_name"], part["table_name"]) if name])
        elif type == "TABLE_FUNCTION":
            _check_function(part["function"]["function_name"], _DUCKDB_FUNCTIONS)
        elif type == "SHOW_REF" and part["query"] is None:  # SHOW TABLES and the like; DESCRIBE and SUMMARIZE have a query
            raise AuditError(_ONE_QUERY)
    _check_tables(tables, ctes, views)


def check_spark(spark: SparkSession, sql: str, views: Collection[str]) -> None:
    """Raise an AuditError unless Spark reads it as one query of these views; a ParseException if it cannot parse it."""
    from pyspark.errors import ParseException

    parser = spark._jsparkSession.sessionState().sqlParser()
    try:
        plan = parser.parseQuery(sql)
    except ParseException:
        parser.parsePlan(sql)  # raises for what is no SQL at all
        raise AuditError(_ONE_QUERY) from None
    tables, ctes = [], []
    for kind, node in _nodes(plan, spark.sparkContext._gateway):
        if kind in _SPARK_REFUSED:
            raise AuditError(f"query runs no program and takes no computed name ({kind})")
        if kind == "UnresolvedRelation":
            tables.append(_texts(node.multipartIdentifier()))
        elif kind == "UnresolvedWith":
            ctes += [relation._1() for relation in _items(node.cteRelations().iterator())]
        elif kind == "UnresolvedTableValuedFunction":
            _check_function(_texts(node.name())[-1], _SPARK_FUNCTIONS)
        elif kind == "UnresolvedFunction" and (name := _texts(node.nameParts())[-1]).lower() in _JAVA_CALLS:
            raise AuditError(f"function {name} is refused: query calls no Java")
    _check_tables(tables, ctes, views)


def _check_tables(tables: Collection[list[str]], ctes: Collection[str], views: Collection[str]) -> None:
    if odd := [name for name in ctes if not re.fullmatch(r"\w+", name)]:  # an engine might take it for a file outside its scope
        raise AuditError(f"the name {odd[0]!r} after WITH is refused: use letters, digits and _")
    known = {name.lower() for name in (*ctes, *views)}
    if unknown := [names for names in tables if len(names) != 1 or names[0].lower() not in known]:
        raise AuditError(f"{'.'.join(unknown[0])} is not a view of the lake: `topology-audit views` prints those that query reads")


def _check_function(name: str, allowed: Collection[str]) -> None:
    if name.lower() not in allowed:
        raise AuditError(f"table function {name} is refused: of table functions query takes {', '.join(sorted(allowed))}")


def _dicts(part: object) -> Iterator[dict[str, Any]]:
    """Every object of a JSON document."""
    if isinstance(part, dict):
        yield part
        part = [*part.values()]
    if isinstance(part, list):
        for each in part:
            yield from _dicts(each)


def _nodes(plan: JavaObject, gateway: JavaGateway) -> Iterator[tuple[str, JavaObject]]:
    """Every node of a parsed plan with the name of its class, those in expressions and their subqueries included."""
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
