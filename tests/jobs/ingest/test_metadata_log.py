"""KRaft's metadata log, compared with kafka-topics of the same clusters at the same time (tests/cluster/record_formats.py)."""

import re
import struct
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jobs.ingest.dump import Rejected, Unreadable
from jobs.ingest.formats.metadata_log import crc32c
from jobs.ingest.metadata_record import SCHEMAS, ByteReader, from_bytes, from_json
from jobs.ingest.reading import read_dump
from tests.jobs.ingest.dumps import Tables, rejects, resolved_bytes, rows
from tests.jobs.ingest.test_reading import check_accounts

FORMATS = Path(__file__).parents[2] / "snapshots" / "formats"
VERSIONS = ["3.9.2", "4.3.1"]
NOW = datetime(2026, 11, 21, 2, 0, 0, tzinfo=UTC)
TOPIC_ID = bytes(range(16))
PARTITION = ("topic", "partition", "leader", "replicas", "isr")
COUNTS = ("entries", "accepted", "rejected")
ELR = ("isr", "elr", "last_known_elr")


def recorded(version: str, pattern: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((FORMATS / version).glob(pattern))}


def unsigned(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def signed(value: int) -> bytes:
    return unsigned((value << 1) ^ (value >> 63))


def batch(offset: int, values: Sequence[bytes], *, key: bytes | None = None, attributes: int = 0, time_ms: int = 1000) -> bytes:
    records = b""
    for delta, value in enumerate(values):
        key_field = signed(-1) if key is None else signed(len(key)) + key
        record = b"\0" + signed(0) + signed(delta) + key_field + signed(len(value)) + value + signed(0)
        records += signed(len(record)) + record
    body = struct.pack(">hiqqqhii", attributes, len(values) - 1, time_ms, time_ms, -1, -1, -1, len(values)) + records
    return struct.pack(">qiibI", offset, len(body) + 9, 1, 2, crc32c(body)) + body


def control(offset: int, control_type: int, value: bytes) -> bytes:
    return batch(offset, [value], key=struct.pack(">hh", 0, control_type), attributes=0x20)


def text(value: str) -> bytes:
    return unsigned(len(value) + 1) + value.encode()


def ids(*values: int) -> bytes:
    return unsigned(len(values) + 1) + struct.pack(f">{len(values)}i", *values)


def record(key: int, version: int, fields: bytes, tagged: Mapping[int, bytes] | None = None) -> bytes:
    tags = b"".join(unsigned(tag) + unsigned(len(data)) + data for tag, data in (tagged or {}).items())
    return unsigned(1) + unsigned(key) + unsigned(version) + fields + unsigned(len(tagged or {})) + tags


def broker(broker_id: int) -> bytes:
    return record(0, 0, struct.pack(">i", broker_id) + bytes(16) + struct.pack(">q", 1) + unsigned(1) + unsigned(1) + unsigned(0) + b"\0")


def partition(number: int, leader: int, replicas: Sequence[int], isr: Sequence[int], *, version: int = 0) -> bytes:
    fields = struct.pack(">i", number) + TOPIC_ID + ids(*replicas) + ids(*isr) + ids() + ids() + struct.pack(">iii", leader, 0, 0)
    return record(3, version, fields + (unsigned(1) if version else b""))


TOPIC = record(2, 0, text("t") + TOPIC_ID)
STATE = [broker(1), broker(2), TOPIC, partition(0, 1, [1, 2], [1, 2])]
LEADER_2 = record(5, 0, struct.pack(">i", 0) + TOPIC_ID, {1: struct.pack(">i", 2)})
SNAPSHOT = control(0, 3, struct.pack(">hq", 0, 1000) + b"\0") + batch(1, STATE) + control(5, 4, struct.pack(">h", 0) + b"\0")
SNAPSHOT_NAME = "00000000000000000007-0000000001.checkpoint"


def leader(tables: Tables) -> list[object]:
    return rows(tables, "partition", "leader")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("source", ["[0-9]*.log", "[0-9]*", "kafka-dump-log*.log.txt", "kafka-dump-log*"])
def test_log_agrees_with_kafka_topics_on_every_partition(version: str, source: str) -> None:
    from_log, from_topics = resolved_bytes(recorded(version, source)), resolved_bytes(recorded(version, "kafka-topics.txt"))
    assert rejects(from_log) == rejects(from_topics) == []
    assert len(from_topics["partition"]) == {"3.9.2": 18, "4.3.1": 28}[version]
    same = (*PARTITION, "adding_replicas", "removing_replicas", *(["elr"] if version >= "4" else []))
    assert rows(from_log, "partition", *same) == rows(from_topics, "partition", *same)
    if version >= "4":
        ours, theirs = (rows(tables, "partition", "last_known_elr") for tables in (from_log, from_topics))
        assert list(map(set, ours)) == list(map(set, theirs))
    topic = ("topic", "topic_id", "partitions", "replication_factor", "configs")
    assert rows(from_log, "topic", *topic) == rows(from_topics, "topic", *topic)
    assert rows(from_log, "broker", "broker_id", "rack", "live") == [
        (1, "rack-a", True),
        (2, "rack-b", False),
        (3, "rack-c", True),
        (4, None, True),
    ]
    assert rows(from_log, "cluster", "controller", "elr") == [("kraft", version >= "4")]


@pytest.mark.parametrize("version", VERSIONS)
def test_log_and_tools_of_the_same_time_do_not_contradict(version: str) -> None:
    dumps = {name: data for name, data in recorded(version, "*").items() if not name.startswith("kafka-reassign-partitions")}
    tables = resolved_bytes(dumps)
    assert rejects(tables) == []
    assert tables["partition"] == resolved_bytes(recorded(version, "[0-9]*") | recorded(version, "kafka-topics.txt"))["partition"]


@pytest.mark.parametrize("version", VERSIONS)
def test_snapshot_alone_is_older_than_with_its_log(version: str) -> None:
    [name, data] = min(recorded(version, "*.checkpoint").items())
    alone = resolved_bytes({name: data})
    assert rejects(alone) == []
    assert len(alone["partition"]) > 0
    assert alone["partition"] != resolved_bytes(recorded(version, "[0-9]*"))["partition"]


@pytest.mark.parametrize("version", VERSIONS)
def test_log_continues_a_renamed_snapshot_by_time(version: str) -> None:
    [_, data] = min(recorded(version, "*.checkpoint").items())
    renamed = resolved_bytes({"snapshot": data, "log": recorded(version, "*.log").popitem()[1]})
    assert renamed["partition"] == resolved_bytes(recorded(version, "[0-9]*"))["partition"]
    assert rejects(renamed) == []


def test_checksum_is_castagnoli() -> None:
    assert crc32c(b"123456789") == 0xE3069283


def test_snapshot_cut_anywhere_is_rejected_as_a_whole() -> None:
    assert leader(resolved_bytes({SNAPSHOT_NAME: SNAPSHOT})) == [1]
    for length in range(61, len(SNAPSHOT)):
        tables = resolved_bytes({SNAPSHOT_NAME: SNAPSHOT[:length]})
        assert rows(tables, "partition") == []
        [(_, _, reason)] = rejects(tables)
        assert reason.startswith("the snapshot has no footer: it was cut off") or reason == "unknown format", length
        assert rows(tables, "input_file", *COUNTS) == [(1, 0, 1)]


def test_recorded_snapshot_cut_between_batches_is_rejected() -> None:
    [(name, data), *_] = recorded("4.3.1", "*.checkpoint").items()
    footer = 75  # bytes of the last batch
    tables = resolved_bytes({name: data[:-footer]})
    assert rows(tables, "broker") == []
    assert "has no footer" in rejects(tables)[0][2]
    [(name, data), *_] = recorded("4.3.1", "kafka-dump-log*checkpoint.txt").items()
    tables = resolved_bytes({name: b"\n".join(data.splitlines()[:-2])})
    assert rows(tables, "broker") == []
    assert {reason for _, _, reason in rejects(tables)} == {"the snapshot has no footer: it was cut off"}


def test_log_with_a_partial_last_batch_is_read_up_to_it() -> None:
    log = batch(0, STATE) + batch(4, [LEADER_2])
    tables = resolved_bytes({"log": log[:-3]})
    assert leader(tables) == [1]
    assert rejects(tables) == [("log", 5, f"at byte {len(batch(0, STATE))}: the file ends within a batch; nothing after this is read")]
    assert rows(tables, "input_file", *COUNTS) == [(5, 4, 1)]


def test_damaged_batch_and_everything_after_it_is_rejected() -> None:
    log = bytearray(batch(0, STATE) + batch(4, [LEADER_2]) + batch(5, [LEADER_2]))
    log[len(batch(0, STATE)) + 70] ^= 1
    tables = resolved_bytes({"log": bytes(log)})
    assert leader(tables) == [1]
    assert "CRC-32C" in rejects(tables)[0][2]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (record(13, 0, b""), "a metadata record of type 13 is unknown"),
        (record(99, 0, b""), "a metadata record of type 99 is unknown"),
        (record(3, 3, b""), "version 3 of PARTITION_RECORD is unknown"),
        (b"\0" + TOPIC[1:], "frame version 0 of a metadata record is unknown"),
        (TOPIC + b"\0", "1 bytes are left over"),
        (TOPIC[:-3], "the record ends within a field"),
        (record(20, 0, b"", {0: b""}), "a field with tag 0 is unknown"),
        (record(5, 0, struct.pack(">i", 0) + TOPIC_ID, {6: ids(1)}), "a field with tag 6 is unknown"),
        (record(9, 0, bytes(16)), "the topic to remove does not exist"),
        (record(5, 0, struct.pack(">i", 9) + TOPIC_ID), "the partition to change does not exist"),
        (partition(1, 1, [1, 1], [1]), "a broker occurs twice in replicas"),
        (partition(-1, 1, [1], [1]), "partitionId is not between 0 and 2147483647"),
        (record(2, 0, text("../../etc") + bytes(16)), "not a topic name that Kafka allows"),
        (record(4, 0, b"\x02" + text("t") + unsigned(0) + unsigned(0)), "name is null"),
        (record(4, 0, b"\x02" + text("t") + text("min.insync.replicas") + text("x")), "min.insync.replicas is not a whole number"),
        (record(0, 0, b"\0" * 28 + unsigned(2**31)), "the record ends within a list"),
    ],
)
def test_unknown_record_is_rejected_without_the_others(value: bytes, reason: str) -> None:
    tables = resolved_bytes({"log": batch(0, [*STATE, value, LEADER_2])})
    assert leader(tables) == [2]
    assert rejects(tables) == [("log", 5, reason)]
    assert rows(tables, "input_file", *COUNTS) == [(6, 5, 1)]


