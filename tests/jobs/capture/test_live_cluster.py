"""Captures of live clusters, compared with dumps of Kafka's own tools in the same state."""

from __future__ import annotations

import gzip
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from jobs import ingest
from jobs.capture import FILE, capture_clusters
from jobs.capture.connection import from_airflow
from jobs.capture.java_client import Connection, java_client
from kafka_model.partitioner.key_attribution import PARTITIONERS, Matches, attribute
from tests.cluster import Cluster, cluster, command
from tests.cluster.groups import differences
from tests.cluster.record import DUMPS, KRAFT_DUMPS
from tests.cluster.security import PASSWORD, STORE_PASSWORD, USER, Security, security
from tests.cluster.stories import STICKY, UNIFORM
from tests.cluster.workload import Group, Sent, Workload, workload
from tests.cluster.zookeeper import zookeeper_cluster

pytestmark = pytest.mark.kafka
SHARE_DUMPS = {
    f"kafka-share-groups-{what}": ("kafka-share-groups", "--describe", "--all-groups", f"--{what}")
    for what in ("offsets", "members", "state")
}
# Columns that only a capture fills; all others must be equal.
ONLY_CAPTURED = {
    "cluster": ("sources", "captured_at", "features"),  # kafka-features prints the release of metadata.version
    "broker": ("cordoned",),
    "log_dir": ("capacity_bytes", "total_bytes", "usable_bytes", "cordoned"),
    "partition": ("log_start_offset",),
    "group_member": ("rack", "topics", "topic_regex", "rack_known"),
}
# Members commit periodically, so the logs of Kafka's own topics grow between two captures.
GROWING = {"partition": ("log_end_offset", "replica_size_bytes"), "replica": ("size_bytes", "offset_lag")}
KEYS = 20
SHORT_TIMEOUTS = {"default.api.timeout.ms": "3000", "request.timeout.ms": "2500"}


@dataclass(frozen=True)
class Live:
    """A running cluster with producers and consumers, and the folder of its captures."""

    kafka: Cluster
    security: Security
    folder: Path
    applications: Workload


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder = tmp_path_factory.mktemp("live")
    secured = security(folder)
    properties = {
        "broker.session.timeout.ms": "9000",  # so that a killed broker is not fenced at once
        "log.retention.bytes": "99999",
        "share.coordinator.state.topic.num.partitions": "2",
        "share.coordinator.state.topic.min.isr": "1",  # otherwise the offsets of a share group are unknown while a broker is down
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "allow.everyone.if.no.acl.found": "true",
    }
    with cluster({1: "rack-a", 2: "rack-b", 3: "rack-c"}, properties=properties, log_dirs=2, secured=secured.properties) as kafka:
        strict = ("--config", "min.insync.replicas=3", "--config", "retention.ms=7200000")
        kafka.tool("kafka-topics", "--create", "--topic", "orders", "--partitions", "6", "--replication-factor", "3", *strict)
        kafka.tool("kafka-topics", "--create", "--topic", "single", "--replica-assignment", "1,2,1,2")
        kafka.tool("kafka-topics", "--create", "--topic", "lost", "--replica-assignment", "3,1")
        secured.create_user(kafka)
        kafka.tool("kafka-configs", "--alter", "--entity-type", "users", "--entity-default", "--add-config", "consumer_byte_rate=99000000")
        kafka.tool("kafka-acls", "--add", "--deny-principal", "User:mallory", "--operation", "Read", "--topic", "secret")
        cordoned = f"cordoned.log.dirs={kafka.nodes[2].folder}/data2"
        kafka.tool("kafka-configs", "--alter", "--entity-type", "brokers", "--entity-name", "2", "--add-config", cordoned)
        share = [*command(kafka.version, "org.apache.kafka.tools.consumer.ConsoleShareConsumer"), "--bootstrap-server", kafka.bootstrap]
        with workload(kafka) as applications:
            applications.send([Sent("orders", f"k{n}", None, 3, 300) for n in range(KEYS)])
            # Placed like librdkafka's default partitioner.
            applications.send([Sent("single", f"k{n}", crc32(b"k%d" % n) % 4, 3, 300) for n in range(KEYS)])
            groups = [
                Group("desk", [["orders"], ["orders", "single"]], {"client.rack": "rack-a"}, static=True),
                Group("new", [["orders"], ["orders"]], {"group.protocol": "consumer", "client.rack": "rack-b"}),
                Group("keep", [["orders", "single"], ["orders", "single"], ["single"]], STICKY, racks=("rack-b", "rack-a")),
                Group("pattern", [[], []], UNIFORM, regex="ord[e]rs|sing"),
            ]
            applications.join(groups)
            reader, silent = [*share, "--topic", "orders", "--group", "share-desk"], subprocess.DEVNULL
            consumer = subprocess.Popen(reader, stdout=silent, stderr=silent)
            try:
                for _ in range(30):  # a share group has offsets only after its member has read
                    if "orders" in kafka.tool("kafka-share-groups", "--describe", "--group", "share-desk", "--offsets", check=False):
                        break
                yield Live(kafka, secured, folder, applications)
            finally:
                consumer.kill()
                consumer.wait()


