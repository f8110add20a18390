"""The published views as SQL that Spark and DuckDB both read.

Every table has a view with its name, which contains only published rows and has the ADDED_COLUMNS too. `parameter` and `notification` have no cluster
and therefore no added columns. The rows of a night are those of the attempt that `snapshot` names; its one commit changes all views at once. Some
views have more columns than their tables: `failover` (failover_rows.py), and those with `Table.view_columns`.

`absent_cluster` and the views `all_...` contain the rows of every night, published or not. Further views answer questions: each is a `.sql`
file beside this module. It opens with a comment that states what a row is, then an example query. Names in braces are replaced: by the
predicates of jobs.schema.failure, by lists of columns that differ only in their names, `{stored_failover}` by the stored rows of every failure,
`{owners}` by an aggregate in the SQL of the engine, and `{latest}` and `{is_latest}` as `_render` states. A `.sql` file with the name of a table
computes the columns that only its view has, and reads the stored tables in braces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from jobs.schema import ABSENT_CLUSTER, FAILOVER, INPUT_FILE, PARAMETER, REJECTED_INPUT, SNAPSHOT, TABLES, VALIDATION, VERDICT, Table
from jobs.schema.failure import HARMED, HARMS, MUST_BE_ZERO, ONE_BROKER_KILLED, SURVIVES
from jobs.schema.publication import CONSEQUENCES
from jobs.schema.table import Column
from jobs.views.failover_rows import Dialect, failover_rows, stored_rows

# Tables that state why a night is not published. The view `all_<name>` contains their rows of every night.
EVERY_NIGHT = (INPUT_FILE, REJECTED_INPUT, VALIDATION)
_NEWEST = "CAST(max(CAST(attempt_id AS INT)) AS STRING)"
# Columns that the view of a table has in addition to those of the table.
ADDED_COLUMNS = (
    Column("latest", "BOOLEAN", False, "the row belongs to the cluster's newest published snapshot"),
    Column("snapshot_age", "INT", False, "nights in the lake that are newer than the row's, published or not; 0 is the newest"),
    Column("stale", "BOOLEAN", False, "latest, but from an older night than the newest, which does not publish the cluster"),
)


@dataclass(frozen=True, slots=True)
class View:
    """A view that answers a question: what a row is, an example query, and its SQL with names in braces."""

    name: str
    comment: str
    example: str
    template: str


def _view(name: str) -> View:
    lines = _sql_file(name).splitlines()
    comments = [line.removeprefix("-- ") for line in lines if line.startswith("-- ")]
    comment, _, example = " ".join(comments).partition(" Example: ")
    return View(name, comment, example, "\n".join(line for line in lines if not line.startswith("-- ")))


def _sql_file(name: str) -> str:
    return Path(__file__).with_name(f"{name}.sql").read_text(encoding="utf-8")


# In an order in which they can be created: a view reads only tables and earlier views.
VIEWS = {
    name: _view(name)
    for name in (
        "harm",
        "harmed_partition",
        "harmed_partition_cause",
        "change_summary",
        "survival",
        "survival_change",
        "explanation",
        "takeover",
        "redirection",
        "broken_rule",
        "scatter_width",
        "consumer_load",
        "broken_since",
        "finding",
    )
}


def statements(raw: Callable[[Table], str], dialect: Dialect = Dialect.DUCKDB) -> dict[str, str]:
    """Return the SELECT of every view, in an order in which they can be created; `raw` names a stored table in the engine's SQL."""
    same_snapshot = "s.snapshot_id = t.snapshot_id AND s.cluster_id = t.cluster_id"
    views = {
        SNAPSHOT.name: _snapshot(raw(SNAPSHOT), raw(ABSENT_CLUSTER)),
        ABSENT_CLUSTER.name: _absent_cluster(raw(SNAPSHOT), raw(ABSENT_CLUSTER)),
    }
    for table in TABLES:
        if "cluster_id" not in table.schema.names:
            published = f"SELECT snapshot_id, attempt_id FROM {SNAPSHOT.name}"
            views[table.name] = f"SELECT * FROM {raw(table)} WHERE (snapshot_id, attempt_id) IN ({published})"
        elif table.name not in views:
            if table is FAILOVER:
                rows = f"({failover_rows(raw, dialect)})"
            elif table.view_columns:
                rows = f"({_sql_file(table.name).format_map({each.name: raw(each) for each in TABLES})})"
            else:
                rows = raw(table)
            views[table.name] = (
                f"SELECT t.*, s.latest, s.snapshot_age, s.stale FROM {rows} t "
                f"JOIN {SNAPSHOT.name} s ON {same_snapshot} AND s.attempt_id = t.attempt_id"
            )
    for name, view in VIEWS.items():
        query = _render(view.template, stored_failover=f"({stored_rows(raw)})", owners=_OWNERS[dialect])
        views[name] = f"SELECT t.*, s.snapshot_age, s.stale FROM ({query}) t JOIN {SNAPSHOT.name} s ON {same_snapshot}"
    newest = f"SELECT snapshot_id, {_NEWEST} AS attempt_id FROM {raw(PARAMETER)} GROUP BY snapshot_id"
    same_attempt = "n.snapshot_id = t.snapshot_id AND n.attempt_id = t.attempt_id"
    return views | {f"all_{table.name}": f"SELECT t.* FROM {raw(table)} t JOIN ({newest}) n ON {same_attempt}" for table in EVERY_NIGHT}


def verdict_query() -> str:
    """Return the query on the views that computes the rows of the table `verdict`, which are stored when a snapshot is published."""
    return _sql_file(VERDICT.name).format(**_FRAGMENTS)


