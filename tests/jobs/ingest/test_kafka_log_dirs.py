import json

import pytest

from jobs.ingest.facts import LogDirLine, LogDirsAnswer, ReplicaOnDisk
from jobs.ingest.reading import read_dump

CHATTER = "Querying brokers for log directories information\nReceived log directory information from brokers 1\n"
LOG = {"partition": "a-b-12", "size": 5389, "offsetLag": 3, "isFuture": False}


def dump(*logs: object, error: object = None) -> bytes:
    brokers = [{"broker": 1, "logDirs": [{"partitions": list(logs), "error": error, "logDir": "/d1"}]}]
    return (CHATTER + json.dumps({"brokers": brokers, "version": 1}) + "\n").encode()


def test_broker_log_dir_and_log_are_facts() -> None:
    reading = read_dump(dump(LOG))
    assert reading.format == "kafka-log-dirs"
    assert [parsed.fact for parsed in reading.parsed] == [
        LogDirsAnswer(1),
        LogDirLine(1, "/d1", None),
        ReplicaOnDisk(1, "a-b", 12, False, "/d1", 5389, 3),
    ]
    assert {parsed.line for parsed in reading.parsed} == {3}
    assert reading.rejected == []


def test_json_without_messages_is_parsed_pretty_or_not() -> None:
    document = json.loads(dump(LOG).splitlines()[-1])
    for text in (json.dumps(document), json.dumps(document, indent=2), json.dumps(document, indent=2).replace("\n", "\r\n")):
        assert [type(parsed.fact) for parsed in read_dump(text.encode()).parsed] == [LogDirsAnswer, LogDirLine, ReplicaOnDisk]


def test_failed_log_dir_has_its_error() -> None:
    parsed = read_dump(dump(error="org.apache.kafka.common.errors.KafkaStorageException")).parsed
    assert parsed[-1].fact == LogDirLine(1, "/d1", "org.apache.kafka.common.errors.KafkaStorageException")


def test_unknown_lag_is_null() -> None:
    assert read_dump(dump(LOG | {"offsetLag": -1})).parsed[-1].fact.offset_lag is None


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        (LOG | {"partition": "nodash"}, "not a topic name that Kafka allows"),
        (LOG | {"partition": "t-x"}, "partition is not a whole number"),
        (LOG | {"partition": 7}, "partition is not text"),
        (LOG | {"size": 10**30}, "size is not between 0 and 9223372036854775807"),
        (LOG | {"size": -1}, "size is not between 0 and 9223372036854775807"),
        (LOG | {"size": 1.5}, "size is not a whole number"),
        (LOG | {"size": True}, "size is not a whole number"),
        (LOG | {"isFuture": "no"}, "isFuture is neither true nor false"),
        ({"partition": "t-0"}, "offsetLag is missing"),
        ("t-0", "not a JSON object with these fields"),
    ],
)
def test_bad_log_is_rejected_without_the_others(log: object, reason: str) -> None:
    reading = read_dump(dump(log, LOG))
    assert [(rejected.line, rejected.entry, rejected.reason) for rejected in reading.rejected] == [(3, log, reason)]
    assert len(reading.parsed) == 3


def test_truncated_json_is_one_rejected_entry_with_a_reason() -> None:
    reading = read_dump(dump(LOG)[:-20])
    assert (reading.format, reading.parsed, len(reading.rejected)) == ("kafka-log-dirs", [], 1)
    assert reading.rejected[0].reason.startswith("not JSON: ")


def test_warnings_around_the_json_are_rejected_line_by_line() -> None:
    reading = read_dump(b"[2026-11-21 09:45:00] WARN first\n" + dump(LOG) + b"last words\n")
    assert [(rejected.line, rejected.entry) for rejected in reading.rejected] == [
        (1, "[2026-11-21 09:45:00] WARN first"),
        (5, "last words"),
    ]
    assert len(reading.parsed) == 3


def test_text_after_the_json_is_rejected() -> None:
    reading = read_dump(dump(LOG).rstrip(b"\n") + b" and more\n")
    assert [(rejected.line, rejected.entry) for rejected in reading.rejected] == [(3, "and more")]


def test_log_dir_whose_name_is_not_text_is_rejected() -> None:
    reading = read_dump(dump(LOG).replace(b'"/d1"', b'"\\ud800"'))
    assert [rejected.reason for rejected in reading.rejected] == ["logDir is not text"]


def test_deeply_nested_json_is_rejected() -> None:
    reading = read_dump(b'{"brokers": [{"logDirs": [{' + b'"a":[{' * 100_000)
    assert len(reading.rejected) == 1
    assert reading.parsed == []
