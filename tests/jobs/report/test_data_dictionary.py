"""`topology-audit describe`: tables, views and rules as text for terminals of 80 and 160 columns."""

from __future__ import annotations

import pytest

from expectations import rules_of
from expectations.limits import limits
from jobs.errors import AuditError
from jobs.night import GATES
from jobs.report.data_dictionary import describe
from jobs.schema import FAILOVER_LOAD, TABLES
from jobs.views import VIEWS


def words(text: str) -> str:
    """Return the text on one line, with one space between words."""
    return " ".join(text.split())


def test_a_table_is_described_with_its_key_rules_and_columns() -> None:
    lines = describe("failover_load", 80).splitlines()
    assert lines[:4] == [
        "Table failover_load: what a surviving broker takes over in a failure, for",
        "brokers that gain a leader",
        "Key: snapshot_id, cluster_id, scenario_set, scenario_id, broker_id",
        "Rules: one_row_per_key, gains_match_moves, gained_shares_sum_to_one,",
    ]
    start = lines.index("network_out_share DOUBLE")
    assert lines[start + 1 : start + 5] == [
        "    network_out_bytes_per_s divided by the broker's outgoing network capacity;",
        "    null: one of them is unknown",
        "latest BOOLEAN NOT NULL",
        "    the row belongs to the cluster's newest published snapshot",
    ]
    assert [line.split()[0] for line in lines[lines.index("") + 1 :] if not line.startswith(" ")] == [
        *FAILOVER_LOAD.stored.schema.names, "latest", "snapshot_age", "stale",
    ]  # fmt: skip


@pytest.mark.parametrize("table", ["parameter", "absent_cluster"])
def test_only_a_view_with_the_added_columns_lists_them(table: str) -> None:
    assert "snapshot_age INT" not in describe(table, 80)


def test_a_view_is_described_with_its_example_sources_and_columns() -> None:
    text = words(describe("takeover", 80))
    assert text.startswith("View takeover: The leaders and the load that each surviving broker takes over")
    assert f"Example: {VIEWS['takeover'].example} Reads: failover_load Columns: snapshot_id, cluster_id, scenario_set," in text
    assert text.endswith("network_out_share, latest, snapshot_age, stale")


def test_a_view_of_every_night_is_described() -> None:
    text = words(describe("all_input_file", 80))
    assert text.startswith("View all_input_file: The rows of the table input_file in the newest attempt of every night, published or not.")
    assert text.endswith("Columns: snapshot_id, attempt_id, cluster_id, file, format, entries, accepted, rejected, size_bytes, skipped")


@pytest.mark.parametrize("name", ["scenario.reads_survive_a_broker", "reads_survive_a_broker"])
def test_a_rule_is_found_with_and_without_its_table(name: str) -> None:
    assert describe(name, 80).splitlines() == [
        "Soft rule scenario.reads_survive_a_broker: If any one broker dies, no partition",
        "loses its leader.",
        "If broken: A row that breaks it is a finding about the cluster.",
    ]


@pytest.mark.parametrize(
    ("rule", "limit"),
    [
        ("even_leaders", "Limits in limits.toml: leader_ratio_most = 1.5, leader_ratio_least = 0.5"),
        ("survivors_have_capacity", "Limits in limits.toml: cruise_control.network_outbound_capacity_threshold = 0.8"),
    ],
)
def test_a_rule_is_described_with_its_limits(rule: str, limit: str) -> None:
    assert describe(rule, 100).splitlines()[-1] == limit


def test_a_name_of_several_rules_describes_all_of_them() -> None:
    text = describe("one_row_per_key", 80)
    assert text.count("Hard rule ") == text.count("If broken: A cluster with a row that breaks it is not published.")
    checked = {table.name for tables in GATES.values() for table in tables}
    assert {word.partition(".")[0] for word in text.split() if word.endswith(".one_row_per_key:")} == checked


def test_a_table_that_no_gate_evaluates_has_no_rules() -> None:
    assert "Rules: none\n" in describe("plan_move", 80)


def test_without_a_name_everything_is_listed() -> None:
    listed = set(describe(None, 80).replace(",", "").split())
    assert {table.name for table in TABLES} | VIEWS.keys() | {"all_validation"} <= listed
    assert {rule.name for tables in GATES.values() for table in tables for rule in rules_of(table, limits())} <= listed


@pytest.mark.parametrize("width", [80, 160])
@pytest.mark.parametrize("name", [None, "scenario", "verdict", "every_affected_partition"])
def test_lines_fit_the_terminal(name: str | None, width: int) -> None:
    lines = describe(name, width).splitlines()
    assert [line for line in lines if len(line) > width and len(line.split()) > 1] == []
    assert width * 0.6 < max(map(len, lines))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("faliover", "no table, view or rule is named faliover: similar names are failover, "),
        ("xyzzy", "no table, view or rule is named xyzzy: `topology-audit describe` lists all names"),
    ],
)
def test_an_unknown_name_is_an_error_with_similar_names(name: str, message: str) -> None:
    with pytest.raises(AuditError) as refused:
        describe(name, 80)
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)
