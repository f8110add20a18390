"""Quotas, access control entries, configs, voters and cordoned log dirs of a real cluster (tests/cluster/record_formats.py)."""

from functools import partial
from pathlib import Path

import pytest

from jobs.failure.cluster_state import cluster_states
from jobs.ingest.reading import read_dump
from tests.jobs.ingest.dumps import PARTITION, Tables, rejects, resolved, resolved_bytes, rows

RECORDED = Path(__file__).parents[2] / "snapshots" / "formats" / "4.3.1-settings"
LOG = ["*.log", "kafka-dump-log-*.log.txt"]
CHECKPOINT = ["*.checkpoint", "kafka-dump-log-*.checkpoint.txt"]
CONFIGS = ["kafka-configs-*.txt"]
QUOTAS = [
    (None, None, "127.0.0.9", "connection_creation_rate", 10.0),
    (None, "<default>", None, "producer_byte_rate", 4096.0),
    ("<default>", None, None, "request_percentage", 50.5),
    ("alice", "app", None, "consumer_byte_rate", 1024.0),
    ("alice", "app", None, "producer_byte_rate", 2048.0),
]
ZNODES = """
{"path": "/config/users/alice/clients/app", "data": {"version": 1, "config": {"producer_byte_rate": "2048", "consumer_byte_rate": "1024"}}}
{"path": "/config/users/alice", "data": {"version": 1, "config": {"SCRAM-SHA-256": "salt=unguessable"}}}
{"path": "/config/users/<default>", "data": {"version": 1, "config": {"request_percentage": "50.5"}}}
{"path": "/config/clients/<default>", "data": {"version": 1, "config": {"producer_byte_rate": "4096"}}}
{"path": "/config/ips/127.0.0.9", "data": {"version": 1, "config": {"connection_creation_rate": "10"}}}
"""


def recorded(*patterns: str) -> Tables:
    return resolved_bytes({path.name: path.read_bytes() for pattern in patterns for path in sorted(RECORDED.glob(pattern))})


@pytest.mark.parametrize("source", [*LOG, *CHECKPOINT, *CONFIGS])
def test_quotas_are_rows(source: str) -> None:
    tables = recorded(source)
    assert rejects(tables) == []
    assert rows(tables, "client_quota") == QUOTAS


def test_quotas_of_zookeeper_are_rows_without_credentials() -> None:
    tables = resolved(znodes=ZNODES.strip())
    assert rejects(tables) == []
    assert rows(tables, "client_quota") == QUOTAS
    assert "unguessable" not in str({name: table.to_pylist() for name, table in tables.items()})


@pytest.mark.parametrize("source", LOG)
def test_access_control_entries_are_rows_until_they_are_removed(source: str) -> None:
    assert rows(recorded(source), "acl") == [
        ("GROUP", "desk", "PREFIXED", "User:bob", "*", "ALL", "DENY"),
        ("TOPIC", "orders", "LITERAL", "User:alice", "127.0.0.9", "READ", "ALLOW"),
    ]


@pytest.mark.parametrize("source", [*LOG, *CONFIGS])
def test_configs_of_brokers_groups_and_client_metrics_are_rows(source: str) -> None:
    expected = [
        ("broker", "", "min.insync.replicas", "1"),
        ("broker", "3", "cordoned.log.dirs", "*"),
        ("client-metrics", "all", "interval.ms", "60000"),
        ("client-metrics", "all", "metrics", "*"),
        ("group", "desk", "consumer.session.timeout.ms", "50000"),
    ]
    assert rows(recorded(source), "config") == expected


def test_secret_config_has_no_value() -> None:
    line = "  {}=hidden sensitive=false synonyms={{DYNAMIC_BROKER_CONFIG:x=y}}\n"
    names = ("listener.name.x.ssl.keystore.password", "sasl.jaas.config", "ssl.keystore.key")
    tables = resolved(configs="Dynamic configs for broker 1 are:\n" + "".join(map(line.format, names)))
    assert rows(tables, "config", "config", "value") == [(name, None) for name in sorted(names)]


@pytest.mark.parametrize("source", [*LOG, *CHECKPOINT, "kafka-metadata-quorum-status.txt", "kafka-metadata-quorum-replication.txt"])
def test_voters_of_a_dynamic_quorum_are_known(source: str) -> None:
    tables = recorded(source)
    assert rejects(tables) == []
    assert rows(tables, "cluster", "voters", "controllers") == [([1, 2, 3], [1, 2, 3])]