def test_missing_segment_is_reported_and_later_ones_are_not_applied() -> None:
    tables = resolved_bytes({"a": batch(0, STATE), "b": batch(9, [LEADER_2])})
    assert leader(tables) == [1]
    assert rejects(tables) == [
        ("b", 1, "records 4 to 8 are missing: add the snapshot or segment that has them; no later record is applied")
    ]
    assert leader(resolved_bytes({SNAPSHOT_NAME: SNAPSHOT, "b": batch(7, [LEADER_2])})) == [2]
    assert leader(resolved_bytes({SNAPSHOT_NAME: SNAPSHOT, "b": batch(6, [LEADER_2])})) == [1]


def test_metadata_transaction_is_applied_at_its_end() -> None:
    begin, end, abort = record(23, 0, b"", {0: text("x")}), record(24, 0, b""), record(25, 0, b"")
    assert leader(resolved_bytes({"log": batch(0, [*STATE, begin, LEADER_2])})) == [1]
    assert leader(resolved_bytes({"log": batch(0, [*STATE, begin, LEADER_2, abort])})) == [1]
    assert leader(resolved_bytes({"log": batch(0, [*STATE, begin, LEADER_2, end])})) == [2]


def test_elr_is_cleared_by_its_record_and_null_if_not_enabled() -> None:
    elr = record(12, 0, text("eligible.leader.replicas.version") + struct.pack(">h", 1))
    change = record(5, 2, struct.pack(">i", 0) + TOPIC_ID, {0: ids(1), 6: ids(2), 7: ids(1)})
    assert rows(resolved_bytes({"log": batch(0, STATE)}), "partition", *ELR[1:]) == [(None, None)]
    assert rows(resolved_bytes({"log": batch(0, [elr, *STATE, change])}), "partition", *ELR) == [([1], [2], [1])]
    cleared = resolved_bytes({"log": batch(0, [elr, *STATE, change, record(28, 0, text(""))])})
    assert rows(cleared, "partition", *ELR) == [([1], [], [])]


