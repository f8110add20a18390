"""Kafka's own Java client in a JVM beside this process: its Admin sends requests, Jackson turns the answers into JSON.

It is the only client with every request. confluent-kafka (2.16) has no log dirs, reassignments, eligible leader replicas, quorum, features or
share groups; kafka-python (3.0) has no share groups, and reads neither a Java keystore nor the login modules that a client.properties may
name. Java and py4j, which calls it, come with Spark.

A call takes 0.4 ms, therefore lists are passed in one call: answers as the JSON of their fields, partitions in the encoding of an assignment
of the consumer protocol (70,000 in 0.1 s). The fields are those of the pinned version.
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
# Long timeouts and slow retries; properties of the connection override them.
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
_LONGEST_WAIT_S = 300  # for one answer, whatever the connection's properties
_SECRET = re.compile(r"password|secret|jaas|token|credential|ssl\.keystore\.key", re.IGNORECASE)
_WITHIN = re.compile(r"\"([^\"]+)\"|'([^']+)'|=\s*([^\s\"';]+)")  # the values of a JAAS entry's options
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
    """The reason why a cluster did not answer a request; `kind` is the class of Kafka's exception."""

    def __init__(self, kind: str, message: str):
        super().__init__(f"{kind}: {message}" if message else kind)
        self.kind = kind

    @property
    def unsupported(self) -> bool:
        """Return whether the brokers' version does not have the request."""
        return self.kind == "UnsupportedVersionException"

    @property
    def timed_out(self) -> bool:
        """Return whether there was no answer in time, mostly because a broker is down."""
        return self.kind == "TimeoutException"

    @property
    def gone(self) -> bool:
        """Return whether the topic or group no longer exists."""
        return self.kind in ("UnknownTopicOrPartitionException", "GroupIdNotFoundException")


class JavaClient:
    """A running JVM with Kafka's client; java_client() starts and stops it."""

    def __init__(self, gateway: JavaGateway):
        self.gateway, self.jvm = gateway, gateway.jvm
        self.kafka = gateway.jvm.org.apache.kafka
        self._mapper = self._json_mapper()

    def properties(self, text: str) -> dict[str, str]:
        """Parse the text of a Java properties file."""
        found = self.jvm.java.util.Properties()
        try:
            found.load(self.jvm.java.io.StringReader(text))
        except Py4JJavaError as e:
            raise AuditError("the properties of the connection cannot be read: not a Java properties file") from e
        return {str(name): str(value) for name, value in found.items()}

    def json(self, answer: Any) -> Any:
        """Return an answer as the values of its fields."""
        return json.loads(self._mapper.writeValueAsString(answer))

    def partitions(self, by_topic: Mapping[str, Sequence[int]]) -> Any:
        """Return a Java list of TopicPartition."""
        # The Assignment of the consumer protocol, version 0: topics with their partitions, and no user data.
        encoded = [struct.pack(">hi", 0, len(by_topic))]
        for topic, partitions in by_topic.items():
            name = topic.encode()
            encoded.append(struct.pack(f">h{len(name)}si{len(partitions)}i", len(name), name, len(partitions), *partitions))
        encoded.append(struct.pack(">i", -1))
        protocol = self.kafka.clients.consumer.internals.ConsumerProtocol
        return protocol.deserializeAssignment(self.jvm.java.nio.ByteBuffer.wrap(b"".join(encoded))).partitions()

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
    """The Admin and a consumer without a group of one cluster; its properties appear in no message."""

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
        """Return a consumer of bytes that belongs to no group."""
        if self._consumer is None:
            bytes_ = self.client.kafka.common.serialization.ByteArrayDeserializer
            with self.answering():
                self._consumer = self.client.kafka.clients.consumer.KafkaConsumer(self._settings, bytes_(), bytes_())
        return self._consumer

    def get(self, future: Any) -> Any:
        """Return the result of a KafkaFuture."""
        with self.answering():
            return future.get(_LONGEST_WAIT_S, self.client.constant("java.util.concurrent.TimeUnit", "SECONDS"))

    def ask(self, node: Any, request: Any) -> Any:
        """Send one broker a request whose answer the Admin would shorten; returns the values of the answer's fields."""
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
        """Raise Java's exceptions as NotAnswered, without the secrets of the connection."""
        try:
            yield
        except Py4JJavaError as e:
            thrown = e.java_exception
            while (cause := thrown.getCause()) is not None:
                thrown = cause
            message = (thrown.getMessage() or "").strip().partition("\n")[0]
            for secret in self._secrets:
                message = message.replace(secret, "[hidden]")
            raise NotAnswered(thrown.getClass().getSimpleName(), message) from None  # Java's own text may contain them

    def close(self) -> None:
        soon = self.client.jvm.java.time.Duration.ofSeconds(1)
        self.admin.close(soon)
        if self._consumer is not None:
            self._consumer.close(soon)
        if self._network is not None:
            self._network.close()


@contextmanager
def java_client(login_jars: Sequence[str] = ()) -> Iterator[JavaClient]:
    """Start a JVM with Kafka's client, and stop it at the end; `login_jars` have login modules that the client lacks."""
    # Without a binding of SLF4J the client logs nothing, and py4j discards the output of the JVM.
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
    # After a Spark session, PySpark handles every py4j exception as one of its own JVM.
    spark_handler, java_gateway.get_return_value = java_gateway.get_return_value, protocol.get_return_value
    try:
        yield JavaClient(gateway)
    finally:
        java_gateway.get_return_value = spark_handler
        gateway.shutdown()
        process.stdin.close()
        process.wait()


def _secrets(properties: Mapping[str, str]) -> list[str]:
    """Return the values of a connection that no message may contain, the longest first."""
    whole = {value for name, value in properties.items() if _SECRET.search(name) and value}
    within = {part for value in whole for match in _WITHIN.findall(value) for part in match if part not in ("", "true", "false")}
    return sorted(whole | within, key=len, reverse=True)
