"""The changes between two small snapshots, and their causes."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.schema import Table
from jobs.steps import change
from tests.jobs.rows import run_step, sorted_rows, table

Tables = dict[str, list[dict[str, Any]]]
CLUSTER = {"controller": "kraft", "sources": ["kafka-topics"]}
COLUMNS = ("kind", "broker_id", "topic", "partition", "group_id", "name", "value_before", "value_after", "cause")


def partition(topic: str, number: int, leader: int | None, replicas: list[int], isr: list[int], **more: Any) -> dict[str, Any]:
    return {"topic": topic, "partition": number, "leader": leader, "replicas": replicas, "isr": isr, **more}


def topic(name: str, partitions: int = 1, factor: int = 2, configs: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    configs = list((configs or {}).items())
    return {"topic": name, "partitions": partitions, "replication_factor": factor, "configs": configs, **more}


def night(**more: list[dict[str, Any]]) -> Tables:
    """Brokers 1 to 3, and topic t with one partition."""
    return {
        "cluster": [CLUSTER],
        "broker": [{"broker_id": id, "rack": "a", "live": True} for id in (1, 2, 3)],
        "topic": [topic("t")],
        "partition": [partition("t", 0, 1, [1, 2], [1, 2])],
    } | more


def changes(spark: SparkSession, cases: dict[str, tuple[Tables, Tables]]) -> dict[str, list[tuple[Any, ...]]]:
    """The changes of each case. Each case is a cluster of the same two snapshots."""

    def frames(snapshots: dict[str, Tables], snapshot_id: str, tables: tuple[Table, ...]) -> list[Any]:
        keys = {case: {"snapshot_id": snapshot_id, "cluster_id": case} for case in snapshots}
        return [
            table(spark, each, *({**row, **keys[case]} for case, rows in snapshots.items() for row in rows.get(each.name, [])))
            for each in tables
        ]

    previous, current = ({case: pair[position] for case, pair in cases.items()} for position in range(2))
    (found,) = run_step(change, *frames(current, "s", change.READS), *frames(previous, "r", change.READS_PREVIOUS))
    rows = sorted_rows(found, "snapshot_id", "previous_snapshot_id", "cluster_id", *COLUMNS)
    assert {row[:2] for row in rows} <= {("s", "r")}
    return {case: [row[3:] for row in rows if row[2] == case] for case in cases}


def row(kind: str, before: str | None = None, after: str | None = None, cause: str | None = None, **entity: Any) -> tuple[Any, ...]:
    columns = dict.fromkeys(COLUMNS) | {"kind": kind, "value_before": before, "value_after": after, "cause": cause} | entity
    return tuple(columns[name] for name in COLUMNS)


def brokers(*live: int, racks: dict[int, str | None] | None = None, known: tuple[int, ...] = (1, 2, 3)) -> list[dict[str, Any]]:
    return [{"broker_id": id, "rack": (racks or {}).get(id, "a"), "live": id in live} for id in known]


T_0 = {"topic": "t", "partition": 0}
CASES: dict[str, tuple[Tables, Tables, list[tuple[Any, ...]]]] = {
    "nothing": (night(), night(), []),
    "a cluster without a previous snapshot": ({}, night(), []),
    "a cluster without a snapshot of this night": (night(), {}, []),
    "a lost broker loses its leaders and its place in the ISR": (
        night(),
        night(broker=brokers(2, 3), partition=[partition("t", 0, 2, [1, 2], [2])]),
        [
            row("ISR shrank", "1,2", "2", "broker 1 was lost", **T_0),
            row("broker lost", broker_id=1),
            row("leader moved", "1", "2", "broker 1 was lost", **T_0),
        ],
    ),
    "two lost brokers empty the ISR": (
        night(),
        night(broker=brokers(3, known=(2, 3)), partition=[partition("t", 0, None, [1, 2], [], elr=[1], last_known_elr=[])]),
        [
            row("ISR shrank", "1,2", None, "brokers 1, 2 were lost", **T_0),
            row("broker lost", broker_id=1),
            row("broker lost", broker_id=2),
            row("broker removed", broker_id=1),
            row("leader lost", "1", None, "broker 1 was lost", **T_0),
        ],
    ),
    "a broker returned": (
        night(broker=brokers(2, 3), partition=[partition("t", 0, None, [1, 2], [2], elr=[1])]),
        night(partition=[partition("t", 0, 1, [1, 2], [1, 2], elr=[])]),
        [
            row("ELR changed", "1", None, "broker 1 returned", **T_0),
            row("ISR grew", "2", "1,2", "broker 1 returned", **T_0),
            row("broker returned", broker_id=1),
            row("leader elected", None, "1", "broker 1 returned", **T_0),
        ],
    ),
    "replicas were reassigned": (
        night(partition=[partition("t", 0, 1, [1, 2], [1, 2], adding_replicas=[3], removing_replicas=[1])]),
        night(partition=[partition("t", 0, 2, [2, 3], [2, 3])]),
        [
            row("ISR exchanged", "1,2", "2,3", "its replicas were reassigned", **T_0),
            row("leader moved", "1", "2", "its replicas were reassigned", **T_0),
            row("reassignment changed", "adding 3, removing 1", None, **T_0),
            row("replicas reassigned", "1,2", "2,3", **T_0),
        ],
    ),
    "replicas were reordered, and the preferred leader was elected": (
        night(),
        night(partition=[partition("t", 0, 2, [2, 1], [1, 2])]),
        [
            row("leader moved", "1", "2", "the preferred leader was elected", **T_0),
            row("replicas reordered", "1,2", "2,1", **T_0),
        ],
    ),
    "a log dir failed": (
        night(log_dir=[{"broker_id": 2, "log_dir": "/d"}]),
        night(log_dir=[{"broker_id": 2, "log_dir": "/d", "error": "KafkaStorageException"}], partition=[partition("t", 0, 1, [1, 2], [1])]),
        [
            row("ISR shrank", "1,2", "1", "broker 2 has a log dir that failed", **T_0),
            row("log dir failed", None, "KafkaStorageException", broker_id=2, name="/d"),
        ],
    ),
    "a log dir works again, and an ISR shrank without a known cause": (
        night(log_dir=[{"broker_id": 2, "log_dir": "/d", "error": "KafkaStorageException"}]),
        night(log_dir=[{"broker_id": 2, "log_dir": "/d"}], partition=[partition("t", 0, 1, [1, 2], [1])]),
        [row("ISR shrank", "1,2", "1", **T_0), row("log dir works again", "KafkaStorageException", broker_id=2, name="/d")],
    ),
    "several brokers with a log dir that failed, and several that returned": (
        night(broker=brokers(3), partition=[partition("t", 0, 3, [3, 1, 2], [3]), partition("t", 1, 2, [3, 1, 2], [1, 2])]),
        night(
            log_dir=[{"broker_id": id, "log_dir": "/d", "error": "KafkaStorageException"} for id in (1, 2)],
            partition=[partition("t", 0, 3, [3, 1, 2], [1, 2, 3]), partition("t", 1, 3, [3, 1, 2], [3])],
        ),
        [
            row("ISR exchanged", "1,2", "3", "brokers 1, 2 have log dirs that failed", topic="t", partition=1),
            row("ISR grew", "3", "1,2,3", "brokers 1, 2 returned", **T_0),
            row("broker returned", broker_id=1),
            row("broker returned", broker_id=2),
            row("leader moved", "2", "3", "broker 2 has a log dir that failed", topic="t", partition=1),
            row("log dir failed", None, "KafkaStorageException", broker_id=1, name="/d"),
            row("log dir failed", None, "KafkaStorageException", broker_id=2, name="/d"),
        ],
    ),
    "an ISR changed without a known cause, and with it the ELR": (
        night(partition=[partition("t", 0, 1, [1, 2], [1, 2], elr=[])]),
        night(partition=[partition("t", 0, 1, [1, 2], [1], elr=[2])]),
        [row("ELR changed", None, "2", "its ISR changed", **T_0), row("ISR shrank", "1,2", "1", **T_0)],
    ),
    "recovery after an unclean election": (
        night(partition=[partition("t", 0, 1, [1, 2], [1, 2], leader_recovering=True)]),
        night(partition=[partition("t", 0, 1, [1, 2], [1, 2], leader_recovering=False)]),
        [row("recovery changed", "true", "false", **T_0)],
    ),
    "a topic created, another deleted": (
        night(),
        night(topic=[topic("u", 1, 1)], partition=[partition("u", 0, 1, [1], [1])]),
        [
            row("partition added", None, "1", "the topic was created", topic="u", partition=0),
            row("partition removed", "1,2", None, "the topic was deleted", **T_0),
            row("topic created", None, "1 partitions, replication factor 1", topic="u"),
            row("topic deleted", "1 partitions, replication factor 2", topic="t"),
        ],
    ),
    "a topic recreated under its name is another topic": (
        night(topic=[topic("t", topic_id="A", configs={"retention.ms": "1"})]),
        night(topic=[topic("t", topic_id="B")], partition=[partition("t", 0, 3, [3], [3])]),
        [
            row("partition added", None, "3", "the topic was created", **T_0),
            row("partition removed", "1,2", None, "the topic was deleted", **T_0),
            row("topic created", None, "1 partitions, replication factor 2", "recreated: its topic id was A", topic="t"),
            row("topic deleted", "1 partitions, replication factor 2", topic="t"),
        ],
    ),
    "the partitions of a recreated topic are others, even if they look the same": (
        night(topic=[topic("t", topic_id="A")]),
        night(topic=[topic("t", topic_id="B")]),
        [
            row("partition added", None, "1,2", "the topic was created", **T_0),
            row("partition removed", "1,2", None, "the topic was deleted", **T_0),
            row("topic created", None, "1 partitions, replication factor 2", "recreated: its topic id was A", topic="t"),
            row("topic deleted", "1 partitions, replication factor 2", topic="t"),
        ],
    ),
    "partitions added": (
        night(),
        night(topic=[topic("t", 2)], partition=[partition("t", 0, 1, [1, 2], [1, 2]), partition("t", 1, 2, [2, 1], [1, 2])]),
        [
            row("partition added", None, "2,1", "partitions were added to the topic", topic="t", partition=1),
            row("partitions added", "1", "2", topic="t"),
        ],
    ),
    "configs and replication factor": (
        night(topic=[topic("t", configs={"min.insync.replicas": "2", "cleanup.policy": "delete", "retention.ms": "1"})]),
        night(topic=[topic("t", factor=1, configs={"min.insync.replicas": "1", "retention.ms": "1", "segment.ms": "9"})]),
        [
            row("config changed", "2", "1", topic="t", name="min.insync.replicas"),
            row("config changed", "delete", None, topic="t", name="cleanup.policy"),
            row("config changed", None, "9", topic="t", name="segment.ms"),
            row("replication factor changed", "2", "1", topic="t"),
        ],
    ),
    "a config that only one night's sources report is no change": (
        night(
            cluster=[{**CLUSTER, "sources": ["kafka-configs", "kafka-topics"]}], topic=[topic("t", configs={"segment.ms": "1", "x": "1"})]
        ),
        night(topic=[topic("t", configs={"x": "2"})]),
        [row("config changed", "1", "2", topic="t", name="x"), row("source gone", name="kafka-configs")],
    ),
    "racks": (
        night(),
        night(broker=brokers(1, 2, 3, 4, racks={1: "b", 2: None}, known=(1, 2, 3, 4))),
        [row("broker added", broker_id=4), row("rack changed", "a", "b", broker_id=1), row("rack changed", "a", None, broker_id=2)],
    ),
    "racks that only one night reports have not changed": (
        night(),
        night(cluster=[{**CLUSTER, "sources": ["kafka-topics", "kcat"]}], broker=brokers(1, 2, 3, racks=dict.fromkeys((1, 2, 3)))),
        [row("source appeared", name="kcat")],
    ),
    "the controller and the ELR of a cluster": (
        night(cluster=[{**CLUSTER, "controller": "zookeeper", "elr": False}]),
        night(cluster=[{**CLUSTER, "elr": True}]),
        [row("ELR switched on"), row("controller changed", "zookeeper", "kraft")],
    ),
    "the Kafka version of a cluster": (
        night(cluster=[{**CLUSTER, "kafka_version": "4.1.0", "kafka_version_source": "configured"}]),
        night(cluster=[{**CLUSTER, "kafka_version": "4.1.2", "kafka_version_source": "metadata_version"}]),
        [row("Kafka version changed", "4.1.0", "4.1.2")],
    ),
    "a version that no file reports has not changed": (
        night(cluster=[{**CLUSTER, "kafka_version": "4.1.0", "kafka_version_source": "configured"}]),
        night(cluster=[{**CLUSTER, "kafka_version": "4.4.0", "kafka_version_source": "assumed"}]),
        [],
    ),
    "groups that appear, change and are gone": (
        night(
            consumer_group=[
                {"group_id": "g", "state": "Stable", "coordinator_id": 1, "members": 2, "protocol": "classic"},
                {"group_id": "old", "members": 1},
            ],
            group_member=[
                {"group_id": "g", "member_id": "m1", "client_id": "one", "host": "/h"},
                {"group_id": "g", "member_id": "m2", "client_id": "two", "host": "/h"},
                {"group_id": "g", "member_id": "m3", "client_id": "three", "host": "/h"},
                {"group_id": "old", "member_id": "o", "client_id": "old", "host": "/h"},
            ],
        ),
        night(
            broker=brokers(2, 3),
            consumer_group=[
                {"group_id": "g", "state": "Empty", "coordinator_id": 2, "members": 3, "assignor": "range", "protocol": "classic"},
                {"group_id": "new", "members": 0},
            ],
            group_member=[
                {"group_id": "g", "member_id": "m1", "client_id": "one", "host": "/h"},
                {"group_id": "g", "member_id": "n2", "client_id": "two", "host": "/h"},
                {"group_id": "g", "member_id": "n4", "client_id": "four", "host": "/h"},
            ],
        ),
        [
            row("broker lost", broker_id=1),
            row("group appeared", None, "0 members", group_id="new"),
            row("group changed", "1", "2", "broker 1 was lost", group_id="g", name="coordinator_id"),
            row("group changed", "2", "3", group_id="g", name="members"),
            row("group changed", "Stable", "Empty", group_id="g", name="state"),
            row("group gone", "1 members", group_id="old"),
            row("member joined", None, "four /h", group_id="g", name="n4"),
            row("member joined", None, "two /h", "the client restarted", group_id="g", name="n2"),
            row("member left", "old /h", None, "the group is gone", group_id="old", name="o"),
            row("member left", "three /h", None, group_id="g", name="m3"),
            row("member left", "two /h", None, "the client restarted", group_id="g", name="m2"),
        ],
    ),
    "groups that only one night reports have not appeared": (
        night(),
        night(cluster=[{**CLUSTER, "sources": ["kafka-consumer-groups", "kafka-topics"]}], consumer_group=[{"group_id": "g"}]),
        [row("source appeared", name="kafka-consumer-groups")],
    ),
    "topics that only one night reports have not been deleted": (
        night(),
        night(cluster=[{**CLUSTER, "sources": ["kcat"]}], topic=[], partition=[]),
        [row("source appeared", name="kcat"), row("source gone", name="kafka-topics")],
    ),
    "all topics deleted, with the same sources": (
        night(),
        night(topic=[], partition=[]),
        [
            row("partition removed", "1,2", None, "the topic was deleted", **T_0),
            row("topic deleted", "1 partitions, replication factor 2", topic="t"),
        ],
    ),
}


@pytest.fixture(scope="module")
def changed(spark: SparkSession) -> dict[str, list[tuple[Any, ...]]]:
    return changes(spark, {case: (previous, current) for case, (previous, current, _) in CASES.items()})


@pytest.mark.parametrize("case", CASES)
def test_changes_and_their_causes(changed: dict[str, list[tuple[Any, ...]]], case: str) -> None:
    assert sorted(changed[case], key=str) == sorted(CASES[case][2], key=str)


def test_a_first_night_changes_nothing(spark: SparkSession) -> None:
    assert changes(spark, {"c": ({}, night())}) == {"c": []}
