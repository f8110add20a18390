"""The view `finding`, the conditions of --fail-on and the formats for other programs, over rules broken in three nights."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from xml.etree import ElementTree

import duckdb
import pyarrow as pa
import pytest

from jobs.errors import AuditError
from jobs.report.fail_on import conditions, fulfilled
from jobs.report.finding_formats import FindingFormat, formatted_findings
from jobs.schema import SNAPSHOT, VALIDATION
from tests.jobs.published import published, rows_of

NIGHTS = ("n1", "n2", "n3")
FATAL, STALE, UNEVEN = "one broker is fatal", "assignment is unfinished", "leaders are uneven"
# The rule, its cause and consequence, and the number of broken rows in each night.
RULES = [
    ("scenario", "data_survives_a_broker", FATAL, "data loss", (0, 2, 2)),
    ("scenario", "writes_survive_a_broker", FATAL, "writes refused", (3, 3, 3)),
    ("partition", "no_reassignment_in_progress", STALE, "less redundancy", (0, 0, 4)),
    ("broker_balance", "even_leaders", UNEVEN, "balance", (1, 0, 0)),
]


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    validation: list[dict[str, Any]] = [
        {
            "snapshot_id": night, "cluster_id": "a", "gate": "balance", "suite": suite, "rule": rule, "severity": "soft", "success": not count,
            "broken_rows": count, "example": '{"broker_id":1,"smallest_change":"x"}' if count else None, "sentence": f"{rule} holds.",
            "cause": cause, "consequence": consequence, "problem": f"{count} of {rule}" if count else None,
            "smallest_change": f"change for {rule}" if count else None,
        }
        for suite, rule, cause, consequence, counts in RULES
        for night, count in zip(NIGHTS, counts)
    ]  # fmt: skip
    snapshots = [
        {
            "snapshot_id": night,
            "cluster_id": "a",
            "attempt_id": "1",
            "previous_snapshot_id": before,
            "published_at": datetime(2026, 1, 1, tzinfo=UTC),
        }
        for before, night in zip((None, *NIGHTS), NIGHTS)
    ]
    return published(
        {VALIDATION: pa.Table.from_pylist(validation, VALIDATION.schema), SNAPSHOT: pa.Table.from_pylist(snapshots, SNAPSHOT.schema)}
    )


def test_a_finding_is_named_by_its_worst_symptom_and_starts_with_its_first(connection: duckdb.DuckDBPyConnection) -> None:
    columns = "cause, consequence, priority, problem, broken_rows, smallest_change, rule, symptoms, since_snapshot_id, nights, is_new"
    found = [tuple(row.values()) for row in rows_of(connection, f"SELECT {columns} FROM finding WHERE latest ORDER BY priority")]
    assert found == [
        (FATAL, "data loss", 1, "2 of data_survives_a_broker", 2, "change for data_survives_a_broker", "data_survives_a_broker", 1, "n1", 3, False),
        (STALE, "less redundancy", 4, "4 of no_reassignment_in_progress", 4, "change for no_reassignment_in_progress",
         "no_reassignment_in_progress", 0, "n3", 1, True),
    ]  # fmt: skip
    (first,) = rows_of(connection, "SELECT * FROM finding WHERE snapshot_id = 'n1' AND cause = 'leaders are uneven'")
    assert not first["is_new"]  # nothing is new in the first night


def test_fail_on_names_each_cluster_that_fulfils_a_condition(connection: duckdb.DuckDBPyConnection) -> None:
    assert fulfilled(connection, "n3", ["new"]) == ["a: new: 4 of no_reassignment_in_progress"]
    assert fulfilled(connection, "n2", ["new"]) == []
    for rule in ("rule=data_survives_a_broker", "rule=scenario.data_survives_a_broker"):
        lines = fulfilled(connection, "n2", [rule])
        assert lines == ["a: scenario.data_survives_a_broker is broken by 2 rows"]
    assert fulfilled(connection, "n1", ["rule=data_survives_a_broker"]) == []


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ("dta", "--fail-on dta: it must be data, reads, writes, quorum, new or rule=NAME"),
        ("rule=even_leader", "--fail-on rule=even_leader: no rule has this name: similar names are even_leaders"),
    ],
)
def test_an_unknown_condition_is_an_error(given: str, error: str) -> None:
    with pytest.raises(AuditError) as raised:
        conditions([given], ["broker_balance.even_leaders"])
    assert str(raised.value).startswith(error)


def test_conditions_may_be_listed_and_repeated() -> None:
    assert conditions(["data, new", "rule=even_leaders"], ["broker_balance.even_leaders"]) == ["data", "new", "rule=even_leaders"]


def test_every_format_has_every_finding(connection: duckdb.DuckDBPyConnection) -> None:
    written = {each: formatted_findings(connection, "n3", each) for each in FindingFormat}
    parsed = json.loads(written[FindingFormat.json])
    assert (parsed["snapshot_id"], parsed["clusters"]) == ("n3", ["a"])
    problems = [row["problem"] for row in rows_of(connection, "SELECT problem FROM finding WHERE latest ORDER BY priority")]
    assert len(problems) == 2
    assert [finding["problem"] for finding in parsed["findings"]] == problems
    failures = ElementTree.fromstring(written[FindingFormat.junit]).iter("failure")
    assert [failure.get("message") for failure in failures] == problems
    (run,) = json.loads(written[FindingFormat.sarif])["runs"]
    assert [(result["level"], result["baselineState"]) for result in run["results"]] == [("error", "unchanged"), ("warning", "new")]
    assert {result["ruleId"] for result in run["results"]} == {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert all(
        problem.replace("_", "\\_") in written[FindingFormat.markdown] or problem in written[FindingFormat.markdown] for problem in problems
    )
