"""Kafka's own Java client, in a JVM beside this process: its Admin asks a cluster, Jackson writes down what it answers.

It is the one client that asks for everything: confluent-kafka (2.16) knows no log dirs, reassignments, eligible leader replicas, quorum,
features or share groups; kafka-python (3.0) knows no share groups and reads neither a Java keystore nor the login modules that a
client.properties may name. Java and the way to it (py4j) come with Spark already.

A call costs 0.4 ms, so lists cross at once: answers as the JSON of their fields, partitions as the consumer protocol spells an assignment
(70,000 in 0.1 s). The fields are those of the one version that is pinned here.
"""

from __future__ import annotations

import json
import logging
import os
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from py4j import java_gateway, protocol
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError

from jobs.errors import AuditError
from jobs.spark.jars import SPARK_JARS, fetch, java

KAFKA_CLIENTS = "org.apache.kafka:kafka-clients:4.4.0"
# Gentle and patient, within bounds; what the connection says wins.
_SETTINGS = {
    "client.id": "kafka-topology-audit",
    "request.timeout.ms": "20000",
    "default.api.timeout.ms": "45000",
    "retry.backoff.ms": "200",
    "retry.backoff.max.ms": "5000",
    "reconnect.backoff.ms": "200",
    "reconnect.backoff.max.ms": "5000",
    "enable.metrics.push": "false",
    "enable.auto.commit": "false",
    "allow.auto.create.topics": "false",
    "max.poll.records": "5000",
}
_LONGEST_WAIT_S = 300  # for one answer, whatever the connection says
_SECRET = re.compile(r"password|secret|jaas|token|credential|ssl\.keystore\.key", re.IGNORECASE)
_WITHIN = re.compile(r"\"([^\"]+)\"|'([^']+)'|=\s*([^\s\"';]+)")  # of a JAAS entry: what its options are set to
_IGNORED = {
    "org.apache.kafka.common.Node": ["idString", "host", "port", "rack", "hash", "isFenced"],
    "org.apache.kafka.clients.consumer.ConsumerRecord": ["value", "headers", "timestamp", "timestampType", "leaderEpoch", "deliveryCount"],
}
_AS_TEXT = (
    "org.apache.kafka.common.Uuid",
    "org.apache.kafka.common.TopicPartition",
    "java.lang.Throwable",
    "java.util.Optional",
    "java.util.OptionalLong",
    "java.util.OptionalInt",
)


class NotAnswered(Exception):
    """Why a cluster did not answer a question, in its own words; `kind` is the class of Kafka's exception."""

    def __init__(self, kind: str, message: str):
        super().__init__(f"{kind}: {message}" if message else kind)
        self.kind = kind

    @property
    def unsupported(self) -> bool:
        """The brokers are of a version that cannot be asked this."""
        return self.kind == "UnsupportedVersionException"

    @property
    def timed_out(self) -> bool:
        """Nobody answered in time: most often a broker that is down."""
        return self.kind == "TimeoutException"

    @property
    def gone(self) -> bool:
        """What was asked about is there no more."""
        return self.kind in ("UnknownTopicOrPartitionException", "GroupIdNotFoundException")


class JavaClient:
    """The JVM, as long as its block lasts."""

    def __init__(self, gateway: JavaGateway):
        self.gateway, self.jvm = gateway, gateway.jvm
        self.kafka = gateway.jvm.org.apache.kafka
        self._mapper = self._json_mapper()

    def properties(self, text: str) -> dict[str, str]:
        """What a Java properties file says."""
        found = self.jvm.java.util.Properties()
        try:
            found.load(self.jvm.java.io.StringReader(text))
        except Py4JJavaError as e:
            raise AuditError("the properties of the connection cannot be read: no Java properties file") from e
        return {str(name): str(value) for name, value in found.items()}

    def json(self, answer: Any) -> Any:
        """An answer, as the values of its fields."""
        return json.loads(self._mapper.writeValueAsString(answer))

    def partitions(self, by_topic: Mapping[str, Sequence[int]]) -> Any:
        """A list of Kafka's TopicPartition."""
        # The Assignment of the consumer protocol, version 0: topics with their partitions, and no user data.
        spelled = [struct.pack(">hi", 0, len(by_topic))]
        for topic, partitions in by_topic.items():
            name = topic.encode()
            spelled.append(struct.pack(f">h{len(name)}si{len(partitions)}i", len(name), name, len(partitions), *partitions))
        spelled.append(struct.pack(">i", -1))
        protocol = self.kafka.clients.consumer.internals.ConsumerProtocol
        return protocol.deserializeAssignment(self.jvm.java.nio.ByteBuffer.wrap(b"".join(spelled))).partitions()

    def java_class(self, name: str) -> Any:
        return self.jvm.java.lang.Class.forName(name)

    def constant(self, enumeration: str, name: str) -> Any:
        return self.jvm.java.lang.Enum.valueOf(self.java_class(enumeration), name)

    def _json_mapper(self) -> Any:
        databind, annotation = "com.fasterxml.jackson.databind", "com.fasterxml.jackson.annotation"
        mapper = self.jvm.com.fasterxml.jackson.databind.ObjectMapper()
        for accessor, visibility in (("ALL", "NONE"), ("FIELD", "ANY")):
            mapper.setVisibility(
                self.constant(f"{annotation}.PropertyAccessor", accessor),
                self.constant(f"{annotation}.JsonAutoDetect$Visibility", visibility),
            )
        mapper.configure(self.constant(f"{databind}.SerializationFeature", "WRITE_ENUMS_USING_TO_STRING"), True)
        texts, to_text = self.jvm.com.fasterxml.jackson.databind.module.SimpleModule(), self.jvm.com.fasterxml.jackson.databind.ser.std
        for name in _AS_TEXT:
            texts.addSerializer(self.java_class(name), to_text.ToStringSerializer.instance)
        mapper.registerModule(texts)
        ignoring = self.jvm.com.fasterxml.jackson.annotation.JsonIgnoreProperties.Value
        for name, fields in _IGNORED.items():
            mapper.configOverride(self.java_class(name)).setIgnorals(ignoring.forIgnoredProperties(self.jvm.java.util.HashSet(fields)))
        return mapper