def capture(source: Path, properties: Mapping[str, str], **options: int) -> list[dict[str, Any]]:
    """Capture a cluster into the folder `live` of a source, and return the lines of the capture."""
    assert capture_clusters(str(source), {"live": lambda client: properties}, **options) == {}
    return read_capture(source)


def read_capture(source: Path, name: str = "live") -> list[dict[str, Any]]:
    """Return the lines of a cluster's capture, parsed."""
    return [json.loads(line) for line in gzip.decompress((source / name / FILE).read_bytes()).splitlines()]


def ingest_tables(source: Path) -> dict[str, pa.Table]:
    """Return the tables that ingest reads from a source."""
    tables = ingest.read(lambda: pytest.fail("a small source starts no Spark session"), str(source), "s")
    return {table.name: rows for table, rows in zip(ingest.WRITES, tables, strict=True)}


def comparable_rows(tables: Mapping[str, pa.Table], ignored: Mapping[str, tuple[str, ...]]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of all tables except those about files, without the ignored columns and without the growth of Kafka's own topics."""
    rows = {
        name: table.drop_columns([*ignored.get(name, ())]).to_pylist()
        for name, table in tables.items()
        if name not in ("input_file", "rejected_input", "config", "acl")  # the last two are only captured
    }
    for name, columns in GROWING.items():
        for row in rows[name]:
            if row["topic"].startswith("__"):
                row.update(dict.fromkeys(columns))
    return rows


def dump(kafka: Cluster, folder: Path, commands: Mapping[str, Sequence[str]]) -> None:
    """Write the output of each command of Kafka's tools to a file."""
    folder.mkdir(parents=True)
    for name, (tool, *arguments) in commands.items():
        (folder / f"{name}.txt").write_text(kafka.tool(tool, *arguments))


def librdkafka_extra(security: Security, mechanism: str) -> dict[str, str]:
    """Return the extra of an Airflow connection, with librdkafka's names."""
    files = {"ca": security.certificate, "certificate": security.client_certificate, "key": security.client_key}
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": mechanism,
        **{f"ssl.{name}.location": str(path) for name, path in files.items()},
    }


def test_a_capture_with_a_broker_down_reports_its_log_dirs_missing(live: Live) -> None:
    live.kafka.kill(3)
    down = capture(live.folder / "down", {"bootstrap.servers": live.kafka.bootstrap} | SHORT_TIMEOUTS)
    brokers = [line for line in down if "broker" in line]
    assert [(line["broker"], line["fenced"]) for line in brokers] == [(1, False), (2, False), (3, False)]
    assert [line["log_dirs_of"] for line in down if "log_dirs_of" in line] == [1, 2]
    assert {line["missing"] for line in down if "missing" in line} >= {"log dirs of broker 3"}
    tables = ingest_tables(live.folder / "down")
    assert tables["partition"].num_rows > 10
    reasons = [row["reason"] for row in tables["rejected_input"].to_pylist() if "log dirs of broker 3" in row["text"]]
    assert [reason.split(":")[:2] for reason in reasons] == [["not answered by the cluster", " TimeoutException"]]
    replicas = [row for row in tables["replica"].to_pylist() if row["topic"] == "orders"]
    assert {row["broker_id"]: row["size_bytes"] is None for row in replicas} == {1: False, 2: False, 3: True}


