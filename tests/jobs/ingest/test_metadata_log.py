"""KRaft's metadata log, held to what kafka-topics said of the same clusters at the same time (tests/cluster/record_formats.py)."""

import re
import struct
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jobs.ingest.dump import Rejected, Unreadable
from jobs.ingest.formats.metadata_log import crc32c
from jobs.ingest.merge import Merged, ReadFile, merge_files
from jobs.ingest.metadata_record import SCHEMAS, Bytes, from_bytes, from_json
from jobs.ingest.reading import read_dump
from tests.jobs.ingest.test_reading import check_accounts

FORMATS = Path(__file__).parents[2] / "snapshots" / "formats"
VERSIONS = ["3.9.2", "4.3.1"]
NOW = datetime(2026, 11, 21, 2, 0, 0, tzinfo=UTC)
TOPIC_ID = bytes(range(16))
PARTITION = ("topic", "partition", "leader", "replicas", "isr")


def merged(files: Mapping[str, bytes]) -> Merged:
    return merge_files(
        ReadFile(name, len(data), NOW + timedelta(seconds=second), read_dump(data)) for second, (name, data) in enumerate(files.items())
    )


def recorded(version: str, pattern: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((FORMATS / version).glob(pattern))}


def rejects(found: Merged) -> list[tuple[object, ...]]:
    return [(file, line, reason) for file, line, _, _, reason in found.rows["rejected_input"]]


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
        told = signed(-1) if key is None else signed(len(key)) + key
        record = b"\0" + signed(0) + signed(delta) + told + signed(len(value)) + value + signed(0)
        records += signed(len(record)) + record
    body = struct.pack(">hiqqqhii", attributes, len(values) - 1, time_ms, time_ms, -1, -1, -1, len(values)) + records
    return struct.pack(">qiibI", offset, len(body) + 9, 1, 2, crc32c(body)) + body


def control(offset: int, type: int, value: bytes) -> bytes:
    return batch(offset, [value], key=struct.pack(">hh", 0, type), attributes=0x20)


def text(value: str) -> bytes:
    return unsigned(len(value) + 1) + value.encode()


def ids(*values: int) -> bytes:
    return unsigned(len(values) + 1) + struct.pack(f">{len(values)}i", *values)


def record(key: int, version: int, fields: bytes, tagged: Mapping[int, bytes] | None = None) -> bytes:
    tags = b"".join(unsigned(tag) + unsigned(len(data)) + data for tag, data in (tagged or {}).items())
    return unsigned(1) + unsigned(key) + unsigned(version) + fields + unsigned(len(tagged or {})) + tags


def broker(id: int) -> bytes:
    return record(0, 0, struct.pack(">i", id) + bytes(16) + struct.pack(">q", 1) + unsigned(1) + unsigned(1) + unsigned(0) + b"\0")


def partition(number: int, leader: int, replicas: Sequence[int], isr: Sequence[int], *, version: int = 0) -> bytes:
    fields = struct.pack(">i", number) + TOPIC_ID + ids(*replicas) + ids(*isr) + ids() + ids() + struct.pack(">iii", leader, 0, 0)
    return record(3, version, fields + (unsigned(1) if version else b""))


TOPIC = record(2, 0, text("t") + TOPIC_ID)
STATE = [broker(1), broker(2), TOPIC, partition(0, 1, [1, 2], [1, 2])]
LEADER_2 = record(5, 0, struct.pack(">i", 0) + TOPIC_ID, {1: struct.pack(">i", 2)})
SNAPSHOT = control(0, 3, struct.pack(">hq", 0, 1000) + b"\0") + batch(1, STATE) + control(5, 4, struct.pack(">h", 0) + b"\0")
SNAPSHOT_NAME = "00000000000000000007-0000000001.checkpoint"


def leader(found: Merged) -> list[object]:
    return [row[2] for row in found.rows["partition"]]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("source", ["[0-9]*.log", "[0-9]*", "kafka-dump-log*.log.txt", "kafka-dump-log*"])
