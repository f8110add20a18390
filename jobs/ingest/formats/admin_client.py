"""Brokers, topics and partitions as JSON, under the names that Admin clients use (Java, confluent-kafka, kafka-python).

    {"cluster_id": "63eIrtAWRcG4BFVcy6dPyA", "brokers": [{"id": 1, "host": "h", "port": 9092, "rack": "a", "fenced": false}],
     "topics": [{"name": "t", "topic_id": "8e0987b2-09e0-45d3-a95f-c34b5753100e", "configs": {"retention.ms": "1000"},
                 "partitions": [{"partition": 0, "leader": 1, "replicas": [1, 2], "isr": [1], "elr": [2]}]}]}

    [{"topic": "t", "partition": 0, "leader": {"id": 1}, "replicas": [{"id": 1}], "isr": [{"id": 1}]}]

`topics` is a list or an object by name, `partitions` a list or an object by number, of each topic or of the whole document. A node is an id or
an object with one. Leader -1 means no leader. The controller is skipped: with KRaft, DescribeCluster names any live broker. Fields with other
names are one rejected entry.
"""

from __future__ import annotations

import base64
import contextlib
import re
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from jobs.ingest.dump import Dump, Parsed, Rejected, Unreadable, broker_ids, config_value, identifier, json_document, plain_text, topic_name
from jobs.ingest.facts import BrokerHost, Fact, KafkaClusterId, ListedBroker, PartitionLine, TopicLine
from jobs.ingest.precedence import Precedence

NAME = "admin-client"
PRECEDENCE = Precedence.KAFKA_TOOL

_REPLICAS, _LEADER = ("replicas", "replica_nodes", "replicaNodes"), ("leader", "leader_id", "leaderId")
_ISR = ("isr", "isrs", "isr_nodes", "isrNodes", "in_sync_replicas", "inSyncReplicas")
_KNOWN_BY = re.compile(rf'"(?:{"|".join((*_REPLICAS, *_LEADER, *_ISR))})"\s{{0,9}}:')
BROKER_ID = ("broker_id", "brokerId", "broker.id", "broker", "id", "node_id", "nodeId", "node.id")
FENCED, HOST = ("fenced", "is_fenced", "isFenced"), ("host", "hostname")
_TOPIC, _TOPIC_ID, _CONFIGS = ("topic", "name", "topic_name", "topicName"), ("topic_id", "topicId", "id"), ("configs", "config")
_PARTITION = ("partition", "partition_id", "partitionId", "partition_index", "partitionIndex", "id")
_ELR = ("elr", "eligible_leader_replicas", "eligibleLeaderReplicas")
_LAST_KNOWN_ELR = ("last_known_elr", "lastKnownElr", "last_known_eligible_leader_replicas")
_ADDING, _REMOVING = ("adding_replicas", "addingReplicas"), ("removing_replicas", "removingReplicas")
_ERROR = ("error_code", "errorCode", "error")
BROKERS, _CLUSTER_ID, _CLUSTER = ("brokers", "nodes"), ("cluster_id", "clusterId"), ("cluster", "describe_cluster")
# Fields that state nothing that a table has.
_SKIPPED = frozenset(
    {"port", "version", "controller", "controller_id", "controllerId", "authorized_operations", "authorizedOperations"}
    | {"internal", "is_internal", "isInternal", "leader_epoch", "leaderEpoch", "offline_replicas", "offlineReplicas"}
)
BROKER_FIELDS = frozenset({*BROKER_ID, "rack", *FENCED, *HOST, *_SKIPPED})
_TOPIC_FIELDS = frozenset({*_TOPIC, *_TOPIC_ID, *_CONFIGS, *_ERROR, *_SKIPPED, "partitions"})
_PARTITION_FIELDS = frozenset(
    {*_TOPIC, *_PARTITION, *_LEADER, *_REPLICAS, *_ISR, *_ELR, *_LAST_KNOWN_ELR, *_ADDING, *_REMOVING, *_ERROR, *_SKIPPED}
)
_DOCUMENT_FIELDS = frozenset({*BROKERS, *_CLUSTER_ID, *_CLUSTER, *_SKIPPED, "topics", "partitions"})
_NO_UUID = "AAAAAAAAAAAAAAAAAAAAAA"
Entries = Iterator[Parsed | Rejected]


def recognises(dump: Dump) -> bool:
    """Return whether the dump is a JSON document with partitions."""
    if not _KNOWN_BY.search(dump.head):
        return False
    try:
        document, *_ = json_document(dump)
    except Unreadable:
        return False
    return _is_partition_list(document) or (isinstance(document, dict) and bool(document.keys() & {"topics", "partitions"}))


def _is_partition_list(document: Any) -> bool:
    """Return whether a JSON list contains topics with partitions, or partitions."""
    first = document[0] if isinstance(document, list) and document else None
    return isinstance(first, dict) and ("partitions" in first or bool(first.keys() & {*_REPLICAS, *_ISR}))


