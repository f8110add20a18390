"""kafka-cluster list-endpoints --include-fenced-brokers: brokers, racks, and which brokers are fenced.

Printed by org.apache.kafka.tools.ClusterTool (4.0 on).

    ID         HOST      PORT       RACK   STATE      ENDPOINT_TYPE
    11         host1     9092       rack-a fenced     broker
    12         host2     9092       null   unfenced   broker

Without --include-fenced-brokers there is no STATE column, and all listed brokers are unfenced. Controllers have lines too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobs.ingest.dump import Dump, Parsed, Rejected, Unreadable, identifier, plain_text
from jobs.ingest.facts import BrokerHost, RegisteredBroker, RegisteredController
from jobs.ingest.precedence import Precedence

NAME = "kafka-cluster"
PRECEDENCE = Precedence.KAFKA_TOOL

_HEADER = re.compile(r"^ID\s{1,64}HOST\s{1,512}PORT\s{1,64}RACK\s{1,512}(?:STATE\s{1,64})?ENDPOINT_TYPE[ \t\r]*$", re.MULTILINE)
_NODE = re.compile(r"([0-9]+)\s{1,64}(\S+)\s{1,512}[0-9]+\s{1,64}(\S.*?)\s{1,512}(?:(fenced|unfenced)\s{1,64})?(broker|controller)\s{0,64}")


def recognises(dump: Dump) -> bool:
    """Return whether the dump contains the header of list-endpoints."""
    return _HEADER.search(dump.head) is not None


def parse(dump: Dump) -> Iterator[Parsed | Rejected]:
    """Yield a fact for each broker and each controller."""
    for number, line in dump.lines():
        if _HEADER.fullmatch(line):
            continue
        match = _NODE.fullmatch(line)
        try:
            if not match:
                raise Unreadable("not an endpoint line")
            node_id, host, rack, state, kind = match.groups()
            if kind == "controller":
                yield Parsed(number, line, RegisteredController(identifier(node_id, "ID")))
                continue
            broker_id, rack = identifier(node_id, "ID"), None if rack == "null" else plain_text(rack, "RACK")
            yield Parsed(number, line, RegisteredBroker(broker_id, rack, state == "fenced"))
            yield Parsed(number, line, BrokerHost(broker_id, plain_text(host, "HOST")), entries=0)
        except Unreadable as e:
            yield Rejected(number, line, str(e))
