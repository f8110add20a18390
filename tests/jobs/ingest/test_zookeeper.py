"""ZooKeeper's znodes, compared with kafka-topics of the same cluster at the same time (tests/cluster/record_formats.py)."""

import json
from pathlib import Path

import pytest

from jobs.ingest.reading import read_dump
from tests.jobs.ingest.dumps import rejects, resolved, rows

PARTITION = ("topic", "partition", "leader", "replicas", "isr")
RECORDED = Path(__file__).parents[2] / "snapshots" / "formats" / "zookeeper"
TOPIC = ("/brokers/topics/t", {"partitions": {"0": [1, 2]}, "adding_replicas": {}, "removing_replicas": {}, "topic_id": "x", "version": 3})
STATE = ("/brokers/topics/t/partitions/0/state", {"leader": 1, "isr": [1], "leader_epoch": 0, "controller_epoch": 1, "version": 1})


def znodes(*pairs: tuple[str, object], as_text: bool = False) -> str:
    return "".join(json.dumps({"path": path, "data": json.dumps(data) if as_text else data}) + "\n" for path, data in pairs)


def test_znodes_agree_with_kafka_topics_on_every_partition() -> None:
    from_znodes = resolved(a=(RECORDED / "zookeeper.jsonl").read_text())
    from_topics = resolved(a=(RECORDED / "kafka-topics.txt").read_text())
    assert rejects(from_znodes) == []
    assert len(from_topics["partition"]) == 20
    assert rows(from_znodes, "partition", *PARTITION) == rows(from_topics, "partition", *PARTITION)
    # kafka-topics shows the cluster's default among a topic's configs, unless the topic has its own.
    assert from_znodes["topic"] == from_topics["topic"]
    assert rows(from_znodes, "broker", "broker_id", "rack", "live") == [(1, "rack-a", True), (2, None, False), (3, "rack-c", True)]
    assert rows(from_znodes, "cluster", "controller", "elr", "sources") == [("zookeeper", False, ["zookeeper"])]
    both = resolved(a=(RECORDED / "zookeeper.jsonl").read_text(), b=(RECORDED / "kafka-topics.txt").read_text())
    assert rejects(both) == []


@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize("chroot", ["", "/kafka/prod"])
def test_znode_data_may_be_json_or_text_below_any_chroot_in_any_order(as_text: bool, chroot: str) -> None:
    text = znodes(*[(chroot + path, data) for path, data in (STATE, TOPIC)], as_text=as_text)
    tables = resolved(a=text)
    assert rows(tables, "partition", *PARTITION) == [("t", 0, 1, [1, 2], [1])]
    assert rejects(tables) == []


def test_znode_wins_over_kafka_topics() -> None:
    line = "\tTopic: t\tPartition: 0\tLeader: 2\tReplicas: 1,2\tIsr: 1\n"
    tables = resolved(a=znodes(TOPIC, STATE), b=line)
    assert rows(tables, "partition", "leader") == [1]
    assert [reason.split(" (")[0] for _, _, reason in rejects(tables)] == ["a, line 2, differs: leader 1, not 2"]


def test_znodes_have_reassignment_and_configs() -> None:
    moving = ("/brokers/topics/t", {"partitions": {"0": [3, 1, 2]}, "adding_replicas": {"0": [3]}, "removing_replicas": {"0": [2]}})
    config = ("/config/topics/t", {"version": 1, "config": {"min.insync.replicas": "2"}})
    default = ("/config/brokers/<default>", {"version": 1, "config": {"log.retention.ms": "5"}})
    tables = resolved(a=znodes(moving, STATE, config, default))
    assert rows(tables, "partition", "adding_replicas", "removing_replicas") == [([3], [2])]
    assert rows(tables, "topic", "min_insync_replicas", "configs") == [(2, [("min.insync.replicas", "2"), ("retention.ms", "5")])]


@pytest.mark.parametrize(
    ("znode", "reason"),
    [
        (("/brokers/topics/t/partitions/7/state", STATE[1]), "the topic's znode does not have the partition"),
        (("/brokers/topics/t/partitions/0/state", {"leader": 1}), "isr is missing"),
        (("/brokers/topics/t/partitions/0/state", None), "the data is not a JSON object"),
        (("/brokers/topics/t/partitions/0/state", {"leader": -2, "isr": [1]}), "leader is not between 0 and 2147483647"),
        (("/brokers/topics/a b", {"partitions": {"0": [1]}}), "not a topic name that Kafka allows"),
        (("/brokers/topics/u", {"partitions": {}}), "partitions is empty"),
        (("/brokers/ids/1", None), "the data is not a JSON object"),
    ],
)
def test_bad_znode_is_rejected_without_the_others(znode: tuple[str, object], reason: str) -> None:
    reading = read_dump(znodes(TOPIC, znode, ("/controller", {"brokerid": 1})).encode())
    assert [(rejected.line, rejected.reason) for rejected in reading.rejected] == [(2, reason)]
    assert sum(parsed.entries for parsed in reading.parsed) == 2


def test_no_rejected_entry_contains_a_config() -> None:
    text = znodes(("/config/brokers/1", {"version": 1, "config": ["secret"]})) + '{"path": 1, "config": "secret"}\n'
    assert "secret" not in str(read_dump(text.encode()).rejected)