def test_log_is_what_kafka_topics_said_of_every_partition(version: str, source: str) -> None:
    of_log, of_tool = merged(recorded(version, source)), merged(recorded(version, "kafka-topics.txt"))
    assert rejects(of_log) == rejects(of_tool) == []
    assert len(of_tool.rows["partition"]) == {"3.9.2": 18, "4.3.1": 28}[version]
    for ours, told in zip(of_log.rows["partition"], of_tool.rows["partition"], strict=True):
        assert ours[:5] == told[:5]
        if version >= "4":
            assert (ours[5], set(ours[6])) == (told[5], set(told[6]))
        assert ours[7:9] == told[7:9]
    for ours, told in zip(of_log.rows["topic"], of_tool.rows["topic"], strict=True):
        assert ours[:4] == told[:4]
        assert dict(ours[5]) == dict(told[5])
    assert [row[:3] for row in of_log.rows["broker"]] == [(1, "rack-a", True), (2, "rack-b", False), (3, "rack-c", True), (4, None, True)]
    assert of_log.rows["cluster"][0][:2] == ("kraft", version >= "4")


@pytest.mark.parametrize("version", VERSIONS)
def test_log_and_tools_of_one_moment_contradict_each_other_nowhere(version: str) -> None:
    of_one_moment = {name: data for name, data in recorded(version, "*").items() if not name.startswith("kafka-reassign-partitions")}
    found = merged(of_one_moment)
    assert rejects(found) == []
    assert found.rows["partition"] == merged(recorded(version, "[0-9]*") | recorded(version, "kafka-topics.txt")).rows["partition"]


@pytest.mark.parametrize("version", VERSIONS)
def test_snapshot_alone_is_an_older_state_than_with_the_log_after_it(version: str) -> None:
    [name, data] = min(recorded(version, "*.checkpoint").items())
    alone = merged({name: data})
    assert rejects(alone) == []
    assert len(alone.rows["partition"]) > 0
    assert alone.rows["partition"] != merged(recorded(version, "[0-9]*")).rows["partition"]


@pytest.mark.parametrize("version", VERSIONS)
def test_snapshot_under_another_name_goes_on_by_time(version: str) -> None:
    [_, data] = min(recorded(version, "*.checkpoint").items())
    renamed = merged({"snapshot": data, "log": recorded(version, "*.log").popitem()[1]})
    assert renamed.rows["partition"] == merged(recorded(version, "[0-9]*")).rows["partition"]
    assert rejects(renamed) == []


def test_checksum_is_castagnolis() -> None:
    assert crc32c(b"123456789") == 0xE3069283


def test_snapshot_cut_anywhere_is_refused_as_a_whole() -> None:
    assert leader(merged({SNAPSHOT_NAME: SNAPSHOT})) == [1]
    for length in range(61, len(SNAPSHOT)):
        found = merged({SNAPSHOT_NAME: SNAPSHOT[:length]})
        assert found.rows["partition"] == []
        [(_, _, reason)] = rejects(found)
        assert reason.startswith("a snapshot without its footer: it was cut off") or reason == "no known format", length
        assert found.rows["input_file"][0][2:5] == (1, 0, 1)


def test_snapshot_of_kafka_cut_between_its_batches_is_refused() -> None:
    [(name, data), *_] = recorded("4.3.1", "*.checkpoint").items()
    footer = 75  # bytes of the last batch
    found = merged({name: data[:-footer]})
    assert found.rows["broker"] == []
    assert "without its footer" in rejects(found)[0][2]
    [(name, data), *_] = recorded("4.3.1", "kafka-dump-log*checkpoint.txt").items()
    found = merged({name: b"\n".join(data.splitlines()[:-2])})
    assert found.rows["broker"] == []
    assert {reason for _, _, reason in rejects(found)} == {"a snapshot without its footer: it was cut off"}


def test_log_that_is_being_written_to_is_read_up_to_its_torn_end() -> None:
    log = batch(0, STATE) + batch(4, [LEADER_2])
    found = merged({"log": log[:-3]})
    assert leader(found) == [1]
    assert rejects(found) == [("log", 5, f"at byte {len(batch(0, STATE))}: it ends within a batch; nothing from here on is read")]
    assert found.rows["input_file"][0][2:5] == (5, 4, 1)


