"""kcat -L -J: brokers, topics and partitions from librdkafka's metadata request (kcat 1.7, json.c).

    {"originating_broker":{"id":1,"name":"h:9092/1"},"query":{"topic":"*"},"controllerid":1,"brokers":[{"id":1,"name":"h:9092"}],
     "topics":[{"topic":"t","partitions":[{"partition":0,"leader":1,"replicas":[{"id":1}],"isrs":[{"id":1}]}]}]}

An entry is a broker, a topic or a partition. Leader -1 means no leader. Racks and configs are missing; only live brokers are listed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from jobs.ingest.dump import Dump, Parsed, Rejected, Unreadable, broker_ids, identifier, json_document, plain_text, topic_name
from jobs.ingest.facts import BrokerHost, ListedBroker, PartitionLine
from jobs.ingest.precedence import Precedence

NAME = "kcat"
PRECEDENCE = Precedence.KCAT

_HOST = re.compile(r"(.{1,255}):[0-9]{1,5}")
_KNOWN_BY = re.compile(r'"originating_broker"\s{0,9}:\s{0,9}\{')


def recognises(dump: Dump) -> bool:
    """Return whether the dump contains the originating broker, which only kcat prints."""
    return _KNOWN_BY.search(dump.head) is not None


def parse(dump: Dump) -> Iterator[Parsed | Rejected]:
    """Yield a fact for each broker and each partition."""
    document, line, surrounding = json_document(dump)
    for number, text in surrounding:
        yield Rejected(number, text, "outside the JSON document")
    for broker in _list(document, "brokers"):
        try:
            broker_id = identifier(_field(broker, "id"), "id")
            yield Parsed(line, broker, ListedBroker(broker_id, None))
            if host := _HOST.fullmatch(_text(broker.get("name")) or ""):
                yield Parsed(line, broker, BrokerHost(broker_id, plain_text(host[1], "name")), entries=0)
        except Unreadable as e:
            yield Rejected(line, broker, str(e))
    for topic in _list(document, "topics"):
        try:
            name = topic_name(_text(_field(topic, "topic")))
            if topic.get("error"):
                raise Unreadable(f"kcat reports an error for the topic: {topic['error']}")
            yield Parsed(line, name, None)
        except Unreadable as e:
            yield Rejected(line, topic, str(e))
            continue
        for partition in _list(topic, "partitions"):
            try:
                yield Parsed(line, {"topic": name, **_object(partition)}, _partition(name, partition))
            except Unreadable as e:
                yield Rejected(line, {"topic": name, "partition": partition}, str(e))


def _partition(topic: str, partition: Any) -> PartitionLine:
    leader = _field(partition, "leader")
    replicas, isr = (broker_ids([_field(broker, "id") for broker in _list(partition, name)], name) for name in ("replicas", "isrs"))
    if not replicas:
        raise Unreadable("replicas is empty")
    return PartitionLine(
        topic,
        identifier(_field(partition, "partition"), "partition"),
        None if leader == -1 else identifier(leader, "leader"),
        replicas,
        isr,
        None,
        None,
        None,
        None,
    )


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Unreadable("not a JSON object")
    return value


def _field(value: Any, name: str) -> Any:
    if name not in _object(value):
        raise Unreadable(f"{name} is missing")
    return value[name]


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _list(value: Any, name: str) -> list[Any]:
    items = value.get(name) if isinstance(value, dict) else None
    return items if isinstance(items, list) else []
