"""Cruise Control's REST answers: cluster state, broker load and partition load.

They come from `kafka_cluster_state?json=true&verbose=true`, `load?json=true` and `partition_load?json=true` (KafkaClusterState, BrokerStats,
PartitionLoadState).

    {"KafkaPartitionState": {"offline": [], "urp": [...], "with-offline-replicas": [], "under-min-isr": [],
       "other": [{"topic": "t", "partition": 0, "leader": 1, "replicas": [1, 2], "in-sync": [1], "out-of-sync": [2], "offline": []}]},
     "KafkaBrokerState": {"LeaderCountByBrokerId": {"1": 7}, "OnlineLogDirsByBrokerId": {"1": ["/d"]}, ...}, "version": 1}

    {"brokers": [{"Broker": 1, "Host": "h", "Rack": "a", "BrokerState": "ALIVE", "DiskCapacityMB": 1000.0, "NetworkInCapacity": 100.0,
       "NetworkOutCapacity": 100.0, "NumCore": 8, "LeaderNwInRate": 5.0, "FollowerNwInRate": 5.0, "NwOutRate": 9.0, ...}], "hosts": [...]}

    {"records": [{"topic": "t", "partition": 0, "leader": 1, "followers": [2], "cpu": 0.5, "disk": 120.0, "networkInbound": 8.0,
       "networkOutbound": 16.0, "msg_in": 10.0}], "version": 1}

An entry is a partition in one of the lists, a log dir, a broker, or the load of a partition's leader. Without verbose, healthy partitions are
missing. Capacities and loads are in MiB and KiB/s, as in capacity.json; cpu is in percent of a core. Cruise Control prints the host's name as
the rack of a broker without a rack.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from jobs.ingest.dump import Dump, Parsed, Rejected, Unreadable, broker_ids, identifier, json_document, plain_text, topic_name
from jobs.ingest.facts import BrokerCapacity, BrokerHost, BrokerRates, Fact, ListedBroker, LogDirLine, PartitionLine, PartitionRates
from jobs.ingest.precedence import Precedence

NAME = "cruise-control"
PRECEDENCE = Precedence.CRUISE_CONTROL

_KNOWN_BY = re.compile(r'"KafkaPartitionState"\s{0,9}:|"BrokerState"\s{0,9}:\s{0,9}"[A-Z_]{1,30}"|"networkOutbound"\s{0,9}:')
_DOWN = ("DEAD",)


def recognises(dump: Dump) -> bool:
    """Return whether the dump contains a partition state, broker state or load with Cruise Control's names."""
    return _KNOWN_BY.search(dump.head) is not None


def parse(dump: Dump) -> Iterator[Parsed | Rejected]:
    """Yield a fact for each partition, log dir, load, and each broker with its capacity."""
    document, line, surrounding = json_document(dump)
    for number, text in surrounding:
        yield Rejected(number, text, "outside the JSON document")
    if not isinstance(document, dict):
        yield Rejected(line, document, "not a JSON object")
        return
    parsed: dict[tuple[Any, ...], Fact] = {}
    for entry, facts in _entries(document):
        try:
            main_fact, *more_facts = list(facts(entry))
            key = (type(main_fact), *main_fact[: main_fact.KEY_FIELDS])
            if key in parsed and parsed[key] != main_fact:
                raise Unreadable("another list differs")
            yield Parsed(line, entry, None if key in parsed else main_fact)
            parsed[key] = main_fact
            for fact in more_facts:
                yield Parsed(line, entry, fact, entries=0)
        except Unreadable as e:
            yield Rejected(line, entry, str(e))


def _entries(document: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    for entries in _object(document.get("KafkaPartitionState")).values():
        for entry in entries if isinstance(entries, list) else [entries]:
            yield entry, _partition
    state = _object(document.get("KafkaBrokerState"))
    for name, error in (("OnlineLogDirsByBrokerId", None), ("OfflineLogDirsByBrokerId", "offline")):
        for broker_id, log_dirs in _object(state.get(name)).items():
            for log_dir in log_dirs if isinstance(log_dirs, list) else [log_dirs]:
                yield {"broker": broker_id, "logDir": log_dir, "error": error}, _log_dir
    brokers = document.get("brokers")
    for entry in brokers if isinstance(brokers, list) else ():
        yield entry, _broker
    records = document.get("records")
    for entry in records if isinstance(records, list) else ():
        yield entry, _load


def _partition(entry: Any) -> Iterator[Fact]:
    if not isinstance(entry, dict):
        raise Unreadable("not a JSON object")
    topic, leader = entry.get("topic"), entry.get("leader")
    replicas, isr = (broker_ids(entry.get(name), name) for name in ("replicas", "in-sync"))
    if not replicas:
        raise Unreadable("replicas is empty")
    yield PartitionLine(
        topic_name(topic if isinstance(topic, str) else None),
        identifier(entry.get("partition"), "partition"),
        None if leader == -1 else identifier(leader, "leader"),
        replicas,
        isr,
        None,
        None,
        None,
        None,
    )


def _log_dir(entry: dict[str, Any]) -> Iterator[Fact]:
    yield LogDirLine(identifier(entry["broker"], "a broker's id"), plain_text(entry["logDir"], "a log dir"), entry["error"])


def _broker(entry: Any) -> Iterator[Fact]:
    if not isinstance(entry, dict):
        raise Unreadable("not a JSON object")
    broker_id = identifier(entry.get("Broker"), "Broker")
    rack, host = (None if entry.get(name) is None else plain_text(entry[name], name) for name in ("Rack", "Host"))
    disk, network_in, network_out, cores = (
        _number(entry.get(name), name, unit)
        for name, unit in (("DiskCapacityMB", 2**20), ("NetworkInCapacity", 2**10), ("NetworkOutCapacity", 2**10), ("NumCore", 100))
    )
    yield BrokerCapacity(broker_id, disk, None, network_in, network_out, cores)
    rates = [_number(entry.get(name), name, 2**10) for name in ("LeaderNwInRate", "FollowerNwInRate", "NwOutRate")]
    if None not in rates:
        yield BrokerRates(broker_id, rates[0] + rates[1], rates[2])
    if host is not None:
        yield BrokerHost(broker_id, host)
    if entry.get("BrokerState") not in _DOWN:
        yield ListedBroker(broker_id, None if rack == host else rack)


def _load(entry: Any) -> Iterator[Fact]:
    if not isinstance(entry, dict):
        raise Unreadable("not a JSON object")
    topic = entry.get("topic")
    loads = [
        _number(entry.get(name), name, unit)
        for name, unit in (("cpu", 1), ("disk", 2**20), ("networkInbound", 2**10), ("networkOutbound", 2**10))
    ]
    if None in loads:
        raise Unreadable("a load is missing")
    yield PartitionRates(topic_name(topic if isinstance(topic, str) else None), identifier(entry.get("partition"), "partition"), *loads)


def _number(value: Any, name: str, unit: int) -> float | None:
    if value is None or value == -1:  # Cruise Control prints -1 for an unknown value
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e18:
        raise Unreadable(f"{name} is not a number")
    return float(value) * unit


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