def parse(dump: Dump) -> Entries:
    """Yield a fact for each broker, topic and partition."""
    document, line, surrounding = json_document(dump)
    for number, text in surrounding:
        yield Rejected(number, text, "outside the JSON document")
    yield from _Document(line).entries(document)


class _Document:
    """A JSON document: the line where it starts, and the unknown fields found so far."""

    def __init__(self, line: int) -> None:
        self.line = line
        self.unknown: set[str] = set()

    def entries(self, document: Any) -> Entries:
        """Yield all entries, and one for the unknown fields."""
        if _is_partition_list(document):
            yield from self._partitions_of(None, document)
        else:
            yield from self._cluster({"brokers": document} if isinstance(document, list) else document)
        if self.unknown:
            yield Rejected(self.line, sorted(self.unknown), f"unknown fields: {', '.join(sorted(self.unknown))}")

    def _cluster(self, document: Any) -> Entries:
        if not isinstance(document, dict):
            yield Rejected(self.line, document, "not a JSON object")
            return
        description = _first(document, _CLUSTER)
        if isinstance(description, dict):
            document = _with_description(document, description)
        elif description is not None:
            yield Rejected(self.line, description, "not a JSON object")
        self._check_fields("document", document, _DOCUMENT_FIELDS)
        for name in (*BROKERS, "topics", "partitions"):
            if not isinstance(document.get(name), list | dict | None):
                yield Rejected(self.line, {name: document[name]}, f"{name} is neither a list nor an object")
        if (cluster_id := _first(document, _CLUSTER_ID)) is not None:
            yield self._entry({"cluster_id": cluster_id}, lambda: KafkaClusterId(plain_text(cluster_id, "cluster_id")))
        for broker in _elements(_first(document, BROKERS), "id"):
            if isinstance(broker, dict):
                self._check_fields("broker", broker, BROKER_FIELDS)
            yield from _broker_entries(self.line, broker)
        yield from self._topics(document.get("topics"))
        yield from self._partitions_of(None, document.get("partitions"))

    def _topics(self, topics: Any) -> Entries:
        if isinstance(topics, dict):
            topics = [
                {"name": name, **value} if isinstance(value, dict) and "partitions" in value else {"name": name, "partitions": value}
                for name, value in topics.items()
            ]
        for topic in topics if isinstance(topics, list) else ():
            yield from self._topic(topic)

    def _topic(self, topic: Any) -> Entries:
        if not isinstance(topic, dict):
            yield Rejected(self.line, topic, "not a topic with partitions")
            return
        self._check_fields("topic", topic, _TOPIC_FIELDS)
        entry = {name: value for name, value in topic.items() if name != "partitions"}
        partitions = list(_elements(topic.get("partitions"), "partition"))
        try:
            fact = _topic_line(topic, partitions)
        except Unreadable as e:
            yield Rejected(self.line, topic, str(e))  # with its partitions
            return
        yield Parsed(self.line, entry, fact)
        yield from self._partitions_of(fact.topic, partitions)

    def _partitions_of(self, topic: str | None, partitions: Any) -> Entries:
        """Yield the partitions of a topic; of the whole document if `topic` is None, which may also be a list of topics."""
        for partition in _elements(partitions, "partition"):
            if topic is None and isinstance(partition, dict) and "partitions" in partition:
                yield from self._topic(partition)
                continue
            if isinstance(partition, dict):
                self._check_fields("partition", partition, _PARTITION_FIELDS)
            yield self._entry(
                partition if topic is None else {"topic": topic, "partition": partition},
                lambda partition=partition: _partition_line(topic, partition),
            )

    def _entry(self, entry: Any, parse_fact: Any) -> Parsed | Rejected:
        try:
            return Parsed(self.line, entry, parse_fact())
        except Unreadable as e:
            return Rejected(self.line, entry, str(e))

    def _check_fields(self, kind: str, fields: dict[str, Any], known: frozenset[str]) -> None:
        self.unknown |= {f"{name} of a {kind}" for name in fields.keys() - known}


def _with_description(document: dict[str, Any], description: dict[str, Any]) -> dict[str, Any]:
    """Return the document with the fields of its description of the cluster, and one object for a broker that both have."""
    document = {name: value for name, value in document.items() if name not in _CLUSTER}
    described, listed = ([*_elements(_first(part, BROKERS), "id")] for part in (description, document))
    brokers = [broker for broker in described if not any(_agree(broker, other) for other in listed)]
    for broker in listed:
        same = next((other for other in described if _agree(broker, other)), {})
        brokers.append(broker | {name: value for name, value in same.items() if value is not None} if same else broker)
    merged = {**description, **document, BROKERS[0]: brokers}
    return {name: value for name, value in merged.items() if name not in BROKERS[1:]}


def _agree(broker: Any, other: Any) -> bool:
    """Return whether two objects describe the same broker, and have the same rack and state as far as both are known."""
    if not (isinstance(broker, dict) and isinstance(other, dict)) or _first(broker, BROKER_ID) != _first(other, BROKER_ID):
        return False
    pairs = [(_first(broker, names), _first(other, names)) for names in (("rack",), FENCED)]
    return all(None in pair or pair[0] == pair[1] for pair in pairs)


