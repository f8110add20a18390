"""The data dictionary: what every table, view and rule is, from their declarations. `topology-audit describe` prints it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from textwrap import fill

from expectations import rules_of
from expectations.limits import DEFAULTS, Limits, limits
from expectations.rule import Rule
from jobs.errors import AuditError
from jobs.schema import (
    ABSENT_CLUSTER,
    BY_NAME,
    FAILOVER,
    FAILOVER_PATTERN,
    NOTIFICATION,
    PARAMETER,
    PARTITION,
    PUBLISHED_FAILOVER,
    SCENARIO,
    SNAPSHOT,
    TABLES,
    VALIDATION,
    VERDICT,
    Table,
)
from jobs.schema.table import Column
from jobs.views import ADDED_COLUMNS, EVERY_NIGHT, VIEWS, View, statements

_MAX_WIDTH = 100  # longer lines are hard to read
_NAME_WIDTH = 24  # longer than any name of a table or view
# Tables that no gate evaluates; those of plans, too.
_WITHOUT_RULES = (PARAMETER, VALIDATION, VERDICT, SNAPSHOT, ABSENT_CLUSTER, NOTIFICATION)
_SEVERITIES = {
    "hard": "A cluster with a row that breaks it is not published.",
    "soft": "A row that breaks it is a finding about the cluster.",
}


@dataclass(frozen=True, slots=True)
class Description:
    """A table, view or rule: what it is, further facts by their titles, and the columns of a table."""

    kind: str
    name: str
    comment: str
    facts: Mapping[str, str]
    columns: Sequence[Column] = ()


def descriptions() -> list[Description]:
    """Describe all tables, views and rules; the rules have the default limits."""
    rules = _rules(limits())
    limits_of = _limits_of_rules(rules)
    columns = _columns_of_views()
    return [
        *(_table(table, rules[table.name], columns[table.name]) for table in TABLES),
        _published(PUBLISHED_FAILOVER),
        *(_view(view, columns[view.name]) for view in VIEWS.values()),
        *(_every_night(table, columns[f"all_{table.name}"]) for table in EVERY_NIGHT),
        *(_rule(table, rule, limits_of[table, rule.name]) for table, rules_of_table in rules.items() for rule in rules_of_table),
    ]


def describe(name: str | None, width: int) -> str:
    """Return the description of a table, view or rule as text, or a list of all of them.

    A rule is found with or without the name of its table. Raise an AuditError with similar names if nothing has the name.
    """
    known = descriptions()
    if name is None:
        return _overview(known, min(width, _MAX_WIDTH))
    if matches := [each for each in known if name in _names(each)]:
        return "\n".join(_text(each, min(width, _MAX_WIDTH)) for each in matches)
    near = get_close_matches(name, dict.fromkeys(known_name for each in known for known_name in _names(each)), n=5)
    hint = f"similar names are {', '.join(near)}" if near else "`topology-audit describe` lists all names"
    raise AuditError(f"no table, view or rule is named {name}: {hint}")


def _rules(limits: Limits) -> dict[str, list[Rule]]:
    """Return the rules of each table, by its name."""
    return {table.name: rules_of(table, limits) if _has_rules(table) else [] for table in TABLES}


def _has_rules(table: Table) -> bool:
    return table not in _WITHOUT_RULES and "plan_id" not in table.key


def _limits_of_rules(rules: Mapping[str, Sequence[Rule]]) -> dict[tuple[str, str], list[str]]:
    """Return the default limits of each rule, by its table and name. A rule has a limit if it differs with another value of it."""
    defaults = limits()
    found: dict[tuple[str, str], list[str]] = {(table, rule.name): [] for table, of_table in rules.items() for rule in of_table}
    for name, value, changed in _changed_limits(defaults):
        for table, changed_rules in _rules(changed).items():
            for rule, changed_rule in zip(rules[table], changed_rules, strict=True):
                if rule != changed_rule:
                    found[table, rule.name].append(f"{name} = {value}")
    return found


def _changed_limits(defaults: Limits) -> Iterator[tuple[str, object, Limits]]:
    """Yield each limit that is a number with its name, its value, and all limits with another value of it."""
    for field in fields(defaults):
        value = getattr(defaults, field.name)
        if isinstance(value, int | float):
            yield field.name, value, replace(defaults, **{field.name: value + 1})
    thresholds = defaults.cruise_control
    for field in fields(thresholds):
        value = getattr(thresholds, field.name)
        if isinstance(value, int | float):
            changed = replace(thresholds, **{field.name: value + 1})
            yield f"cruise_control.{field.name}", value, replace(defaults, cruise_control=changed)


def _table(table: Table, rules: Iterable[Rule], published: Collection[str]) -> Description:
    """Describe a table with the columns that its published view adds."""
    facts = {"Key": ", ".join(table.key), "Rules": ", ".join(rule.name for rule in rules) or "none"}
    added = [] if table is FAILOVER else [*table.declared_view_columns, *(column for column in ADDED_COLUMNS if column.name in published)]
    if added:
        facts["Only in the view"] = ", ".join(column.name for column in added)
    return Description("table", table.name, table.comment, facts, [*table.stored.declared_columns, *added])


def _published(view: Table) -> Description:
    """Describe the view of a table that has other columns than its table."""
    facts = {"Key": ", ".join(view.key), "Reads": ", ".join(table.name for table in (FAILOVER, FAILOVER_PATTERN, PARTITION, SCENARIO))}
    return Description("view", view.name, view.comment, facts, [*view.stored.declared_columns, *ADDED_COLUMNS])


def _view(view: View, columns: Iterable[str]) -> Description:
    facts = {"Example": view.example, "Reads": ", ".join(_names_in(view.template)), "Columns": ", ".join(columns)}
    return Description("view", view.name, view.comment, facts)


def _every_night(table: Table, columns: Iterable[str]) -> Description:
    comment = f"The rows of the table {table.name} in the newest attempt of every night, published or not."
    return Description("view", f"all_{table.name}", comment, {"Columns": ", ".join(columns)})


def _rule(table: str, rule: Rule, limits_of_rule: Sequence[str]) -> Description:
    facts = {"If broken": _SEVERITIES[rule.severity]} | (
        {f"Limits in {DEFAULTS.name}": ", ".join(limits_of_rule)} if limits_of_rule else {}
    )
    return Description(f"{rule.severity} rule", f"{table}.{rule.name}", rule.sentence, facts)


def _names(description: Description) -> tuple[str, ...]:
    """Return the name, and that of a rule also without its table."""
    return description.name, description.name.rpartition(".")[2]


def _columns_of_views() -> dict[str, list[str]]:
    """Return the names of the columns of every view, as DuckDB derives them from empty tables."""
    import duckdb

    with duckdb.connect() as connection:
        for table in TABLES:
            connection.register(f"_{table.name}", table.stored.schema.empty_table())
        columns = {}
        for view, query in statements(lambda table: f'"_{table.name}"').items():
            # As a table, because DuckDB would bind the view again for each view that reads it.
            connection.execute(f'CREATE TABLE "{view}" AS {query}')
            columns[view] = connection.table(view).columns
        return columns


def _names_in(query: str) -> list[str]:
    """Return the tables and views that a query reads, sorted."""
    return sorted({name for name in re.findall(r"\b(?:FROM|JOIN) (\w+)", query) if name in BY_NAME or name in VIEWS})


def _overview(known: Iterable[Description], width: int) -> str:
    tables, views = ([each for each in known if each.kind == kind] for kind in ("table", "view"))
    lines = [
        "`topology-audit describe NAME` describes one of these in full.",
        "",
        "Tables",
        *(_entry(each.name, each.comment, width) for each in tables),
        "",
        "Views",
        *(_entry(each.name, each.comment.partition(". ")[0].rstrip("."), width) for each in views),
        "",
        "Rules of each table",
        *(_entry(each.name, each.facts["Rules"], width) for each in tables if each.facts["Rules"] != "none"),
        "",
        _wrapped(
            f"The limits of the rules are in {DEFAULTS}; the option --limits overrides them, and [[limit]] of topology-audit.toml does so for "
            "some clusters, topics and groups.",
            width,
        ),
    ]
    return "\n".join(lines) + "\n"


def _text(description: Description, width: int) -> str:
    lines = [
        _wrapped(f"{description.kind.capitalize()} {description.name}: {description.comment}", width),
        *(_wrapped(f"{title}: {text}", width, indent=2) for title, text in description.facts.items()),
        *([""] if description.columns else []),
    ]
    for name, type_name, nullable, comment in description.columns:
        lines += [f"{name} {type_name}{'' if nullable else ' NOT NULL'}", _wrapped(f"    {comment}", width, indent=4)]
    return "\n".join(lines) + "\n"


def _entry(name: str, text: str, width: int) -> str:
    """A name, and beside it a text in a column of its own."""
    return _wrapped(f"{name:<{_NAME_WIDTH}}{text}", width, indent=_NAME_WIDTH)


def _wrapped(text: str, width: int, indent: int = 0) -> str:
    """The text in lines of at most this width, those after the first indented. A longer word has a line of its own."""
    return fill(text, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)
