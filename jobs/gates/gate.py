"""A gate: evaluate the rules of tables on a snapshot, cluster by cluster.

DuckDB runs the query of every rule over the tables. Great Expectations (GX) validates the rows that the queries return, and
builds the Data Docs from its results. The rows of `validation` are GX's results by cluster: a rule that fails in one cluster does not count
against another. A query that cannot run, for example because of a misspelt column, is an error and not a verdict.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from expectations import rules_of
from expectations.finding import RULES
from expectations.limits import Limits
from expectations.rule import PREVIOUS, Rule
from jobs.errors import AuditError
from jobs.gates.data_docs import build_pages, gx_context
from jobs.gates.duckdb_tables import BrokenRows, DuckdbTables, FilteredDataset, tables_read, tables_read_by_each
from jobs.gates.policy import TABLES as POLICY_TABLES
from jobs.gates.policy import Policy, rules_by_policy
from jobs.lake.lake import Lake
from jobs.lake.selection import Attempt, Selection
from jobs.lake.sql_literal import standard_literal
from jobs.schema import BY_NAME, CLUSTER, INPUT_FILE, REJECTED_INPUT, VALIDATION, Table

if TYPE_CHECKING:  # importing GX takes 3 s, and most commands evaluate no gate
    from great_expectations.core import ExpectationSuiteValidationResult
    from great_expectations.data_context import EphemeralDataContext

Suites = Mapping[str, Sequence[Rule]]  # the rules of each table, by its name
_NO_BROKEN_ROWS = BrokenRows("", 0, [], None, 0, None)
_GX_LOCK = Lock()  # GX has one context for the whole process, and gates of a night may run in several threads
# These tables also have rows for files beside the cluster folders, and for folders without a readable file.
_WITH_ROWS_OF_NO_CLUSTER = (INPUT_FILE.name, REJECTED_INPUT.name)


def check(
    lake: Lake,
    attempt: Attempt,
    tables: Iterable[Table],
    *,
    previous: Mapping[str, Attempt],
    limits: Limits,
    docs: str | None,
    reading: Collection[Table] | None = None,
) -> pa.Table:
    """Return the rows of `validation` without their gate: one for each cluster of the attempt and each rule of these tables.

    `previous` maps each cluster to the published attempt of its previous snapshot. The pages go to the folder `docs`, if there is one.
    With `reading`, only rules that read one of these tables are evaluated.
    """
    tables = list(tables)
    names = tables_of({table.name: rules_of(table, limits) for table in tables})
    opened = DuckdbTables({name: _rows(lake, name, attempt, previous) for name in names})
    suites: Suites = {table.name: rules_by_policy(opened, table, limits) for table in tables}
    if reading is not None:
        suites = _rules_reading({table.name for table in reading}, suites)
    return evaluate(opened, suites, attempt.snapshot_id, docs=docs)


def tables_of(suites: Suites) -> list[str]:
    """Return the names of the tables that rules read, sorted; those of the previous snapshots with their prefix."""
    names = tables_read(query for rules in suites.values() for rule in rules for query in _queries(rule))
    names |= {table.name for table in (CLUSTER, *POLICY_TABLES)}
    return sorted(name for name in names if name.removeprefix(PREVIOUS) in BY_NAME)


def _queries(rule: Rule) -> list[str]:
    return [query for query in (rule.query, rule.requires) if query]


def _rules_reading(names: Collection[str], suites: Suites) -> Suites:
    """Return the rules that read one of these tables, without suites that have none."""
    queries = [query for rules in suites.values() for rule in rules for query in _queries(rule)]
    reading = {query for query, read in zip(queries, tables_read_by_each(queries), strict=True) if not read.isdisjoint(names)}
    chosen = {suite: [rule for rule in rules if not reading.isdisjoint(_queries(rule))] for suite, rules in suites.items()}
    return {suite: rules for suite, rules in chosen.items() if rules}


def _rows(lake: Lake, name: str, attempt: Attempt, previous: Mapping[str, Attempt]) -> str | FilteredDataset:
    """Return the rows of a table: a query over its files, or a dataset if DuckDB cannot open them itself."""
    table = BY_NAME[name.removeprefix(PREVIOUS)]
    if name.startswith(PREVIOUS):
        query, selection = lake.duckdb_query(table, attempts=previous), Selection({}, previous)
    else:
        query, selection = lake.duckdb_query(table, **attempt._asdict()), Selection(attempt._asdict())
    return query or FilteredDataset(lake.dataset(table), table.schema.names, selection.sql(standard_literal))


def evaluate(tables: DuckdbTables, suites: Suites, snapshot_id: str, *, docs: str | None) -> pa.Table:
    """Return the rows of `validation` without their gate, for tables that are open already."""
    clusters = [row["cluster_id"] for row in tables.query(f"SELECT DISTINCT cluster_id FROM {CLUSTER.name} ORDER BY cluster_id", "cluster")]
    if not clusters:
        raise AuditError(f"snapshot {snapshot_id} has no cluster: ingest it first")
    known = _clusters_with_input(tables, suites)
    policy = Policy(tables)
    broken = {suite: {rule.name: _broken_rows(tables, suite, rule, policy) for rule in rules} for suite, rules in suites.items()}
    rows = []
    with _GX_LOCK:
        context = gx_context(docs)
        for suite, rules in suites.items():
            result = _validate(context, suite, rules, broken[suite], snapshot_id)
            outcomes = {outcome.expectation_config.kwargs["rule"]: outcome for outcome in result.results}
            for rule in rules:
                rows += _verdicts(suite, rule, outcomes[rule.name], broken[suite][rule.name], clusters, known)
        if docs is not None:
            build_pages(context, docs, suites, snapshot_id)
    schema = pa.schema([field for field in VALIDATION.schema if field.name != "gate"])
    return pa.Table.from_pylist([{"snapshot_id": snapshot_id} | row for row in rows], schema)


def _broken_rows(tables: DuckdbTables, suite: str, rule: Rule, policy: Policy) -> list[BrokenRows]:
    """Return the rows that break a rule, by cluster. Only rows that break a soft rule have owners and waivers."""
    purpose = f"rule {suite}.{rule.name}"
    if rule.severity == "hard" or policy.is_empty:
        return tables.broken_rows(rule.query, purpose)
    columns = tables.columns(rule.query, purpose)
    return tables.broken_rows(rule.query, purpose, owner=policy.owner(columns), waived_until=policy.waived_until(suite, rule.name, columns))


def _clusters_with_input(tables: DuckdbTables, suites: Suites) -> dict[str, set[str]]:
    """Return the clusters that each `requires` query of the rules returns."""
    queries = sorted({rule.requires for rules in suites.values() for rule in rules if rule.requires})
    known: dict[str, set[str]] = {query: set() for query in queries}
    if queries:
        union = " UNION ALL ".join(f"SELECT DISTINCT {number} AS query, cluster_id FROM ({query})" for number, query in enumerate(queries))
        for row in tables.query(union, "the input that rules require"):
            known[queries[row["query"]]].add(row["cluster_id"])
    return known


def _validate(
    context: EphemeralDataContext, suite: str, rules: Sequence[Rule], broken: Mapping[str, list[BrokenRows]], snapshot_id: str
) -> ExpectationSuiteValidationResult:
    """Return GX's result for the rows that break each rule of a table, whose name is the name of the suite."""
    import great_expectations as gx
    from great_expectations.core.run_identifier import RunIdentifier

    from jobs.gates.expectation import batch, expectation

    definition = gx.ValidationDefinition(
        name=suite,
        data=context.data_sources.add_pandas(suite).add_dataframe_asset(suite).add_batch_definition_whole_dataframe(snapshot_id),
        suite=context.suites.add_or_update(gx.ExpectationSuite(suite, expectations=[expectation(rule) for rule in rules])),
    )
    return context.validation_definitions.add(definition).run(
        batch_parameters={"dataframe": batch({rule: [rows for rows in clusters if rows.count] for rule, clusters in broken.items()})},
        result_format="BASIC",
        run_id=RunIdentifier(run_name=snapshot_id, run_time=datetime.now(UTC)),
    )