def _broker_entries(line: int, broker: Any) -> Entries:
    """Yield the facts that a broker's JSON object states."""
    try:
        if not isinstance(broker, dict):
            raise Unreadable("not a JSON object")
        facts = broker_facts(_first(broker, BROKER_ID), broker.get("rack"), _first(broker, FENCED), _first(broker, HOST))
    except Unreadable as e:
        yield Rejected(line, broker, str(e))
        return
    for index, fact in enumerate(facts):
        yield Parsed(line, broker, fact, entries=int(index == 0))


def broker_facts(broker_id: Any, rack: Any, fenced: Any, host: Any) -> list[Fact]:
    """Return the facts about a broker; an empty rack is none, and an empty `fenced` or host is unknown. A port is no part of a host."""
    states = {None: None, "": None, "true": True, "false": False}
    if isinstance(fenced, str | None):
        fenced = states.get(fenced if fenced is None else fenced.lower(), fenced)
    if not isinstance(fenced, bool | None):
        raise Unreadable("fenced is neither true nor false")
    number = identifier(broker_id, "the broker's id")
    facts: list[Fact] = [ListedBroker(number, None if rack in (None, "") else plain_text(rack, "rack"), fenced)]
    if host not in (None, ""):
        name, _, port = plain_text(host, "host").rpartition(":")
        facts.append(BrokerHost(number, name if name and ":" not in name and port.isdecimal() else host))
    return facts


def _topic_line(topic: dict[str, Any], partitions: Sequence[Any]) -> TopicLine:
    _raise_error(topic)
    name = _first(topic, _TOPIC)
    configs = _first(topic, _CONFIGS)
    if not isinstance(configs, dict | None):
        raise Unreadable("configs is not a JSON object")
    texts = {key: str(value).lower() if isinstance(value, bool | int | float) else value for key, value in (configs or {}).items()}
    first = next((partition for partition in partitions if isinstance(partition, dict) and _first(partition, _PARTITION) in (0, "0")), {})
    replicas = _first(first, _REPLICAS)
    return TopicLine(
        topic_name(name if isinstance(name, str) else None),
        _topic_id(_first(topic, _TOPIC_ID)),
        len(partitions),
        len(replicas) if isinstance(replicas, list) else 0,
        {key: config_value(key, value) for key, value in texts.items() if value is not None},
    )


def _topic_id(value: Any) -> str | None:
    """Return a topic id as Kafka prints it, also from the usual form of a UUID."""
    if value in (None, ""):
        return None
    text = plain_text(value, "the topic's id")
    with contextlib.suppress(ValueError):
        text = base64.urlsafe_b64encode(uuid.UUID(text).bytes).decode().rstrip("=")
    return None if text == _NO_UUID else text


def _partition_line(topic: str | None, partition: Any) -> PartitionLine:
    if not isinstance(partition, dict):
        raise Unreadable("not a JSON object")
    _raise_error(partition)
    name = _first(partition, _TOPIC) if topic is None else topic
    leader = _node_id(_first(partition, _LEADER))
    replicas, isr = (broker_ids(_node_ids(_first(partition, names)), names[0]) for names in (_REPLICAS, _ISR))
    if not replicas:
        raise Unreadable("replicas is empty")
    values = (_first(partition, names) for names in (_ELR, _LAST_KNOWN_ELR, _ADDING, _REMOVING))
    names = ("elr", "last_known_elr", "adding_replicas", "removing_replicas")
    return PartitionLine(
        topic_name(name if isinstance(name, str) else None),
        identifier(_first(partition, _PARTITION), "partition"),
        None if leader in (None, -1) else identifier(leader, "leader"),
        replicas,
        isr,
        *(None if value is None else broker_ids(_node_ids(value), name) for name, value in zip(names, values, strict=True)),
    )


def _raise_error(entry: dict[str, Any]) -> None:
    error = _first(entry, _ERROR)
    if error not in (None, 0, "", "NONE"):
        raise Unreadable(f"the cluster reported error {error}")


def _first(fields: dict[str, Any], names: Sequence[str]) -> Any:
    """Return the first of the named fields that is not null."""
    return next((fields[name] for name in names if fields.get(name) is not None), None)


def _elements(value: Any, key: str) -> Iterator[Any]:
    """Yield the elements of a list, or the values of an object, with their name in the object as the field `key`."""
    if isinstance(value, dict):
        value = [{key: name, **element} if isinstance(element, dict) else element for name, element in value.items()]
    yield from value if isinstance(value, list) else ()


def _node_id(node: Any) -> Any:
    return _first(node, BROKER_ID) if isinstance(node, dict) else node


def _node_ids(nodes: Any) -> Any:
    return [_node_id(node) for node in nodes] if isinstance(nodes, list) else nodes
