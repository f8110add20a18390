"""Output of kafka-topics --describe, as each version prints it (TopicCommand at the tags 0.10.2.1 to 4.3)."""

import pytest

from jobs.ingest.facts import PartitionLine, TopicLine
from jobs.ingest.reading import read_dump

P = PartitionLine


def facts(text: str) -> list:
    reading = read_dump(text.encode())
    assert reading.format == "kafka-topics"
    assert reading.rejected == []
    return [parsed.fact for parsed in reading.parsed]


def reasons(text: str) -> list[tuple[int, str]]:
    return [(rejected.line, rejected.reason) for rejected in read_dump(text.encode()).rejected]


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        pytest.param(
            "Topic:orders\tPartitionCount:2\tReplicationFactor:3\tConfigs:retention.ms=1000,cleanup.policy=compact,delete",
            TopicLine("orders", None, 2, 3, {"retention.ms": "1000", "cleanup.policy": "compact,delete"}),
            id="0.10 to 2.3",
        ),
        pytest.param("Topic:orders\tPartitionCount:2\tReplicationFactor:3\tConfigs:", TopicLine("orders", None, 2, 3, {}), id="no configs"),
        pytest.param(
            "Topic:orders\tPartitionCount:2\tReplicationFactor:3\tConfigs:\tMarkedForDeletion:true",
            TopicLine("orders", None, 2, 3, {}),
            id="2.0, being deleted",
        ),
        pytest.param(
            "Topic: orders\tPartitionCount: 2\tReplicationFactor: 3\tConfigs: segment.bytes=1073741824",
            TopicLine("orders", None, 2, 3, {"segment.bytes": "1073741824"}),
            id="2.4 to 2.7",
        ),
        pytest.param(
            "Topic: orders\tTopicId: jgmHsgngRdOpX8NLV1MQDg\tPartitionCount: 2\tReplicationFactor: 3\tConfigs: min.insync.replicas=2",
            TopicLine("orders", "jgmHsgngRdOpX8NLV1MQDg", 2, 3, {"min.insync.replicas": "2"}),
            id="2.8 and later",
        ),
        pytest.param(
            "Topic: orders\tTopicId: jgmHsgngRdOpX8NLV1MQDg\tPartitionCount: 2\tReplicationFactor: 3\tConfigs: \tMarkedForDeletion: true",
            TopicLine("orders", "jgmHsgngRdOpX8NLV1MQDg", 2, 3, {}),
            id="3.x, being deleted",
        ),
        pytest.param(
            "Topic: t\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: leader.replication.throttled.replicas=0:1,1:2,flush.ms=5",
            TopicLine("t", None, 1, 1, {"leader.replication.throttled.replicas": "0:1,1:2", "flush.ms": "5"}),
            id="throttled",
        ),
        pytest.param(
            'Topic: t\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: confluent.placement.constraints={"version":1,"replicas":[]}',
            TopicLine("t", None, 1, 1, {"confluent.placement.constraints": '{"version":1,"replicas":[]}'}),
            id="a config of JSON",
        ),
        pytest.param(
            "\tTopic: orders\tPartition: 0\tLeader: 3\tReplicas: 3,1,2\tIsr: 1,3",
            P("orders", 0, 3, (3, 1, 2), (1, 3), None, None, None, None),
            id="0.10 to 3.7",
        ),
        pytest.param(
            "\tTopic: orders\tPartition: 0\tLeader: none\tReplicas: 3,1\tIsr: ",
            P("orders", 0, None, (3, 1), (), None, None, None, None),
            id="no leader",
        ),
        pytest.param(
            "\tTopic: orders\tPartition: 0\tLeader: -1\tReplicas: 3,1\tIsr: 3",
            P("orders", 0, None, (3, 1), (3,), None, None, None, None),
            id="no leader, from ZooKeeper",
        ),
        pytest.param(
            "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\tMarkedForDeletion: true",
            P("orders", 0, 1, (1, 2), (1, 2), None, None, None, None),
            id="a partition being deleted",
        ),
        pytest.param(
            "\tTopic: orders\tPartition: 7\tLeader: 1\tReplicas: 4,1,2\tIsr: 1,2\tAdding Replicas: 4\tRemoving Replicas: 2",
            P("orders", 7, 1, (4, 1, 2), (1, 2), None, None, (4,), (2,)),
            id="2.4, reassigned",
        ),
        pytest.param(
            "\tTopic: o\tPartition: 7\tLeader: 1\tReplicas: 4,1\tIsr: 1\tAdding Replicas: 4\tRemoving Replicas: "
            "\tElr: N/A\tLastKnownElr: N/A",
            P("o", 7, 1, (4, 1), (1,), None, None, (4,), ()),
            id="3.8, reassigned, ELR unknown",
        ),
        pytest.param(
            "\tTopic: orders\tPartition: 0\tLeader: 3\tReplicas: 3,1,2\tIsr: 3,1,2\tElr: \tLastKnownElr: ",
            P("orders", 0, 3, (3, 1, 2), (3, 1, 2), (), (), None, None),
            id="4.x",
        ),
        pytest.param(
            "\tTopic: orders\tPartition: 0\tLeader: none\tReplicas: 1,2\tIsr: \tElr: 2,1\tLastKnownElr: 1",
            P("orders", 0, None, (1, 2), (), (2, 1), (1,), None, None),
            id="4.x, nobody in sync",
        ),
        pytest.param(
            "        Topic: orders   Partition: 0    Leader: 1       Replicas: 1,2   Isr: 1,2        Elr:    LastKnownElr:",
            P("orders", 0, 1, (1, 2), (1, 2), (), (), None, None),
            id="copied from a terminal",
        ),
        pytest.param(
            "\tTopic: o\tPartition: 0\tLeader: 9\tReplicas: 1,2\tIsr: 3",
            P("o", 0, 9, (1, 2), (3,), None, None, None, None),
            id="an ISR outside the replicas",
        ),
    ],
)
def test_line_of_each_version_is_parsed(printed: str, expected: object) -> None:
    assert facts(printed + "\n") == [expected]
    assert facts("\ufeff" + printed + "\r\n") == [expected]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("\tTopic: a'b\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1", "not a topic name that Kafka allows"),
        ("\tTopic: ../../etc/passwd\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1", "not a topic name that Kafka allows"),
        ("\tTopic: ..\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1", "not a topic name that Kafka allows"),
        ("\tTopic: " + "x" * 250 + "\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1", "not a topic name that Kafka allows"),
        ("\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,1\tIsr: 1", "a broker occurs twice in one list"),
        ("\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: \tIsr: 1", "Replicas is empty"),
        ("\tTopic: t\tPartition: 2147483648\tLeader: 1\tReplicas: 1\tIsr: 1", "Partition is not between 0 and 2147483647"),
        ("\tTopic: t\tPartition: \u0661\tLeader: 1\tReplicas: 1\tIsr: 1", "neither a topic line nor a partition line"),
        ("\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,", "neither a topic line nor a partition line"),
        ("\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1\tElr: ", "neither a topic line nor a partition line"),
        ("Topic: t\tPartitionCount: 3\tReplicationFactor: x\tConfigs: ", "ReplicationFactor is not a whole number"),
        (
            "Topic: t\tPartitionCount: 3\tReplicationFactor: 1\tConfigs: min.insync.replicas=two",
            "min.insync.replicas is not a whole number",
        ),
        ("Topic: t\tPartitionCount: 3\tReplicationFactor: 1\tConfigs: min.insync.rep", "Configs has a name without a value"),
        ("[2026-11-21 09:45:00,000] WARN something else", "neither a topic line nor a partition line"),
    ],
)
def test_bad_line_is_rejected_without_the_others(line: str, reason: str) -> None:
    sound = "\tTopic: t\tPartition: 1\tLeader: 1\tReplicas: 1\tIsr: 1\n"
    reading = read_dump(f"{sound}{line}\n{sound.replace(': 1', ': 5', 1)}".encode())
    assert [(rejected.line, rejected.entry, rejected.reason) for rejected in reading.rejected] == [(2, line, reason)]
    assert [parsed.fact.partition for parsed in reading.parsed] == [1, 5]


