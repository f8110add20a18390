"""Create the published views over tables in memory, and compare `survival` and `verdict` with the failures they summarize."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import duckdb
import pyarrow as pa

from jobs import views
from jobs.lake.delta_files import complete
from jobs.schema import TABLES, VERDICT, Table
from jobs.views.definitions import verdict_query

Key = tuple[str, str]  # snapshot_id, cluster_id
COUNTS = ("newly_offline", "newly_refusing_acks_all", "newly_lost")
# The counts that are added up for each harm, which are also the counts in `verdict`.
COUNTS_BY_HARM = {"data": ("newly_lost",), "reads": ("newly_offline",), "writes": ("newly_offline", "newly_refusing_acks_all")}


def published(tables: Mapping[Table, pa.Table]) -> duckdb.DuckDBPyConnection:
    """Return a DuckDB connection with the published views over the rows of these tables in attempt 1; the other tables are empty."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    queries = views.statements(lambda table: f'"_{table.name}"')
    for table in TABLES:
        connection.register(f"_{table.name}", complete(table.stored, tables.get(table, table.schema.empty_table()), {"attempt_id": "1"}))
    for name in queries:
        connection.execute(f'CREATE VIEW "{name}" AS {queries[name]}')
    verdicts = connection.sql(verdict_query()).to_arrow_table().cast(VERDICT.schema)
    connection.register("_verdict", complete(VERDICT.stored, verdicts, {"attempt_id": "1"}))
    return connection


def rows_of(connection: Any, sql: str) -> list[dict[str, Any]]:
    """Return the rows of a query as dicts."""
    result = connection.execute(sql)
    names = [column[0] for column in result.description]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def check_survival_and_verdict(connection: Any) -> dict[Key, dict[str, Any]]:
    """Compare `survival` and the survival columns of `verdict` with the failures of each cluster, and return the verdicts."""
    failures: dict[Key, dict[str, list[dict[str, Any]]]] = {}
    counts = ", ".join(COUNTS)
    for row in [
        *rows_of(
            connection, f"SELECT snapshot_id, cluster_id, kind, scenario_id, brokers, {counts} FROM scenario WHERE scenario_set = 'nightly'"
        ),
        *rows_of(
            connection,
            "SELECT snapshot_id, cluster_id, 'pair' AS kind, 'brokers ' || broker_id || '+' || other_broker_id AS scenario_id, "
            f"[broker_id, other_broker_id] AS brokers, {counts} FROM broker_pair",
        ),
    ]:
        failures.setdefault((row["snapshot_id"], row["cluster_id"]), {}).setdefault(row["kind"], []).append(row)

    expected = {
        (*key, kind, harm): (len(same_kind), *_outcome(_worst(same_kind, harm), COUNTS))
        for key, by_kind in failures.items()
        for kind, same_kind in by_kind.items()
        for harm in COUNTS_BY_HARM
    }
    actual = {
        tuple(row[name] for name in ("snapshot_id", "cluster_id", "kind", "harm")): tuple(
            row[name] for name in ("scenarios", "survives", "worst_scenario", *COUNTS)
        )
        for row in rows_of(connection, "SELECT * FROM survival")
    }
    assert expected
    assert actual == expected

    verdicts = {(row["snapshot_id"], row["cluster_id"]): row for row in rows_of(connection, "SELECT * FROM verdict")}
    assert verdicts.keys() == failures.keys()
    for key, verdict in verdicts.items():
        for name, flag, kinds in (
            ("broker", "any_broker", ["broker"]),
            ("rolling_restart", "rolling_restart", ["stop"]),
            ("rack", "any_rack", ["rack"]),
            ("two", "any_two", ["pair", "broker"]),
        ):
            for harm, harm_counts in COUNTS_BY_HARM.items():
                expected_cells = _worst_outcome([failures[key].get(kind, []) for kind in kinds], harm)
                columns = (f"{flag}_{harm}", f"worst_{name}_{harm}", *(f"{name}_{harm}_{count}" for count in harm_counts))
                assert tuple(verdict[column] for column in columns) == expected_cells, (key, columns)
    return verdicts


def _worst_outcome(kinds: Iterable[list[dict[str, Any]]], harm: str) -> tuple[Any, ...]:
    """Return the outcome of the worst failure of these kinds; if several are equally bad, of the first kind."""
    worst = [_worst(same_kind, harm) for same_kind in kinds if same_kind]
    if not worst:
        return (None,) * (2 + len(COUNTS_BY_HARM[harm]))
    return _outcome(max(worst, key=lambda pair: pair[0]), COUNTS_BY_HARM[harm])


def _worst(same_kind: list[dict[str, Any]], harm: str) -> tuple[int, dict[str, Any]]:
    """Return the number of harmed partitions and the worst failure; if several are equally bad, the one with the lowest broker ids."""
    harmed = {row["scenario_id"]: sum(row[count] for count in COUNTS_BY_HARM[harm]) for row in same_kind}
    row = min(same_kind, key=lambda row: (-harmed[row["scenario_id"]], row["brokers"]))
    return harmed[row["scenario_id"]], row


def _outcome(worst: tuple[int, dict[str, Any]], counts: Iterable[str]) -> tuple[Any, ...]:
    """Return whether the cluster survives the failure; if not, also the failure and its counts."""
    harmed, row = worst
    return (harmed == 0, *(row[name] if harmed else None for name in ("scenario_id", *counts)))
