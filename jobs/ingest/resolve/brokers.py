"""Brokers and log dirs: racks, live brokers, capacities and network rates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

from jobs.ingest.facts import (
    BrokerCapacity,
    BrokerHost,
    BrokerRates,
    ConfigValue,
    CordonedLogDirs,
    ListedBroker,
    LogDirLine,
    LogDirsAnswer,
    RegisteredBroker,
)
from jobs.ingest.partitions import Partitions
from jobs.ingest.precedence import Precedence
from jobs.ingest.resolve.evidence import Evidence
from jobs.ingest.resolve.rows import table_of
from jobs.schema import BROKER, LOG_DIR

_EVERY_OTHER_BROKER = -1  # in capacity.json
_CORDONED_LOG_DIRS, _ALL_LOG_DIRS = "cordoned.log.dirs", "*"  # a config of brokers and its value for all log dirs (KIP-1066)


class BrokerRow(NamedTuple):
    """A row of `broker`."""

    broker_id: int
    rack: str | None
    live: bool
    disk_capacity_bytes: float | None = None
    network_in_capacity_bytes_per_s: float | None = None
    network_out_capacity_bytes_per_s: float | None = None
    cpu_capacity_percent: float | None = None
    capacity_by_default: bool | None = None
    network_in_bytes_per_s: float | None = None
    network_out_bytes_per_s: float | None = None
    host: str | None = None
    cordoned: bool | None = None


class LogDirRow(NamedTuple):
    """A row of `log_dir`."""

    broker_id: int
    log_dir: str
    error: str | None
    capacity_bytes: float | None
    total_bytes: int | None
    usable_bytes: int | None
    cordoned: bool | None


def broker_tables(evidence: Evidence, partitions: Partitions) -> dict[str, pa.Table]:
    """Return the tables of brokers and of log dirs."""
    log_dirs = _log_dir_rows(evidence)
    return {"broker": _broker_table(evidence, partitions, log_dirs), "log_dir": table_of(LOG_DIR, log_dirs)}


def _broker_table(evidence: Evidence, partitions: Partitions, log_dirs: Sequence[LogDirRow]) -> pa.Table:
    """Return every broker that a dump contains, except brokers that only Cruise Control's load contains."""
    registered: dict[int, RegisteredBroker] = {fact.broker_id: fact for fact in evidence.facts(RegisteredBroker)}
    listed: dict[int, ListedBroker] = {fact.broker_id: fact for fact in evidence.facts(ListedBroker)}
    answering = {fact.broker_id for fact in evidence.facts(LogDirsAnswer)}
    capacity: dict[int, BrokerCapacity] = {fact.broker_id: fact for fact in evidence.facts(BrokerCapacity)}
    default = capacity.pop(_EVERY_OTHER_BROKER, None)
    rates_by_broker: dict[int, BrokerRates] = {fact.broker_id: fact for fact in evidence.facts(BrokerRates)}
    _reject_contradicted_lists(evidence, registered, listed)
    hosts, cordoned = _hosts(evidence), _cordoned_brokers(evidence, log_dirs)
    if registered or listed:
        live = {broker_id for broker_id, fact in (registered or listed).items() if not fact.fenced}
    else:
        live = answering or partitions.leaders() | partitions.brokers("isr")
    rows = []
    for broker_id in sorted({*registered, *listed, *capacity, *answering, *partitions.brokers("replicas")}):
        racks = (brokers[broker_id].rack for brokers in (registered, listed) if broker_id in brokers)
        rack = next((rack for rack in racks if rack is not None), None)
        row = BrokerRow(broker_id, rack, broker_id in live, host=hosts.get(broker_id), cordoned=cordoned.get(broker_id))
        if limits := capacity.get(broker_id, default):
            row = row._replace(
                disk_capacity_bytes=limits.disk_bytes,
                network_in_capacity_bytes_per_s=limits.network_in_bytes_per_s,
                network_out_capacity_bytes_per_s=limits.network_out_bytes_per_s,
                cpu_capacity_percent=limits.cpu_percent,
                capacity_by_default=broker_id not in capacity,
            )
        if rates := rates_by_broker.get(broker_id):
            row = row._replace(network_in_bytes_per_s=rates.network_in_bytes_per_s, network_out_bytes_per_s=rates.network_out_bytes_per_s)
        rows.append(row)
    return table_of(BROKER, rows)


