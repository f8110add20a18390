import json

import pytest

from jobs.ingest.facts import LogDirLine, LogDirsAnswer, ReplicaOnDisk
from jobs.ingest.reading import read_dump

CHATTER = "Querying brokers for log directories information\nReceived log directory information from brokers 1\n"
LOG = {"partition": "a-b-12", "size": 5389, "offsetLag": 3, "isFuture": False}


def dump(*logs: object, error: object = None) -> bytes:
    brokers = [{"broker": 1, "logDirs": [{"partitions": list(logs), "error": error, "logDir": "/d1"}]}]
    return (CHATTER + json.dumps({"brokers": brokers, "version": 1}) + "\n").encode()


def test_broker_log_dir_and_log_are_told() -> None:
    reading = read_dump(dump(LOG))
    assert reading.format == "kafka-log-dirs"
    assert [told.fact for told in reading.told] == [
        LogDirsAnswer(1),
        LogDirLine(1, "/d1", None),
        ReplicaOnDisk(1, "a-b", 12, False, "/d1", 5389, 3),
    ]
    assert {told.line for told in reading.told} == {3}
    assert reading.rejected == []


def test_json_alone_pretty_or_not_is_told() -> None:
    document = json.loads(dump(LOG).splitlines()[-1])
    for text in (json.dumps(document), json.dumps(document, indent=2), json.dumps(document, indent=2).replace("\n", "\r\n")):
        assert [type(told.fact) for told in read_dump(text.encode()).told] == [LogDirsAnswer, LogDirLine, ReplicaOnDisk]


def test_failed_log_dir_is_told_with_its_error() -> None:
    told = read_dump(dump(error="org.apache.kafka.common.errors.KafkaStorageException")).told
    assert told[-1].fact == LogDirLine(1, "/d1", "org.apache.kafka.common.errors.KafkaStorageException")


def test_lag_that_the_broker_could_not_tell_is_null() -> None:
    assert read_dump(dump(LOG | {"offsetLag": -1})).told[-1].fact.offset_lag is None


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        (LOG | {"partition": "nodash"}, "no name that Kafka allows for a topic"),
        (LOG | {"partition": "t-x"}, "partition is no whole number"),
        (LOG | {"partition": 7}, "partition is no text"),
        (LOG | {"size": 10**30}, "size is not within 0 and 9223372036854775807"),
        (LOG | {"size": -1}, "size is not within 0 and 9223372036854775807"),
        (LOG | {"size": 1.5}, "size is no whole number"),
        (LOG | {"size": True}, "size is no whole number"),
        (LOG | {"isFuture": "no"}, "isFuture is neither true nor false"),
        ({"partition": "t-0"}, "offsetLag is missing"),
        ("t-0", "no JSON object of that kind"),
    ],
)
def test_bad_log_is_rejected_and_the_sound_ones_stand(log: object, reason: str) -> None:
    reading = read_dump(dump(log, LOG))
    assert [(rejected.line, rejected.entry, rejected.reason) for rejected in reading.rejected] == [(3, log, reason)]
    assert len(reading.told) == 3


def test_truncated_json_is_one_rejected_entry_that_says_why() -> None:
    reading = read_dump(dump(LOG)[:-20])
    assert (reading.format, reading.told, len(reading.rejected)) == ("kafka-log-dirs", [], 1)
    assert reading.rejected[0].reason.startswith("not JSON: ")


def test_warnings_around_the_json_are_rejected_line_by_line() -> None:
    reading = read_dump(b"[2026-11-21 09:45:00] WARN first\n" + dump(LOG) + b"last words\n")
    assert [(rejected.line, rejected.entry) for rejected in reading.rejected] == [
        (1, "[2026-11-21 09:45:00] WARN first"),
        (5, "last words"),
    ]
    assert len(reading.told) == 3


def test_words_behind_the_json_are_not_lost() -> None:
    reading = read_dump(dump(LOG).rstrip(b"\n") + b" and more\n")
    assert [(rejected.line, rejected.entry) for rejected in reading.rejected] == [(3, "and more")]


def test_log_dir_whose_name_is_no_text_is_rejected() -> None:
    reading = read_dump(dump(LOG).replace(b'"/d1"', b'"\\ud800"'))
    assert [rejected.reason for rejected in reading.rejected] == ["logDir is no text"]


def test_json_nested_without_end_is_rejected() -> None:
    reading = read_dump(b'{"brokers": [{"logDirs": [{' + b'"a":[{' * 100_000)
    assert len(reading.rejected) == 1
    assert reading.told == []
