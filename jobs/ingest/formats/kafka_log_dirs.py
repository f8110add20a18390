"""kafka-log-dirs --describe: the log dirs of each broker, and the logs of partitions in them.

Printed by kafka.admin.LogDirsCommand (1.0 to 3.5) and org.apache.kafka.tools.LogDirsCommand (3.6 on).

    Querying brokers for log directories information
    Received log directory information from brokers 1,2,3
    {"brokers":[{"broker":1,"logDirs":[{"partitions":[{"partition":"orders-0","size":5389,"offsetLag":0,"isFuture":false}],
    "error":null,"logDir":"/var/lib/kafka/data1"}]}],"version":1}

An entry is a broker, a log dir, or a partition's log. In `orders-0` the last dash separates topic and partition. Brokers that are down are
missing. An offsetLag of -1 is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from jobs.ingest import replica_logs
from jobs.ingest.dump import Dump, Parsed, Rejected, Unreadable, identifier, json_document, plain_text, topic_name, whole_number
from jobs.ingest.facts import LogDirLine, LogDirsAnswer, ReplicaOnDisk
from jobs.ingest.precedence import Precedence
from jobs.ingest.replica_logs import ReplicaLogs

NAME = "kafka-log-dirs"
PRECEDENCE = Precedence.KAFKA_TOOL

_id = lru_cache(1 << 12)(identifier)  # a document contains the same partition ids many times
_KNOWN_BY = re.compile(r'"logDirs"\s*:\s*\[\s*[{\]]|^Received log directory information from brokers ', re.MULTILINE)
_MESSAGES = ("Querying brokers for log directories information", "Received log directory information from brokers ")


def recognises(dump: Dump) -> bool:
    """Return whether the dump contains a message of the tool or its JSON."""
    return _KNOWN_BY.search(dump.head) is not None


def parse(dump: Dump) -> Iterator[Parsed | Rejected]:
    """Yield a fact for each log dir and each partition's log."""
    document, line, surrounding = json_document(dump)
    for number, text in surrounding:
        if not text.startswith(_MESSAGES):
            yield Rejected(number, text, "neither a message of the tool nor its JSON")
    brokers = document.get("brokers") if isinstance(document, dict) else None
    if not isinstance(brokers, list):
        yield Rejected(line, document, "brokers is not a list")
        return
    for broker in brokers:
        yield from _broker(broker, line)


def parse_columns(dump: Dump) -> tuple[list[Parsed | Rejected], dict[str, ReplicaLogs]] | None:
    """Parse the logs of a large document into columns; None if the document is not exactly as the tool prints it."""
    data, line, start = dump.data, 1, 0
    while data.startswith(tuple(message.encode() for message in _MESSAGES), start) and (newline := data.find(b"\n", start)) >= 0:
        line, start = line + 1, newline + 1
    if not data.startswith(b"{", start) or (logs := replica_logs.read(data, data[start:])) is None:
        return None
    return [Parsed(line, None, fact) for fact in (*logs.answers, *logs.log_dirs)], {"logs": logs}


def _broker(broker: Any, line: int) -> Iterator[Parsed | Rejected]:
    try:
        broker_id = identifier(broker["broker"], "broker")
        log_dirs = _list(broker["logDirs"], "logDirs")
    except (Unreadable, KeyError, TypeError) as e:
        yield Rejected(line, broker, _why(e))
        return
    yield Parsed(line, broker, LogDirsAnswer(broker_id))
    for log_dir in log_dirs:
        try:
            name = plain_text(log_dir["logDir"], "logDir")
            error = None if log_dir.get("error") is None else plain_text(log_dir["error"], "error")
            partitions = _list(log_dir["partitions"], "partitions")
        except (Unreadable, KeyError, TypeError, AttributeError) as e:
            yield Rejected(line, log_dir, _why(e))
            continue
        yield Parsed(line, log_dir, LogDirLine(broker_id, name, error))
        for log in partitions:
            try:
                yield Parsed(line, log, _replica(log, broker_id, name))
            except (Unreadable, KeyError, TypeError) as e:
                yield Rejected(line, log, _why(e))


def _replica(log: Any, broker_id: int, log_dir: str) -> ReplicaOnDisk:
    topic, _, partition = plain_text(log["partition"], "partition").rpartition("-")
    lag = whole_number(log["offsetLag"], "offsetLag", least=-(2**63))
    future = log["isFuture"]
    if not isinstance(future, bool):
        raise Unreadable("isFuture is neither true nor false")
    return ReplicaOnDisk(
        broker_id,
        topic_name(topic),
        _id(partition, "partition"),
        future,
        log_dir,
        whole_number(log["size"], "size"),
        None if lag == -1 else lag,
    )


def _list(value: Any, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise Unreadable(f"{name} is not a list")
    return value


def _why(e: Exception) -> str:
    return (
        f"{e.args[0]} is missing"
        if isinstance(e, KeyError)
        else str(e)
        if isinstance(e, Unreadable)
        else "not a JSON object with these fields"
    )
