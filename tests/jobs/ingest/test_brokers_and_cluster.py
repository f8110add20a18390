"""The formats that tell of brokers and of the cluster as a whole."""

import json

import pytest

from jobs.ingest.facts import (
    ActiveController,
    BrokerCapacity,
    BrokerListed,
    BrokerSeen,
    ControllerSign,
    EndOffset,
    FeatureLevel,
    KafkaClusterId,
    QuorumVoters,
)
from jobs.ingest.reading import read_dump


def read(text: str, format: str) -> tuple[list, list[tuple[int, str]]]:
    reading = read_dump(text.encode())
    assert reading.format == format
    return [told.fact for told in reading.told if told.fact is not None], [(r.line, r.reason) for r in reading.rejected]


def test_api_versions_tell_brokers_racks_and_kraft() -> None:
    text = (
        "host1:9092 (id: 1 rack: eu west (a) isFenced: false) -> (\n\tProduce(0): 0 to 13 [usable: 13],\n\tLeaderAndIsr(4): UNSUPPORTED,\n"
        "\tDescribeQuorum(55): 0 to 2 [usable: 2]\n)\nhost2:9092 (id: 2 rack: null isFenced: true) -> ERROR: gone\n"
    )
    assert read(text, "kafka-broker-api-versions") == (
        [BrokerSeen(1, "eu west (a)", False), ControllerSign("kraft"), BrokerSeen(2, None, True)],
        [],
    )


def test_api_versions_of_a_zookeeper_cluster() -> None:
    text = "h:9092 (id: 1 rack: a) -> (\n\tLeaderAndIsr(4): 0 to 7 [usable: 7],\n\tDescribeQuorum(55): UNSUPPORTED\n)\n?\n"
    assert read(text, "kafka-broker-api-versions") == (
        [BrokerSeen(1, "a", False), ControllerSign("zookeeper")],
        [(5, "neither the line of a broker nor that of an API")],
    )


def test_list_endpoints_tells_who_is_fenced() -> None:
    text = (
        "ID         HOST      PORT       RACK   STATE      ENDPOINT_TYPE  \n"
        "11         127.0.0.1 38861      rack-a fenced     broker         \n"
        "12         127.0.0.1 53375      null   unfenced   broker         \n13 nonsense\n"
    )
    seen = [BrokerSeen(11, "rack-a", True), BrokerSeen(12, None, False)]
    assert read(text, "kafka-cluster") == (seen, [(4, "not the line of an endpoint")])


def test_list_endpoints_without_fenced_brokers_and_of_controllers() -> None:
    header = "ID         HOST      PORT       RACK   ENDPOINT_TYPE  \n"
    assert read(header + "1          h         9092       a      broker         \n", "kafka-cluster") == ([BrokerSeen(1, "a", False)], [])
    assert read(header + "9          h         9093       null   controller     \n", "kafka-cluster") == ([], [])


@pytest.mark.parametrize(
    "text",
    [
        "broker_id,rack\n1,a\n2,\n",
        'broker_id,rack\r\n"1","a"\r\n2,""\r\n',
        "rack;broker_id\na;1\n;2\n",
        "id\track\thost\n1\ta\th\n2\t\th\n",
        json.dumps([{"broker_id": 1, "rack": "a"}, {"broker_id": 2, "rack": None}]),
        json.dumps({"brokers": [{"id": 1, "rack": "a"}, {"id": "2"}]}, indent=1),
        json.dumps({"cluster_id": "x", "controller": 3, "nodes": [{"id": 1, "rack": "a"}, {"id": 2, "rack": ""}]}),
    ],
)
def test_list_of_brokers_in_any_dress(text: str) -> None:
    assert read(text, "broker-list") == ([BrokerListed(1, "a"), BrokerListed(2, None)], [])


def test_bad_brokers_of_a_list_are_rejected() -> None:
    assert read("broker_id,rack\n-1,a\n3\n4,b\n", "broker-list") == (
        [BrokerListed(4, "b")],
        [(2, "the broker's id is not within 0 and 2147483647"), (3, "fewer columns than the header")],
    )
    assert read('[{"id": 1, "rack": 5}, 7, {"rack": "a"}, {"id": 1, "rack": "b"}]', "broker-list") == (
        [BrokerListed(1, "b")],
        [(1, "rack is no text"), (1, "no JSON object"), (1, "the broker's id is no whole number")],
    )