@pytest.fixture(scope="module")
def settled(live: Live) -> Live:
    """The cluster after the killed broker is fenced and its groups have a coordinator again."""
    if 3 in live.kafka.processes:
        live.kafka.kill(3)
    live.kafka.await_fenced(3)
    live.applications.settle()
    return live


def test_a_capture_gives_the_same_tables_as_dumps_of_kafkas_tools(settled: Live) -> None:
    kafka, folder = settled.kafka, settled.folder
    before = capture(folder / "capture", {"bootstrap.servers": kafka.bootstrap})
    # kafka-get-offsets would wait a minute for the leader of lost-0.
    with_leader = {"kafka-get-offsets": ("kafka-get-offsets", "--topic-partitions", "orders,single,__.*,lost:1")}
    quotas = {"kafka-configs": ("kafka-configs", "--describe", "--entity-type", "users")}
    dump(kafka, folder / "dumps" / "live", DUMPS | KRAFT_DUMPS | SHARE_DUMPS | with_leader | quotas)
    after = capture(folder / "again", {"bootstrap.servers": kafka.bootstrap})
    assert steady_lines(before) == steady_lines(after), "the cluster changed between the captures"
    by_capture, by_tools = ingest_tables(folder / "capture"), ingest_tables(folder / "dumps")
    assert comparable_rows(by_capture, ONLY_CAPTURED) == comparable_rows(by_tools, ONLY_CAPTURED)
    assert by_capture["rejected_input"].num_rows == by_tools["rejected_input"].num_rows == 0
    # The compared tables contain the cluster's state.
    assert by_capture["cluster"].column("kafka_cluster_id").to_pylist() == ["YXVkaXQtdGVzdC1jbHVzdA"]
    assert {(row["broker_id"], row["live"]) for row in by_capture["broker"].to_pylist()} == {(1, True), (2, True), (3, False)}
    groups = {row["group_id"]: (row["protocol"], row["members"]) for row in by_capture["consumer_group"].to_pylist()}
    assert groups == {
        "desk": ("classic", 2), "keep": ("classic", 3), "new": ("consumer", 2), "pattern": ("consumer", 2), "share-desk": ("share", 1)
    }  # fmt: skip
    assert {row["leader"] for row in by_capture["partition"].to_pylist() if row["topic"] == "lost"} == {None, 1}
    assert any(row["elr"] for row in by_capture["partition"].to_pylist())
    members = sorted(
        (row["group_id"], row["topics"], row["topic_regex"], row["rack"] or "") for row in by_capture["group_member"].to_pylist()
    )
    assert members == [
        ("desk", ["orders"], None, "rack-a"), ("desk", ["orders", "single"], None, "rack-a"),
        ("keep", ["orders", "single"], None, "rack-a"), ("keep", ["orders", "single"], None, "rack-b"), ("keep", ["single"], None, "rack-b"),
        ("new", ["orders"], None, "rack-b"), ("new", ["orders"], None, "rack-b"),
        ("pattern", ["orders"], "ord[e]rs|sing", ""), ("pattern", ["orders"], "ord[e]rs|sing", ""),
        ("share-desk", ["orders"], None, ""),
    ]  # fmt: skip
    assert differences(by_capture) == []
    # The dumps of Kafka's tools contain neither client.rack nor the subscriptions of members with different topics: no group is accused.
    unknown = {text.partition(" ")[0]: text.partition(": ")[2] for text in differences(by_tools)}
    assert unknown.items() >= {"desk": "None differences, missing subscriptions", "keep": "None differences, missing subscriptions"}.items()
    assert set(unknown.values()) <= {"None differences, missing subscriptions", "None differences, missing client racks"}
    assert all(row["total_bytes"] > row["usable_bytes"] > 0 for row in by_capture["log_dir"].to_pylist())
    assert [(row["user"], row["quota"], row["value"]) for row in by_capture["client_quota"].to_pylist()] == [
        ("<default>", "consumer_byte_rate", 99e6)
    ]
    assert [tuple(row.values())[2:] for row in by_capture["acl"].to_pylist()] == [
        ("TOPIC", "secret", "LITERAL", "User:mallory", "*", "READ", "DENY")
    ]
    cordoned = {(row["broker_id"], row["log_dir"][-5:]): row["cordoned"] for row in by_capture["log_dir"].to_pylist()}
    assert cordoned == {(1, "data1"): False, (1, "data2"): False, (2, "data1"): False, (2, "data2"): True}
    assert {row["broker_id"]: row["cordoned"] for row in by_capture["broker"].to_pylist()} == {1: False, 2: False, 3: None}


