"""Captures of a live cluster, read like any dump."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from expectations import rules_of
from expectations.limits import limits
from jobs import ingest
from jobs.gates.duckdb_tables import DuckdbTables
from jobs.gates.gate import evaluate
from jobs.ingest.facts import (
    AccessControl,
    ActiveController,
    BrokerHost,
    CaptureTime,
    ClientQuota,
    ConfigValue,
    ControllerKind,
    EndOffset,
    FeatureLevel,
    GroupOffset,
    GroupState,
    KafkaClusterId,
    KeySample,
    LogDirLine,
    LogDirsAnswer,
    MemberLine,
    PartitionLine,
    QuorumVoters,
    RegisteredBroker,
    ReplicaOnDisk,
    StartOffset,
    TopicLine,
)
from jobs.ingest.reading import Reading, read_dump
from jobs.schema import CLUSTER

HEAD = {"capture": "kafka-topology-audit", "version": 1, "captured_at": "2026-11-21T02:00:00Z", "kafka_cluster_id": "abc"}
PARTITION = {"partition": 0, "leader": 1, "replicas": [1, 2], "isr": [2, 1], "elr": [], "last_known_elr": [3]}
PARTITION |= {"start_offset": 5, "end_offset": 9}
TOPIC = {"topic": "orders", "topic_id": "id", "configs": {"retention.ms": "1"}, "partitions": [PARTITION]}
MEMBER = {"member_id": "m", "group_instance_id": None, "client_id": "c", "host": "/h", "rack": "a", "assignment": {"orders": [0]}}
OFFSET = {"topic": "orders", "partition": 0, "offset": 7, "log_end_offset": 9, "lag": 2}
GROUP = {"group": "g", "protocol": "consumer", "assignor": "uniform", "state": "Stable", "coordinator_id": 1}
GROUP |= {"members": [MEMBER], "offsets": [OFFSET]}

QUOTAS = {"quotas_of": {"user": "alice", "client-id": None}, "quotas": {"consumer_byte_rate": 1.5, "producer_byte_rate": 2}}
ACL = {"acl_of": "TOPIC", "name": "t", "pattern_type": "LITERAL", "principal": "User:a", "host": "*", "operation": "READ"}
ACL |= {"permission": "ALLOW"}


def text(*lines: Any, head: Any = HEAD) -> str:
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in (head, *lines, {"end": 1 + len(lines)}))


def read(*lines: Any) -> Reading:
    reading = read_dump(text(*lines).encode())
    assert reading.format == "topology-capture"
    return reading


def facts(*lines: Any) -> list[Any]:
    reading = read(*lines)
    assert reading.rejected == []
    return [parsed.fact for parsed in reading.parsed if parsed.fact is not None][2:]


def test_capture_has_its_time_and_cluster_id() -> None:
    assert [parsed.fact for parsed in read().parsed] == [CaptureTime(datetime(2026, 11, 21, 2, tzinfo=UTC)), KafkaClusterId("abc"), None]
    assert sum(parsed.entries for parsed in read().parsed) == 2


def test_answers_are_the_same_facts_as_dumps_of_kafkas_tools() -> None:
    assert facts({"broker": 1, "rack": None, "fenced": True}) == [RegisteredBroker(1, None, True)]
    assert facts({"broker": 1, "rack": None, "fenced": True, "host": "h"}) == [RegisteredBroker(1, None, True), BrokerHost(1, "h")]
    assert facts({"controller": "kraft", "leader_id": -1, "voters": [], "observers": []}) == [ControllerKind("kraft")]
    quorum = {"controller": "kraft", "leader_id": 1, "voters": [{"id": 3}, {"id": 1}], "observers": [{"id": 7}]}
    assert facts(quorum) == [ControllerKind("kraft"), ActiveController(1), QuorumVoters((1, 3))]
    assert facts({"feature": "metadata.version", "level": 30}) == [FeatureLevel("metadata.version", "30")]
    assert facts({"configs_of": "broker", "name": "", "configs": {"a": "1"}}) == [ConfigValue("broker", "", "a", "1")]
    assert facts(TOPIC) == [
        TopicLine("orders", "id", 1, 2, {"retention.ms": "1"}),
        PartitionLine("orders", 0, 1, (1, 2), (2, 1), (), (3,), None, None),
        StartOffset("orders", 0, 5),
        EndOffset("orders", 0, 9),
    ]
    replica = {"topic": "orders", "partition": 0, "size_bytes": 8, "offset_lag": -1, "future": False}
    log_dir = {"log_dir": "/d", "error": None, "total_bytes": 90, "usable_bytes": 50, "cordoned": True, "replicas": [replica]}
    assert facts({"log_dirs_of": 1, "log_dirs": [log_dir]}) == [
        LogDirsAnswer(1),
        LogDirLine(1, "/d", None, 90, 50, True),
        ReplicaOnDisk(1, "orders", 0, False, "/d", 8, None),
    ]
    assert facts(GROUP) == [
        GroupState("g", "consumer", "uniform", "Stable", 1, 1),
        MemberLine("g", "m", None, "/h", "c", "consumer", 1, (("orders", 0),), "a"),
        GroupOffset("g", "orders", 0, 7, 9, 2, "m", "/h", "c"),
    ]


def test_quotas_and_access_control_entries_are_facts() -> None:
    assert facts(QUOTAS) == [
        ClientQuota("alice", "<default>", None, "consumer_byte_rate", 1.5),
        ClientQuota("alice", "<default>", None, "producer_byte_rate", 2.0),
    ]
    assert facts(ACL) == [AccessControl("TOPIC", "t", "LITERAL", "User:a", "*", "READ", "ALLOW")]
    bad = read({"quotas_of": {"topic": "t"}, "quotas": {}}, {"quotas_of": {"ip": "x"}, "quotas": {"a": -1}}, ACL | {"host": None})
    assert [rejected.reason for rejected in bad.rejected] == [
        "quotas of another entity than users, client ids and ips",
        "a is not a number",
        "host is not text",
    ]


def test_members_of_a_share_group_may_share_a_partition() -> None:
    other_member = {**MEMBER, "member_id": "n", "host": "/i", "rack": None}
    assert facts({**GROUP, "protocol": "share", "assignor": None, "members": [MEMBER, other_member]}) == [
        GroupState("g", "share", None, "Stable", 1, 2),
        MemberLine("g", "m", None, "/h", "c", "share", 1, (("orders", 0),), "a"),
        MemberLine("g", "n", None, "/i", "c", "share", 1, (("orders", 0),)),
        GroupOffset("g", "orders", 0, 7, 9, 2, None, None, None),
    ]


def test_member_has_the_topics_of_its_subscription(tmp_path: Path) -> None:
    """A regular expression matches whole names of the cluster's topics, internal ones included, in the syntax of RE2."""
    members = [
        MEMBER | {"member_id": "by name", "topics": ["orders", "other"], "topic_regex": None},
        MEMBER | {"member_id": "by both", "assignment": {"orders-eu": [0]}, "topics": ["other"], "topic_regex": "o\\w*|__con"},
        MEMBER | {"member_id": "by pattern", "assignment": {"__offsets": [0]}, "topics": [], "topic_regex": "__.*|o.*", "rack": None},
        # No member has a partition of "new": the coordinator may not know it yet, or the member may not describe it.
        MEMBER | {"member_id": "by a pattern of all", "assignment": {}, "topics": [], "topic_regex": ".*"},
        MEMBER | {"member_id": "by no pattern", "assignment": {}, "topics": [], "topic_regex": "("},
        MEMBER | {"member_id": "unknown", "assignment": {}, "topics": None, "rack": None},
    ]
    topics = [TOPIC | {"topic": name} for name in ("orders", "orders-eu", "__offsets", "new")]
    tables = ingested(tmp_path, east={"a": text(*topics, GROUP | {"members": members})})
    assert {row["member_id"]: row["topics"] for row in tables["group_member"].to_pylist()} == {
        "by name": ["orders", "other"],
        "by both": ["orders", "other"],
        "by pattern": ["__offsets", "orders", "orders-eu"],
        "by a pattern of all": None,
        "by no pattern": None,
        "unknown": None,
    }
    assert {row["topic_regex"] for row in tables["group_member"].to_pylist()} == {None, "o\\w*|__con", "__.*|o.*", ".*", "("}
    assert [row["member_id"] for row in tables["group_member"].to_pylist() if not row["rack_known"]] == ["unknown"]
    bad = read(GROUP | {"members": [MEMBER | {"topics": ["a b"]}]})
    assert [rejected.reason for rejected in bad.rejected] == ["not a topic name that Kafka allows"]


