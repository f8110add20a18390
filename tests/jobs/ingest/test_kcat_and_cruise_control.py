"""Output of kcat -L -J (json.c of kcat 1.7), and answers of Cruise Control."""

import json
from typing import Any

import pytest

from jobs.ingest.facts import BrokerCapacity, BrokerHost, BrokerRates, ListedBroker, LogDirLine, PartitionLine
from jobs.ingest.reading import read_dump
from tests.jobs.ingest.dumps import PARTITION, rejects, resolved, rows


def kcat(*partitions: Any, brokers: Any = ({"id": 1, "name": "h:9092"},), **topic: Any) -> str:
    return json.dumps(
        {
            "originating_broker": {"id": 1, "name": "h:9092/1"},
            "query": {"topic": "*"},
            "controllerid": 1,
            "brokers": brokers,
            "topics": [{"topic": "t", "partitions": partitions} | topic],
        }
    )


def kcat_partition(partition: int, leader: int, replicas: list[int], isr: list[int], **more: Any) -> dict[str, Any]:
    ids = ([{"id": broker_id} for broker_id in ids] for ids in (replicas, isr))
    return {"partition": partition, "leader": leader, **dict(zip(("replicas", "isrs"), ids, strict=True)), **more}


def state(**lists: Any) -> str:
    return json.dumps({"KafkaPartitionState": lists, "KafkaBrokerState": {"OnlineLogDirsByBrokerId": {"1": ["/d"]}}, "version": 1})


OTHER = {"topic": "t", "partition": 0, "leader": 1, "replicas": [2, 1], "in-sync": [1], "out-of-sync": [2], "offline": []}
LOAD = {
    "Broker": 1,
    "Host": "h",
    "Rack": "a",
    "BrokerState": "ALIVE",
    "DiskCapacityMB": 2.0,
    "NetworkInCapacity": 3.0,
    "NetworkOutCapacity": 4.0,
    "NumCore": 8,
    "DiskMB": 1.0,
    "Leaders": 3,
}


def test_kcat_metadata_is_parsed() -> None:
    text = kcat(kcat_partition(0, 1, [2, 1], [1]), kcat_partition(1, -1, [2], [], error="Broker: Leader not available"))
    reading = read_dump(text.encode())
    assert (reading.format, reading.rejected, sum(parsed.entries for parsed in reading.parsed)) == ("kcat", [], 4)
    assert [parsed.fact for parsed in reading.parsed if parsed.fact] == [
        ListedBroker(1, None),
        BrokerHost(1, "h"),
        PartitionLine("t", 0, 1, (2, 1), (1,), None, None, None, None),
        PartitionLine("t", 1, None, (2,), (), None, None, None, None),
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (kcat({"partition": 0}), "leader is missing"),
        (kcat(kcat_partition(0, 1, [], [])), "replicas is empty"),
        (kcat(kcat_partition(0, 1, [1, 1], [])), "a broker occurs twice in replicas"),
        (kcat(7), "not a JSON object"),
        (kcat(topic="../x"), "not a topic name that Kafka allows"),
        (kcat(error="Broker: Unknown topic"), "kcat reports an error for the topic: Broker: Unknown topic"),
        (kcat(brokers=[{"id": -1}]), "id is not between 0 and 2147483647"),
        (kcat()[:-2], "not JSON"),
    ],
)
def test_invalid_kcat_entry_is_rejected(text: str, reason: str) -> None:
    [rejected] = read_dump(text.encode()).rejected
    assert rejected.reason.startswith(reason)


def test_kafka_tools_win_over_kcat_and_racks_remain() -> None:
    tables = resolved(a=PARTITION.format("t", 0, 1, "1,2", "1,2"), b="broker_id,rack\n1,a\n", c=kcat(kcat_partition(0, 2, [1, 2], [2, 1])))
    assert rows(tables, "partition", "leader") == [1]
    assert rows(tables, "broker", "broker_id", "rack", "live")[0] == (1, "a", True)
    assert rejects(tables) == [("c", 1, "a, line 1, differs: leader 1, not 2 (written 2026-11-21 02:00:00, this 2026-11-21 02:00:02)")]


