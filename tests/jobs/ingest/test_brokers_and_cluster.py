"""The formats of brokers and of the cluster as a whole."""

import json

import pytest

from jobs.ingest.facts import (
    ActiveController,
    BrokerCapacity,
    BrokerHost,
    ControllerKind,
    EndOffset,
    FeatureLevel,
    KafkaClusterId,
    ListedBroker,
    QuorumVoters,
    RegisteredBroker,
    RegisteredController,
)
from jobs.ingest.reading import read_dump
from tests.jobs.ingest.dumps import rejects, resolved, rows


def read(text: str, format_name: str) -> tuple[list, list[tuple[int, str]]]:
    reading = read_dump(text.encode())
    assert reading.format == format_name
    return [parsed.fact for parsed in reading.parsed if parsed.fact is not None], [(r.line, r.reason) for r in reading.rejected]


def test_api_versions_have_brokers_racks_and_the_kind_of_controller() -> None:
    text = (
        "host1:9092 (id: 1 rack: eu west (a) isFenced: false) -> (\n\tProduce(0): 0 to 13 [usable: 13],\n\tLeaderAndIsr(4): UNSUPPORTED,\n"
        "\tDescribeQuorum(55): 0 to 2 [usable: 2]\n)\nhost2:9092 (id: 2 rack: null isFenced: true) -> ERROR: gone\n"
    )
    assert read(text, "kafka-broker-api-versions") == (
        [
            RegisteredBroker(1, "eu west (a)", False),
            BrokerHost(1, "host1"),
            ControllerKind("kraft"),
            RegisteredBroker(2, None, True),
            BrokerHost(2, "host2"),
        ],
        [],
    )


def test_api_versions_of_a_zookeeper_cluster_imply_zookeeper() -> None:
    text = "h:9092 (id: 1 rack: a) -> (\n\tLeaderAndIsr(4): 0 to 7 [usable: 7],\n\tDescribeQuorum(55): UNSUPPORTED\n)\n?\n"
    assert read(text, "kafka-broker-api-versions") == (
        [RegisteredBroker(1, "a", False), BrokerHost(1, "h"), ControllerKind("zookeeper")],
        [(5, "neither a broker line nor an API line")],
    )


def test_list_endpoints_has_fenced_brokers() -> None:
    text = (
        "ID         HOST      PORT       RACK   STATE      ENDPOINT_TYPE  \n"
        "11         127.0.0.1 38861      rack-a fenced     broker         \n"
        "12         127.0.0.1 53375      null   unfenced   broker         \n13 nonsense\n"
    )
    seen = [
        RegisteredBroker(11, "rack-a", True),
        BrokerHost(11, "127.0.0.1"),
        RegisteredBroker(12, None, False),
        BrokerHost(12, "127.0.0.1"),
    ]
    assert read(text, "kafka-cluster") == (seen, [(4, "not an endpoint line")])


def test_list_endpoints_without_state_has_unfenced_brokers_and_controllers() -> None:
    header = "ID         HOST      PORT       RACK   ENDPOINT_TYPE  \n"
    assert read(header + "1          h         9092       a      broker         \n", "kafka-cluster") == (
        [RegisteredBroker(1, "a", False), BrokerHost(1, "h")],
        [],
    )
    controller = header + "9          h         9093       null   controller     \n"
    assert read(controller, "kafka-cluster") == ([RegisteredController(9)], [])


@pytest.mark.parametrize(
    "text",
    [
        "broker_id,rack\n1,a\n2,\n",
        'broker_id,rack\r\n"1","a"\r\n2,""\r\n',
        "rack;broker_id\na;1\n;2\n",
        "id\track\tport\n1\ta\t9092\n2\t\t9092\n",
        json.dumps([{"broker_id": 1, "rack": "a"}, {"broker_id": 2, "rack": None}]),
        json.dumps({"brokers": [{"id": 1, "rack": "a"}, {"id": "2"}]}, indent=1),
        json.dumps({"controller": 3, "nodes": [{"id": 1, "rack": "a"}, {"id": 2, "rack": ""}]}),
    ],
)
def test_broker_list_is_read_from_csv_and_json(text: str) -> None:
    assert read(text, "broker-list") == ([ListedBroker(1, "a"), ListedBroker(2, None)], [])


@pytest.mark.parametrize(
    "text",
    [
        "broker_id,rack,fenced,host\n1,a,true,h1\n2,,,\n",
        json.dumps([{"broker_id": 1, "rack": "a", "fenced": True, "host": "h1"}, {"broker_id": 2, "rack": None}]),
        json.dumps({"brokers": [{"id": 1, "rack": "a", "isFenced": True, "host": "h1", "port": 9092}, {"id": 2, "is_fenced": None}]}),
    ],
)
def test_broker_list_may_have_fenced_brokers_and_hosts(text: str) -> None:
    assert read(text, "broker-list") == ([ListedBroker(1, "a", True), BrokerHost(1, "h1"), ListedBroker(2, None)], [])
    assert rows(resolved(brokers=text), "broker", "broker_id", "live", "host") == [(1, False, "h1"), (2, True, None)]


