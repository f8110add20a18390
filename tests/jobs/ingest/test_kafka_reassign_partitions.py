"""Output and input of kafka-reassign-partitions: current assignments, plans, and reassignments under way."""

from pathlib import Path

import pytest

from jobs.ingest.facts import AssignedReplicas, OngoingReassignment, ProposedReplicas
from jobs.ingest.reading import read_dump
from tests.jobs.ingest.dumps import LOG_DIRS, PARTITION, rejects, resolved, rows

RECORDED = Path(__file__).parents[2] / "snapshots" / "formats"
ENTRY = '{{"topic":"t","partition":{},"replicas":[{}]}}'
LOG = '{{"partition":"{}","size":{},"offsetLag":{},"isFuture":{}}}'
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
            "generate": 16,
            "execute": 2,
            "list": 1,
            "verify": 0,
        }[action]
    )


def test_current_assignment_and_plans_are_different_facts() -> None:
    text = CURRENT.format(PLAN.format(ENTRY.format(0, "1,2")), PLAN.format(ENTRY.format(0, "3,4")))
    assert facts(text) == [AssignedReplicas("t", 0, (1, 2)), ProposedReplicas("t", 0, (3, 4), None)]
    assert facts(PLAN.format(ENTRY.format(0, "1,2"))) == [ProposedReplicas("t", 0, (1, 2), None)]
    assert facts('{"version":1,"topics":[{"topic":"t"}]}') == [ProposedReplicas("t", None, None, None)]
    assert facts('{"partitions":[{"topic":"t","partition":0}]}') == [ProposedReplicas("t", 0, None, None)]


def test_plans_are_rows_by_file_and_do_not_contradict_each_other() -> None:
    plan = '{"partitions":[{"topic":"t","partition":0,"replicas":[3,1],"log_dirs":["/d1","any"]}]}'
    tables = resolved(a=plan, b=PLAN.format(ENTRY.format(0, "2,1")), c='{"topics":[{"topic":"u"}]}')
    assert rejects(tables) == []
    assert rows(tables, "proposed_reassignment") == [
        ("t", "a", 0, [3, 1], ["/d1", None]),
        ("t", "b", 0, [2, 1], None),
        ("u", "c", None, None, None),
    ]


def test_log_dirs_of_the_current_assignment_are_those_of_replicas() -> None:
    [path] = RECORDED.glob("4.3.1/kafka-reassign-partitions-generate.txt")
    topics = (RECORDED / "4.3.1" / "kafka-topics.txt").read_text()
    tables = resolved(topics=topics, generate=path.read_text())
    log_dirs = dict(zip(rows(tables, "replica", "topic", "partition", "broker_id"), rows(tables, "replica", "log_dir"), strict=True))
    # Of prices-1 and single-0, which have moved since, the entries are rejected.
    paths = [
        log_dirs["prices", 0, 2],
        log_dirs["prices", 0, 3],
        log_dirs["prices", 2, 4],
        log_dirs["prices", 2, 1],
        log_dirs["single", 1, 3],
    ]
    assert paths == [f"/var/lib/kafka/data{number}" for number in (1, 1, 1, 2, 2)]
    assert {log_dirs["prices", 1, 4], log_dirs["single", 0, 3]} == {None}
    assert len(rejects(tables)) == 2


def test_log_dirs_of_the_current_assignment_yield_to_kafka_log_dirs() -> None:
    current = CURRENT.format('{"partitions":[{"topic":"t","partition":0,"replicas":[1,2],"log_dirs":["/d1","/d2"]}]}', PLAN.format(""))
    logs = LOG_DIRS.format(1, "/d9", LOG.format("t-0", 10, 0, "false"))
    tables = resolved(topics=PARTITION.format("t", 0, 1, "1,2", "1"), a=current, logs=logs)
    assert rows(tables, "replica", "broker_id", "log_dir") == [(1, "/d9"), (2, "/d2")]
    assert rejects(tables) == [("a", 3, "log dir /d9 on broker 1, not /d1")]
    more_logs = LOG_DIRS.format(2, "/d8", LOG.format("t-0", 10, 0, "false"))
    tables = resolved(topics=PARTITION.format("t", 0, 1, "1,2", "1"), a=current, logs=logs, more_logs=more_logs)
    assert rejects(tables) == [("a", 3, "log dir /d9 on broker 1, not /d1; log dir /d8 on broker 2, not /d2")]
    assert rows(tables, "input_file", "file", "entries", "accepted", "rejected")[0] == ("a", 1, 0, 1)


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
