"""Bad input that occurs in practice is reported, fails no night, and is never used as code, SQL or a path."""

from pathlib import Path

import pyarrow as pa
import pytest

from jobs import ingest
from jobs.ingest.reading import read_dump
from tests.jobs.ingest.dumps import ELR, LOG_DIRS, PARTITION, TOPIC, rejects, resolved, rows
from tests.jobs.ingest.test_reading import check_accounts

LONGEST = "n" * 249
LINE = PARTITION.format("t", 0, 1, "1,2", "1,2")


def read(source: Path) -> dict[str, pa.Table]:
    def no_spark() -> None:
        raise AssertionError("a small source needs no Spark")

    return dict(zip((table.name for table in ingest.WRITES), ingest.read(no_spark, str(source), "2026-11-21"), strict=True))


def test_truncated_dump_rejects_its_last_line() -> None:
    cut = (ELR.format("", "") + ELR.format("", "").replace("Partition: 0", "Partition: 1"))[:-20]
    tables = resolved(a=TOPIC.format("t", 2, "") + cut)
    assert rows(tables, "partition", "partition") == [0]
    assert [line for _, line, _ in rejects(tables)] == [1, 3]


def test_partition_count_is_capped_at_the_largest_integer() -> None:
    tables = resolved(a=PARTITION.format("t", 2**31 - 1, 1, "1", "1"))
    assert rows(tables, "topic", "partitions") == [2**31 - 1]


def test_binary_garbage_is_one_rejected_entry() -> None:
    [rejected] = read_dump(bytes(range(256)) * 40).rejected
    assert (rejected.line, rejected.reason) == (1, "unknown format")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_dump_of_a_windows_shell_is_read(encoding: str) -> None:
    reading = read_dump((TOPIC.format("t", 1, "") + LINE).replace("\n", "\r\n").encode(encoding))
    assert (reading.format, len(reading.parsed), reading.rejected) == ("kafka-topics", 2, [])


def test_bytes_of_another_encoding_reject_only_their_line() -> None:
    text = LINE.encode() + "\tTopic: größe\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n".encode("latin-1")
    reading = read_dump(text)
    assert (len(reading.parsed), [(rejected.line, rejected.reason) for rejected in reading.rejected]) == (
        1,
        [(2, "not a topic name that Kafka allows")],
    )


def test_lines_of_several_versions_in_one_file_are_read() -> None:
    old = "Topic:u\tPartitionCount:1\tReplicationFactor:1\tConfigs:\n\tTopic: u\tPartition: 0\tLeader: -1\tReplicas: 1\tIsr: \n"
    tables = resolved(a=old + TOPIC.format("t", 1, "") + ELR.format("N/A", "N/A"))
    assert (rows(tables, "topic", "topic"), rejects(tables)) == (["t", "u"], [])


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b", "t'; DROP TABLE topic; --", "${jndi:ldap://x}", "..", "a`b", "n" * 250])
def test_topic_named_like_a_path_or_like_sql_is_rejected(name: str) -> None:
    for text in (PARTITION.format(name, 0, 1, "1,2", "1,2"), TOPIC.format(name, 1, ""), LINE.replace("Topic: t", f"Topic: {name}")):
        reading = read_dump((LINE + text).encode())
        assert (len(reading.parsed), len(reading.rejected)) == (1, 1)


def test_names_of_249_characters_are_read() -> None:
    tables = resolved(a=TOPIC.format(LONGEST, 1, "") + PARTITION.format(LONGEST, 0, 1, "1,2", "1,2"))
    assert (rows(tables, "topic", "topic"), rejects(tables)) == ([LONGEST], [])


def test_duplicate_partition_is_one_row_and_one_rejected_entry() -> None:
    tables = resolved(a=LINE + PARTITION.format("t", 0, 2, "1,2", "2"))
    assert rows(tables, "partition", "leader") == [2]
    assert rejects(tables) == [("a", 1, "repeated in line 2")]


def test_replica_on_an_unlisted_broker_adds_a_broker_that_is_down() -> None:
    tables = resolved(a=LINE, b="broker_id,rack\n1,a\n")
    assert rows(tables, "broker", "broker_id", "rack", "live") == [(1, "a", True), (2, None, False)]


def test_isr_outside_the_replicas_is_stored_for_the_rules() -> None:
    tables = resolved(a=PARTITION.format("t", 0, 1, "1,2", "1,9"))
    assert rows(tables, "partition", "replicas", "isr") == [([1, 2], [1, 9])]
    assert rows(tables, "replica", "broker_id", "replica_index", "in_sync") == [(1, 0, True), (2, 1, False)]


def test_two_folders_of_one_kafka_cluster_are_two_clusters(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "topics").write_text(LINE)
        (tmp_path / folder / "quorum").write_text("ClusterId: same\nLeaderId: 1\nMaxFollowerLagTimeMs: 0\n")
    tables = read(tmp_path)
    assert tables["cluster"]["cluster_id"].to_pylist() == ["a", "b"]
    assert tables["partition"]["cluster_id"].to_pylist() == ["a", "b"]


def test_empty_files_are_listed_and_their_cluster_has_no_row(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "topics").write_bytes(b"")
    tables = read(tmp_path)
    assert [tuple(row.values())[3:6] for row in tables["input_file"].to_pylist()] == [(None, 0, 0)]
    assert len(tables["cluster"]) == 0


def test_cluster_folder_named_like_sql_is_only_a_value(tmp_path: Path) -> None:
    folder = tmp_path / "source" / "x' OR 1=1 --"
    folder.mkdir(parents=True)
    (folder / "topics").write_text(LINE)
    paths = {path for path in tmp_path.rglob("*")}
    assert read(tmp_path / "source")["partition"]["cluster_id"].to_pylist() == ["x' OR 1=1 --"]
    assert {path for path in tmp_path.rglob("*")} == paths


def test_log_dir_named_like_a_path_is_only_a_value() -> None:
    tables = resolved(a=LOG_DIRS.format(1, "/../../x'; --", ""))
    assert rows(tables, "log_dir", "log_dir") == ["/../../x'; --"]


@pytest.mark.parametrize("data", [b"[" * 200_000, b'{"a":' * 100_000, b"Topic: " * 100_000, b"\t \t" * 300_000, b"| offset: " * 100_000])
def test_deep_and_long_input_is_at_most_one_reject(data: bytes) -> None:
    assert len(read_dump(data).rejected) <= 1


def test_bytes_that_are_not_text_can_be_stored_in_a_reason() -> None:
    tables = resolved(a='| offset: 1 CreateTime: 1 headerKeys: [] payload: {"type":"X_RECORD","version":0,"data":{}}\n')
    assert rejects(tables)[0][2] == "a metadata record of type X_RECORD is unknown"
    line = b'| offset: 1 CreateTime: 1 headerKeys: [] payload: {"type":"TOPIC_RECORD","version":0,"data":{"\xb1":1}}\n'
    check_accounts(line + line.replace(b"TOPIC_RECORD", b"TOPIC_R\xb1CORD"))
