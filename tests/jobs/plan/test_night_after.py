"""The tables of the night after a plan: the columns and rows that the plan changes, and no others."""

from __future__ import annotations

from typing import Any

from expectations import rules_of
from expectations.limits import limits
from expectations.rule import PREVIOUS
from jobs import ingest
from jobs.failure.counts import PartitionState
from jobs.gates.gate import tables_of
from jobs.night import GATES, computed_from
from jobs.plan.night_after import CHANGES, READS_PREVIOUS, tables_after_plan
from jobs.schema import (
    BROKER,
    COMMITTED_OFFSET,
    FAILOVER,
    GOAL_VERDICT,
    INPUT_FILE,
    KEY_SAMPLE,
    LOG_DIR,
    PARTITION,
    REJECTED_INPUT,
    REPLICA,
    TOPIC,
    WAIVER,
)
from tests.jobs.plan.clusters import Tables
from tests.jobs.rows import rows

STATES = {
    ("t", 1): PartitionState((1, 2), 1, (1, 2), (), ()),  # broker 2 gets in sync
    ("t", 0): PartitionState((3, 7, 1), 3, (3, 1), (), ()),  # removed from broker 2, added to broker 3 and to broker 7, which is dead
    ("u", 0): PartitionState((3,), 3, (3,)),  # moved from broker 2 to broker 3; its ELR is unknown
}


def tables_before() -> Tables:
    """Return four partitions on brokers 1, 2 and 3. Of the log dirs of broker 3, the first has a replica, the third has failed and the last is cordoned."""
    assignments = {("t", 0): [1, 2], ("t", 1): [2, 1], ("u", 0): [2], ("other", 0): [3]}
    replicas = replica_rows(assignments)
    unassigned = {"topic": "t", "partition": 0, "broker_id": 4, "replica_index": None, "in_sync": False, "log_dir": "/a", "size_bytes": 1}
    log_dirs = (("/a", None, None), ("/b", None, False), ("/c", "KAFKA_STORAGE_ERROR", None), ("/d", None, True))
    return {table: rows(table) for table in ingest.WRITES} | {
        BROKER: rows(BROKER, *({"broker_id": broker_id, "live": broker_id != 7, "rack": "a"} for broker_id in (1, 2, 3, 4, 7))),
        LOG_DIR: rows(
            LOG_DIR,
            *({"broker_id": 3, "log_dir": path, "error": error, "cordoned": cordoned} for path, error, cordoned in log_dirs),
        ),
        TOPIC: rows(TOPIC, *({"topic": topic, "partitions": 2, "replication_factor": 2} for topic in ("t", "u", "other"))),
        PARTITION: rows(
            PARTITION,
            *(
                {
                    "topic": topic,
                    "partition": number,
                    "leader": 1 if topic == "t" else ids[0],
                    "replicas": ids,
                    "isr": [1] if (topic, number) == ("t", 1) else sorted(ids),
                    "log_end_offset": 9,
                    "replica_size_bytes": [row["size_bytes"] for row in replicas if (row["topic"], row["partition"]) == (topic, number)],
                }
                for (topic, number), ids in assignments.items()
            ),
        ),
        REPLICA: rows(REPLICA, *replicas, unassigned),
    }


def replica_rows(assignments: dict[tuple[str, int], list[int]]) -> list[dict[str, Any]]:
    """Return rows of `replica`; all are in sync except that of partition t-1 on broker 2."""
    replicas: list[dict[str, Any]] = [
        {
            "topic": topic,
            "partition": number,
            "broker_id": broker_id,
            "replica_index": index,
            "in_sync": (topic, number, broker_id) != ("t", 1, 2),
            "log_dir": "/a",
            "size_bytes": 100 + 10 * number,
        }
        for (topic, number), ids in assignments.items()
        for index, broker_id in enumerate(ids)
    ]
    for row in replicas:
        if not row["in_sync"]:
            row |= {"size_bytes": 5, "offset_lag": 7}
    return replicas


