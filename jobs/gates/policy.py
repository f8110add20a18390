"""The policy of topology-audit.toml in a gate: the limits of each row, the owner of a row that breaks a soft rule, and until when it is waived.

All are SQL over the columns of a rule's query. A row is about a topic or a group if the query has the column `topic` or `group_id`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, product
from operator import itemgetter
from typing import Any, NamedTuple

from expectations import rules_of
from expectations.limits import Limits, with_limits
from expectations.pattern import COLUMNS, regular_expression
from expectations.rule import Rule
from jobs.gates.duckdb_tables import DuckdbTables
from jobs.lake.sql_literal import standard_literal
from jobs.schema import OWNER, POLICY, WAIVER, Table

Row = Mapping[str, Any]
TABLES: tuple[Table, ...] = (OWNER, WAIVER, POLICY)


def matches_sql(column: str, pattern: str) -> str:
    """Return the condition that a column matches a pattern."""
    prefix, wildcard, end = pattern.partition("*")
    if "?" in pattern or end:
        return f"regexp_full_match({column}, {standard_literal(regular_expression(pattern))}, 's')"
    # With 20 owners and a million rows this takes 0.5 s, and regular expressions 1.3 s.
    return f"starts_with({column}, {standard_literal(prefix)})" if wildcard else f"{column} = {standard_literal(prefix)}"


class _Entry(NamedTuple):
    """An entry of the file, with the clusters that it applies to."""

    values: Row
    clusters: list[str]

    def in_clusters(self) -> str:
        return f"cluster_id IN ({', '.join(standard_literal(id) for id in self.clusters)})"

    def patterns(self, columns: Sequence[str]) -> list[str]:
        """Return a condition for each pattern of topics and groups; a query without the column has no row that matches."""
        return [
            matches_sql(column, self.values[name]) if column in columns else "false"
            for name, column in COLUMNS.items()
            if self.values[name] is not None
        ]

    def matches_all(self, columns: Sequence[str]) -> str:
        """Return the condition that a row matches all patterns."""
        return " AND ".join([self.in_clusters(), *self.patterns(columns)])


class Policy:
    """The owners, and the waivers that are in force, of a night."""

    def __init__(self, tables: DuckdbTables) -> None:
        self._owners = _entries(tables.query(f"SELECT * FROM {OWNER.name}", "the owners"))
        in_force = f"SELECT * FROM {WAIVER.name} WHERE snapshot_date <= expires"
        self._waivers = _entries(tables.query(in_force, "the waivers"))

    @property
    def is_empty(self) -> bool:
        return not self._owners and not self._waivers

    def owner(self, columns: Sequence[str]) -> str:
        """Return the SQL of a row's owner, which a query with a column `owner` states itself."""
        if OWNER.name in columns:
            return OWNER.name
        cases = [
            f"WHEN {entry.in_clusters()} AND ({' OR '.join(entry.patterns(columns)) or 'true'}) THEN {standard_literal(entry.values['owner'])}"
            for entry in reversed(self._owners)
        ]
        return f"CASE {' '.join(cases)} END" if cases else "NULL"

    def waived_until(self, suite: str, rule: str, columns: Sequence[str]) -> str:
        """Return the SQL of the last day on which a row is waived; null: it is not waived."""
        days = [
            f"CASE WHEN {entry.matches_all(columns)} THEN DATE '{entry.values['expires']}' END"
            for entry in self._waivers
            if (entry.values["suite"], entry.values["rule"]) == (suite, rule)
        ]
        return f"greatest({', '.join(days)})" if days else "NULL"


def rules_by_policy(tables: DuckdbTables, table: Table, limits: Limits) -> list[Rule]:
    """Return the rules of a table, whose queries evaluate each row with the limits that apply to it."""
    rules, rows = rules_of(table, limits), tables.query(f"SELECT * FROM {POLICY.name}", "the limits of clusters")
    entries = {name: _entries(row for row in rows if row["limit_name"] == name) for name in sorted({row["limit_name"] for row in rows})}
    changed = {name: rules_of(table, with_limits(limits, {name: getattr(limits, name) + 1})) for name in entries}
    found = []
    for number, rule in enumerate(rules):
        used = {name: of_name for name, of_name in entries.items() if changed[name][number] != rule}
        found.append(_by_limits(tables, table, limits, number, used) if used else rule)
    return found


def _by_limits(tables: DuckdbTables, table: Table, limits: Limits, number: int, entries: Mapping[str, Sequence[_Entry]]) -> Rule:
    """Return a rule whose query is the union over all combinations of limits; each combination returns the rows that it applies to."""
    rule = rules_of(table, limits)[number]
    columns = tables.columns(rule.query, f"rule {table.name}.{rule.name}")
    parts = []
    for combination in product(*([None, *of_name] for of_name in entries.values())):
        chosen = dict(zip(entries, combination, strict=True))
        values = {name: entry.values["limit_value"] for name, entry in chosen.items() if entry}
        conditions = [f"{_applying(entries[name], columns)} = {entry.values['entry'] if entry else 0}" for name, entry in chosen.items()]
        query = rules_of(table, with_limits(limits, values))[number].query
        parts.append(f"SELECT * FROM ({query}) AS limited WHERE {' AND '.join(conditions)}")
    named = ", ".join(sorted({str(entry.values["entry"]) for of_name in entries.values() for entry in of_name}, key=int))
    return replace(
        rule, sentence=f"{rule.sentence} Some rows have the limits of [[limit]] {named}.", query=" UNION ALL BY NAME ".join(parts)
    )


def _applying(entries: Sequence[_Entry], columns: Sequence[str]) -> str:
    """Return the SQL of the number of the last entry that matches a row; 0: none does."""
    cases = [f"WHEN {entry.matches_all(columns)} THEN {entry.values['entry']}" for entry in reversed(entries)]
    return f"CASE {' '.join(cases)} ELSE 0 END"


def _entries(rows: Iterable[Row]) -> list[_Entry]:
    """Return the entries in their order, from a row for each cluster and entry."""
    groups = groupby(sorted(rows, key=itemgetter("entry", "cluster_id")), itemgetter("entry"))
    entries = [list(rows_of_entry) for _, rows_of_entry in groups]
    return [_Entry(rows_of_entry[0], [row["cluster_id"] for row in rows_of_entry]) for rows_of_entry in entries]
