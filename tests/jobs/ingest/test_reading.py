"""Any input is read without a crash, and every entry is accounted for."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from jobs.cli import BUNDLED
from jobs.ingest.configuration import FILE
from jobs.ingest.dump import Parsed, Rejected
from jobs.ingest.facts import KeySample
from jobs.ingest.reading import read_dump, text_of
from jobs.ingest.resolve import ParsedFile, resolve_cluster
from jobs.schema import BY_NAME
from tests.jobs.ingest.dumps import NOW, rows

SNAPSHOTS = Path(__file__).parents[2] / "snapshots"
DUMPS = sorted(
    path
    for folder in (BUNDLED, SNAPSHOTS / "formats", SNAPSHOTS / "night-before")
    for path in folder.rglob("*")
    if path.is_file() and path.name != FILE
)


def check_accounts(data: bytes) -> None:
    """Fail unless entries = accepted + rejected, and the rows can be stored and have unique keys."""
    reading = read_dump(data)
    tables = resolve_cluster([ParsedFile("f", len(data), NOW, reading)])
    [(_, format_name, entries, accepted, rejected, size, skipped)] = rows(tables, "input_file")
    assert (format_name, size) == (reading.format, len(data))
    assert entries == accepted + rejected
    assert min(entries, accepted, rejected, skipped) >= 0
    assert rejected == len(tables["rejected_input"])
    for _, line, _, text, reason in rows(tables, "rejected_input"):
        assert 1 <= line <= (entries + skipped if format_name == "metadata-log" else data.count(b"\n")) + 1
        assert len(text) <= 1000
        assert reason
    for name, table in tables.items():
        key = list(BY_NAME[name].key[2:])
        assert len(table) == 0 or table.group_by(key).aggregate([]).num_rows == len(table), name


@pytest.mark.parametrize("path", DUMPS, ids=["/".join(path.parts[-3:]) for path in DUMPS])
def test_every_line_of_recorded_dumps_is_parsed(path: Path) -> None:
    reading = read_dump(path.read_bytes())
    assert reading.format
    assert reading.parsed
    assert reading.rejected == []
    check_accounts(path.read_bytes())


@pytest.mark.parametrize("path", DUMPS, ids=["/".join(path.parts[-3:]) for path in DUMPS])
def test_recorded_dump_is_recognised_by_its_format(path: Path) -> None:
    expected = "metadata-log" if path.name[0] == "0" else path.name
    assert expected.startswith(read_dump(path.read_bytes()).format or "?")


@pytest.mark.parametrize("data", [b"", b" \n\r\n\t\n", b"\xef\xbb\xbf", "\ufeff".encode("utf-16-le")])
def test_empty_file_has_no_entries(data: bytes) -> None:
    reading = read_dump(data)
    assert (reading.format, reading.parsed, reading.rejected) == (None, [], [])


def test_unknown_file_is_one_rejected_entry() -> None:
    assert read_dump(b"hello\nworld\n").rejected == [Rejected(1, "hello\nworld\n", "unknown format")]
    assert read_dump(b'{"a": [1, 2').rejected[0].reason.startswith("unknown format: not JSON: ")


def test_text_of_a_rejected_entry_is_shortened_and_storable() -> None:
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
def test_cut_and_patched_dumps_are_accounted_for(data: st.DataObject) -> None:
    """The input is a recorded dump that is cut, joined and overwritten: unlike in random bytes, most entries still parse."""
    whole = data.draw(st.sampled_from(DUMPS)).read_bytes()
    start = data.draw(st.integers(0, len(whole)))
    torn = bytearray(whole[start : start + data.draw(st.integers(0, 3000))] if data.draw(st.booleans()) else whole[:4000])
    for _ in range(data.draw(st.integers(0, 8))):
        position = data.draw(st.integers(0, len(torn)))
        patch = data.draw(
            st.one_of(
                st.binary(max_size=4),
                st.sampled_from([b"\n", b"\t", b" ", b",", b'"', b"-", b"9" * 20, b"\\ud800", b"null", b"[", b"{", b"(", b":"]),
            )
        )
        torn[position : position + data.draw(st.integers(0, 3))] = patch
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
def test_csv_returns_the_same_keys(keys: list[bytes | None]) -> None:
    def spelt(key: bytes | None) -> bytes:
        return b"" if key is None else b'"' + key.replace(b'"', b'""') + b'"'

    reading = read_dump(b"topic,key,records,size_bytes\n" + b"".join(b"orders," + spelt(key) + b",1,2\n" for key in keys))
    facts = [parsed.fact for parsed in reading.parsed if isinstance(parsed, Parsed)]
    assert all(isinstance(fact, KeySample) for fact in facts)
    assert [key for fact in facts for key in fact.rows["key"].to_pylist()] == keys
