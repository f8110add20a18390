"""Output and input of kafka-reassign-partitions: current assignments, plans, and reassignments under way."""

from pathlib import Path

import pytest

from jobs.ingest.facts import AssignedReplicas, OngoingReassignment
from jobs.ingest.reading import read_dump
from tests.jobs.ingest.dumps import PARTITION, rejects, resolved, rows

RECORDED = Path(__file__).parents[2] / "snapshots" / "formats"
ENTRY = '{{"topic":"t","partition":{},"replicas":[{}]}}'
PLAN = '{{"version":1,"partitions":[{}]}}'
CURRENT = "Current partition replica assignment\n\n{}\n\nProposed partition reassignment configuration\n{}\n"


def facts(text: str) -> list[object]:
    reading = read_dump(text.encode())
    assert reading.format == "kafka-reassign-partitions"
    assert reading.rejected == []
    return [parsed.fact for parsed in reading.parsed if parsed.fact is not None]


@pytest.mark.parametrize("version", ["3.9.2", "4.3.1"])
@pytest.mark.parametrize("action", ["generate", "execute", "list", "verify"])
def test_every_recorded_line_is_parsed(version: str, action: str) -> None:
    assert (
        len(facts((RECORDED / version / f"kafka-reassign-partitions-{action}.txt").read_text()))
        == {
            "generate": 8,
            "execute": 2,
            "list": 1,
            "verify": 0,
        }[action]
    )


def test_current_assignment_is_a_fact_and_a_plan_is_not() -> None:
    text = CURRENT.format(PLAN.format(ENTRY.format(0, "1,2")), PLAN.format(ENTRY.format(0, "3,4")))
    assert facts(text) == [AssignedReplicas("t", 0, (1, 2))]
    assert facts(PLAN.format(ENTRY.format(0, "1,2"))) == []
    assert facts('{"version":1,"topics":[{"topic":"t"}]}') == []
    assert facts('{"partitions":[{"topic":"t","partition":0}]}') == []


def test_listed_reassignment_is_a_fact() -> None:
    text = "Current partition reassignments:\na-b-0: replicas: 3,4,1. adding: 3,4. removing: 1.\nt-1: replicas: 1,2. adding: 2.\n"
    assert facts(text) == [OngoingReassignment("a-b", 0, (3, 4, 1), (3, 4), (1,)), OngoingReassignment("t", 1, (1, 2), (2,), ())]
    assert facts("No partition reassignments found.\n") == []


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (ENTRY.format(-1, "1"), "partition is not between 0 and 2147483647"),
        (ENTRY.format(0, "1,1"), "a broker occurs twice in replicas"),
        (ENTRY.format(0, ""), "replicas is empty"),
        ('{"topic":"../x","partition":0,"replicas":[1]}', "not a topic name that Kafka allows"),
        ('{"topic":"t","partition":0,"replicas":[1],"log_dirs":["any","any"]}', "replicas and log_dirs differ in length"),
        (f"{ENTRY.format(5, '1')},{ENTRY.format(5, '2')}", "the partition occurs twice"),
    ],
)
def test_bad_entry_is_rejected_without_the_others(entry: str, reason: str) -> None:
    reading = read_dump(CURRENT.format(PLAN.format(f"{ENTRY.format(9, '1')},{entry}"), PLAN.format("")).encode())
    assert [rejected.reason for rejected in reading.rejected] == [reason]
    assert AssignedReplicas("t", 9, (1,)) in [parsed.fact for parsed in reading.parsed]


def test_plan_of_another_version_or_cut_off_is_rejected() -> None:
    assert [rejected.reason for rejected in read_dump(b'{"version":2,"partitions":[]}').rejected] == ["only version 1 of a plan is known"]
    [rejected] = read_dump(f"Current partition replica assignment\n{PLAN.format(ENTRY.format(0, '1'))[:-3]}".encode()).rejected
    assert rejected.reason.startswith("not JSON: ")


def test_contradicting_assignment_is_rejected_with_both_values() -> None:
    text = CURRENT.format(PLAN.format(f"{ENTRY.format(0, '2,1')},{ENTRY.format(1, '1')}"), PLAN.format(""))
    tables = resolved(a=PARTITION.format("t", 0, 1, "1,2", "1,2"), b=text)
    assert rejects(tables) == [
        ("b", 3, "a, line 1, differs: replicas 1,2, not 2,1 (written 2026-11-21 02:00:00, this 2026-11-21 02:00:01)"),
        ("b", 3, "no dump has the partition's leader and ISR"),
    ]


def test_listed_reassignment_fills_the_gaps_of_an_older_describe() -> None:
    reassignment = "Current partition reassignments:\nt-0: replicas: 3,1. adding: 3. removing: 1.\n"
    tables = resolved(a=PARTITION.format("t", 0, 1, "3,1", "1"), b=reassignment)
    assert (rows(tables, "partition", "adding_replicas", "removing_replicas"), rejects(tables)) == ([([3], [1])], [])