def _snapshot(snapshot: str, absent_cluster: str) -> str:
    """The published snapshots with their age. A night that published nothing counts too: it has rows in `absent_cluster`."""
    return f"""
        SELECT t.*, n.snapshot_age, t.latest AND n.snapshot_age > 0 AS stale
        FROM (SELECT *, snapshot_id = max(snapshot_id) OVER (PARTITION BY cluster_id) AS latest FROM {snapshot}) t
        JOIN (SELECT snapshot_id, CAST(row_number() OVER (ORDER BY snapshot_id DESC) - 1 AS INT) AS snapshot_age
              FROM (SELECT snapshot_id FROM {snapshot} UNION SELECT snapshot_id FROM {absent_cluster}) AS nights) n
        ON n.snapshot_id = t.snapshot_id
    """


def _absent_cluster(snapshot: str, absent_cluster: str) -> str:
    """The absent clusters of each night: of its published attempt, or of the newest attempt that published no cluster."""
    return f"""
        SELECT {", ".join(f"t.{name}" for name in ABSENT_CLUSTER.stored.schema.names)}
        FROM {absent_cluster} t
        JOIN (SELECT snapshot_id, {_NEWEST} AS attempt_id FROM {absent_cluster} GROUP BY snapshot_id) n ON n.snapshot_id = t.snapshot_id
        LEFT JOIN (SELECT DISTINCT snapshot_id, attempt_id FROM {snapshot}) s ON s.snapshot_id = t.snapshot_id
        WHERE t.attempt_id = coalesce(s.attempt_id, n.attempt_id)
    """


def _render(template: str, **more: str) -> str:
    """Replace the names in braces in the SQL of a view.

    A template with `{latest}` is rendered twice, for the latest snapshots and for all others: no engine pushes `WHERE latest` through an
    outer join, and most queries need only the latest. `{latest}` is the constant, `{is_latest}` the condition on each table.
    """
    if "{latest}" not in template:
        return template.format(**_FRAGMENTS, **more)
    both = (("latest", "true"), ("NOT latest", "false"))
    return "\nUNION ALL\n".join(template.format(is_latest=condition, latest=constant, **_FRAGMENTS, **more) for condition, constant in both)


def _survival_columns() -> Iterator[tuple[str, str]]:
    """Yield the columns of `verdict` about survival, each with the aggregate over the cluster's rows of `survival` that computes it."""
    # A pair that shares no partition has no row, because its brokers do no joint harm: "any two" includes the single brokers.
    kinds = {"broker": "('broker')", "rolling_restart": "('stop')", "rack": "('rack')", "two": "('pair', 'broker')"}
    for (failure, kind), (harm, counts) in product(kinds.items(), MUST_BE_ZERO.items()):
        condition = f"kind IN {kind} AND harm = '{harm}'"
        badness = f"({' + '.join(counts)}, kind)"  # if a broker and a pair are equally bad, the pair
        yield f"{SURVIVES[failure]}_{harm}", f"bool_and(survives) FILTER (WHERE {condition})"
        yield f"worst_{failure}_{harm}", f"max_by(worst_scenario, {badness}) FILTER (WHERE {condition} AND NOT survives)"
        for count in counts:
            yield f"{failure}_{harm}_{count}", f"max_by({count}, {badness}) FILTER (WHERE {condition} AND NOT survives)"


def _list(columns: Iterable[str]) -> str:
    return ",\n       ".join(columns)


_SURVIVAL = dict(_survival_columns())
_WORST_FIRST = "(-harmed, brokers, broker_id, other_broker_id, scenario_id)"  # broker 2 before broker 10
_WORST = {"worst_scenario": "scenario_id", **{count: count for count in HARMS}}
# The names in the lists `owner` of several rows, as one list. The engines name the functions differently.
_OWNERS = {
    Dialect.DUCKDB: "array_to_string(list_sort(list_distinct(flatten(list(string_split(owner, ', ')) FILTER (WHERE owner IS NOT NULL)))), ', ')",
    Dialect.SPARK: "nullif(array_join(array_sort(array_distinct(flatten(collect_list(split(owner, ', '))))), ', '), '')",
}
_WORST_SYMPTOM = "(priority, -broken_rows, suite, rule)"
_FRAGMENTS = {
    "priorities": " ".join(f"WHEN '{consequence}' THEN {priority}" for priority, consequence in enumerate(CONSEQUENCES, start=1)),
    "worst_symptom": _list(
        f"min_by({column}, {_WORST_SYMPTOM}) AS {column}"
        for column in ("priority", "consequence", "problem", "broken_rows", "waived_rows", "smallest_change", "example", "suite", "rule")
    ),
    "HARMED": HARMED,
    "ONE_BROKER_KILLED": ONE_BROKER_KILLED,
    "worst_columns": _list(f"CASE WHEN harmed > 0 THEN {name} END AS {name}" for name in _WORST),
    "worst_aggregates": _list(f"min_by({column}, {_WORST_FIRST}) AS {name}" for name, column in _WORST.items()),
    "harmed_by_harm": " ".join(f"WHEN '{harm}' THEN {' + '.join(counts)}" for harm, counts in MUST_BE_ZERO.items()),
    "harms": " UNION ALL ".join(f"SELECT '{harm}' AS harm" for harm in MUST_BE_ZERO),
    "survival_columns": _list(f"f.{name}" for name in _SURVIVAL),
    "survival_aggregates": _list(f"{aggregate} AS {name}" for name, aggregate in _SURVIVAL.items()),
}