def test_fenced_broker_of_a_list_that_the_cluster_contradicts_is_rejected() -> None:
    tables = resolved(brokers="broker_id,rack,fenced\n1,a,true\n", versions="h:9092 (id: 1 rack: a isFenced: false) -> ERROR: gone\n")
    assert rows(tables, "broker", "broker_id", "live") == [(1, True)]
    assert rejects(tables) == [("brokers", 2, "the cluster itself reports that the broker is not fenced")]


def test_bad_brokers_of_a_list_are_rejected() -> None:
    assert read("broker_id,rack\n-1,a\n3\n4,b\n", "broker-list") == (
        [ListedBroker(4, "b")],
        [(2, "the broker's id is not between 0 and 2147483647"), (3, "fewer columns than the header")],
    )
    assert read('[{"id": 1, "rack": 5}, 7, {"rack": "a"}, {"id": 1, "rack": "b"}]', "broker-list") == (
        [ListedBroker(1, "b")],
        [(1, "rack is not text"), (1, "not a JSON object"), (1, "the broker's id is not a whole number")],
    )


def test_features_have_their_levels() -> None:
    text = (
        "Feature: metadata.version\tSupportedMinVersion: 3.3-IV3\tSupportedMaxVersion: 4.3-IV0\tFinalizedVersionLevel: 4.3-IV0\tEpoch: 1\n"
        "Feature: kraft.version          SupportedMinVersion: 0   SupportedMaxVersion: 1   FinalizedVersionLevel: 0   Epoch: -\n"
        "Feature: x\n"
    )
    assert read(text, "kafka-features") == (
        [FeatureLevel("metadata.version", "4.3-IV0"), FeatureLevel("kraft.version", "0")],
        [(3, "not a feature line")],
    )


def test_quorum_has_the_leader_and_the_voters_and_implies_kraft() -> None:
    status = "ClusterId:              x\nLeaderId:               2\nMaxFollowerLagTimeMs:   102\nCurrentVoters:          [1,2,3]\n"
    replication = "NodeId\tDirectoryId\tLogEndOffset\tLag\tStatus  \t\n2\tAAAA\t152\t0\tLeader  \t\noops\n"
    newer = status.replace("[1,2,3]", '[{"id": 3, "endpoints": ["CONTROLLER://h:1"]}, {"id": 2, "directoryId": null}]')
    kraft = ControllerKind("kraft")
    assert read(status, "kafka-metadata-quorum") == ([KafkaClusterId("x"), kraft, ActiveController(2), QuorumVoters((1, 2, 3))], [])
    assert read(newer, "kafka-metadata-quorum") == ([KafkaClusterId("x"), kraft, ActiveController(2), QuorumVoters((2, 3))], [])
    assert read(status.replace("LeaderId:               2", "LeaderId:               -1"), "kafka-metadata-quorum") == (
        [KafkaClusterId("x"), kraft, QuorumVoters((1, 2, 3))],
        [],
    )
    assert read(status.replace("[1,2,3]", "[1,x]"), "kafka-metadata-quorum") == (
        [KafkaClusterId("x"), kraft, ActiveController(2)],
        [(4, "CurrentVoters is not a list of voters")],
    )
    replication += "3\tAAAA\t152\t0\tFollower  \t\n7\tAAAA\t152\t0\tObserver  \t\n"
    assert read(replication, "kafka-metadata-quorum") == (
        [ActiveController(2), kraft, RegisteredController(3), QuorumVoters((2, 3))],
        [(3, "not a line of the quorum's status or replication")],
    )


def test_end_offsets_are_parsed() -> None:
    assert read("orders:0:0\norders:1:500\norders:2:\na b:0:1\n..:0:1\n", "kafka-get-offsets") == (
        [EndOffset("orders", 0, 0), EndOffset("orders", 1, 500)],
        [(3, "the offset is missing"), (4, "not topic:partition:offset"), (5, "not a topic name that Kafka allows")],
    )


def test_capacity_is_parsed_in_each_form() -> None:
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
            (1, "brokerId is not a whole number"),
            (1, "capacity is missing"),
            (1, "DISK is not a number"),
            (1, "capacity is missing"),
            (1, "NW_IN is not a number"),
        ],
    )


def test_repeated_broker_with_several_facts_is_one_rejected_entry() -> None:
    tables = resolved(brokers="broker_id,rack,host\n1,a,h\n1,a,h\n")
    assert rejects(tables) == [("brokers", 2, "repeated in line 3")]
    assert rows(tables, "input_file", "entries", "accepted", "rejected") == [(2, 1, 1)]
