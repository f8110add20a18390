"""The view `finding`, the conditions of --fail-on and the formats for other programs, over rules broken in three nights."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
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
RACK, HOT, MARCH, APRIL = "one rack is fatal", "producers are uneven", date(2026, 3, 1), date(2026, 4, 1)
# The rule, its cause and consequence, and the number of broken rows in each night.
RULES = [
    ("scenario", "data_survives_a_broker", FATAL, "data loss", (0, 2, 2)),
    ("scenario", "writes_survive_a_broker", FATAL, "writes refused", (3, 3, 3)),
    ("partition_health", "spread_over_racks", RACK, "less redundancy", (0, 0, 1)),
    ("partition", "no_reassignment_in_progress", STALE, "less redundancy", (0, 0, 4)),
    ("broker_balance", "even_leaders", UNEVEN, "balance", (1, 0, 0)),
    ("scenario", "data_survives_a_rack", RACK, "data loss", (1, 1, 0)),
    ("scenario", "writes_survive_a_rack", RACK, "writes refused", (0, 0, 1)),
    ("hot_key", "no_hot_key", HOT, "balance", (2, 0, 0)),
    ("topic_load", "even_producers", HOT, "balance", (0, 0, 0)),
]
# The waived rows of a rule in a night, and the day of the first expiry if all its rows are waived.
WAIVED = {
    ("n3", "data_survives_a_rack"): (1, MARCH),
    ("n2", "no_hot_key"): (2, APRIL),
    ("n3", "no_hot_key"): (2, APRIL),
    ("n3", "even_producers"): (5, MARCH),
    ("n3", "writes_survive_a_rack"): (4, None),
}
OWNERS = {"data_survives_a_rack": "d", "writes_survive_a_rack": "c, b", "spread_over_racks": "a, b", "no_hot_key": "a"}


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    validation: list[dict[str, Any]] = [
        {
            "snapshot_id": night, "cluster_id": "a", "gate": "balance", "suite": suite, "rule": rule, "severity": "soft", "success": not count,
            "broken_rows": count, "example": '{"broker_id":1,"smallest_change":"x"}' if count else None, "sentence": f"{rule} holds.",
            "cause": cause, "consequence": consequence, "problem": f"{count or waived_rows} of {rule}" if count or waived_rows else None,
            "smallest_change": f"change for {rule}" if count else None, "owner": OWNERS.get(rule), "waived_rows": waived_rows,
            "waived_until": waived_until,
        }
        for suite, rule, cause, consequence, counts in RULES
        for night, count in zip(NIGHTS, counts)
        for waived_rows, waived_until in [WAIVED.get((night, rule), (0, None))]
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
    query = f"SELECT {columns} FROM finding WHERE latest AND owner IS NULL ORDER BY priority"
    found = [tuple(row.values()) for row in rows_of(connection, query)]
    assert found == [
        (FATAL, "data loss", 1, "2 of data_survives_a_broker", 2, "change for data_survives_a_broker", "data_survives_a_broker", 1, "n1", 3, False),
        (STALE, "less redundancy", 4, "4 of no_reassignment_in_progress", 4, "change for no_reassignment_in_progress",
         "no_reassignment_in_progress", 0, "n3", 1, True),
    ]  # fmt: skip
    (first,) = rows_of(connection, "SELECT * FROM finding WHERE snapshot_id = 'n1' AND cause = 'leaders are uneven'")
    assert not first["is_new"]  # nothing is new in the first night


def test_a_finding_is_waived_if_all_its_symptoms_are(connection: duckdb.DuckDBPyConnection) -> None:
    columns = "cause, rule, problem, broken_rows, owner, waived_rows, waived_until, symptoms, since_snapshot_id, nights, is_new"
    query = f"SELECT {columns} FROM finding WHERE latest AND cause IN ('{RACK}', '{HOT}') ORDER BY cause"
    assert [tuple(row.values()) for row in rows_of(connection, query)] == [
        # The waived data loss of a rack does not count: the finding started when another rule broke.
        (RACK, "writes_survive_a_rack", "1 of writes_survive_a_rack", 1, "a, b, c", 4, None, 1, "n3", 1, True),
        (HOT, "no_hot_key", "2 of no_hot_key", 0, "a", 2, MARCH, 1, "n1", 3, False),
    ]
    (earlier,) = rows_of(connection, f"SELECT waived_until, owner FROM finding WHERE snapshot_id = 'n2' AND cause = '{RACK}'")
    assert earlier == {"waived_until": None, "owner": "d"}
    results = rows_of(
        connection, "SELECT rule, result FROM broken_rule WHERE latest AND suite <> 'partition' AND waived_rows > 0 ORDER BY 1"
    )
    assert {row["rule"]: row["result"] for row in results} == {
        "data_survives_a_rack": "waived",
        "even_producers": "waived",
        "no_hot_key": "waived",
        "writes_survive_a_rack": "broken",
    }


def test_fail_on_names_each_cluster_that_fulfils_a_condition(connection: duckdb.DuckDBPyConnection) -> None:
    assert fulfilled(connection, "n3", ["new"]) == ["a: new: 1 of writes_survive_a_rack", "a: new: 4 of no_reassignment_in_progress"]
    assert fulfilled(connection, "n3", ["rule=no_hot_key", "rule=even_producers"]) == []  # waived
    assert fulfilled(connection, "n3", ["data", "writes", "quorum"]) == [
        "a: one broker's death loses data",
        "a: one broker's death makes partitions refuse acks=all",
    ]
    assert fulfilled(connection, "n1", ["data"]) == []
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
    query = "SELECT problem, waived_until FROM finding WHERE latest ORDER BY waived_until IS NOT NULL, priority"
    found = rows_of(connection, query)
    problems, waived = ([row["problem"] for row in found if (row["waived_until"] is None) == active] for active in (True, False))
    assert (len(problems), len(waived)) == (3, 1)
    assert [finding["problem"] for finding in parsed["findings"]] == problems + waived
    assert [(finding["owner"], finding["waived_until"]) for finding in parsed["findings"][1:]] == [
        ("a, b, c", None),
        (None, None),
        ("a", "2026-03-01"),
    ]
    root = ElementTree.fromstring(written[FindingFormat.junit])
    assert [failure.get("message") for failure in root.iter("failure")] == problems
    assert [skipped.get("message") for skipped in root.iter("skipped")] == ["2 of no_hot_key: waived until 2026-03-01"]
    assert {(each.get("tests"), each.get("failures"), each.get("skipped")) for each in (root, *root.iter("testsuite"))} == {("4", "3", "1")}
    assert "Owner: a, b, c." in list(root.iter("failure"))[1].text
    (run,) = json.loads(written[FindingFormat.sarif])["runs"]
    assert [(result["level"], result["baselineState"], len(result["suppressions"])) for result in run["results"]] == [
        ("error", "unchanged", 0),
        ("error", "new", 0),
        ("warning", "new", 0),
        ("note", "unchanged", 1),
    ]
    assert run["results"][1]["properties"] == {"owner": "a, b, c"}
    assert {result["ruleId"] for result in run["results"]} == {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    markdown = written[FindingFormat.markdown].replace("\\_", "_")
    assert "3 findings and 1 waived in 1 clusters" in markdown
    assert [line for line in [*problems, *waived, "a, b, c", "2026-03-01"] if line not in markdown] == []