def test_features_are_told() -> None:
    text = (
        "Feature: metadata.version\tSupportedMinVersion: 3.3-IV3\tSupportedMaxVersion: 4.3-IV0\tFinalizedVersionLevel: 4.3-IV0\tEpoch: 1\n"
        "Feature: kraft.version          SupportedMinVersion: 0   SupportedMaxVersion: 1   FinalizedVersionLevel: 0   Epoch: -\n"
        "Feature: x\n"
    )
    assert read(text, "kafka-features") == (
        [FeatureLevel("metadata.version", "4.3-IV0"), FeatureLevel("kraft.version", "0")],
        [(3, "not the line of a feature")],
    )


def test_a_quorum_is_a_sign_of_kraft_and_tells_who_leads_and_votes() -> None:
    status = "ClusterId:              x\nLeaderId:               2\nMaxFollowerLagTimeMs:   102\nCurrentVoters:          [1,2,3]\n"
    replication = "NodeId\tDirectoryId\tLogEndOffset\tLag\tStatus  \t\n2\tAAAA\t152\t0\tLeader  \t\noops\n"
    newer = status.replace("[1,2,3]", '[{"id": 3, "endpoints": ["CONTROLLER://h:1"]}, {"id": 2, "directoryId": null}]')
    sign = ControllerSign("kraft")
    assert read(status, "kafka-metadata-quorum") == ([KafkaClusterId("x"), sign, ActiveController(2), QuorumVoters((1, 2, 3))], [])
    assert read(newer, "kafka-metadata-quorum") == ([KafkaClusterId("x"), sign, ActiveController(2), QuorumVoters((2, 3))], [])
    assert read(status.replace("LeaderId:               2", "LeaderId:               -1"), "kafka-metadata-quorum") == (
        [KafkaClusterId("x"), sign, QuorumVoters((1, 2, 3))],
        [],
    )
    assert read(status.replace("[1,2,3]", "[1,x]"), "kafka-metadata-quorum") == (
        [KafkaClusterId("x"), sign, ActiveController(2)],
        [(4, "CurrentVoters is no list of voters")],
    )
    replication += "3\tAAAA\t152\t0\tFollower  \t\n7\tAAAA\t152\t0\tObserver  \t\n"
    assert read(replication, "kafka-metadata-quorum") == (
        [ActiveController(2), sign, QuorumVoters((2, 3))],
        [(3, "neither of the quorum's status nor of its replication")],
    )


def test_end_offsets_are_told() -> None:
    assert read("orders:0:0\norders:1:500\norders:2:\na b:0:1\n..:0:1\n", "kafka-get-offsets") == (
        [EndOffset("orders", 0, 0), EndOffset("orders", 1, 500)],
        [(3, "no offset is told"), (4, "not topic:partition:offset"), (5, "no name that Kafka allows for a topic")],
    )


def test_capacity_in_each_form() -> None:
    text = json.dumps(
        {
            "brokerCapacities": [
                {"brokerId": "-1", "capacity": {"DISK": "100000", "CPU": "100", "NW_IN": "10000", "NW_OUT": "10000"}, "doc": "default"},
                {"brokerId": "0", "capacity": {"DISK": {"/d1": "1", "/d2": "2"}, "CPU": {"num.cores": "8"}, "NW_IN": 1, "NW_OUT": 2.5}},
                {"brokerId": "1", "capacity": {"CPU": "50"}},
            ]
        },
        indent=2,
    )
    mib = 1024.0 * 1024
    assert read(text, "capacity.json") == (
        [
            BrokerCapacity(-1, 100000 * mib, None, 10240000.0, 10240000.0, 100.0),
            BrokerCapacity(0, 3 * mib, {"/d1": mib, "/d2": 2 * mib}, 1024.0, 2560.0, 800.0),
            BrokerCapacity(1, None, None, None, None, 50.0),
        ],
        [],
    )


def test_bad_capacities_are_rejected() -> None:
    entries = (
        '{"brokerId": "x", "capacity": {}}, {"brokerId": 1}, {"brokerId": 2, "capacity": {"DISK": "NaN"}}, 4, '
        '{"brokerId": 3, "capacity": {"NW_IN": 1e400}}'
    )
    assert read(f'{{"brokerCapacities": [{entries}]}}', "capacity.json") == (
        [],
        [
            (1, "brokerId is no whole number"),
            (1, "no capacity is told"),
            (1, "DISK is no number"),
            (1, "no capacity is told"),
            (1, "NW_IN is no number"),
        ],
    )
