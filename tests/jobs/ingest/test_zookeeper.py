"""What lies in ZooKeeper, held to what kafka-topics said of the same cluster at the same time (tests/cluster/record_formats.py)."""

import json
from pathlib import Path

import pytest

from jobs.ingest.reading import read_dump
from tests.jobs.ingest.test_merge import merged, rejects

RECORDED = Path(__file__).parents[2] / "snapshots" / "formats" / "zookeeper"
TOPIC = ("/brokers/topics/t", {"partitions": {"0": [1, 2]}, "adding_replicas": {}, "removing_replicas": {}, "topic_id": "x", "version": 3})
STATE = ("/brokers/topics/t/partitions/0/state", {"leader": 1, "isr": [1], "leader_epoch": 0, "controller_epoch": 1, "version": 1})


def znodes(*pairs: tuple[str, object], as_text: bool = False) -> str:
    return "".join(json.dumps({"path": path, "data": json.dumps(data) if as_text else data}) + "\n" for path, data in pairs)


def test_znodes_are_what_kafka_topics_said_of_every_partition() -> None:
    of_znodes = merged(a=(RECORDED / "zookeeper.jsonl").read_text())
    of_tool = merged(a=(RECORDED / "kafka-topics.txt").read_text())
    assert rejects(of_znodes) == []
    assert len(of_tool.rows["partition"]) == 20
    assert [row[:5] for row in of_znodes.rows["partition"]] == [row[:5] for row in of_tool.rows["partition"]]
    # kafka-topics shows the cluster's default among a topic's configs, unless the topic has its own.
    assert [row[:5] for row in of_znodes.rows["topic"]] == [row[:5] for row in of_tool.rows["topic"]]
    assert [dict(row[5]) for row in of_znodes.rows["topic"]] == [dict(row[5]) for row in of_tool.rows["topic"]]
    assert [row[:3] for row in of_znodes.rows["broker"]] == [(1, "rack-a", True), (2, None, False), (3, "rack-c", True)]
    assert of_znodes.rows["cluster"][0][:3] == ("zookeeper", False, ["zookeeper"])
    both = merged(a=(RECORDED / "zookeeper.jsonl").read_text(), b=(RECORDED / "kafka-topics.txt").read_text())
    assert rejects(both) == []


@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize("chroot", ["", "/kafka/prod"])
def test_data_may_be_json_or_its_text_below_any_path_and_in_any_order(as_text: bool, chroot: str) -> None:
    text = znodes(*[(chroot + path, data) for path, data in (STATE, TOPIC)], as_text=as_text)
    found = merged(a=text)
    assert found.rows["partition"][0][:5] == ("t", 0, 1, (1, 2), [1])
    assert rejects(found) == []


def test_znode_goes_before_a_tools_text() -> None:
    line = "\tTopic: t\tPartition: 0\tLeader: 2\tReplicas: 1,2\tIsr: 1\n"
    found = merged(a=znodes(TOPIC, STATE), b=line)
    assert found.rows["partition"][0][2] == 1
    assert [reason.split(" (")[0] for _, _, reason in rejects(found)] == ["a, line 2, tells otherwise: leader 1, not 2"]


def test_reassignment_and_configs_are_told() -> None:
    moving = ("/brokers/topics/t", {"partitions": {"0": [3, 1, 2]}, "adding_replicas": {"0": [3]}, "removing_replicas": {"0": [2]}})
    config = ("/config/topics/t", {"version": 1, "config": {"min.insync.replicas": "2"}})
    default = ("/config/brokers/<default>", {"version": 1, "config": {"log.retention.ms": "5"}})
    found = merged(a=znodes(moving, STATE, config, default))
    assert found.rows["partition"][0][7:9] == ((3,), (2,))
    assert found.rows["topic"][0][4:] == (2, [("min.insync.replicas", "2"), ("retention.ms", "5")])


@pytest.mark.parametrize(
    ("znode", "reason"),
    [
        (("/brokers/topics/t/partitions/7/state", STATE[1]), "its topic's znode does not have the partition"),
        (("/brokers/topics/t/partitions/0/state", {"leader": 1}), "isr is missing"),
        (("/brokers/topics/t/partitions/0/state", None), "the data is no JSON object"),
        (("/brokers/topics/t/partitions/0/state", {"leader": -2, "isr": [1]}), "leader is not within 0 and 2147483647"),
        (("/brokers/topics/a b", {"partitions": {"0": [1]}}), "no name that Kafka allows for a topic"),
        (("/brokers/topics/u", {"partitions": {}}), "partitions names none"),
        (("/brokers/ids/1", None), "the data is no JSON object"),
    ],
)
def test_bad_znode_is_rejected_and_the_others_stand(znode: tuple[str, object], reason: str) -> None:
    reading = read_dump(znodes(TOPIC, znode, ("/controller", {"brokerid": 1})).encode())
    assert [(refused.line, refused.reason) for refused in reading.rejected] == [(2, reason)]
    assert sum(told.entries for told in reading.told) == 2


def test_no_rejected_entry_tells_a_config() -> None:
    text = znodes(("/config/brokers/1", {"version": 1, "config": ["secret"]})) + '{"path": 1, "config": "secret"}\n'
    assert "secret" not in str(read_dump(text.encode()).rejected)