def test_state_and_load_of_cruise_control_are_parsed() -> None:
    reading = read_dump(state(offline=[], urp=[OTHER], other=[OTHER, OTHER | {"partition": 1, "leader": -1, "in-sync": []}]).encode())
    assert (reading.format, reading.rejected, sum(parsed.entries for parsed in reading.parsed)) == ("cruise-control", [], 4)
    assert [parsed.fact for parsed in reading.parsed if parsed.fact] == [
        PartitionLine("t", 0, 1, (2, 1), (1,), None, None, None, None),
        PartitionLine("t", 1, None, (2, 1), (), None, None, None, None),
        LogDirLine(1, "/d", None),
    ]
    dead = LOAD | {"Broker": 2, "BrokerState": "DEAD", "DiskCapacityMB": -1}
    rates = {"LeaderNwInRate": 1.0, "FollowerNwInRate": 2.0, "NwOutRate": 5.0}
    reading = read_dump(json.dumps({"brokers": [LOAD | rates, dead, LOAD | {"Broker": 3, "Rack": "h"}], "hosts": []}).encode())
    assert [parsed.fact for parsed in reading.parsed] == [
        BrokerCapacity(1, 2.0 * 2**20, None, 3.0 * 2**10, 4.0 * 2**10, 800.0),
        BrokerRates(1, 3.0 * 2**10, 5.0 * 2**10),
        BrokerHost(1, "h"),
        ListedBroker(1, "a"),
        BrokerCapacity(2, None, None, 3.0 * 2**10, 4.0 * 2**10, 800.0),
        BrokerHost(2, "h"),
        BrokerCapacity(3, 2.0 * 2**20, None, 3.0 * 2**10, 4.0 * 2**10, 800.0),
        BrokerHost(3, "h"),
        ListedBroker(3, None),
    ]


RATES = {
    "topic": "t",
    "partition": 0,
    "leader": 1,
    "followers": [2],
    "cpu": 0.5,
    "disk": 2.0,
    "networkInbound": 3.0,
    "networkOutbound": 4.0,
    "msg_in": 7.0,
}


def test_host_of_cruise_control_wins_over_that_of_a_listener() -> None:
    versions = "internal:9092 (id: 1 rack: a) -> ERROR: gone\nother:9092 (id: 2 rack: b) -> ERROR: gone\n"
    tables = resolved(versions=versions, load=json.dumps({"brokers": [LOAD]}))
    assert rows(tables, "broker", "broker_id", "host") == [(1, "h"), (2, "other")]
    assert rejects(tables) == []


def test_load_of_partitions_is_parsed() -> None:
    tables = resolved(a=json.dumps({"records": [RATES | {"partition": 1}, RATES], "version": 1}))
    assert rows(tables, "partition_load") == [
        ("t", 0, 0.5, 2.0 * 2**20, 3.0 * 2**10, 4.0 * 2**10),
        ("t", 1, 0.5, 2.0 * 2**20, 3.0 * 2**10, 4.0 * 2**10),
    ]
    assert rows(tables, "input_file", "format", "entries", "accepted", "rejected") == [("cruise-control", 2, 2, 0)]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (json.dumps({"records": [RATES | {"cpu": None}]}), "a load is missing"),
        (json.dumps({"records": [RATES | {"disk": "2"}]}), "disk is not a number"),
        (state(other=[OTHER | {"replicas": None}]), "replicas is not a list"),
        (state(other=[OTHER | {"topic": "a/b"}]), "not a topic name that Kafka allows"),
        (state(urp=[OTHER], other=[OTHER | {"leader": 2}]), "another list differs"),
        (state(other=["x"]), "not a JSON object"),
        (json.dumps({"brokers": [LOAD | {"Broker": "x"}]}), "Broker is not a whole number"),
        (json.dumps({"brokers": [LOAD | {"NumCore": "8"}]}), "NumCore is not a number"),
        (json.dumps([LOAD]), "not a JSON object"),
    ],
)
def test_invalid_cruise_control_entry_is_rejected(text: str, reason: str) -> None:
    assert [rejected.reason for rejected in read_dump(text.encode()).rejected] == [reason]