def test_leader_recovery_and_replica_directories_are_rows() -> None:
    assigned = b"\x07" * 16
    unassigned = bytes(15) + b"\1"
    unclean = record(5, 1, struct.pack(">i", 0) + TOPIC_ID, {1: struct.pack(">i", 2), 5: b"\1", 8: unsigned(3) + assigned + unassigned})
    tables = resolved_bytes({"log": batch(0, [*STATE, unclean])})
    assert rows(tables, "partition", "leader_recovering") == [True]
    assert rows(tables, "replica", "directory_id") == ["BwcHBwcHBwcHBwcHBwcHBw", None]
    assert rows(resolved_bytes({"log": batch(0, STATE)}), "partition", "leader_recovering") == [False]
    from_log = resolved_bytes(recorded("4.3.1", "[0-9]*"))
    directories = [directory_id for topic, directory_id in rows(from_log, "replica", "topic", "directory_id") if topic == "single"]
    assert all(re.fullmatch("[A-Za-z0-9_-]{22}", directory) for directory in directories)
    assert directories


def test_log_wins_over_kafka_topics_and_the_reject_has_both_values() -> None:
    line = b"\tTopic: t\tPartition: 0\tLeader: 2\tReplicas: 1,2\tIsr: 2\n"
    tables = resolved_bytes({"log": batch(0, STATE), "topics": line})
    assert leader(tables) == [1]
    assert rejects(tables) == [
        (
            "topics",
            1,
            "log, line 4, differs: leader 1, not 2; isr 1,2, not 2 (written 2026-11-21 02:00:00, this 2026-11-21 02:00:01)",
        )
    ]


