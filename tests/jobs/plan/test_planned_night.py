"""A cluster's tables once a plan is done: what of them changes, and that nothing else does."""

from __future__ import annotations

import pyarrow as pa

from expectations import rules_of
from expectations.limits import limits
from expectations.rule import PREVIOUS
from jobs import ingest
from jobs.failure.counts import PartitionState
from jobs.gates.gate import tables_of
from jobs.night import GATES
from jobs.plan.planned_night import READS_PREVIOUS, done
from jobs.schema import BROKER, LOG_DIR, PARTITION, REPLICA, TOPIC, Table
from tests.jobs.rows import rows

SETTLED = {
    ("t", 1): PartitionState((1, 2), 1, (1, 2), (), ()),  # 2 catches up
    ("t", 0): PartitionState((3, 7, 1), 3, (3, 1), (), ()),  # 2 leaves, 3 comes, and 7, which is dead
    ("u", 0): PartitionState((3,), 3, (3,)),  # moves as a whole; the cluster does not keep the ELR of it
}


def told() -> dict[Table, pa.Table]:
    """Three partitions on brokers 1 and 2; broker 3 holds a replica of another topic in its first log dir, and its third is broken."""

    partitions = {("t", 0): [1, 2], ("t", 1): [2, 1], ("u", 0): [2], ("other", 0): [3]}
    replicas = [
        {"topic": topic, "partition": number, "broker_id": id, "replica_index": index, "in_sync": (topic, number, id) != ("t", 1, 2), "log_dir": "/a", "size_bytes": 100 + 10 * number}
        for (topic, number), ids in partitions.items() for index, id in enumerate(ids)
    ]  # fmt: skip
    replicas[2] |= {"size_bytes": 5, "offset_lag": 7}  # t-1 on broker 2, which lags
    stray = {"topic": "t", "partition": 0, "broker_id": 4, "replica_index": None, "in_sync": False, "log_dir": "/a", "size_bytes": 1}
    here = {table: rows(table) for table in ingest.WRITES}
    return here | {
        BROKER: rows(BROKER, *({"broker_id": id, "live": id != 7, "rack": "a"} for id in (1, 2, 3, 4, 7))),
        LOG_DIR: rows(
            LOG_DIR,
            *(
                {"broker_id": 3, "log_dir": path, "error": error}
                for path, error in (("/a", None), ("/b", None), ("/c", "KAFKA_STORAGE_ERROR"))
            ),
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
                for (topic, number), ids in partitions.items()
            ),
        ),
        REPLICA: rows(REPLICA, *replicas, stray),
    }


def test_partitions_brokers_and_topics_are_as_the_plan_leaves_them() -> None:
    before, after = told(), done(told(), [{"broker_id": 1, "live": True}, {"broker_id": 9, "rack": "b", "live": True}], SETTLED)
    found = {(row["topic"], row["partition"]): row for row in after[PARTITION].to_pylist()}
    assert {key: (row["leader"], row["replicas"], row["isr"], row["elr"]) for key, row in found.items()} == {
        ("t", 0): (3, [3, 7, 1], [1, 3], []),
        ("t", 1): (1, [1, 2], [1, 2], []),
        ("u", 0): (3, [3], [3], None),
        ("other", 0): (3, [3], [3], None),
    }
    assert {row["log_end_offset"] for row in found.values()} == {9}
    stored = {(row["topic"], row["partition"], row["broker_id"]): row["size_bytes"] for row in after[REPLICA].to_pylist()}
    for key, row in found.items():
        assert row["replica_size_bytes"] == [stored[*key, broker] for broker in row["replicas"]]
    assert [(row["broker_id"], row["rack"], row["live"]) for row in after[BROKER].to_pylist()][-1] == (9, "b", True)
    assert {row["topic"]: row["replication_factor"] for row in after[TOPIC].to_pylist()} == {"t": 3, "u": 1, "other": 2}
    same = set(after) - {BROKER, TOPIC, PARTITION, REPLICA}
    assert [table.name for table in same if after[table] != before[table]] == []


def test_replicas_come_where_the_fewest_lie_catch_up_and_leave() -> None:
    found = {(row["topic"], row["partition"], row["broker_id"]): row for row in done(told(), [], SETTLED)[REPLICA].to_pylist()}
    assert {key: (row["replica_index"], row["in_sync"], row["size_bytes"], row["log_dir"]) for key, row in found.items()} == {
        ("other", 0, 3): (0, True, 100, "/a"),
        ("t", 0, 1): (2, True, 100, "/a"),
        ("t", 0, 3): (0, True, 100, "/b"),  # of the sound log dirs, the empty one
        ("t", 0, 7): (1, False, 100, None),  # no log dir of it is told
        ("t", 0, 4): (None, False, 1, "/a"),  # on disk, and nobody's
        ("t", 1, 1): (0, True, 110, "/a"),
        ("t", 1, 2): (1, True, 110, "/a"),  # as large as the leader
        ("u", 0, 3): (0, True, 100, "/a"),  # both hold one: the first by name
    }
    assert found["t", 1, 2]["offset_lag"] == 0


def test_replica_that_catches_up_with_an_empty_leader_is_empty() -> None:
    tables = told()
    sizes = {1: 0, 2: 5}  # by broker; broker 1 leads t-1, and broker 2 is out of sync
    replicas = [
        row | ({"size_bytes": sizes[row["broker_id"]]} if (row["topic"], row["partition"]) == ("t", 1) else {})
        for row in tables[REPLICA].to_pylist()
    ]
    after = done(tables | {REPLICA: rows(REPLICA, *replicas)}, [], SETTLED)[REPLICA].to_pylist()
    assert {row["broker_id"]: row["size_bytes"] for row in after if (row["topic"], row["partition"]) == ("t", 1)} == {1: 0, 2: 0}


def test_rules_read_previous_tables_only_if_a_step_reads_them_too() -> None:
    read = tables_of({table.name: rules_of(table, limits()) for gate in GATES.values() for table in gate})
    previous = {name.removeprefix(PREVIOUS) for name in read if name.startswith(PREVIOUS)}
    assert previous
    assert previous <= {table.name for table in READS_PREVIOUS}
