"""What kcat -L -J prints (json.c of kcat 1.7), and what Cruise Control answers."""

import json
from typing import Any

import pytest

from jobs.ingest.facts import BrokerCapacity, BrokerListed, BrokerRates, LogDirLine, PartitionLine
from jobs.ingest.reading import read_dump
from tests.jobs.ingest.test_merge import PARTITION, merged, rejects


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


def of_kcat(partition: int, leader: int, replicas: list[int], isr: list[int], **more: Any) -> dict[str, Any]:
    ids = ([{"id": id} for id in of] for of in (replicas, isr))
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


def test_metadata_that_kcat_prints_is_told() -> None:
    text = kcat(of_kcat(0, 1, [2, 1], [1]), of_kcat(1, -1, [2], [], error="Broker: Leader not available"))
    reading = read_dump(text.encode())
    assert (reading.format, reading.rejected, sum(told.entries for told in reading.told)) == ("kcat", [], 4)
    assert [told.fact for told in reading.told if told.fact] == [
        BrokerListed(1, None),
        PartitionLine("t", 0, 1, (2, 1), (1,), None, None, None, None),
        PartitionLine("t", 1, None, (2,), (), None, None, None, None),
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (kcat({"partition": 0}), "leader is missing"),
        (kcat(of_kcat(0, 1, [], [])), "replicas names no broker"),
        (kcat(of_kcat(0, 1, [1, 1], [])), "a broker is named twice in replicas"),
        (kcat(7), "no JSON object"),
        (kcat(topic="../x"), "no name that Kafka allows for a topic"),
        (kcat(error="Broker: Unknown topic"), "kcat says of the topic: Broker: Unknown topic"),
        (kcat(brokers=[{"id": -1}]), "id is not within 0 and 2147483647"),
        (kcat()[:-2], "not JSON"),
    ],
)
def test_what_kcat_cannot_have_meant_is_rejected(text: str, reason: str) -> None:
    [refused] = read_dump(text.encode()).rejected
    assert refused.reason.startswith(reason)


def test_kafkas_own_tools_go_before_kcat_and_its_brokers_lose_no_rack() -> None:
    found = merged(a=PARTITION.format("t", 0, 1, "1,2", "1,2"), b="broker_id,rack\n1,a\n", c=kcat(of_kcat(0, 2, [1, 2], [2, 1])))
    assert found.rows["partition"][0][2] == 1
    assert found.rows["broker"][0][:3] == (1, "a", True)
    assert rejects(found) == [
        ("c", 1, "a, line 1, tells otherwise: leader 1, not 2 (written 2026-11-21 02:00:00, this 2026-11-21 02:00:02)")
    ]


def test_state_and_load_of_cruise_control_are_told() -> None:
    reading = read_dump(state(offline=[], urp=[OTHER], other=[OTHER, OTHER | {"partition": 1, "leader": -1, "in-sync": []}]).encode())
    assert (reading.format, reading.rejected, sum(told.entries for told in reading.told)) == ("cruise-control", [], 4)
    assert [told.fact for told in reading.told if told.fact] == [
        PartitionLine("t", 0, 1, (2, 1), (1,), None, None, None, None),
        PartitionLine("t", 1, None, (2, 1), (), None, None, None, None),
        LogDirLine(1, "/d", None),
    ]
    dead = LOAD | {"Broker": 2, "BrokerState": "DEAD", "DiskCapacityMB": -1}
    rates = {"LeaderNwInRate": 1.0, "FollowerNwInRate": 2.0, "NwOutRate": 5.0}
    reading = read_dump(json.dumps({"brokers": [LOAD | rates, dead, LOAD | {"Broker": 3, "Rack": "h"}], "hosts": []}).encode())
    assert [told.fact for told in reading.told] == [
        BrokerCapacity(1, 2.0 * 2**20, None, 3.0 * 2**10, 4.0 * 2**10, 800.0),
        BrokerRates(1, 3.0 * 2**10, 5.0 * 2**10),
        BrokerListed(1, "a"),
        BrokerCapacity(2, None, None, 3.0 * 2**10, 4.0 * 2**10, 800.0),
        BrokerCapacity(3, 2.0 * 2**20, None, 3.0 * 2**10, 4.0 * 2**10, 800.0),
        BrokerListed(3, None),
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


def test_the_load_of_partitions_is_told() -> None:
    found = merged(a=json.dumps({"records": [RATES | {"partition": 1}, RATES], "version": 1}))
    assert found.rows["partition_load"] == [
        ("t", 0, 0.5, 2.0 * 2**20, 3.0 * 2**10, 4.0 * 2**10),
        ("t", 1, 0.5, 2.0 * 2**20, 3.0 * 2**10, 4.0 * 2**10),
    ]
    assert [row[1:5] for row in found.rows["input_file"]] == [("cruise-control", 2, 2, 0)]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (json.dumps({"records": [RATES | {"cpu": None}]}), "a load is missing"),
        (json.dumps({"records": [RATES | {"disk": "2"}]}), "disk is no number"),
        (state(other=[OTHER | {"replicas": None}]), "replicas is no list"),
        (state(other=[OTHER | {"topic": "a/b"}]), "no name that Kafka allows for a topic"),
        (state(urp=[OTHER], other=[OTHER | {"leader": 2}]), "told otherwise in another list"),
        (state(other=["x"]), "no JSON object"),
        (json.dumps({"brokers": [LOAD | {"Broker": "x"}]}), "Broker is no whole number"),
        (json.dumps({"brokers": [LOAD | {"NumCore": "8"}]}), "NumCore is no number"),
        (json.dumps([LOAD]), "no JSON object"),
    ],
)
def test_what_cruise_control_cannot_have_meant_is_rejected(text: str, reason: str) -> None:
    assert [refused.reason for refused in read_dump(text.encode()).rejected] == [reason]