def _reject_contradicted_lists(evidence: Evidence, registered: dict[int, RegisteredBroker], listed: dict[int, ListedBroker]) -> None:
    """Reject the entries of an operator's list that the cluster itself contradicts."""
    for broker_id in registered.keys() & listed.keys():
        broker, entry = registered[broker_id], listed[broker_id]
        if broker.rack is not None and entry.rack not in (None, broker.rack):
            evidence.reject(evidence.origins[ListedBroker][(broker_id,)], f"the cluster itself reports rack {broker.rack}")
        elif entry.fenced and not broker.fenced:
            evidence.reject(evidence.origins[ListedBroker][(broker_id,)], "the cluster itself reports that the broker is not fenced")


def _hosts(evidence: Evidence) -> dict[int, str]:
    """Return the host of each broker: the one that Cruise Control reports, otherwise that of the best source."""
    ranked = sorted(
        evidence.origins[BrokerHost].values(),
        key=lambda origin: (origin.file.reading.precedence != Precedence.CRUISE_CONTROL, origin.file.reading.precedence, origin.fact),
        reverse=True,
    )
    return {origin.fact.broker_id: origin.fact.host for origin in ranked}


def _cordoned_brokers(evidence: Evidence, log_dirs: Sequence[LogDirRow]) -> dict[int, bool]:
    """Return for each broker whether all its log dirs are cordoned, if that is known."""
    cordoned = {fact.broker_id: fact.all_cordoned for fact in evidence.facts(CordonedLogDirs)}
    by_broker: dict[int, list[bool | None]] = defaultdict(list)
    for row in log_dirs:
        by_broker[row.broker_id].append(row.cordoned)
    for broker_id, states in by_broker.items():
        if None not in states:
            cordoned.setdefault(broker_id, all(states))
    for broker_id, value in _cordoned_configs(evidence).items():
        if value in ("", _ALL_LOG_DIRS):
            cordoned.setdefault(broker_id, value == _ALL_LOG_DIRS)
    return cordoned


def _cordoned_configs(evidence: Evidence) -> dict[int, str]:
    """Return the value of cordoned.log.dirs by broker, for brokers that set it."""
    return {
        int(fact.name): fact.value
        for fact in evidence.facts(ConfigValue)
        if fact.kind == "broker" and fact.config == _CORDONED_LOG_DIRS and fact.name and fact.value is not None
    }


def _log_dir_rows(evidence: Evidence) -> list[LogDirRow]:
    """Return every log dir that a broker reports or that has a capacity in capacity.json."""
    capacity = {fact.broker_id: fact.disk_bytes_by_log_dir or {} for fact in evidence.facts(BrokerCapacity)}
    default = capacity.pop(_EVERY_OTHER_BROKER, {})
    with_capacity = {
        (broker_id, log_dir): LogDirLine(broker_id, log_dir, None) for broker_id, sizes in capacity.items() for log_dir in sizes
    }
    reported = {(fact.broker_id, fact.log_dir): fact for fact in evidence.facts(LogDirLine)}
    configs = _cordoned_configs(evidence)
    rows = []
    for (broker_id, log_dir), fact in sorted((with_capacity | reported).items()):
        size = capacity.get(broker_id, default).get(log_dir, fact.total_bytes)
        cordoned = fact.cordoned if fact.cordoned is not None or broker_id not in configs else _names(configs[broker_id], log_dir)
        rows.append(LogDirRow(broker_id, log_dir, fact.error, size, fact.total_bytes, fact.usable_bytes, cordoned))
    return rows


def _names(cordoned_log_dirs: str, log_dir: str) -> bool:
    """Return whether a value of cordoned.log.dirs names a log dir."""
    return cordoned_log_dirs == _ALL_LOG_DIRS or log_dir in map(str.strip, cordoned_log_dirs.split(","))
