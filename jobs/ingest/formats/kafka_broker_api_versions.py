"""kafka-broker-api-versions: brokers, racks and the kind of controller.

Printed by org.apache.kafka.tools.BrokerApiVersionsCommand, in earlier versions kafka.admin.BrokerApiVersionsCommand.

    host1:9092 (id: 1 rack: rack-a isFenced: false) -> (
        Produce(0): 0 to 13 [usable: 13],
        ...
    )
    host2:9092 (id: 2 rack: null isFenced: false) -> ERROR: org.apache.kafka.common.errors.DisconnectException

The brokers are those that the cluster lists. Only brokers of a ZooKeeper cluster serve LeaderAndIsr to a client, and only brokers of a KRaft
cluster DescribeQuorum. isFenced came with 4.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobs.ingest.dump import Dump, Parsed, Rejected, Unreadable, identifier, plain_text
from jobs.ingest.facts import BrokerHost, ControllerKind, RegisteredBroker
from jobs.ingest.precedence import Precedence

NAME = "kafka-broker-api-versions"
PRECEDENCE = Precedence.KAFKA_TOOL

_BROKER = re.compile(r"(\S+):[0-9]+ \(id: ([0-9]+) rack: (.*?)(?: isFenced: (true|false))?\) -> (?:\(.*|ERROR: .*)")
_API = re.compile(r"\s{0,64}([A-Za-z0-9_]+)\([0-9]+\): (.*?),?\s{0,64}")
_KNOWN_BY = re.compile(r"^\S+:[0-9]+ \(id: [0-9]+ rack: .*\) -> ", re.MULTILINE)
_KIND_OF_API = {"LeaderAndIsr": "zookeeper", "DescribeQuorum": "kraft"}


def recognises(dump: Dump) -> bool:
    """Return whether the dump contains a broker line."""
    return _KNOWN_BY.search(dump.head) is not None


def parse(dump: Dump) -> Iterator[Parsed | Rejected]:
    """Yield a fact for each broker, and one for the kind of controller."""
    kinds = dict(_KIND_OF_API)
    for number, line in dump.lines():
        try:
            if match := _BROKER.fullmatch(line):
                host, broker_id, printed_rack, fenced = match.groups()
                rack = None if printed_rack == "null" else plain_text(printed_rack, "rack")
                yield Parsed(number, line, RegisteredBroker(identifier(broker_id, "id"), rack, fenced == "true"))
                yield Parsed(number, line, BrokerHost(int(broker_id), plain_text(host, "the host")), entries=0)
            elif match := _API.fullmatch(line):
                kind = kinds.pop(match[1], None) if "[usable: " in match[2] else None
                yield Parsed(number, line, kind and ControllerKind(kind))
            elif line.strip() != ")":
                yield Rejected(number, line, "neither a broker line nor an API line")
        except Unreadable as e:
            yield Rejected(number, line, str(e))
