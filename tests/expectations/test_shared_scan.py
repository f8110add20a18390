"""Which rules may share a scan of their table, and what is asked for all of them at once."""

from __future__ import annotations

import duckdb
import pytest
import sqlglot

from expectations.rule import soft
from expectations.shared_scan import counted, row_rule

FINDING = soft("r", "s", "SELECT cluster_id, a, b + 1 AS c FROM {batch} WHERE a > 1 OR b IS NULL", measured="c", limit=1, formula="c <= 1",
               change="concat('less by ', c - 1)")  # fmt: skip


def of(query: str) -> str:
    return query.replace("{batch}", "t")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT cluster_id, count(*) AS n FROM {batch} GROUP BY cluster_id",
        "SELECT DISTINCT cluster_id, a FROM {batch}",
        "SELECT cluster_id, explode(b) AS b FROM {batch}",
        "SELECT cluster_id, a, sum(a) OVER (PARTITION BY cluster_id) AS s FROM {batch}",
        "SELECT cluster_id, a FROM {batch} WHERE a IN (SELECT a FROM u)",
        "WITH x AS (SELECT * FROM {batch}) SELECT cluster_id FROM x",
        "SELECT * FROM {batch} WHERE a > 1",
        "SELECT cluster_id, a FROM {batch} LATERAL VIEW explode(b) AS c",
        "SELECT cluster_id, a FROM {batch} UNION ALL SELECT cluster_id, a FROM u",
        "SELECT cluster_id, a FROM {batch} ORDER BY a LIMIT 1",
        "SELECT 'x' AS cluster_id FROM {batch}",
        "SELECT a FROM {batch}",
    ],
)
def test_a_rule_that_needs_more_than_a_row_is_asked_alone(query: str) -> None:
    assert row_rule(of(query)) is None


def test_one_query_counts_the_broken_rows_of_all_and_gives_the_first_of_each() -> None:
    queries = [of(FINDING.unexpected_rows_query), "SELECT cluster_id, b FROM t WHERE b = 7", "SELECT cluster_id FROM t"]
    rules = [row_rule(query) for query in queries]
    assert None not in rules
    # As each for itself says: DuckDB answers both.
    connection = duckdb.connect()
    connection.sql("CREATE TABLE t AS SELECT * FROM (VALUES ('x', 1, 7), ('x', 3, 2), ('x', 2, NULL), ('y', 1, 1)) AS t(cluster_id, a, b)")
    connection.execute("CREATE MACRO named_struct(a, b, c := NULL) AS a")
    (together,) = sqlglot.transpile(counted([rule for rule in rules if rule]), read="spark", write="duckdb")
    found = {row[0]: row[1:] for row in connection.sql(together).fetchall()}
    for place, query in enumerate(queries):
        (alone,) = sqlglot.transpile(
            f"SELECT cluster_id, count(*), min(CAST(to_json(q) AS VARCHAR)) FROM ({query}) AS q GROUP BY cluster_id",
            read="spark",
            write="duckdb",
        )
        expected = {cluster: (count, example) for cluster, count, example in connection.sql(alone).fetchall()}
        assert {cluster: row[2 * place : 2 * place + 2] for cluster, row in found.items() if row[2 * place]} == expected


def test_rules_share_what_they_read_alike_and_no_more() -> None:
    joined = "SELECT cluster_id, a, d FROM {batch} JOIN (SELECT cluster_id, d FROM u) USING (cluster_id) WHERE"
    alike = (f"{joined} a > d", f"{joined} a IS NULL", "SELECT cluster_id, a FROM {batch} WHERE a > 1")
    one, other, alone = (rule.source for query in alike if (rule := row_rule(of(query))))
    assert one == other != alone == "t"