def steady_lines(capture: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a capture without the lines that change by themselves: the logs of the quorum and of groups, and the free disk space."""
    return [
        line
        for line in capture
        if not line.keys() & {"capture", "controller", "log_dirs_of"} and not line.get("topic", "").startswith("__")
    ]


def test_a_copied_capture_gives_the_same_tables(settled: Live, tmp_path: Path) -> None:
    capture(settled.folder / "one", {"bootstrap.servers": settled.kafka.bootstrap})
    copy = tmp_path / "live" / FILE
    copy.parent.mkdir()
    copy.write_bytes((settled.folder / "one" / "live" / FILE).read_bytes())
    os.utime(copy, (1, 1))
    assert ingest_tables(tmp_path) == ingest_tables(settled.folder / "one")


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-512", "PLAIN"])
def test_a_capture_over_tls_and_sasl_is_the_same_and_contains_no_secret(
    settled: Live, mechanism: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    extra = librdkafka_extra(settled.security, mechanism)
    host, port = settled.kafka.secure_bootstrap.split(",")[0].split(":")
    caplog.set_level(logging.DEBUG)
    source = settled.folder / mechanism
    secured = capture(source, from_airflow(host, int(port), USER, PASSWORD, extra))
    assert steady_lines(secured) == steady_lines(capture(settled.folder / "plain", {"bootstrap.servers": settled.kafka.bootstrap}))
    texts = [json.dumps(secured), caplog.text, *capfd.readouterr(), *(str(table.to_pydict()) for table in ingest_tables(source).values())]
    for secret in (PASSWORD, json.dumps(PASSWORD)[1:-1], "quoted", STORE_PASSWORD, "LoginModule", "PRIVATE KEY"):
        assert [text for text in texts if secret in text] == []


def test_keys_of_the_last_records_identify_the_partitioner(settled: Live) -> None:
    plain = {"bootstrap.servers": settled.kafka.bootstrap}
    sampled = [line for line in capture(settled.folder / "keys", plain, key_records=1000) if "keys_of" in line]
    sample = ingest_tables(settled.folder / "keys")["key_sample"].to_pylist()
    sent = {(topic, b"k%d" % n): 3 for topic in ("orders", "single") for n in range(KEYS)}
    assert {(row["topic"], row["key"]): row["records"] for row in sample} == sent
    assert sum(row["size_bytes"] for row in sample) == 2 * KEYS * 300
    for topic, partitions, partitioner in (("orders", 6, "murmur2"), ("single", 4, "crc32")):
        matches = [
            key_matches(row["key"], *row["observed_partitions"], *row["observed_records"], partitions)
            for row in sample
            if row["topic"] == topic
        ]
        result = attribute(matches, partitions)
        assert (result.partitioner, result.explained_records) == (partitioner, 3 * KEYS)
    last_two = [line for line in capture(settled.folder / "last-two", plain, key_records=2) if "keys_of" in line]
    assert [(line["keys_of"], line["partition"]) for line in last_two] == [(line["keys_of"], line["partition"]) for line in sampled]
    for short, long in zip(last_two, sampled, strict=True):
        assert short["to_offset"] == long["to_offset"]
        assert sum(key["records"] for key in short["keys"]) == short["to_offset"] - short["from_offset"] == min(2, long["to_offset"])


def key_matches(key: bytes, partition: int, records: int, partitions: int) -> Matches:
    """Return the partitioners that explain the only partition of a key."""
    explained_by = [partition_of(key, partitions) == partition for partition_of in PARTITIONERS.values()]
    return Matches(sum(explains << number for number, explains in enumerate(explained_by)), 1, records)


def test_a_streams_group_has_its_active_tasks(settled: Live) -> None:
    """The member joins by the request that Kafka Streams sends (KIP-1071)."""
    properties = {"bootstrap.servers": settled.kafka.bootstrap}
    with java_client() as client:
        connection = Connection(client, properties)
        for _ in range(60):
            node = join_streams_group(connection)
            if node is not None:
                break
            time.sleep(0.5)
        connection.close()
    capture(settled.folder / "streams", properties)
    tables = ingest_tables(settled.folder / "streams")
    [group] = [row for row in tables["consumer_group"].to_pylist() if row["group_id"] == "pipeline"]
    assert (group["protocol"], group["members"], group["coordinator_id"]) == ("streams", 1, node)
    [member] = [row for row in tables["group_member"].to_pylist() if row["group_id"] == "pipeline"]
    assert (member["topics"], member["rack"]) == (["orders", "single"], "rack-a")
    assigned = [(row["topic"], row["partition"]) for row in tables["observed_assignment"].to_pylist() if row["group_id"] == "pipeline"]
    assert assigned == [*(("orders", number) for number in range(6)), *(("single", number) for number in range(4))]


def join_streams_group(connection: Connection) -> int | None:
    """Join the streams group `pipeline` as its only member. Return the coordinator; None: the group has none, or no tasks, yet."""
    client = connection.client
    data, requests = client.kafka.common.message, client.kafka.common.requests
    found = connection.send(
        connection.get(connection.admin.describeCluster().nodes()).iterator().next(),
        requests.FindCoordinatorRequest.Builder(data.FindCoordinatorRequestData().setKeyType(0).setCoordinatorKeys(["pipeline"])),
    )["coordinators"][0]
    if found["nodeId"] < 0:
        return None
    coordinator = client.kafka.common.Node(found["nodeId"], found["host"], found["port"])
    subtopology = (
        getattr(data, "StreamsGroupHeartbeatRequestData$Subtopology")().setSubtopologyId("0").setSourceTopics(["orders", "single"])
    )
    topology = getattr(data, "StreamsGroupHeartbeatRequestData$Topology")().setEpoch(0).setSubtopologies([subtopology])
    heartbeat = data.StreamsGroupHeartbeatRequestData().setGroupId("pipeline").setMemberId("m1").setMemberEpoch(0).setProcessId("p1")
    heartbeat = heartbeat.setRackId("rack-a").setRebalanceTimeoutMs(60_000).setTopology(topology)
    heartbeat = heartbeat.setActiveTasks([]).setStandbyTasks([]).setWarmupTasks([])
    response = connection.send(coordinator, requests.StreamsGroupHeartbeatRequest.Builder(heartbeat))
    assert response["errorCode"] in (0, 14, 15, 16), response  # loading, not available or not the coordinator
    return found["nodeId"] if response["errorCode"] == 0 and response["activeTasks"] else None


def test_a_failed_login_is_reported_without_the_password(settled: Live) -> None:
    extra = librdkafka_extra(settled.security, "PLAIN")
    wrong_password = from_airflow(settled.kafka.secure_bootstrap, None, USER, "open sesame", extra)
    source = settled.folder / "mixed"
    plain = {"bootstrap.servers": settled.kafka.bootstrap}
    unread = capture_clusters(str(source), {"locked": lambda client: wrong_password, "open": lambda client: plain})
    assert unread == {"locked": "SaslAuthenticationException: Authentication failed: Invalid username or password"}
    tables = ingest_tables(source)
    sources = {row["cluster_id"]: row["sources"] for row in tables["cluster"].to_pylist()}
    assert sources == {"open": ["topology-capture"], "locked": ["topology-capture"]}
    assert [(row["cluster_id"], row["reason"]) for row in tables["rejected_input"].to_pylist()] == [
        ("locked", "not answered by the cluster: SaslAuthenticationException: Authentication failed: Invalid username or password")
    ]
    assert set(tables["partition"].column("cluster_id").to_pylist()) == {"open"}
    assert "sesame" not in json.dumps(read_capture(source, "locked"))


def test_a_missing_client_certificate_fails_the_handshake(settled: Live) -> None:
    extra = librdkafka_extra(settled.security, "PLAIN")
    without_certificate = {name: value for name, value in extra.items() if name not in ("ssl.certificate.location", "ssl.key.location")}
    connection = from_airflow(settled.kafka.secure_bootstrap, None, USER, PASSWORD, without_certificate) | SHORT_TIMEOUTS
    unread = capture_clusters(str(settled.folder / "no-certificate"), {"no-certificate": lambda client: connection})
    assert unread["no-certificate"].startswith("SSLHandshakeException: ")


def test_the_command_accepts_the_client_properties_of_kafkas_tools(settled: Live, tmp_path: Path) -> None:
    config = tmp_path / "client.properties"
    escaped = PASSWORD.replace("\\", "\\\\").replace('"', '\\"').replace("\\", "\\\\")
    config.write_text(
        "security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\nssl.truststore.type=PEM\n"
        f"ssl.truststore.location={settled.security.certificate}\nssl.keystore.type=PKCS12\n"
        f"ssl.keystore.location={settled.security.client_store}\nssl.keystore.password={STORE_PASSWORD}\n"
        f'sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="{USER}" password="{escaped}";\n'
    )
    arguments = ["capture", str(tmp_path / "dumps" / "east"), "--bootstrap-server", settled.kafka.secure_bootstrap]
    arguments += ["--command-config", str(config)]
    process = subprocess.run([sys.executable, "-m", "jobs.cli", *arguments], capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    assert "secret" not in process.stdout + process.stderr
    assert read_capture(tmp_path / "dumps", "east")[-1] == {"end": len(read_capture(tmp_path / "dumps", "east")) - 1}


def test_a_zookeeper_cluster_is_captured_without_unsupported_requests(tmp_path: Path) -> None:
    with zookeeper_cluster({1: "rack-a", 2: "rack-b"}) as kafka:
        kafka.tool("kafka-topics", "--create", "--topic", "orders", "--partitions", "4", "--replication-factor", "2")
        with workload(kafka) as applications:
            applications.send([Sent("orders", f"k{n}", None, 2, 200) for n in range(9)])
            applications.join([Group("desk", [["orders"], ["orders"]])])
            captured = capture(tmp_path / "capture", {"bootstrap.servers": kafka.bootstrap})
            dump(kafka, tmp_path / "dumps" / "live", DUMPS)
    unsupported = {line["missing"]: line["unsupported"] for line in captured if "missing" in line}
    assert unsupported == {"fenced brokers": True, "the controller quorum": True}
    by_capture, by_tools = ingest_tables(tmp_path / "capture"), ingest_tables(tmp_path / "dumps")
    ignored = ONLY_CAPTURED | {"cluster": ("sources", "captured_at", "kafka_cluster_id"), "consumer_group": ("protocol",)}
    assert comparable_rows(by_capture, ignored) == comparable_rows(by_tools, ignored)
    assert by_capture["cluster"].to_pylist()[0]["controller"] == "zookeeper"
    assert by_capture["rejected_input"].num_rows == 0


def test_an_unreachable_cluster_does_not_affect_other_captures(tmp_path: Path, spark: SparkSession) -> None:
    """The Spark session has its own JVM in the same process."""
    unreachable = {"bootstrap.servers": "127.0.0.1:1"} | SHORT_TIMEOUTS
    unread = capture_clusters(
        str(tmp_path), {"unreachable": lambda client: unreachable, "misconfigured": lambda client: {"bootstrap.servers": "no:port:here"}}
    )
    assert unread["unreachable"].startswith("TimeoutException: ")
    assert unread["misconfigured"].startswith("ConfigException: ")
    assert [line.get("missing") for line in read_capture(tmp_path, "unreachable")] == [None, "the cluster", None]
    tables = ingest_tables(tmp_path)
    assert tables["cluster"].column("cluster_id").to_pylist() == ["misconfigured", "unreachable"]
    assert tables["rejected_input"].num_rows == 2
