"""Cruise Control's capacity.json (BrokerCapacityConfigFileResolver), also in its JBOD and cores forms.

    {"brokerCapacities": [
      {"brokerId": "-1", "capacity": {"DISK": "100000", "CPU": "100", "NW_IN": "10000", "NW_OUT": "10000"}},
      {"brokerId": "0",  "capacity": {"DISK": {"/d1": "250000", "/d2": "250000"}, "CPU": {"num.cores": "8"}, "NW_IN": ...}}]}

DISK is in MiB, in total or by log dir; NW_IN and NW_OUT are in KiB/s; CPU is in percent, or in cores of 100 % each. Broker -1 stands for
every broker that has no entry of its own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from jobs.ingest.dump import Dump, Parsed, Rejected, Unreadable, json_document, plain_text, whole_number
from jobs.ingest.facts import BrokerCapacity
from jobs.ingest.precedence import Precedence

NAME = "capacity.json"
PRECEDENCE = Precedence.KAFKA_TOOL

_NUMBER = re.compile(r"[0-9]{1,18}(?:\.[0-9]{1,18})?")


def recognises(dump: Dump) -> bool:
    """Return whether the dump has the one top-level key of the format."""
    return '"brokerCapacities"' in dump.head


def parse(dump: Dump) -> Iterator[Parsed | Rejected]:
    """Yield a fact for each entry."""
    document, line, surrounding = json_document(dump)
    for number, text in surrounding:
        yield Rejected(number, text, "outside the JSON document")
    capacities = document.get("brokerCapacities") if isinstance(document, dict) else None
    if not isinstance(capacities, list):
        yield Rejected(line, document, "brokerCapacities is not a list")
        return
    for entry in capacities:
        try:
            yield Parsed(line, entry, _capacity(entry))
        except Unreadable as e:
            yield Rejected(line, entry, str(e))


def _capacity(entry: Any) -> BrokerCapacity:
    capacity = entry.get("capacity") if isinstance(entry, dict) else None
    if not isinstance(capacity, dict):
        raise Unreadable("capacity is missing")
    broker_id = whole_number(entry.get("brokerId"), "brokerId", least=-1, most=2**31 - 1)
    disk, cpu = capacity.get("DISK"), capacity.get("CPU")
    bytes_of_log_dirs = None
    if isinstance(disk, dict):
        bytes_of_log_dirs = {plain_text(log_dir, "a log dir"): _number(size, "DISK") * 2**20 for log_dir, size in disk.items()}
    return BrokerCapacity(
        broker_id,
        _scaled(disk, "DISK", 2**20) if bytes_of_log_dirs is None else math.fsum(bytes_of_log_dirs.values()),
        bytes_of_log_dirs,
        _scaled(capacity.get("NW_IN"), "NW_IN", 2**10),
        _scaled(capacity.get("NW_OUT"), "NW_OUT", 2**10),
        _scaled(cpu.get("num.cores"), "num.cores", 100) if isinstance(cpu, dict) else _scaled(cpu, "CPU", 1),
    )


def _scaled(value: Any, name: str, unit: int) -> float | None:
    return None if value is None else _number(value, name) * unit


def _number(value: Any, name: str) -> float:
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e18:
        raise Unreadable(f"{name} is not a number")
    return float(value)
