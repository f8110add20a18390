"""Captures of live clusters, compared with dumps of Kafka's own tools of the same moment."""

from __future__ import annotations

import gzip
import json
import logging
import os
import subprocess
import sys
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
from kafka_model.partitioner.key_attribution import KeyLocation, attribute
from tests.cluster import Cluster, cluster, command
from tests.cluster.record import DUMPS, KRAFT_DUMPS
from tests.cluster.security import PASSWORD, STORE_PASSWORD, USER, Security, security
from tests.cluster.workload import Group, Sent, Workload, workload
from tests.cluster.zookeeper import zookeeper_cluster

pytestmark = pytest.mark.kafka
SHARE_DUMPS = {
    f"kafka-share-groups-{what}": ("kafka-share-groups", "--describe", "--all-groups", f"--{what}")
    for what in ("offsets", "members", "state")
}
# Columns that only a capture fills; all others must be equal.
ONLY_CAPTURED = {
    "cluster": ("sources", "captured_at"),
    "log_dir": ("capacity_bytes", "total_bytes", "usable_bytes"),
    "partition": ("log_start_offset",),
    "group_member": ("rack", "topics", "topic_regex"),
}
# Groups commit over and over, so that the logs of their own topics grow.
GROWING = {"partition": ("log_end_offset", "replica_size_bytes"), "replica": ("size_bytes", "offset_lag")}
KEYS = 20
IMPATIENT = {"default.api.timeout.ms": "3000", "request.timeout.ms": "2500"}


@dataclass(frozen=True)
class Live:
    """A cluster with producers and consumers, and the folder of its captures."""

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
        "share.coordinator.state.topic.min.isr": "1",  # otherwise the offsets of a share group are unknown with a broker down
    }
    with cluster({1: "rack-a", 2: "rack-b", 3: "rack-c"}, properties=properties, log_dirs=2, secured=secured.properties) as kafka:
        strict = ("--config", "min.insync.replicas=3", "--config", "retention.ms=7200000")
        kafka.tool("kafka-topics", "--create", "--topic", "orders", "--partitions", "6", "--replication-factor", "3", *strict)
        kafka.tool("kafka-topics", "--create", "--topic", "single", "--replica-assignment", "1,2,1,2")
        kafka.tool("kafka-topics", "--create", "--topic", "lost", "--replica-assignment", "3,1")
        secured.grant(kafka)
        share = [*command(kafka.version, "org.apache.kafka.tools.consumer.ConsoleShareConsumer"), "--bootstrap-server", kafka.bootstrap]
        with workload(kafka) as applications:
            applications.send([Sent("orders", f"k{n}", None, 3, 300) for n in range(KEYS)])
            # As librdkafka's default places them.
            applications.send([Sent("single", f"k{n}", crc32(b"k%d" % n) % 4, 3, 300) for n in range(KEYS)])
            groups = [
                Group("desk", [["orders"], ["orders", "single"]], {"client.rack": "rack-a"}, static=True),
                Group("new", [["orders"], ["orders"]], {"group.protocol": "consumer", "client.rack": "rack-b"}),
            ]
            applications.join(groups)
            reading, silent = [*share, "--topic", "orders", "--group", "share-desk"], subprocess.DEVNULL
            consumer = subprocess.Popen(reading, stdout=silent, stderr=silent)
            try:
                for _ in range(30):  # a share group has offsets only after its member has read
                    if "orders" in kafka.tool("kafka-share-groups", "--describe", "--group", "share-desk", "--offsets", check=False):
                        break
                yield Live(kafka, secured, folder, applications)
            finally:
                consumer.kill()
                consumer.wait()


def captured(source: Path, properties: Mapping[str, str], **how: int) -> list[dict[str, Any]]:
    assert capture_clusters(str(source), {"live": lambda client: properties}, **how) == {}
    return lines(source)


def lines(source: Path, name: str = "live") -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress((source / name / FILE).read_bytes()).splitlines()]


def tables(source: Path) -> dict[str, pa.Table]:
    """Return the tables of a source."""
    found = ingest.read(lambda: pytest.fail("it is small"), str(source), "s")
    return {table.name: rows for table, rows in zip(ingest.WRITES, found, strict=True)}


