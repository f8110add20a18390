"""A list of brokers and racks that an operator maintains: CSV with a header, or JSON.

    broker_id,rack,fenced        [{"broker_id": 1, "rack": "a", "host": "h1"}]        {"brokers": [{"id": 1, "rack": null, "fenced": true}]}
    1,a,false
    2,,                          (also under "nodes", as in Kafka's DescribeCluster)

An empty rack means that the broker has no rack; `fenced` and `host` may be missing. The delimiter is a comma, semicolon or tab. Fields with
other names are one rejected entry. A JSON document with partitions too is read by admin_client.py.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from jobs.ingest.dump import Dump, Parsed, Rejected, Unreadable, json_document
from jobs.ingest.formats import admin_client
from jobs.ingest.formats.admin_client import BROKER_FIELDS, BROKER_ID, FENCED, HOST, broker_facts
from jobs.ingest.precedence import Precedence

NAME = "broker-list"
PRECEDENCE = Precedence.KAFKA_TOOL


def recognises(dump: Dump) -> bool:
    """Return whether the CSV's header is the first line, or the JSON is a list of brokers."""
    return _csv_columns(dump) is not None or ('"rack"' in dump.head and _is_json_list(dump))


def parse(dump: Dump) -> Iterator[Parsed | Rejected]:
    """Yield a fact for each broker."""
    yield from _csv(dump, columns) if (columns := _csv_columns(dump)) else admin_client.parse(dump)


def _is_json_list(dump: Dump) -> bool:
    """Return whether the dump is a JSON list of brokers, or an object with one."""
    try:
        document, *_ = json_document(dump)
    except Unreadable:
        return False
    if isinstance(document, dict):
        document = next((document[key] for key in admin_client.BROKERS if key in document), None)
    return isinstance(document, list) and any(isinstance(broker, dict) and set(BROKER_ID) & set(broker) for broker in document)


class _Columns(NamedTuple):
    """The delimiter of a CSV, and the names of its columns in order."""

    delimiter: str
    names: list[str]


def _csv_columns(dump: Dump) -> _Columns | None:
    """Return the columns of a CSV; None: the first line is not a header with an id and a rack."""
    _, header = next(dump.lines(), (1, ""))
    for delimiter in (",", ";", "\t"):
        names = [name.strip(' "') for name in header.split(delimiter)]
        if "rack" in names and set(BROKER_ID) & set(names):
            return _Columns(delimiter, names)
    return None


def _csv(dump: Dump, columns: _Columns) -> Iterator[Parsed | Rejected]:
    indices = {name: index for index, name in reversed([*enumerate(columns.names)])}
    id_index = next(indices[name] for name in BROKER_ID if name in indices)
    fenced, host = (next((indices[name] for name in names if name in indices), None) for names in (FENCED, HOST))
    for number, line in islice(dump.lines(), 1, None):
        try:
            fields = [field.strip() for field in next(csv.reader([line], delimiter=columns.delimiter, strict=True))]
            optional = (None if index is None else fields[index] for index in (fenced, host))
            for position, fact in enumerate(broker_facts(fields[id_index], fields[indices["rack"]], *optional)):
                yield Parsed(number, line, fact, entries=int(position == 0))
        except IndexError:
            yield Rejected(number, line, "fewer columns than the header")
        except (Unreadable, csv.Error) as e:
            yield Rejected(number, line, str(e))
    if unknown := sorted({*columns.names} - BROKER_FIELDS):
        yield Rejected(1, unknown, f"unknown fields: {', '.join(unknown)}")
