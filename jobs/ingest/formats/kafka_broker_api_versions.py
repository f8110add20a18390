"""kafka-broker-api-versions (kafka.admin.BrokerApiVersionsCommand, org.apache.kafka.tools.BrokerApiVersionsCommand): brokers and racks.

    host1:9092 (id: 1 rack: rack-a isFenced: false) -> (
        Produce(0): 0 to 13 [usable: 13],
        ...
    )
    host2:9092 (id: 2 rack: null isFenced: false) -> ERROR: org.apache.kafka.common.errors.DisconnectException

The brokers are those that the cluster lists. Only ZooKeeper's brokers serve LeaderAndIsr to a client, only KRaft's DescribeQuorum.
isFenced came with 4.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobs.ingest.dump import Dump, Rejected, Told, Unreadable, identifier, plain_text
from jobs.ingest.facts import BrokerSeen, ControllerSign

NAME = "kafka-broker-api-versions"

_BROKER = re.compile(r"\S+:[0-9]+ \(id: ([0-9]+) rack: (.*?)(?: isFenced: (true|false))?\) -> (?:\(.*|ERROR: .*)")
_API = re.compile(r"\s{0,64}([A-Za-z0-9_]+)\([0-9]+\): (.*?),?\s{0,64}")
_KNOWN_BY = re.compile(r"^\S+:[0-9]+ \(id: [0-9]+ rack: .*\) -> ", re.MULTILINE)
_SIGNS = {"LeaderAndIsr": "zookeeper", "DescribeQuorum": "kraft"}


def recognises(dump: Dump) -> bool:
    """Whether the line of a broker is there."""
    return _KNOWN_BY.search(dump.head) is not None


def parse(dump: Dump) -> Iterator[Told | Rejected]:
    """A fact for each broker, and one for the first sign of its controller."""
    signs = dict(_SIGNS)
    for number, line in dump.lines():
        try:
            if match := _BROKER.fullmatch(line):
                rack = None if match[2] == "null" else plain_text(match[2], "rack")
                yield Told(number, line, BrokerSeen(identifier(match[1], "id"), rack, match[3] == "true"))
            elif match := _API.fullmatch(line):
                sign = signs.pop(match[1], None) if "[usable: " in match[2] else None
                yield Told(number, line, sign and ControllerSign(sign))
            elif line.strip() != ")":
                yield Rejected(number, line, "neither the line of a broker nor that of an API")
        except Unreadable as e:
            yield Rejected(number, line, str(e))