def same_but_for(tables: Mapping[str, pa.Table], without: Mapping[str, tuple[str, ...]]) -> dict[str, list[dict[str, Any]]]:
    rows = {
        name: table.drop_columns([*without.get(name, ())]).to_pylist()
        for name, table in tables.items()
        if name not in ("input_file", "rejected_input")
    }
    for name, columns in GROWING.items():
        for row in rows[name]:
            if row["topic"].startswith("__"):
                row.update(dict.fromkeys(columns))
    return rows


def dump(kafka: Cluster, folder: Path, asked: Mapping[str, Sequence[str]]) -> None:
    """Write the output of Kafka's tools, a file each."""
    folder.mkdir(parents=True)
    for name, (tool, *arguments) in asked.items():
        (folder / f"{name}.txt").write_text(kafka.tool(tool, *arguments))


def by_librdkafka(security: Security, mechanism: str) -> dict[str, str]:
    """Return the extra of an Airflow connection of the conn type kafka."""
    files = {"ca": security.certificate, "certificate": security.client_certificate, "key": security.client_key}
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": mechanism,
        **{f"ssl.{name}.location": str(path) for name, path in files.items()},
    }


def test_capture_with_a_broker_down_reports_its_log_dirs_missing(live: Live) -> None:
    live.kafka.kill(3)
    down = captured(live.folder / "down", {"bootstrap.servers": live.kafka.bootstrap} | IMPATIENT)
    brokers = [line for line in down if "broker" in line]
    assert [(line["broker"], line["fenced"]) for line in brokers] == [(1, False), (2, False), (3, False)]
    assert [line["log_dirs_of"] for line in down if "log_dirs_of" in line] == [1, 2]
    assert {line["missing"] for line in down if "missing" in line} >= {"log dirs of broker 3"}
    found = tables(live.folder / "down")
    assert found["partition"].num_rows > 10
    reasons = [row["reason"] for row in found["rejected_input"].to_pylist() if "log dirs of broker 3" in row["text"]]
    assert [reason.split(":")[:2] for reason in reasons] == [["not answered by the cluster", " TimeoutException"]]
    replicas = [row for row in found["replica"].to_pylist() if row["topic"] == "orders"]
    assert {row["broker_id"]: row["size_bytes"] is None for row in replicas} == {1: False, 2: False, 3: True}


@pytest.fixture(scope="module")
def settled(live: Live) -> Live:
    """The cluster after the killed broker is fenced and its groups have a coordinator again."""
    if 3 in live.kafka.processes:
        live.kafka.kill(3)
    live.kafka.await_fenced(3)
    live.applications.settle()
    return live


def test_capture_gives_the_same_tables_as_dumps_of_kafkas_tools(settled: Live) -> None:
    kafka, folder = settled.kafka, settled.folder
    before = captured(folder / "capture", {"bootstrap.servers": kafka.bootstrap})
    # Of a partition without a leader kafka-get-offsets waits for one for a minute.
    led = {"kafka-get-offsets": ("kafka-get-offsets", "--topic-partitions", "orders,single,__.*,lost:1")}
    dump(kafka, folder / "dumps" / "live", DUMPS | KRAFT_DUMPS | SHARE_DUMPS | led)
    after = captured(folder / "again", {"bootstrap.servers": kafka.bootstrap})
    assert steady(before) == steady(after), "the cluster changed meanwhile"
    by_capture, by_tools = tables(folder / "capture"), tables(folder / "dumps")
    assert same_but_for(by_capture, ONLY_CAPTURED) == same_but_for(by_tools, ONLY_CAPTURED)
    assert by_capture["rejected_input"].num_rows == by_tools["rejected_input"].num_rows == 0
    # The compared tables are not empty.
    assert by_capture["cluster"].column("kafka_cluster_id").to_pylist() == ["YXVkaXQtdGVzdC1jbHVzdA"]
    assert {(row["broker_id"], row["live"]) for row in by_capture["broker"].to_pylist()} == {(1, True), (2, True), (3, False)}
    groups = {row["group_id"]: (row["protocol"], row["members"]) for row in by_capture["consumer_group"].to_pylist()}
    assert groups == {"desk": ("classic", 2), "new": ("consumer", 2), "share-desk": ("share", 1)}
    assert {row["leader"] for row in by_capture["partition"].to_pylist() if row["topic"] == "lost"} == {None, 1}
    assert any(row["elr"] for row in by_capture["partition"].to_pylist())
    assert {row["rack"] for row in by_capture["group_member"].to_pylist() if row["group_id"] == "new"} == {"rack-b"}
    subscribed = sorted((row["group_id"], row["topics"], row["topic_regex"]) for row in by_capture["group_member"].to_pylist())
    assert subscribed == [
        ("desk", ["orders"], None), ("desk", ["orders", "single"], None), ("new", ["orders"], None), ("new", ["orders"], None),
        ("share-desk", ["orders"], None),
    ]  # fmt: skip
    assert all(row["total_bytes"] > row["usable_bytes"] > 0 for row in by_capture["log_dir"].to_pylist())


