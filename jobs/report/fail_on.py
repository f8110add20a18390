"""The conditions of `--fail-on`: what a published night must not contain."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from jobs.errors import AuditError
from jobs.report.rows import rows

if TYPE_CHECKING:
    from jobs.views import DuckdbViews

# The rule that a cluster breaks if it fulfils the condition, and the reason. Waived rows do not break a rule.
_HARMS = {
    "data": ("data_survives_a_broker", "loses data"),
    "reads": ("reads_survive_a_broker", "takes partitions offline"),
    "writes": ("writes_survive_a_broker", "makes partitions refuse acks=all"),
    "quorum": ("quorum_survives_a_broker", "costs the controllers their quorum"),
}
_QUERIES = {
    **{
        condition: f"SELECT cluster_id, 'one broker''s death {harm}' AS reason FROM validation "
        f"WHERE NOT success AND suite = 'scenario' AND rule = '{rule}'"
        for condition, (rule, harm) in _HARMS.items()
    },
    "new": "SELECT cluster_id, 'new: ' || problem AS reason FROM finding WHERE is_new AND waived_until IS NULL",
}
_RULE = "SELECT cluster_id, suite || '.' || rule || ' is broken by ' || broken_rows || ' rows' AS reason FROM validation WHERE NOT success"
_RULE_PREFIX = "rule="


def conditions(given: Sequence[str], rules: Sequence[str]) -> list[str]:
    """Return the conditions; each text may be a comma-separated list. Raise an AuditError for an unknown one.

    `rules` are the names of all rules, with their suites; `rule=NAME` may leave the suite out.
    """
    asked = [each.strip() for text in given for each in text.split(",") if each.strip()]
    names = {name for rule in rules for name in (rule, rule.rpartition(".")[2])}
    for condition in asked:
        rule = condition.removeprefix(_RULE_PREFIX)
        if condition.startswith(_RULE_PREFIX) and rule not in names:
            near = get_close_matches(rule, sorted(names), n=3)
            raise AuditError(f"--fail-on {condition}: no rule has this name" + (f": similar names are {', '.join(near)}" if near else ""))
        if not condition.startswith(_RULE_PREFIX) and condition not in _QUERIES:
            raise AuditError(f"--fail-on {condition}: it must be {', '.join(_QUERIES)} or rule=NAME")
    return asked


def fulfilled(connection: DuckdbViews, snapshot_id: str, asked: Sequence[str]) -> list[str]:
    """Return a line for each cluster of the night and condition that is fulfilled."""
    lines = []
    for condition in asked:
        if condition.startswith(_RULE_PREFIX):
            rule = condition.removeprefix(_RULE_PREFIX)
            query, parameters = f"{_RULE} AND snapshot_id = ? AND ? IN (rule, suite || '.' || rule)", [snapshot_id, rule]
        else:
            query, parameters = f"{_QUERIES[condition]} AND snapshot_id = ?", [snapshot_id]
        lines += [f"{row['cluster_id']}: {row['reason']}" for row in rows(connection, f"{query} ORDER BY 1, 2", parameters)]
    return list(dict.fromkeys(lines))
