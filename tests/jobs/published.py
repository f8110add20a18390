"""The published views over tables in memory, and what `survival` and `verdict` must contain, computed from the failures one by one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import duckdb
import pyarrow as pa

from jobs import views
from jobs.schema import TABLES, Table

Key = tuple[str, str]  # snapshot_id, cluster_id
COUNTS = ("newly_offline", "newly_refusing_acks_all", "newly_lost")
# The counts that a harm adds up, and those that `verdict` has of it.
OF_HARM = {"data": ("newly_lost",), "reads": ("newly_offline",), "writes": ("newly_offline", "newly_refusing_acks_all")}


def published(tables: Mapping[Table, pa.Table]) -> duckdb.DuckDBPyConnection:
    """DuckDB with the published views over these tables; the others are empty."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for table in TABLES:
        connection.register(f"_{table.name}", tables.get(table, table.schema.empty_table()))
    for name, query in views.statements(lambda table: f'"_{table.name}"').items():
        connection.execute(f'CREATE VIEW "{name}" AS {query}')
    return connection


def rows_of(connection: Any, sql: str) -> list[dict[str, Any]]:
    answer = connection.execute(sql)
    names = [column[0] for column in answer.description]
    return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]


def check_survival_and_verdict(connection: Any) -> dict[Key, dict[str, Any]]:
    """Compare each row of `survival` and each such cell of `verdict` with the failures of its cluster; returns the verdicts."""
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
        (*key, kind, harm): (len(of_kind), *_outcome(_worst(of_kind, harm), COUNTS))
        for key, by_kind in failures.items()
        for kind, of_kind in by_kind.items()
        for harm in OF_HARM
    }
    found = {
        tuple(row[name] for name in ("snapshot_id", "cluster_id", "kind", "harm")): tuple(
            row[name] for name in ("scenarios", "survives", "worst_scenario", *COUNTS)
        )
        for row in rows_of(connection, "SELECT * FROM survival")
    }
    assert expected
    assert found == expected

    verdicts = {(row["snapshot_id"], row["cluster_id"]): row for row in rows_of(connection, "SELECT * FROM verdict")}
    assert verdicts.keys() == failures.keys()
    for key, verdict in verdicts.items():
        for name, flag, kinds in (
            ("broker", "any_broker", ["broker"]),
            ("rolling_restart", "rolling_restart", ["stop"]),
            ("rack", "any_rack", ["rack"]),
            ("two", "any_two", ["pair", "broker"]),
        ):
            for harm, of_harm in OF_HARM.items():
                wanted = _of_kinds([failures[key].get(kind, []) for kind in kinds], harm)
                cells = (f"{flag}_{harm}", f"worst_{name}_{harm}", *(f"{name}_{harm}_{count}" for count in of_harm))
                assert tuple(verdict[cell] for cell in cells) == wanted, (key, cells)
    return verdicts


def _of_kinds(kinds: Iterable[list[dict[str, Any]]], harm: str) -> tuple[Any, ...]:
    """The outcome of the worst failure of these kinds; of kinds that harm equally, the first."""
    worst = [_worst(of_kind, harm) for of_kind in kinds if of_kind]
    if not worst:
        return (None,) * (2 + len(OF_HARM[harm]))
    return _outcome(max(worst, key=lambda pair: pair[0]), OF_HARM[harm])


def _worst(of_kind: list[dict[str, Any]], harm: str) -> tuple[int, dict[str, Any]]:
    """How many partitions the worst failure harms, and that failure; of failures that harm equally, the lowest broker ids."""
    harmed = {row["scenario_id"]: sum(row[count] for count in OF_HARM[harm]) for row in of_kind}
    row = min(of_kind, key=lambda row: (-harmed[row["scenario_id"]], row["brokers"]))
    return harmed[row["scenario_id"]], row


def _outcome(worst: tuple[int, dict[str, Any]], counts: Iterable[str]) -> tuple[Any, ...]:
    """Whether it is survived; if not, the failure and its counts."""
    harmed, row = worst
    return (harmed == 0, *(row[name] if harmed else None for name in ("scenario_id", *counts)))
