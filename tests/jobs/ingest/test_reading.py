"""Whatever arrives: no crash, and nothing is lost without a word."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from jobs.cli import BUNDLED
from jobs.ingest.dump import Rejected, Told
from jobs.ingest.facts import KeySample
from jobs.ingest.merge import ReadFile, merge_files
from jobs.ingest.reading import read_dump, text_of
from tests.jobs.ingest.test_merge import NOW

SNAPSHOTS = Path(__file__).parents[2] / "snapshots"
DUMPS = sorted(
    path for folder in (BUNDLED, SNAPSHOTS / "formats", SNAPSHOTS / "night-before") for path in folder.rglob("*") if path.is_file()
)


def check_accounts(data: bytes) -> None:
    """Entries = accepted + rejected, and the rows can be merged and stored."""
    reading = read_dump(data)
    merged = merge_files([ReadFile("f", len(data), NOW, reading)])
    [(_, format, entries, accepted, rejected, size)] = merged.rows["input_file"]
    assert (format, size) == (reading.format, len(data))
    assert entries == accepted + rejected
    assert min(entries, accepted, rejected) >= 0
    assert rejected == len(merged.rows["rejected_input"])
    for _, line, _, text, reason in merged.rows["rejected_input"]:
        assert 1 <= line <= (entries if format == "metadata-log" else data.count(b"\n")) + 1
        assert len(text) <= 1000
        assert reason
        text.encode()
    for name, rows in merged.rows.items():
        for row in rows:
            json.dumps(row, default=str, ensure_ascii=False).encode()  # no lone surrogates: Arrow would refuse them
        keys = [row[: KEY_LENGTH[name]] for row in rows]
        assert len(set(keys)) == len(keys), name


KEY_LENGTH = {
    "cluster": 0,
    "input_file": 1,
    "rejected_input": 3,
    "broker": 1,
    "log_dir": 2,
    "topic": 1,
    "partition": 2,
    "replica": 3,
    "consumer_group": 1,
    "group_member": 2,
    "observed_assignment": 4,
    "committed_offset": 3,
}


@pytest.mark.parametrize("path", DUMPS, ids=["/".join(path.parts[-3:]) for path in DUMPS])
def test_every_line_of_real_dumps_is_understood(path: Path) -> None:
    reading = read_dump(path.read_bytes())
    assert reading.format
    assert reading.told
    assert reading.rejected == []
    check_accounts(path.read_bytes())


@pytest.mark.parametrize("path", DUMPS, ids=["/".join(path.parts[-3:]) for path in DUMPS])
def test_real_dump_is_known_by_its_own_format(path: Path) -> None:
    named = "metadata-log" if path.name[0] == "0" else path.name
    assert named.startswith(read_dump(path.read_bytes()).format or "?")


@pytest.mark.parametrize("data", [b"", b" \n\r\n\t\n", b"\xef\xbb\xbf", "\ufeff".encode("utf-16-le")])
def test_empty_file_has_no_entries(data: bytes) -> None:
    reading = read_dump(data)
    assert (reading.format, reading.told, reading.rejected) == (None, [], [])


def test_unknown_file_is_one_rejected_entry() -> None:
    assert read_dump(b"hello\nworld\n").rejected == [Rejected(1, "hello\nworld\n", "no known format")]
    assert read_dump(b'{"a": [1, 2').rejected[0].reason.startswith("no known format: not JSON: ")


def test_text_of_a_rejected_entry_is_cut_and_storable() -> None:
    assert text_of("x" * 5000) == "x" * 1000
    assert text_of("\udcff") == "\\udcff"
    assert text_of({"é": 1}) == '{"é": 1}'


@settings(max_examples=150)
@given(st.binary(max_size=300))
@example(gzip.compress(b"x"))
@example(b"PAR1")
def test_any_bytes_are_accounted_for(data: bytes) -> None:
    check_accounts(data)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_dumps_torn_and_patched_are_accounted_for(data: st.DataObject) -> None:
    """Real dumps, cut, spliced and overwritten: most of it still parses, which random bytes never do."""
    whole = data.draw(st.sampled_from(DUMPS)).read_bytes()
    start = data.draw(st.integers(0, len(whole)))
    torn = bytearray(whole[start : start + data.draw(st.integers(0, 3000))] if data.draw(st.booleans()) else whole[:4000])
    for _ in range(data.draw(st.integers(0, 8))):
        at = data.draw(st.integers(0, len(torn)))
        patch = data.draw(
            st.one_of(
                st.binary(max_size=4),
                st.sampled_from([b"\n", b"\t", b" ", b",", b'"', b"-", b"9" * 20, b"\\ud800", b"null", b"[", b"{", b"(", b":"]),
            )
        )
        torn[at : at + data.draw(st.integers(0, 3))] = patch
    check_accounts(bytes(torn))


@settings(max_examples=100)
@given(st.lists(st.sampled_from([line for path in DUMPS[:12] for line in path.read_bytes().splitlines(keepends=True)[:40]]), max_size=40))
def test_lines_of_all_formats_shuffled_together_are_accounted_for(lines: list[bytes]) -> None:
    check_accounts(b"".join(lines))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["t-0", "1", "/d"]),
    lambda children: (
        st.lists(children, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "brokers",
                    "broker",
                    "logDirs",
                    "logDir",
                    "partitions",
                    "partition",
                    "size",
                    "offsetLag",
                    "isFuture",
                    "error",
                    "brokerCapacities",
                    "brokerId",
                    "capacity",
                    "DISK",
                    "CPU",
                    "NW_IN",
                    "num.cores",
                    "id",
                    "rack",
                    "nodes",
                    "topics",
                    "topic",
                    "leader",
                    "replicas",
                    "isrs",
                    "urp",
                    "in-sync",
                    "OnlineLogDirsByBrokerId",
                    "Broker",
                    "Rack",
                    "Host",
                    "NumCore",
                    "version",
                    "log_dirs",
                    "isr",
                    "config",
                ]
            ),
            children,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@settings(max_examples=150)
@given(json_values, st.sampled_from(["brokers", "brokerCapacities", "nodes"]))
def test_json_of_any_shape_is_accounted_for(value: object, key: str) -> None:
    check_accounts(json.dumps({key: value}).encode())
    check_accounts(json.dumps({key: [value], "rack": 1}).encode())
    check_accounts(json.dumps({"brokers": [{"broker": 1, "logDirs": [value]}]}).encode())
    check_accounts(json.dumps({"brokerCapacities": [{"brokerId": 1, "capacity": value}]}).encode())
    topics = [value, {"topic": "t", "partitions": [value]}]
    check_accounts(json.dumps({"originating_broker": {}, "brokers": value, "topics": topics}).encode())
    states = {"urp": [value], "other": value}
    check_accounts(json.dumps({"KafkaPartitionState": states, "KafkaBrokerState": value, "brokers": [value]}).encode())
    plan = json.dumps({"partitions": [value, {"topic": "t", "replicas": value}]})
    check_accounts(f"Current partition replica assignment\n{plan}\n".encode())
    paths = ("/brokers/topics/t", "/brokers/topics/t/partitions/0/state", "/brokers/ids/1", "/config/topics/t")
    check_accounts("".join(json.dumps({"path": path, "data": value}) + "\n" for path in paths).encode())
    check_accounts(b'{"topic":"t","key":"a","records":1,"bytes":1}\n' + json.dumps(value).encode())
    payload = json.dumps({"type": "PARTITION_RECORD", "version": 2, "data": value})
    check_accounts(f"Log starting offset: 0\n| offset: 0 CreateTime: 1 headerKeys: [] payload: {payload}\n".encode())


cells = st.text(st.sampled_from('ab",\n\r1 é\x00'), max_size=6)


@settings(max_examples=150)
@given(st.lists(st.tuples(st.sampled_from(["orders", "a b", ""]), cells, st.sampled_from(["1", "x", ""]), st.just("2")), max_size=8))
def test_csv_of_any_cells_is_accounted_for(rows: list[tuple[str, ...]]) -> None:
    check_accounts(("topic,key,records,size_bytes\n" + "".join(",".join(row) + "\n" for row in rows)).encode())


@settings(max_examples=100)
@given(st.lists(st.none() | st.binary(max_size=5).filter(lambda key: b"\r" not in key), max_size=8))
def test_csv_gives_back_the_very_keys(keys: list[bytes | None]) -> None:
    def spelt(key: bytes | None) -> bytes:
        return b"" if key is None else b'"' + key.replace(b'"', b'""') + b'"'

    reading = read_dump(b"topic,key,records,size_bytes\n" + b"".join(b"orders," + spelt(key) + b",1,2\n" for key in keys))
    told = [told.fact for told in reading.told if isinstance(told, Told)]
    assert all(isinstance(fact, KeySample) for fact in told)
    assert [key for fact in told for key in fact.rows["key"].to_pylist()] == keys
