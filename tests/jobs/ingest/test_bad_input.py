"""What arrives in practice and should not: each is told, none breaks a night, and nothing of it is taken for code, SQL or a path."""

from pathlib import Path

import pyarrow as pa
import pytest

from jobs import ingest
from jobs.ingest.reading import read_dump
from tests.jobs.ingest.test_merge import ELR, LOG_DIRS, PARTITION, TOPIC, merged, rejects
from tests.jobs.ingest.test_reading import check_accounts

LONGEST = "n" * 249
LINE = PARTITION.format("t", 0, 1, "1,2", "1,2")


def read(source: Path) -> dict[str, pa.Table]:
    def no_spark() -> None:
        raise AssertionError("a small source needs no Spark")

    return dict(zip((table.name for table in ingest.WRITES), ingest.read(no_spark, str(source), "2026-11-21"), strict=True))


def test_truncated_dump_loses_its_last_line_and_says_so() -> None:
    cut = (ELR.format("", "") + ELR.format("", "").replace("Partition: 0", "Partition: 1"))[:-20]
    found = merged(a=TOPIC.format("t", 2, "") + cut)
    assert [row[1] for row in found.rows["partition"]] == [0]
    assert [line for _, line, _ in rejects(found)] == [1, 3]


def test_the_greatest_partition_id_counts_as_many_as_can_be_stored() -> None:
    found = merged(a=PARTITION.format("t", 2**31 - 1, 1, "1", "1"))
    assert [row[2] for row in found.rows["topic"]] == [2**31 - 1]


def test_binary_garbage_is_one_rejected_entry() -> None:
    [refused] = read_dump(bytes(range(256)) * 40).rejected
    assert (refused.line, refused.reason) == (1, "no known format")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_dump_of_a_windows_shell_is_read(encoding: str) -> None:
    reading = read_dump((TOPIC.format("t", 1, "") + LINE).replace("\n", "\r\n").encode(encoding))
    assert (reading.format, len(reading.told), reading.rejected) == ("kafka-topics", 2, [])


def test_bytes_of_another_encoding_spoil_their_line_only() -> None:
    text = LINE.encode() + "\tTopic: größe\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n".encode("latin-1")
    reading = read_dump(text)
    assert (len(reading.told), [(refused.line, refused.reason) for refused in reading.rejected]) == (
        1,
        [(2, "no name that Kafka allows for a topic")],
    )


def test_lines_of_several_versions_in_one_file_are_read() -> None:
    old = "Topic:u\tPartitionCount:1\tReplicationFactor:1\tConfigs:\n\tTopic: u\tPartition: 0\tLeader: -1\tReplicas: 1\tIsr: \n"
    found = merged(a=old + TOPIC.format("t", 1, "") + ELR.format("N/A", "N/A"))
    assert ([row[0] for row in found.rows["topic"]], rejects(found)) == (["t", "u"], [])


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b", "t'; DROP TABLE topic; --", "${jndi:ldap://x}", "..", "a`b", "n" * 250])
def test_topic_named_like_a_path_or_like_sql_is_rejected(name: str) -> None:
    for text in (PARTITION.format(name, 0, 1, "1,2", "1,2"), TOPIC.format(name, 1, ""), LINE.replace("Topic: t", f"Topic: {name}")):
        reading = read_dump((LINE + text).encode())
        assert (len(reading.told), len(reading.rejected)) == (1, 1)


def test_names_of_249_characters_are_read() -> None:
    found = merged(a=TOPIC.format(LONGEST, 1, "") + PARTITION.format(LONGEST, 0, 1, "1,2", "1,2"))
    assert (found.rows["topic"][0][0], rejects(found)) == (LONGEST, [])


def test_duplicate_partition_is_one_row_and_one_rejected_entry() -> None:
    found = merged(a=LINE + PARTITION.format("t", 0, 2, "1,2", "2"))
    assert [row[2] for row in found.rows["partition"]] == [2]
    assert rejects(found) == [("a", 1, "told again in line 2")]


def test_replica_on_a_broker_that_nobody_lists_makes_a_broker_that_is_down() -> None:
    found = merged(a=LINE, b="broker_id,rack\n1,a\n")
    assert [row[:3] for row in found.rows["broker"]] == [(1, "a", True), (2, None, False)]


def test_isr_outside_the_replicas_is_kept_for_the_rules_to_judge() -> None:
    found = merged(a=PARTITION.format("t", 0, 1, "1,2", "1,9"))
    assert found.rows["partition"][0][3:5] == ((1, 2), [1, 9])
    assert [row[2:5] for row in found.rows["replica"]] == [(1, 0, True), (2, 1, False)]


def test_two_clusters_of_one_content_and_of_one_kafka_id_stay_two(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "topics").write_text(LINE)
        (tmp_path / folder / "quorum").write_text("ClusterId: same\nLeaderId: 1\nMaxFollowerLagTimeMs: 0\n")
    tables = read(tmp_path)
    assert tables["cluster"]["cluster_id"].to_pylist() == ["a", "b"]
    assert tables["partition"]["cluster_id"].to_pylist() == ["a", "b"]


def test_empty_files_and_a_cluster_of_nothing_else_are_told(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "topics").write_bytes(b"")
    tables = read(tmp_path)
    assert [tuple(row.values())[3:6] for row in tables["input_file"].to_pylist()] == [(None, 0, 0)]
    assert len(tables["cluster"]) == 0


def test_cluster_folder_named_like_sql_writes_nothing_outside(tmp_path: Path) -> None:
    folder = tmp_path / "source" / "x' OR 1=1 --"
    folder.mkdir(parents=True)
    (folder / "topics").write_text(LINE)
    before = {path for path in tmp_path.rglob("*")}
    assert read(tmp_path / "source")["partition"]["cluster_id"].to_pylist() == ["x' OR 1=1 --"]
    assert {path for path in tmp_path.rglob("*")} == before


def test_log_dir_named_like_a_path_is_only_a_value() -> None:
    found = merged(a=LOG_DIRS.format(1, "/../../x'; --", ""))
    assert found.rows["log_dir"][0][1] == "/../../x'; --"


@pytest.mark.parametrize("data", [b"[" * 200_000, b'{"a":' * 100_000, b"Topic: " * 100_000, b"\t \t" * 300_000, b"| offset: " * 100_000])
def test_deep_and_long_input_ends_soon(data: bytes) -> None:
    assert len(read_dump(data).rejected) <= 1


def test_bytes_that_are_no_text_can_be_stored_in_a_reason_too() -> None:
    found = merged(a='| offset: 1 CreateTime: 1 headerKeys: [] payload: {"type":"X_RECORD","version":0,"data":{}}\n')
    assert rejects(found)[0][2] == "a metadata record of type X_RECORD is not known"
    line = b'| offset: 1 CreateTime: 1 headerKeys: [] payload: {"type":"TOPIC_RECORD","version":0,"data":{"\xb1":1}}\n'
    check_accounts(line + line.replace(b"TOPIC_RECORD", b"TOPIC_R\xb1CORD"))