def test_damaged_byte_is_found_and_nothing_after_it_is_taken() -> None:
    log = bytearray(batch(0, STATE) + batch(4, [LEADER_2]) + batch(5, [LEADER_2]))
    log[len(batch(0, STATE)) + 70] ^= 1
    found = merged({"log": bytes(log)})
    assert leader(found) == [1]
    assert "CRC-32C" in rejects(found)[0][2]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (record(13, 0, b""), "a metadata record of type 13 is not known"),
        (record(99, 0, b""), "a metadata record of type 99 is not known"),
        (record(3, 3, b""), "version 3 of PARTITION_RECORD is not known"),
        (b"\0" + TOPIC[1:], "frame version 0 of a metadata record is not known"),
        (TOPIC + b"\0", "1 bytes are left over"),
        (TOPIC[:-3], "it ends within a field"),
        (record(20, 0, b"", {0: b""}), "a field of tag 0 is not known"),
        (record(5, 0, struct.pack(">i", 0) + TOPIC_ID, {6: ids(1)}), "a field of tag 6 is not known"),
        (record(9, 0, bytes(16)), "it removes a topic that does not exist"),
        (record(5, 0, struct.pack(">i", 9) + TOPIC_ID), "it changes a partition that does not exist"),
        (partition(1, 1, [1, 1], [1]), "a broker is named twice in replicas"),
        (partition(-1, 1, [1], [1]), "partitionId is not within 0 and 2147483647"),
        (record(2, 0, text("../../etc") + bytes(16)), "no name that Kafka allows for a topic"),
        (record(4, 0, b"\x02" + text("t") + unsigned(0) + unsigned(0)), "name is null"),
        (record(4, 0, b"\x02" + text("t") + text("min.insync.replicas") + text("x")), "min.insync.replicas is no whole number"),
        (record(0, 0, b"\0" * 28 + unsigned(2**31)), "it ends within a list"),
    ],
)
def test_record_that_is_not_known_is_rejected_and_the_rest_stands(value: bytes, reason: str) -> None:
    found = merged({"log": batch(0, [*STATE, value, LEADER_2])})
    assert leader(found) == [2]
    assert rejects(found) == [("log", 5, reason)]
    assert found.rows["input_file"][0][2:5] == (6, 5, 1)


def test_missing_segment_is_told_and_nothing_after_it_is_taken() -> None:
    found = merged({"a": batch(0, STATE), "b": batch(9, [LEADER_2])})
    assert leader(found) == [1]
    assert rejects(found) == [("b", 1, "records 4 to 8 are missing: without the snapshot or segment that has them, no later one is taken")]
    assert leader(merged({SNAPSHOT_NAME: SNAPSHOT, "b": batch(7, [LEADER_2])})) == [2]
    assert leader(merged({SNAPSHOT_NAME: SNAPSHOT, "b": batch(6, [LEADER_2])})) == [1]


def test_metadata_transaction_counts_when_it_ends() -> None:
    begin, end, abort = record(23, 0, b"", {0: text("x")}), record(24, 0, b""), record(25, 0, b"")
    assert leader(merged({"log": batch(0, [*STATE, begin, LEADER_2])})) == [1]
    assert leader(merged({"log": batch(0, [*STATE, begin, LEADER_2, abort])})) == [1]
    assert leader(merged({"log": batch(0, [*STATE, begin, LEADER_2, end])})) == [2]


def test_elr_is_cleared_by_its_record_and_told_only_where_it_is_kept() -> None:
    kept = record(12, 0, text("eligible.leader.replicas.version") + struct.pack(">h", 1))
    change = record(5, 2, struct.pack(">i", 0) + TOPIC_ID, {0: ids(1), 6: ids(2), 7: ids(1)})
    assert merged({"log": batch(0, STATE)}).rows["partition"][0][5:7] == (None, None)
    assert merged({"log": batch(0, [kept, *STATE, change])}).rows["partition"][0][4:7] == ([1], [2], (1,))
    cleared = merged({"log": batch(0, [kept, *STATE, change, record(28, 0, text(""))])})
    assert cleared.rows["partition"][0][4:7] == ([1], [], ())


def test_recovery_of_an_unclean_leader_and_the_replicas_directories_are_told() -> None:
    assigned = b"\x07" * 16
    unassigned = bytes(15) + b"\1"
    unclean = record(5, 1, struct.pack(">i", 0) + TOPIC_ID, {1: struct.pack(">i", 2), 5: b"\1", 8: unsigned(3) + assigned + unassigned})
    found = merged({"log": batch(0, [*STATE, unclean])})
    assert found.rows["partition"][0][10] is True
    assert [row[-1] for row in found.rows["replica"]] == ["BwcHBwcHBwcHBwcHBwcHBw", None]
    assert merged({"log": batch(0, STATE)}).rows["partition"][0][10] is False
    of_log = merged(recorded("4.3.1", "[0-9]*"))
    told = {row[2]: row[-1] for row in of_log.rows["replica"] if row[0] == "single"}
    assert all(re.fullmatch("[A-Za-z0-9_-]{22}", directory) for directory in told.values())