def test_keys_are_a_sample_with_the_partition_where_they_were_found() -> None:
    sampled = [(None, 1, 9), ("azE=", 2, 20), ("?", 1, 1)]
    keys = [{"key": key, "records": records, "size_bytes": size} for key, records, size in sampled]
    reading = read({"keys_of": "orders", "partition": 3, "from_offset": 0, "to_offset": 4, "keys": keys})
    assert [rejected.reason for rejected in reading.rejected] == ["key_base64 is not base64"]
    [sample] = [parsed for parsed in reading.parsed if isinstance(parsed.fact, KeySample)]
    assert (sample.entries, [tuple(row.values()) for row in sample.fact.rows.to_pylist()]) == (
        2,
        [("orders", None, None, 1, 9, 3), ("orders", b"k1", None, 2, 20, 3)],
    )


def test_unanswered_request_is_rejected_unless_unsupported() -> None:
    reading = read(
        {"missing": "features", "why": "UnsupportedVersionException", "unsupported": True},
        {"missing": "log dirs of broker 2", "why": "TimeoutException: gone", "unsupported": False},
    )
    assert [(r.line, r.reason) for r in reading.rejected] == [(3, "not answered by the cluster: TimeoutException: gone")]


@pytest.mark.parametrize(
    ("line", "accepted", "reasons"),
    [
        ({"broker": 1, "fenced": "no"}, 0, ["fenced is neither true nor false"]),
        ({"colour": "red"}, 0, ["not a known kind of line"]),
        ([1], 0, ["not a JSON object"]),
        ({**TOPIC, "topic": "../x"}, 0, ["not a topic name that Kafka allows"]),
        ({**TOPIC, "partitions": [PARTITION, 3, {**PARTITION, "replicas": []}]}, 6, ["not a JSON object", "replicas is empty"]),
        ({**TOPIC, "partitions": [{**PARTITION, "end_offset": -1}]}, 3, ["end_offset is not between 0 and 9223372036854775807"]),
        ({"log_dirs_of": 1, "log_dirs": [{"log_dir": "/d"}, {"log_dir": 1}]}, 1, ["replicas is not a list", "log_dir is not text"]),
        ({**GROUP, "members": [{**MEMBER, "assignment": {"orders": [0, 0]}}]}, 2, ["a partition is assigned twice"]),
        ({**TOPIC, "configs": {"retention\udcee.ms": "1"}}, 0, ["the name of a config is not text"]),
        ({"configs_of": "broker", "name": "1", "configs": {"\ud800": "1"}}, 1, ["the name of a config is not text"]),
        ({"configs_of": "broker", "name": "1", "configs": {"min.insync.replicas": "x"}}, 1, ["min.insync.replicas is not a whole number"]),
    ],
)
def test_bad_entry_of_a_capture_is_rejected_without_the_others(line: Any, accepted: int, reasons: list[str]) -> None:
    reading = read(line)
    assert [(rejected.line, rejected.reason) for rejected in reading.rejected] == [(2, reason) for reason in reasons]
    assert sum(parsed.entries for parsed in reading.parsed) == 2 + accepted


