"""JSON with the names of Admin clients: the Java client's, confluent-kafka's and kafka-python's."""

import json
from typing import Any

import pytest

from jobs.ingest.reading import read_dump
from tests.jobs.ingest.dumps import rejects, resolved, rows

EXPECTED = [("t", 0, 1, [1, 2], [1], [2]), ("t", 1, None, [2, 1], [], [])]
KAFKA_PYTHON = {
    "error_code": 0,
    "name": "t",
    "topic_id": "8e0987b2-09e0-45d3-a95f-c34b5753100e",
    "is_internal": False,
    "partitions": [
        {"error_code": 0, "partition_index": 0, "leader_id": 1, "leader_epoch": 2, "replica_nodes": [1, 2], "isr_nodes": [1],
         "eligible_leader_replicas": [2], "last_known_elr": [], "offline_replicas": []},
        {"error_code": 0, "partition_index": 1, "leader_id": -1, "leader_epoch": 2, "replica_nodes": [2, 1], "isr_nodes": [],
         "eligible_leader_replicas": [], "last_known_elr": [1], "offline_replicas": []},
    ],
    "authorized_operations": ["READ"],
}  # fmt: skip
BROKERS = [{"id": 1, "host": "h1", "port": 9092, "rack": "a", "fenced": False}, {"id": 2, "host": "h2:9092", "rack": "b", "fenced": True}]
PARTITIONS = [
    {"partition": 0, "leader": 1, "replicas": [1, 2], "isr": [1], "elr": [2], "lastKnownElr": []},
    {"partition": 1, "leader": None, "replicas": [2, 1], "isr": [], "elr": [], "lastKnownElr": [1]},
]


def nodes(*ids: int) -> list[dict[str, int]]:
    return [{"id": broker_id} for broker_id in ids]


@pytest.mark.parametrize(
    "document",
    [
        {"brokers": BROKERS, "topics": [{"name": "t", "internal": False, "partitions": PARTITIONS}]},
        {"brokers": BROKERS, "partitions": [{"topic": "t", **partition} for partition in PARTITIONS]},
        {"nodes": BROKERS, "topics": {"t": {str(partition["partition"]): partition for partition in PARTITIONS}}},
        {"describe_cluster": {"brokers": BROKERS, "controller_id": 1}, "topics": [KAFKA_PYTHON]},
        [KAFKA_PYTHON],
        [{"topic": "t", **partition} for partition in PARTITIONS],
        {
            "topics": [
                {
                    "name": "t",
                    "topicId": "jgmHsgngRdOpX8NLV1MQDg",
                    "partitions": [
                        {"partition": 0, "leader": {"id": 1}, "replicas": nodes(1, 2), "isr": nodes(1), "elr": nodes(2), "lastKnownElr": []},
                        {"partition": 1, "leader": {"id": -1}, "replicas": nodes(2, 1), "isr": [], "elr": [], "lastKnownElr": nodes(1)},
                    ],
                }
            ]
        },
    ],
)  # fmt: skip
def test_partitions_are_read_under_the_names_of_each_client(document: Any) -> None:
    text = json.dumps(document)
    assert read_dump(text.encode()).format == "admin-client"
    tables = resolved(dump=text)
    assert rejects(tables) == []
    assert rows(tables, "partition", "topic", "partition", "leader", "replicas", "isr", "elr") == EXPECTED
    if "host" in text:
        assert rows(tables, "broker", "broker_id", "rack", "live", "host") == [(1, "a", True, "h1"), (2, "b", False, "h2")]


def test_broker_of_two_lists_has_the_facts_of_both() -> None:
    listed = [{"id": 1, "host": "h1:9092"}, {"id": 2, "host": "h2:9092", "rack": "b"}, {"id": 3, "host": "h3:9092"}]
    described = {"cluster_id": "63eIrtAWRcG4BFVcy6dPyA", "nodes": [{"id": 1, "rack": "a"}, {"id": 2, "rack": "c"}, {"id": 4, "rack": "a"}]}
    tables = resolved(dump=json.dumps({"brokers": listed, "describe_cluster": described, "topics": [KAFKA_PYTHON]}))
    assert rows(tables, "broker", "broker_id", "rack", "host") == [(1, "a", "h1"), (2, "b", "h2"), (3, None, "h3"), (4, "a", None)]
    assert rejects(tables) == [("dump", 1, "repeated in line 1")]  # rack c of broker 2
    assert rows(tables, "cluster", "kafka_cluster_id") == ["63eIrtAWRcG4BFVcy6dPyA"]


def test_topic_ids_and_configs_are_read() -> None:
    topic = KAFKA_PYTHON | {"configs": {"min.insync.replicas": 2, "unclean.leader.election.enable": False, "retention.ms": "7"}}
    tables = resolved(dump=json.dumps([topic]))
    configs = [("min.insync.replicas", "2"), ("retention.ms", "7"), ("unclean.leader.election.enable", "false")]
    assert rows(tables, "topic", "topic_id", "partitions", "replication_factor", "configs") == [("jgmHsgngRdOpX8NLV1MQDg", 2, 2, configs)]


def test_cluster_id_is_read_and_the_controller_is_not() -> None:
    document = {"cluster_id": "63eIrtAWRcG4BFVcy6dPyA", "controller": 2, "brokers": BROKERS, "topics": []}
    tables = resolved(dump=json.dumps(document | {"partitions": [{"topic": "t", **PARTITIONS[0]}]}))
    assert rows(tables, "cluster", "kafka_cluster_id", "controller_id") == [("63eIrtAWRcG4BFVcy6dPyA", None)]


@pytest.mark.parametrize(
    ("document", "reasons"),
    [
        ([KAFKA_PYTHON | {"error_code": 3}], ["the cluster reported error 3"]),
        ({"partitions": [{"topic": "t", "partition": 0, "leader": 1, "replicas": [1]}]}, ["isr is not a list"]),
        ({"partitions": [{"topic": "t", "partition": 0, "leader": 1, "replicas": [], "isr": []}]}, ["replicas is empty"]),
        ({"partitions": [{"topic": "t", "partition": 0, "replicas": [1, 1], "isr": []}]}, ["a broker occurs twice in replicas"]),
        ({"partitions": [{"topic": "../t", "partition": 0, "replicas": [1], "isr": []}]}, ["not a topic name that Kafka allows"]),
        ({"topics": ["t"], "partitions": [{"topic": "t", "replicas": [1], "isr": []}]},
         ["not a topic with partitions", "partition is not a whole number"]),
        ({"brokers": 7, "topics": {}, "partitions": [{"topic": "t", "partition": 0, "replicas": [1], "isr": [1]}]},
         ["brokers is neither a list nor an object"]),
        ({"brokers": [7], "partitions": [{"topic": "t", "partition": 0, "replicas": [1], "isr": [], "shape": 1}]},
         ["not a JSON object", "unknown fields: shape of a partition"]),
    ],
)  # fmt: skip
def test_bad_entry_is_rejected(document: Any, reasons: list[str]) -> None:
    assert [rejected.reason for rejected in read_dump(json.dumps(document).encode()).rejected] == reasons


def test_plan_with_the_fields_of_a_partition_only_is_not_a_state() -> None:
    plan = {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2]}]}
    assert read_dump(json.dumps(plan).encode()).format == "kafka-reassign-partitions"