class Connection:
    """An Admin and a consumer without a group, of one cluster; what they are connected with is told nowhere."""

    def __init__(self, client: JavaClient, properties: Mapping[str, str]):
        self.client = client
        self._secrets = _secrets(properties)
        self._settings = client.jvm.java.util.HashMap({**_SETTINGS, **properties})
        self._consumer: Any = None
        self._network: Any = None
        with self.answering():
            self.admin = client.kafka.clients.admin.Admin.create(self._settings)

    @property
    def consumer(self) -> Any:
        """A consumer of bytes, which belongs to no group."""
        if self._consumer is None:
            bytes_ = self.client.kafka.common.serialization.ByteArrayDeserializer
            with self.answering():
                self._consumer = self.client.kafka.clients.consumer.KafkaConsumer(self._settings, bytes_(), bytes_())
        return self._consumer

    def get(self, future: Any) -> Any:
        """What a KafkaFuture comes to."""
        with self.answering():
            return future.get(_LONGEST_WAIT_S, self.client.constant("java.util.concurrent.TimeUnit", "SECONDS"))

    def ask(self, node: Any, request: Any) -> Any:
        """What a broker answers to a request of which the Admin tells less than the protocol does, as the values of its fields."""
        kafka = self.client.kafka
        time, calls = kafka.common.utils.Time.SYSTEM, kafka.clients.NetworkClientUtils
        with self.answering():
            if self._network is None:
                self._network = self._network_client()
            if not calls.awaitReady(self._network, node, time, self._request_timeout_ms):
                raise NotAnswered("TimeoutException", f"no connection to broker {node.id()}")
            asked = self._network.newClientRequest(node.idString(), request, time.milliseconds(), True)
            answer = calls.sendAndReceive(self._network, asked, time)
            if answer.versionMismatch() is not None:
                raise NotAnswered("UnsupportedVersionException", f"broker {node.id()} does not know the request")
            return self.client.json(answer.responseBody().data())

    def _network_client(self) -> Any:
        kafka, internals = self.client.kafka, self.client.kafka.common.utils.internals
        config, clients = kafka.clients.admin.AdminClientConfig(self._settings), kafka.clients
        self._request_timeout_ms = config.getInt("request.timeout.ms")
        return clients.ClientUtils.createNetworkClient(
            config, config.getList("bootstrap.servers"), config.getString("client.id"), kafka.common.metrics.Metrics(), "audit",
            internals.LogContext(), clients.ApiVersions(), kafka.common.utils.Time.SYSTEM, 1, self._request_timeout_ms, None,
            clients.ManualMetadataUpdater(), clients.DefaultHostResolver(), None, None,
        )  # fmt: skip

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Tell what Java throws as NotAnswered, without the secrets of the connection."""
        try:
            yield
        except Py4JJavaError as e:
            thrown = e.java_exception
            while (cause := thrown.getCause()) is not None:
                thrown = cause
            message = (thrown.getMessage() or "").strip().partition("\n")[0]
            for secret in self._secrets:
                message = message.replace(secret, "[hidden]")
            raise NotAnswered(thrown.getClass().getSimpleName(), message) from None  # Java's own text may hold them

    def close(self) -> None:
        soon = self.client.jvm.java.time.Duration.ofSeconds(1)
        self.admin.close(soon)
        if self._consumer is not None:
            self._consumer.close(soon)
        if self._network is not None:
            self._network.close()


@contextmanager
def java_client(login_jars: Sequence[str] = ()) -> Iterator[JavaClient]:
    """A JVM with Kafka's client; `login_jars` are those of login modules that the client does not bring."""
    # There is no binding of SLF4J among the jars, so that the client logs nothing, and py4j lets go what the JVM says.
    # At level DEBUG py4j logs every call with its arguments.
    logging.getLogger("py4j").setLevel(logging.WARNING)
    kafka = fetch(KAFKA_CLIENTS, transitive=True)
    jackson = [jar for name in ("core-2", "databind-", "annotations-") for jar in SPARK_JARS.glob(f"jackson-{name}*.jar")]
    port, token, process = launch_gateway(
        jarpath=str(next(SPARK_JARS.glob("py4j-*.jar"))),
        classpath=os.pathsep.join([*(str(jar) for jar in (*kafka, *jackson)), *login_jars]),
        javaopts=["-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"],
        java_path=java(),
        die_on_exit=True,
        return_proc=True,
        enable_auth=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token, auto_convert=True))
    # Once a process has had a Spark session, PySpark reads every exception of py4j's as if its own JVM had thrown it.
    spark_reads, java_gateway.get_return_value = java_gateway.get_return_value, protocol.get_return_value
    try:
        yield JavaClient(gateway)
    finally:
        java_gateway.get_return_value = spark_reads
        gateway.shutdown()
        process.stdin.close()
        process.wait()


def _secrets(properties: Mapping[str, str]) -> list[str]:
    """What must not be told of a connection, the longest first."""
    whole = {value for name, value in properties.items() if _SECRET.search(name) and value}
    within = {part for value in whole for match in _WITHIN.findall(value) for part in match if part not in ("", "true", "false")}
    return sorted(whole | within, key=len, reverse=True)