@pytest.mark.parametrize(
    ("cut", "reason"),
    [
        (text(TOPIC, GROUP)[:-20], "the capture is cut off: it has no end line"),
        (text(TOPIC).replace(json.dumps(TOPIC, separators=(",", ":")) + "\n", ""), "the capture is cut off: it has no end line"),
    ],
)
def test_capture_that_is_cut_off_is_rejected_as_a_whole(cut: str, reason: str) -> None:
    reading = read_dump(cut.encode())
    assert (reading.format, reading.parsed, [rejected.reason for rejected in reading.rejected]) == ("topology-capture", [], [reason])


def test_capture_of_another_version_is_rejected_as_a_whole() -> None:
    reading = read_dump(text(TOPIC, head={**HEAD, "version": 2}).encode())
    assert reading.parsed == []
    assert [rejected.reason for rejected in reading.rejected] == ["version 2 of a capture is unknown: only 1 is supported"]


def ingested(folder: Path, **clusters: dict[str, str]) -> dict[str, Any]:
    for name, files in clusters.items():
        (folder / name).mkdir()
        for file, content in files.items():
            (folder / name / file).write_text(content)
    tables = ingest.read(lambda: pytest.fail("it is small"), str(folder), "s")
    return {table.name: rows for table, rows in zip(ingest.WRITES, tables, strict=True)}


def test_copy_of_a_capture_gives_the_same_tables(tmp_path: Path) -> None:
    tables = ingested(tmp_path, east={"a": text(TOPIC, GROUP)})
    os.utime(tmp_path / "east" / "a", (1, 1))
    again = dict(zip(tables, ingest.read(lambda: pytest.fail("it is small"), str(tmp_path), "s"), strict=True))
    assert again == tables
    assert tables["cluster"].column("captured_at").to_pylist() == [datetime(2026, 11, 21, 2, tzinfo=UTC)]


def test_cluster_under_two_names_is_two_clusters_with_one_id(tmp_path: Path) -> None:
    quorum = "ClusterId:              abc\nMaxFollowerLagTimeMs:   0\n"
    another = text(TOPIC, head={**HEAD, "kafka_cluster_id": "x"})
    tables = ingested(tmp_path, east={"a": text(TOPIC)}, west={"a": text(TOPIC)}, quorum={"q": quorum}, other={"a": another})
    assert tables["partition"].column("cluster_id").to_pylist() == ["east", "other", "west"]
    rows = evaluate(DuckdbTables(tables), {"cluster": rules_of(CLUSTER, limits())}, "s", docs=None).to_pylist()
    assert {row["cluster_id"]: (row["success"], row["broken_rows"]) for row in rows if row["rule"] == "kafka_cluster_read_once"} == {
        "east": (False, 2),
        "west": (False, 2),
        "quorum": (False, 2),
        "other": (True, 0),
    }


def test_files_of_two_clusters_in_one_folder_are_reported(tmp_path: Path) -> None:
    znode = json.dumps({"path": "/cluster/id", "data": json.dumps({"version": "1", "id": "xyz"})}) + "\n"
    tables = ingested(tmp_path, mixed={"a": text(TOPIC), "b": znode})
    assert tables[CLUSTER.name].column("kafka_cluster_id").to_pylist() == ["xyz"]
    assert ["kafka_cluster_id xyz, not abc" in row["reason"] for row in tables["rejected_input"].to_pylist()] == [True]
