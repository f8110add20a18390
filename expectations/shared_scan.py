"""Rules that look at rows one by one share a scan of them: one query counts the broken rows of all rules with the same FROM.

Such a rule is `SELECT columns FROM {batch} ... WHERE condition`, with joins or without, whatever it then says of these columns. On a large
table each query for itself would read all of it: Spark shares no scans between queries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import sqlglot
from sqlglot import exp

_PARTS = {"expressions", "from", "from_", "joins", "where"}
_OF_MANY_ROWS = (exp.AggFunc, exp.Window, exp.Query, exp.Explode, exp.Star)


class RowRule(NamedTuple):
    """The rows that a rule looks at, what it says of one that breaks it, and the condition by which it does: Spark's SQL."""

    source: str
    says: tuple[tuple[str, str], ...]
    condition: str


def row_rule(query: str) -> RowRule | None:
    """The rule of a query that looks at rows one by one; None: it does not."""
    tree = sqlglot.parse_one(query, read="spark")
    outer: exp.Expression | None = None
    if isinstance(tree, exp.Select) and isinstance(source := _source(tree), exp.Subquery) and not tree.args.get("where"):
        outer, tree = tree, source.this
    if not isinstance(tree, exp.Select) or any(value for name, value in tree.args.items() if name not in _PARTS):
        return None
    source, where = _source(tree), tree.args.get("where")
    looked_at = [*tree.expressions, *([where] if where else [])]
    if not isinstance(source, exp.Table) or any(each.find(*_OF_MANY_ROWS) for each in looked_at):
        return None
    says = {each.alias_or_name: each.unalias() for each in tree.expressions}
    inner = dict(says)
    for each in outer.expressions if outer else ():
        if isinstance(each, exp.Column) and isinstance(each.this, exp.Star):
            continue
        if each.find(*_OF_MANY_ROWS):
            return None
        says[each.alias_or_name] = each.unalias().transform(lambda node: _inlined(node, inner))
    if says.get("cluster_id") != exp.column("cluster_id"):
        return None
    rows = " ".join(each.sql("spark") for each in (source, *tree.args.get("joins", ())))
    return RowRule(rows, tuple((name, value.sql("spark")) for name, value in says.items()), where.this.sql("spark") if where else "true")


def _inlined(node: exp.Expression, named: Mapping[str, exp.Expression]) -> exp.Expression:
    """What a column of the inner query stands for."""
    return named[node.name].copy() if isinstance(node, exp.Column) and node.name in named else node


def counted(rules: Sequence[RowRule]) -> str:
    """A query for the broken rows of each cluster, and the first of them as JSON: of the nth rule rows_n and example_n. All look at the same
    rows.
    """
    (source,) = {rule.source for rule in rules}
    columns = []
    for place, rule in enumerate(rules):
        row = ", ".join(f"'{name}', {value}" for name, value in rule.says)
        columns.append(
            f"count_if({rule.condition}) AS rows_{place}, min(if({rule.condition}, to_json(named_struct({row})), NULL)) AS example_{place}"
        )
    return f"SELECT cluster_id, {', '.join(columns)} FROM {source} GROUP BY cluster_id ORDER BY cluster_id"


def _source(tree: exp.Select) -> exp.Expression | None:
    origin = tree.args.get("from_") or tree.args.get("from")
    return origin.this if origin else None
