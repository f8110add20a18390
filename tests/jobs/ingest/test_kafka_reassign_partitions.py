"""What kafka-reassign-partitions prints and takes: current assignments, plans, and what is under way."""

from pathlib import Path

import pytest

from jobs.ingest.facts import Assigned, Reassigning
from jobs.ingest.reading import read_dump
from tests.jobs.ingest.test_merge import PARTITION, merged, rejects

RECORDED = Path(__file__).parents[2] / "snapshots" / "formats"
ENTRY = '{{"topic":"t","partition":{},"replicas":[{}]}}'
PLAN = '{{"version":1,"partitions":[{}]}}'
CURRENT = "Current partition replica assignment\n\n{}\n\nProposed partition reassignment configuration\n{}\n"


def facts(text: str) -> list[object]:
    reading = read_dump(text.encode())
    assert reading.format == "kafka-reassign-partitions"
    assert reading.rejected == []
    return [told.fact for told in reading.told if told.fact is not None]


@pytest.mark.parametrize("version", ["3.9.2", "4.3.1"])
@pytest.mark.parametrize("action", ["generate", "execute", "list", "verify"])
def test_every_line_that_kafka_printed_is_understood(version: str, action: str) -> None:
    assert (
        len(facts((RECORDED / version / f"kafka-reassign-partitions-{action}.txt").read_text()))
        == {
            "generate": 8,
            "execute": 2,
            "list": 1,
            "verify": 0,
        }[action]
    )


def test_current_assignment_is_told_and_a_plan_is_not() -> None:
    text = CURRENT.format(PLAN.format(ENTRY.format(0, "1,2")), PLAN.format(ENTRY.format(0, "3,4")))
    assert facts(text) == [Assigned("t", 0, (1, 2))]
    assert facts(PLAN.format(ENTRY.format(0, "1,2"))) == []
    assert facts('{"version":1,"topics":[{"topic":"t"}]}') == []
    assert facts('{"partitions":[{"topic":"t","partition":0}]}') == []


def test_listed_reassignment_is_told() -> None:
    text = "Current partition reassignments:\na-b-0: replicas: 3,4,1. adding: 3,4. removing: 1.\nt-1: replicas: 1,2. adding: 2.\n"
    assert facts(text) == [Reassigning("a-b", 0, (3, 4, 1), (3, 4), (1,)), Reassigning("t", 1, (1, 2), (2,), ())]
    assert facts("No partition reassignments found.\n") == []


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (ENTRY.format(-1, "1"), "partition is not within 0 and 2147483647"),
        (ENTRY.format(0, "1,1"), "a broker is named twice in replicas"),
        (ENTRY.format(0, ""), "replicas names no broker"),
        ('{"topic":"../x","partition":0,"replicas":[1]}', "no name that Kafka allows for a topic"),
        ('{"topic":"t","partition":0,"replicas":[1],"log_dirs":["any","any"]}', "replicas and log_dirs are not of one length"),
        (f"{ENTRY.format(5, '1')},{ENTRY.format(5, '2')}", "the partition is named twice"),
    ],
)
def test_bad_entry_is_rejected_and_the_others_stand(entry: str, reason: str) -> None:
    reading = read_dump(CURRENT.format(PLAN.format(f"{ENTRY.format(9, '1')},{entry}"), PLAN.format("")).encode())
    assert [rejected.reason for rejected in reading.rejected] == [reason]
    assert Assigned("t", 9, (1,)) in [told.fact for told in reading.told]


def test_plan_of_another_version_or_cut_off_is_rejected() -> None:
    assert [refused.reason for refused in read_dump(b'{"version":2,"partitions":[]}').rejected] == ["version 1 is the only one of a plan"]
    [refused] = read_dump(f"Current partition replica assignment\n{PLAN.format(ENTRY.format(0, '1'))[:-3]}".encode()).rejected
    assert refused.reason.startswith("not JSON: ")


def test_assignment_that_differs_is_told_with_both_values() -> None:
    text = CURRENT.format(PLAN.format(f"{ENTRY.format(0, '2,1')},{ENTRY.format(1, '1')}"), PLAN.format(""))
    found = merged(a=PARTITION.format("t", 0, 1, "1,2", "1,2"), b=text)
    assert rejects(found) == [
        ("b", 3, "a, line 1, tells otherwise: replicas 1,2, not 2,1 (written 2026-11-21 02:00:00, this 2026-11-21 02:00:01)"),
        ("b", 3, "no dump tells the partition's leader and ISR"),
    ]


def test_reassignment_under_way_fills_in_what_an_older_describe_leaves_out() -> None:
    listed = "Current partition reassignments:\nt-0: replicas: 3,1. adding: 3. removing: 1.\n"
    found = merged(a=PARTITION.format("t", 0, 1, "3,1", "1"), b=listed)
    assert (found.rows["partition"][0][7:9], rejects(found)) == (((3,), (1,)), [])
