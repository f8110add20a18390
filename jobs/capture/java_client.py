"""Kafka's own Java client in a second JVM. Its Admin sends the requests, and Jackson converts the results to JSON.

Only this client has every request. confluent-kafka (2.16) lacks log dirs, reassignments, eligible leader replicas, the quorum, features and
share groups. kafka-python (3.0) lacks share groups, and reads neither a Java keystore nor the login modules that a client.properties may
name. Java and py4j, which calls the JVM, are needed for Spark anyway.

A py4j call takes 0.4 ms, so lists are passed in one call: results as the JSON of their fields, and partitions in the encoding of an assignment
of the consumer protocol (70,000 in 0.1 s). The names of the fields are those of the pinned version.
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
_MAX_WAIT_S = 300  # for one result, independent of the connection's properties
_SECRET = re.compile(r"password|secret|jaas|token|credential|ssl\.keystore\.key", re.IGNORECASE)
_JAAS_VALUE = re.compile(r"\"([^\"]+)\"|'([^']+)'|=\s*([^\s\"';]+)")  # the value of an option in a JAAS entry
_IGNORED_FIELDS = {
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


class RequestFailed(Exception):
    """A request failed. `kind` is the class of Kafka's exception."""

    def __init__(self, kind: str, message: str):
        super().__init__(f"{kind}: {message}" if message else kind)
        self.kind = kind

    @property
    def unsupported(self) -> bool:
        """Return whether the brokers' version does not support the request."""
        return self.kind == "UnsupportedVersionException"

    @property
    def timed_out(self) -> bool:
        """Return whether the request timed out, usually because a broker is down."""
        return self.kind == "TimeoutException"

    @property
    def resource_deleted(self) -> bool:
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
        properties = self.jvm.java.util.Properties()
        try:
            properties.load(self.jvm.java.io.StringReader(text))
        except Py4JJavaError as e:
            raise AuditError("the properties of the connection cannot be read: not a Java properties file") from e
        return {str(name): str(value) for name, value in properties.items()}

    def json(self, result: Any) -> Any:
        """Convert a Java object to the values of its fields."""
        return json.loads(self._mapper.writeValueAsString(result))

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
        for name, fields in _IGNORED_FIELDS.items():
            mapper.configOverride(self.java_class(name)).setIgnorals(ignoring.forIgnoredProperties(self.jvm.java.util.HashSet(fields)))
        return mapper


class Connection:
    """An Admin of one cluster, and a consumer without a group. No error message contains a secret of the properties."""

    def __init__(self, client: JavaClient, properties: Mapping[str, str]):
        self.client = client
        self._secrets = _secrets(properties)
        self._settings = client.jvm.java.util.HashMap({**_SETTINGS, **properties})
        self._consumer: Any = None
        self._network: Any = None
        with self.translated_errors():
            self.admin = client.kafka.clients.admin.Admin.create(self._settings)

    @property
    def consumer(self) -> Any:
        """Return a consumer of bytes that belongs to no group."""
        if self._consumer is None:
            bytes_ = self.client.kafka.common.serialization.ByteArrayDeserializer
            with self.translated_errors():
                self._consumer = self.client.kafka.clients.consumer.KafkaConsumer(self._settings, bytes_(), bytes_())
        return self._consumer

    def get(self, future: Any) -> Any:
        """Return the result of a KafkaFuture."""
        with self.translated_errors():
            return future.get(_MAX_WAIT_S, self.client.constant("java.util.concurrent.TimeUnit", "SECONDS"))

    def send(self, node: Any, request: Any) -> Any:
        """Send a request to one broker and return all fields of its response. The Admin client leaves some of them out."""
        kafka = self.client.kafka
        time, network = kafka.common.utils.Time.SYSTEM, kafka.clients.NetworkClientUtils
        with self.translated_errors():
            if self._network is None:
                self._network = self._network_client()
            if not network.awaitReady(self._network, node, time, self._request_timeout_ms):
                raise RequestFailed("TimeoutException", f"no connection to broker {node.id()}")
            client_request = self._network.newClientRequest(node.idString(), request, time.milliseconds(), True)
            response = network.sendAndReceive(self._network, client_request, time)
            if response.versionMismatch() is not None:
                raise RequestFailed("UnsupportedVersionException", f"broker {node.id()} does not support the request")
            return self.client.json(response.responseBody().data())

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
    def translated_errors(self) -> Iterator[None]:
        """Raise Java's exceptions as RequestFailed, without the secrets of the connection."""
        try:
            yield
        except Py4JJavaError as e:
            exception = e.java_exception
            while (cause := exception.getCause()) is not None:
                exception = cause
            message = (exception.getMessage() or "").strip().partition("\n")[0]
            for secret in self._secrets:
                message = message.replace(secret, "[hidden]")
            raise RequestFailed(exception.getClass().getSimpleName(), message) from None  # the Java exception may contain secrets

    def close(self) -> None:
        timeout = self.client.jvm.java.time.Duration.ofSeconds(1)
        self.admin.close(timeout)
        if self._consumer is not None:
            self._consumer.close(timeout)
        if self._network is not None:
            self._network.close()


@contextmanager
def java_client(login_jars: Sequence[str] = ()) -> Iterator[JavaClient]:
    """Start a JVM with Kafka's client, and stop it at the end. `login_jars` contain login modules that the client lacks."""
    # The client logs nothing without a binding of SLF4J, and py4j discards the output of the JVM.
    # At level DEBUG, py4j would log every call with its arguments.
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
    # PySpark replaces py4j's function for return values; its version takes every exception for one of Spark's JVM.
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
    secrets = {value for name, value in properties.items() if _SECRET.search(name) and value}
    parts = {part for value in secrets for match in _JAAS_VALUE.findall(value) for part in match if part not in ("", "true", "false")}
    return sorted(secrets | parts, key=len, reverse=True)
