"""A list of brokers and racks that an operator maintains: CSV with a header, or JSON.

    broker_id,rack        [{"broker_id": 1, "rack": "a"}]        {"brokers": [{"id": 1, "rack": null}]}
    1,a
    2,                    (also under "nodes", as in Kafka's DescribeCluster)

An empty rack means that the broker has no rack. The delimiter is a comma, semicolon or tab.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import islice
from typing import Any

from jobs.ingest.dump import Dump, Parsed, Rejected, Unreadable, identifier, json_document, plain_text
from jobs.ingest.facts import ListedBroker
from jobs.ingest.precedence import Precedence

NAME = "broker-list"
PRECEDENCE = Precedence.KAFKA_TOOL

_ID_KEYS = ("broker_id", "brokerId", "broker.id", "broker", "id", "node_id", "nodeId", "node.id")
_LIST_KEYS = ("brokers", "nodes")


def recognises(dump: Dump) -> bool:
    """Return whether the CSV's header is the first line, or the JSON is a list of brokers."""
    return _csv_columns(dump) is not None or ('"rack"' in dump.head and _json_brokers(dump) is not None)


def parse(dump: Dump) -> Iterator[Parsed | Rejected]:
    """Yield a fact for each broker."""
    yield from _csv(dump, *columns) if (columns := _csv_columns(dump)) else _json(dump)


def _json(dump: Dump) -> Iterator[Parsed | Rejected]:
    document = _json_brokers(dump)
    assert document is not None  # recognises() has checked this
    brokers, line, surrounding = document
    for number, text in surrounding:
        yield Rejected(number, text, "outside the JSON document")
    for broker in brokers:
        try:
            yield Parsed(line, broker, _listed(next((broker[key] for key in _ID_KEYS if key in broker), None), broker.get("rack")))
        except (Unreadable, TypeError, AttributeError) as e:
            yield Rejected(line, broker, str(e) if isinstance(e, Unreadable) else "not a JSON object")


def _json_brokers(dump: Dump) -> tuple[list[Any], int, list[tuple[int, str]]] | None:
    try:
        document, line, surrounding = json_document(dump)
    except Unreadable:
        return None
    if isinstance(document, dict):
        document = next((document[key] for key in _LIST_KEYS if key in document), None)
    if isinstance(document, list) and any(isinstance(broker, dict) and set(_ID_KEYS) & set(broker) for broker in document):
        return document, line, surrounding
    return None


def _csv_columns(dump: Dump) -> tuple[str, int, int] | None:
    """Return the delimiter of a CSV, and the indices of its id and rack columns; None: the first line is not such a header."""
    _, header = next(dump.lines(), (1, ""))
    for delimiter in (",", ";", "\t"):
        names = [name.strip(' "') for name in header.split(delimiter)]
        ids = [names.index(key) for key in _ID_KEYS if key in names]
        if ids and "rack" in names:
            return delimiter, ids[0], names.index("rack")
    return None


def _csv(dump: Dump, delimiter: str, broker_id: int, rack: int) -> Iterator[Parsed | Rejected]:
    for number, line in islice(dump.lines(), 1, None):
        try:
            fields = next(csv.reader([line], delimiter=delimiter, strict=True))
            yield Parsed(number, line, _listed(fields[broker_id].strip(), fields[rack].strip()))
        except IndexError:
            yield Rejected(number, line, "fewer columns than the header")
        except (Unreadable, csv.Error) as e:
            yield Rejected(number, line, str(e))


def _listed(broker_id: object, rack: object) -> ListedBroker:
    return ListedBroker(identifier(broker_id, "the broker's id"), None if rack in (None, "") else plain_text(rack, "rack"))