def test_loss_of_the_quorum_follows_from_a_checkpoint_alone() -> None:
    tables = recorded("*.checkpoint")
    key = {"snapshot_id": "s", "cluster_id": "c"}
    clusters, brokers = ([key | row for row in tables[name].to_pylist()] for name in ("cluster", "broker"))
    [state] = cluster_states(clusters, brokers).values()
    assert [state.quorum_lost(deaths) for deaths in ([1], [2, 3], [1, 2, 3])] == [False, True, True]


@pytest.mark.parametrize("source", LOG)
def test_log_has_the_active_controller(source: str) -> None:
    expected = rows(recorded("kafka-metadata-quorum-status.txt"), "cluster", "controller_id")
    assert rows(recorded(source), "cluster", "controller_id") == expected != [None]


def test_voters_of_a_static_quorum_are_those_of_the_newest_leader_change() -> None:
    static = RECORDED.parent / "4.3.1" / "00000000000000000000.log"
    tables = resolved_bytes({"log": static.read_bytes()})
    assert rows(tables, "cluster", "controller_id", "voters", "controllers") == [(9, [9], [9])]


@pytest.mark.parametrize("source", LOG)
def test_broker_is_cordoned_if_all_its_log_dirs_are(source: str) -> None:
    assert rows(recorded(source), "broker", "broker_id", "cordoned") == [(1, False), (2, False), (3, True)]


def test_log_dirs_are_cordoned_by_the_configs_of_their_broker() -> None:
    logs = (
        '{"brokers":[{"broker":1,"logDirs":[{"logDir":"/a","error":null,"partitions":[]},{"logDir":"/b","error":null,"partitions":[]}]}]}'
    )
    line = "  cordoned.log.dirs={} sensitive=false synonyms={{DYNAMIC_BROKER_CONFIG:cordoned.log.dirs=x}}\n"
    for value, log_dirs, all_cordoned in (
        ("/b", [False, True], False),
        ("/a,/b", [True, True], True),
        ("*", [True, True], True),
        ("", [False, False], False),
    ):
        tables = resolved(logs=logs, configs="Dynamic configs for broker 1 are:\n" + line.format(value))
        assert (rows(tables, "log_dir", "cordoned"), rows(tables, "broker", "cordoned")) == (log_dirs, [all_cordoned]), value
    assert rows(resolved(logs=logs), "broker", "cordoned") == [None]


def test_earliest_offsets_are_start_offsets() -> None:
    tables = recorded("kafka-topics.txt", "kafka-get-offsets-earliest.txt")
    assert set(rows(tables, "partition", "log_end_offset")) == {None}
    assert set(rows(tables, "partition", "log_start_offset")) == {0}
    both = recorded("kafka-topics.txt", "kafka-get-offsets*.txt")
    assert rejects(both) == []
    ends = recorded("kafka-topics.txt", "kafka-get-offsets.txt")
    assert rows(both, "partition", "log_end_offset") == rows(ends, "partition", "log_end_offset")
    assert sum(filter(None, rows(both, "partition", "log_end_offset"))) == 500


@pytest.mark.parametrize("files", [("earliest",), ("earliest", "latest"), ("earliest", "start-offsets"), ("earliest", "max-timestamp")])
def test_offsets_in_columns_give_the_same_tables(files: tuple[str, ...]) -> None:
    topics = "".join(PARTITION.format("t", number, 1, "1,2", "1,2") for number in range(3))
    offsets = {
        "earliest": "t:0:5\nt:1:6\nu:0:1\n",
        "latest": "t:0:9\nv:0:2\n",
        "start-offsets": "t:0:4\nt:2:7\n",
        "max-timestamp": "t:0:3\n",
    }
    dumps = {"topics": topics} | {name: offsets[name] for name in files}
    by_line, in_columns = resolved(**dumps), resolved(**dumps, read_file=partial(read_dump, columnar_bytes=1))
    assert in_columns == by_line
    assert ("earliest", 3, "no dump has the partition's leader and ISR") in rejects(by_line)
    assert rows(by_line, "partition", "log_start_offset")[1] == 6


def test_offsets_of_other_times_are_rejected() -> None:
    partition = PARTITION.format("t", 0, 1, "1,2", "1,2")
    tables = resolved_bytes({"topics": partition.encode(), "offsets-max-timestamp.txt": b"t:0:7\n"})
    assert rows(tables, "partition", "log_start_offset", "log_end_offset") == [(None, None)]
    assert rejects(tables) == [("offsets-max-timestamp.txt", 1, "no table has the offsets of --time max-timestamp")]