def steady(capture: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a capture without what changes by itself: the logs of the quorum and of groups, and the free disk space."""
    return [
        line
        for line in capture
        if not line.keys() & {"capture", "controller", "log_dirs_of"} and not line.get("topic", "").startswith("__")
    ]


def test_copied_capture_gives_the_same_tables(settled: Live, tmp_path: Path) -> None:
    captured(settled.folder / "one", {"bootstrap.servers": settled.kafka.bootstrap})
    copy = tmp_path / "live" / FILE
    copy.parent.mkdir()
    copy.write_bytes((settled.folder / "one" / "live" / FILE).read_bytes())
    os.utime(copy, (1, 1))
    assert tables(tmp_path) == tables(settled.folder / "one")


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-512", "PLAIN"])
def test_capture_over_tls_and_sasl_is_the_same_and_has_no_secret(
    settled: Live, mechanism: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    extra = by_librdkafka(settled.security, mechanism)
    host, port = settled.kafka.secure_bootstrap.split(",")[0].split(":")
    caplog.set_level(logging.DEBUG)
    source = settled.folder / mechanism
    secured = captured(source, from_airflow(host, int(port), USER, PASSWORD, extra))
    assert steady(secured) == steady(captured(settled.folder / "plain", {"bootstrap.servers": settled.kafka.bootstrap}))
    everything = [json.dumps(secured), caplog.text, *capfd.readouterr(), *(str(table.to_pydict()) for table in tables(source).values())]
    for secret in (PASSWORD, json.dumps(PASSWORD)[1:-1], "quoted", STORE_PASSWORD, "LoginModule", "PRIVATE KEY"):
        assert [text for text in everything if secret in text] == []


def test_keys_of_the_last_records_identify_the_partitioner(settled: Live) -> None:
    plain = {"bootstrap.servers": settled.kafka.bootstrap}
    sampled = [line for line in captured(settled.folder / "keys", plain, key_records=1000) if "keys_of" in line]
    sample = tables(settled.folder / "keys")["key_sample"].to_pylist()
    sent = {(topic, b"k%d" % n): 3 for topic in ("orders", "single") for n in range(KEYS)}
    assert {(row["topic"], row["key"]): row["records"] for row in sample} == sent
    assert sum(row["size_bytes"] for row in sample) == 2 * KEYS * 300
    for topic, partitions, partitioner in (("orders", 6, "murmur2"), ("single", 4, "crc32")):
        found = [KeyLocation(row["key"], *row["observed_partitions"], *row["observed_records"]) for row in sample if row["topic"] == topic]
        answer = attribute(found, partitions)
        assert (answer.partitioner, answer.explained_records, answer.split_keys) == (partitioner, 3 * KEYS, 0)
    last = [line for line in captured(settled.folder / "few", plain, key_records=2) if "keys_of" in line]
    assert [(line["keys_of"], line["partition"]) for line in last] == [(line["keys_of"], line["partition"]) for line in sampled]
    for few, all_ in zip(last, sampled, strict=True):
        assert few["to_offset"] == all_["to_offset"]
        assert sum(key["records"] for key in few["keys"]) == few["to_offset"] - few["from_offset"] == min(2, all_["to_offset"])


def test_failed_login_reports_the_reason_without_the_password(settled: Live) -> None:
    extra = by_librdkafka(settled.security, "PLAIN")
    wrong = from_airflow(settled.kafka.secure_bootstrap, None, USER, "open sesame", extra)
    source = settled.folder / "mixed"
    plain = {"bootstrap.servers": settled.kafka.bootstrap}
    unread = capture_clusters(str(source), {"shut": lambda client: wrong, "open": lambda client: plain})
    assert unread == {"shut": "SaslAuthenticationException: Authentication failed: Invalid username or password"}
    found = tables(source)
    sources = {row["cluster_id"]: row["sources"] for row in found["cluster"].to_pylist()}
    assert sources == {"open": ["topology-capture"], "shut": ["topology-capture"]}
    assert [(row["cluster_id"], row["reason"]) for row in found["rejected_input"].to_pylist()] == [
        ("shut", "not answered by the cluster: SaslAuthenticationException: Authentication failed: Invalid username or password")
    ]
    assert set(found["partition"].column("cluster_id").to_pylist()) == {"open"}
    assert "sesame" not in json.dumps(lines(source, "shut"))


def test_missing_client_certificate_fails_the_handshake(settled: Live) -> None:
    extra = by_librdkafka(settled.security, "PLAIN")
    bare = {name: value for name, value in extra.items() if name not in ("ssl.certificate.location", "ssl.key.location")}
    connection = from_airflow(settled.kafka.secure_bootstrap, None, USER, PASSWORD, bare) | IMPATIENT
    unread = capture_clusters(str(settled.folder / "bare"), {"bare": lambda client: connection})
    assert unread["bare"].startswith("SSLHandshakeException: ")


def test_command_accepts_the_client_properties_of_kafkas_tools(settled: Live, tmp_path: Path) -> None:
    config = tmp_path / "client.properties"
    escaped = PASSWORD.replace("\\", "\\\\").replace('"', '\\"').replace("\\", "\\\\")
    config.write_text(
        "security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\nssl.truststore.type=PEM\n"
        f"ssl.truststore.location={settled.security.certificate}\nssl.keystore.type=PKCS12\n"
        f"ssl.keystore.location={settled.security.client_store}\nssl.keystore.password={STORE_PASSWORD}\n"
        f'sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="{USER}" password="{escaped}";\n'
    )
    asked = ["capture", str(tmp_path / "dumps" / "east"), "--bootstrap-server", settled.kafka.secure_bootstrap]
    asked += ["--command-config", str(config)]
    done = subprocess.run([sys.executable, "-m", "jobs.cli", *asked], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "secret" not in done.stdout + done.stderr
    assert lines(tmp_path / "dumps", "east")[-1] == {"end": len(lines(tmp_path / "dumps", "east")) - 1}


def test_zookeeper_cluster_is_captured_without_unsupported_requests(tmp_path: Path) -> None:
    with zookeeper_cluster({1: "rack-a", 2: "rack-b"}) as kafka:
        kafka.tool("kafka-topics", "--create", "--topic", "orders", "--partitions", "4", "--replication-factor", "2")
        with workload(kafka) as applications:
            applications.send([Sent("orders", f"k{n}", None, 2, 200) for n in range(9)])
            applications.join([Group("desk", [["orders"], ["orders"]])])
            capture = captured(tmp_path / "capture", {"bootstrap.servers": kafka.bootstrap})
            dump(kafka, tmp_path / "dumps" / "live", DUMPS)
    gaps = {line["missing"]: line["unsupported"] for line in capture if "missing" in line}
    assert gaps == {"fenced brokers": True, "the controller quorum": True}
    by_capture, by_tools = tables(tmp_path / "capture"), tables(tmp_path / "dumps")
    without = ONLY_CAPTURED | {"cluster": ("sources", "captured_at", "kafka_cluster_id"), "consumer_group": ("protocol",)}
    assert same_but_for(by_capture, without) == same_but_for(by_tools, without)
    assert by_capture["cluster"].to_pylist()[0]["controller"] == "zookeeper"
    assert by_capture["rejected_input"].num_rows == 0


def test_unreachable_cluster_does_not_affect_other_captures(tmp_path: Path, spark: SparkSession) -> None:  # beside Spark's own JVM
    unreachable = {"bootstrap.servers": "127.0.0.1:1"} | IMPATIENT
    unread = capture_clusters(
        str(tmp_path), {"gone": lambda client: unreachable, "odd": lambda client: {"bootstrap.servers": "no:port:here"}}
    )
    assert unread["gone"].startswith("TimeoutException: ")
    assert unread["odd"].startswith("ConfigException: ")
    assert [line.get("missing") for line in lines(tmp_path, "gone")] == [None, "the cluster", None]
    found = tables(tmp_path)
    assert found["cluster"].column("cluster_id").to_pylist() == ["gone", "odd"]
    assert found["rejected_input"].num_rows == 2