def test_partitions_brokers_and_topics_change_as_planned_and_other_tables_stay() -> None:
    before = tables_before()
    new_broker = {"broker_id": 9, "rack": "b", "live": True}
    after = tables_after_plan(before, [{"broker_id": 1, "live": True}, new_broker], STATES)
    partitions = {(row["topic"], row["partition"]): row for row in after[PARTITION].to_pylist()}
    assert {key: (row["leader"], row["replicas"], row["isr"], row["elr"]) for key, row in partitions.items()} == {
        ("t", 0): (3, [3, 7, 1], [1, 3], []),
        ("t", 1): (1, [1, 2], [1, 2], []),
        ("u", 0): (3, [3], [3], None),
        ("other", 0): (3, [3], [3], None),
    }
    assert {row["log_end_offset"] for row in partitions.values()} == {9}
    stored = {(row["topic"], row["partition"], row["broker_id"]): row["size_bytes"] for row in after[REPLICA].to_pylist()}
    for key, row in partitions.items():
        assert row["replica_size_bytes"] == [stored[*key, broker] for broker in row["replicas"]]
    assert [(row["broker_id"], row["rack"], row["live"]) for row in after[BROKER].to_pylist()][-1] == (9, "b", True)
    assert {row["topic"]: row["replication_factor"] for row in after[TOPIC].to_pylist()} == {"t": 3, "u": 1, "other": 2}
    unchanged = set(after) - {BROKER, TOPIC, PARTITION, REPLICA}
    assert [table.name for table in unchanged if after[table] != before[table]] == []


def test_replicas_are_added_to_the_emptiest_log_dir_get_in_sync_and_are_removed() -> None:
    after = tables_after_plan(tables_before(), [], STATES)[REPLICA].to_pylist()
    replicas = {(row["topic"], row["partition"], row["broker_id"]): row for row in after}
    assert {key: (row["replica_index"], row["in_sync"], row["size_bytes"], row["log_dir"]) for key, row in replicas.items()} == {
        ("other", 0, 3): (0, True, 100, "/a"),
        ("t", 0, 1): (2, True, 100, "/a"),
        ("t", 0, 3): (0, True, 100, "/b"),  # the empty one of the log dirs that take replicas
        ("t", 0, 7): (1, False, 100, None),  # no log dir of broker 7 is known
        ("t", 0, 4): (None, False, 1, "/a"),  # on disk and not assigned
        ("t", 1, 1): (0, True, 110, "/a"),
        ("t", 1, 2): (1, True, 110, "/a"),  # as large as the leader's replica
        ("u", 0, 3): (0, True, 100, "/a"),  # both of these log dirs have one replica: the first by name
    }
    assert replicas["t", 1, 2]["offset_lag"] == 0


def test_replica_that_catches_up_with_an_empty_leader_is_empty() -> None:
    tables = tables_before()
    sizes = {1: 0, 2: 5}  # by broker; broker 1 leads t-1, and broker 2 is out of sync
    replicas = [
        row | ({"size_bytes": sizes[row["broker_id"]]} if (row["topic"], row["partition"]) == ("t", 1) else {})
        for row in tables[REPLICA].to_pylist()
    ]
    after = tables_after_plan(tables | {REPLICA: rows(REPLICA, *replicas)}, [], STATES)[REPLICA].to_pylist()
    assert {row["broker_id"]: row["size_bytes"] for row in after if (row["topic"], row["partition"]) == ("t", 1)} == {1: 0, 2: 0}


def test_rules_of_a_plan_s_night_read_a_table_that_the_plan_changes_or_one_computed_from_it() -> None:
    changed = computed_from(CHANGES)
    assert {FAILOVER, GOAL_VERDICT, PARTITION} <= changed
    assert changed.isdisjoint({COMMITTED_OFFSET, INPUT_FILE, KEY_SAMPLE, REJECTED_INPUT, WAIVER})


def test_rules_read_previous_tables_only_if_a_step_reads_them_too() -> None:
    names = tables_of({table.name: rules_of(table, limits()) for gate in GATES.values() for table in gate})
    previous = {name.removeprefix(PREVIOUS) for name in names if name.startswith(PREVIOUS)}
    assert previous
    assert previous <= {table.name for table in READS_PREVIOUS}
