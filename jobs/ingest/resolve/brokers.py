"""Brokers and log dirs: racks, live brokers, capacities and network rates."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa

from jobs.ingest.facts import BrokerCapacity, BrokerRates, ListedBroker, LogDirLine, LogDirsAnswer, RegisteredBroker
from jobs.ingest.partitions import Partitions
from jobs.ingest.resolve.evidence import Evidence
from jobs.ingest.resolve.rows import table_of
from jobs.schema import BROKER, LOG_DIR

_EVERY_OTHER_BROKER = -1  # in capacity.json


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


class LogDirRow(NamedTuple):
    """A row of `log_dir`."""

    broker_id: int
    log_dir: str
    error: str | None
    capacity_bytes: float | None
    total_bytes: int | None
    usable_bytes: int | None


def broker_table(evidence: Evidence, partitions: Partitions) -> pa.Table:
    """Return every broker that a dump contains, except brokers that only Cruise Control's load contains."""
    registered: dict[int, RegisteredBroker] = {fact.broker_id: fact for fact in evidence.facts(RegisteredBroker)}
    listed: dict[int, ListedBroker] = {fact.broker_id: fact for fact in evidence.facts(ListedBroker)}
    answering = {fact.broker_id for fact in evidence.facts(LogDirsAnswer)}
    capacity: dict[int, BrokerCapacity] = {fact.broker_id: fact for fact in evidence.facts(BrokerCapacity)}
    default = capacity.pop(_EVERY_OTHER_BROKER, None)
    rates_by_broker: dict[int, BrokerRates] = {fact.broker_id: fact for fact in evidence.facts(BrokerRates)}
    _reject_other_racks(evidence, registered, listed)
    if registered:
        live = {broker_id for broker_id, fact in registered.items() if not fact.fenced}
    else:
        live = set(listed) or answering or partitions.leaders() | partitions.brokers("isr")
    rows = []
    for broker_id in sorted({*registered, *listed, *capacity, *answering, *partitions.brokers("replicas")}):
        racks = (brokers[broker_id].rack for brokers in (registered, listed) if broker_id in brokers)
        row = BrokerRow(broker_id, next((rack for rack in racks if rack is not None), None), broker_id in live)
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


def _reject_other_racks(evidence: Evidence, registered: dict[int, RegisteredBroker], listed: dict[int, ListedBroker]) -> None:
    """Reject the racks of an operator's list that the cluster itself contradicts."""
    for broker_id in registered.keys() & listed.keys():
        rack = registered[broker_id].rack
        if rack is not None and listed[broker_id].rack not in (None, rack):
            evidence.reject(evidence.origins[ListedBroker][(broker_id,)], f"the cluster itself reports rack {rack}")


def log_dir_table(evidence: Evidence) -> pa.Table:
    """Return every log dir that a broker reports or that has a capacity in capacity.json."""
    capacity = {fact.broker_id: fact.disk_bytes_by_log_dir or {} for fact in evidence.facts(BrokerCapacity)}
    default = capacity.pop(_EVERY_OTHER_BROKER, {})
    with_capacity = {
        (broker_id, log_dir): LogDirLine(broker_id, log_dir, None) for broker_id, sizes in capacity.items() for log_dir in sizes
    }
    reported = {(fact.broker_id, fact.log_dir): fact for fact in evidence.facts(LogDirLine)}
    rows = []
    for (broker_id, log_dir), fact in sorted((with_capacity | reported).items()):
        size = capacity.get(broker_id, default).get(log_dir, fact.total_bytes)
        rows.append(LogDirRow(broker_id, log_dir, fact.error, size, fact.total_bytes, fact.usable_bytes))
    return table_of(LOG_DIR, rows)
