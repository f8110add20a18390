"""Every soft rule is part of a finding."""

from __future__ import annotations

from expectations import rules_of
from expectations.finding import RULES
from expectations.limits import limits
from jobs.schema import TABLES
from jobs.schema.publication import CONSEQUENCES


def test_every_soft_rule_and_no_other_is_part_of_a_finding() -> None:
    soft = {f"{table.name}.{rule.name}" for table in TABLES for rule in rules_of(table, limits()) if rule.severity == "soft"}
    assert RULES.keys() == soft
    assert {finding.consequence for finding in RULES.values()} == set(CONSEQUENCES)


def test_a_problem_is_counted_in_words() -> None:
    down = RULES["partition_health.every_partition_has_a_leader"]
    assert [down.sentence(rows) for rows in (1, 1200)] == [
        "1 partition without a live leader now",
        "1,200 partitions without a live leader now",
    ]
    assert RULES["rejected_input.nothing_rejected"].sentence(2) == "2 entries that could not be read"