def test_log_goes_before_the_tools_text_and_the_difference_tells_both_values_and_times() -> None:
    line = b"\tTopic: t\tPartition: 0\tLeader: 2\tReplicas: 1,2\tIsr: 2\n"
    found = merged({"log": batch(0, STATE), "topics": line})
    assert leader(found) == [1]
    assert rejects(found) == [
        (
            "topics",
            1,
            "log, line 4, tells otherwise: leader 1, not 2; isr 1,2, not 2 (written 2026-11-21 02:00:00, this 2026-11-21 02:00:01)",
        )
    ]


def test_log_of_a_topic_of_records_is_not_taken_for_metadata() -> None:
    assert read_dump(batch(0, [b"hello", b"world"], key=b"k")).format is None
    assert read_dump(batch(0, [b"hello", b"world"])).format is None


def test_no_rejected_entry_tells_a_credential() -> None:
    scram = record(11, 1, text("u") + b"\1" + text("salt-secret"))
    assert b"secret" not in str(read_dump(batch(0, [TOPIC, scram])).rejected).encode()
    line = '| offset: 1 CreateTime: 1 headerKeys: [] payload: {"type":"USER_SCRAM_CREDENTIAL_RECORD","version":7,"data":{"salt":"secret"}}'
    [refused] = read_dump(line.encode()).rejected
    assert refused.reason == "version 7 of USER_SCRAM_CREDENTIAL_RECORD is not known"
    assert "secret" not in refused.entry


def test_text_without_the_records_metadata_is_the_same() -> None:
    [(name, data)] = recorded("4.3.1", "kafka-dump-log*.log.txt").items()
    bare = re.sub(rb"\| offset: .*?\] ", b"| ", data)
    assert merged({name: bare}).rows["partition"] == merged({name: data}).rows["partition"]


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=lambda schema: schema.name)
def test_every_version_up_to_the_newest_and_no_other_is_known(schema: object) -> None:
    [key] = [key for key, one in SCHEMAS.items() if one is schema]
    for version in range(schema.newest + 1):
        with pytest.raises(Unreadable, match="ends within"):
            from_bytes(Bytes(unsigned(1) + unsigned(key) + unsigned(version)))
    with pytest.raises(Unreadable, match="is not known"):
        from_bytes(Bytes(unsigned(1) + unsigned(key) + unsigned(schema.newest + 1)))
    with pytest.raises(Unreadable, match="is not known"):
        from_json(schema.name, schema.newest + 1, {})


def resealed(log: bytes) -> bytes:
    """The log with checksums that fit, whatever its batches hold, so that a parser sees what a checksum would have kept from it."""
    sealed, at = bytearray(log), 0
    while at + 61 <= len(sealed):
        end = at + 12 + struct.unpack_from(">i", sealed, at + 8)[0]
        if not at + 61 <= end <= len(sealed):
            break
        struct.pack_into(">I", sealed, at + 17, crc32c(bytes(sealed[at + 21 : end])))
        at = end
    return bytes(sealed)


@settings(max_examples=300)
@given(st.data())
def test_torn_and_patched_logs_are_accounted_for(data: st.DataObject) -> None:
    whole = data.draw(st.sampled_from([SNAPSHOT, batch(0, STATE), *recorded("4.3.1", "*.checkpoint").values()]))
    torn = bytearray(whole[: data.draw(st.integers(0, len(whole)))])
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(torn)))
        torn[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=4))
    check_accounts(resealed(bytes(torn)) if data.draw(st.booleans()) else bytes(torn))


@settings(max_examples=300)
@given(st.sampled_from(sorted(SCHEMAS)), st.integers(0, 4), st.binary(max_size=80))
@example(0, 0, b"\xff" * 80)
def test_any_bytes_under_a_sound_checksum_are_accounted_for(key: int, version: int, fields: bytes) -> None:
    value = unsigned(1) + unsigned(key) + unsigned(version) + fields
    reading = read_dump(batch(0, [TOPIC, value, value]))
    assert len([told for told in reading.told if told.entries]) + len(reading.rejected) == 3
    assert all(isinstance(entry, Rejected) for entry in reading.rejected)
    check_accounts(batch(0, [*STATE, value, LEADER_2]))


def test_a_broker_that_is_shutting_down_is_live_no_more() -> None:
    stopping = record(17, 1, struct.pack(">iq", 2, 1), {1: b"\1"})
    found = merged({"00000000000000000000.log": batch(0, [*STATE, stopping])})
    assert rejects(found) == []
    assert [(row[0], row[2]) for row in found.rows["broker"]] == [(1, True), (2, False)]