def _verdicts(
    suite: str, rule: Rule, outcome: Any, broken: Iterable[BrokenRows], clusters: Sequence[str], known: Mapping[str, set[str]]
) -> Iterable[dict[str, Any]]:
    """Yield the verdict of a rule for each cluster: passed, failed, or unknown because its input is missing.

    Great Expectations has validated the rows that are not waived. A rule that only waived rows break is passed.
    """
    if "details" not in outcome.result:
        raise AuditError(f"Great Expectations cannot validate rule {suite}.{rule.name}: {outcome.exception_info}")
    validated, rows_of = outcome.result["details"]["clusters"], {rows.cluster_id: rows for rows in broken}
    others = rows_of.keys() - set(clusters)
    if others and suite not in _WITH_ROWS_OF_NO_CLUSTER:
        raise AuditError(f"rule {suite}.{rule.name} returns clusters that the snapshot does not have: {sorted(others)}")
    for cluster_id in clusters:
        rows = rows_of.get(cluster_id, _NO_BROKEN_ROWS)
        broken_rows = validated.get(cluster_id, {"broken_rows": 0})["broken_rows"]
        passed = True if rule.requires is None or cluster_id in known[rule.requires] or rows.waived_count else None
        example = next(iter(rows.sample), None)
        yield {
            "cluster_id": cluster_id,
            "suite": suite,
            "rule": rule.name,
            "severity": rule.severity,
            "success": False if broken_rows else passed,
            "sentence": rule.sentence,
            "broken_rows": broken_rows,
            "example": example,
            "owner": rows.owner,
            "waived_rows": rows.waived_count,
            "waived_until": rows.waived_until,
            **(_finding(f"{suite}.{rule.name}", broken_rows or rows.waived_count, example) if f"{suite}.{rule.name}" in RULES else {}),
        }


def _finding(rule: str, rows: int, example: str | None) -> dict[str, str | None]:
    """Return what a rule of RULES means and, if rows break it, what is wrong and the change that repairs the example."""
    finding = RULES[rule]
    return {
        "cause": finding.cause,
        "consequence": finding.consequence,
        "problem": finding.sentence(rows) if rows else None,
        "smallest_change": json.loads(example)["smallest_change"] if example else None,
    }