def test_longest_topic_name_is_read() -> None:
    name = "x" * 249
    assert facts(f"\tTopic: {name}\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n")[0].topic == name


def test_line_that_is_not_utf_8_rejects_only_itself() -> None:
    dump = b"Topic: t\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: a=\xff\n\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n"
    reading = read_dump(dump)
    assert [rejected.reason for rejected in reading.rejected] == ["Configs is not text"]
    assert len(reading.parsed) == 1


def test_dump_of_a_windows_shell_is_read() -> None:
    line = "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\r\n"
    assert [parsed.fact.topic for parsed in read_dump(line.encode("utf-16")).parsed] == ["t"]


def test_last_line_cut_before_the_columns_that_others_have_is_rejected() -> None:
    line = "\tTopic: t\tPartition: {}\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\tElr: \tLastKnownElr: \n"
    cut = line.format(0) + line.format(1).partition("\tElr")[0]
    assert reasons(cut) == [(2, "the dump is cut off in this line")]
    assert reasons(cut + "\n") == []


def test_line_of_many_blanks_is_rejected() -> None:
    blanks = " " * 200_000
    sound = "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n"
    assert len(reasons(f"{sound}\tTopic: t\tPartition: 1\tLeader: 1\tReplicas:{blanks}Isr:{blanks}x\n")) == 1