def test_log_of_an_ordinary_topic_is_not_recognised() -> None:
    assert read_dump(batch(0, [b"hello", b"world"], key=b"k")).format is None
    assert read_dump(batch(0, [b"hello", b"world"])).format is None


def test_no_rejected_entry_contains_a_credential() -> None:
    scram = record(11, 1, text("u") + b"\1" + text("salt-secret"))
    assert b"secret" not in str(read_dump(batch(0, [TOPIC, scram])).rejected).encode()
    line = '| offset: 1 CreateTime: 1 headerKeys: [] payload: {"type":"USER_SCRAM_CREDENTIAL_RECORD","version":7,"data":{"salt":"secret"}}'
    [rejected] = read_dump(line.encode()).rejected
    assert rejected.reason == "version 7 of USER_SCRAM_CREDENTIAL_RECORD is unknown"
    assert "secret" not in rejected.entry


def test_text_without_record_metadata_gives_the_same_rows() -> None:
    [(name, data)] = recorded("4.3.1", "kafka-dump-log*.log.txt").items()
    bare = re.sub(rb"\| offset: .*?\] ", b"| ", data)
    assert resolved_bytes({name: bare})["partition"] == resolved_bytes({name: data})["partition"]


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=lambda schema: schema.name)
def test_every_version_up_to_the_newest_is_known(schema: object) -> None:
    [key] = [key for key, known_schema in SCHEMAS.items() if known_schema is schema]
    for version in range(schema.newest + 1):
        with pytest.raises(Unreadable, match="ends within"):
            from_bytes(ByteReader(unsigned(1) + unsigned(key) + unsigned(version)))
    with pytest.raises(Unreadable, match="is unknown"):
        from_bytes(ByteReader(unsigned(1) + unsigned(key) + unsigned(schema.newest + 1)))
    with pytest.raises(Unreadable, match="is unknown"):
        from_json(schema.name, schema.newest + 1, {})


def resealed(log: bytes) -> bytes:
    """Return the log with matching checksums, so that a parser does not stop at them."""
    sealed, position = bytearray(log), 0
    while position + 61 <= len(sealed):
        end = position + 12 + struct.unpack_from(">i", sealed, position + 8)[0]
        if not position + 61 <= end <= len(sealed):
            break
        struct.pack_into(">I", sealed, position + 17, crc32c(bytes(sealed[position + 21 : end])))
        position = end
    return bytes(sealed)


@settings(max_examples=300)
@given(st.data())
def test_cut_and_patched_logs_are_accounted_for(data: st.DataObject) -> None:
    whole = data.draw(st.sampled_from([SNAPSHOT, batch(0, STATE), *recorded("4.3.1", "*.checkpoint").values()]))
    torn = bytearray(whole[: data.draw(st.integers(0, len(whole)))])
    for _ in range(data.draw(st.integers(0, 4))):
        position = data.draw(st.integers(0, len(torn)))
        torn[position : position + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=4))
    check_accounts(resealed(bytes(torn)) if data.draw(st.booleans()) else bytes(torn))


@settings(max_examples=300)
@given(st.sampled_from(sorted(SCHEMAS)), st.integers(0, 4), st.binary(max_size=80))
@example(0, 0, b"\xff" * 80)
def test_any_bytes_with_a_valid_checksum_are_accounted_for(key: int, version: int, fields: bytes) -> None:
    value = unsigned(1) + unsigned(key) + unsigned(version) + fields
    reading = read_dump(batch(0, [TOPIC, value, value]))
    assert len([parsed for parsed in reading.parsed if parsed.entries]) + len(reading.rejected) == 3
    assert all(isinstance(entry, Rejected) for entry in reading.rejected)
    check_accounts(batch(0, [*STATE, value, LEADER_2]))


def test_broker_in_controlled_shutdown_is_not_live() -> None:
    stopping = record(17, 1, struct.pack(">iq", 2, 1), {1: b"\1"})
    tables = resolved_bytes({"00000000000000000000.log": batch(0, [*STATE, stopping])})
    assert rejects(tables) == []
    assert rows(tables, "broker", "broker_id", "live") == [(1, True), (2, False)]
