"""The limits of the soft rules: limits.toml holds them, another file may override some."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_type_hints

from jobs.errors import AuditError
from kafka_model.cruise_control.limits import Thresholds

_GOALS = "cruise_control"
DEFAULTS = Path(__file__).with_name("limits.toml")


@dataclass(frozen=True, slots=True)
class Limits:
    """What the soft rules and publish allow; limits.toml explains each."""

    leader_ratio_most: float
    leader_ratio_least: float
    replica_ratio_most: float
    replica_ratio_least: float
    byte_ratio_most: float
    produced_ratio_most: float
    producer_skew_most: float
    hot_key_share_most: float
    consumer_spread_most: int
    idle_members_most: int
    disk_used_share_most: float
    plan_disk_share_most: float
    consumer_ratio_most: float
    avoidable_cross_rack_share_most: float
    group_topics_most: int
    disk_used_difference_most: float
    replicas_per_broker_most: int
    partitions_per_cluster_most: int
    partition_size_bytes_most: int
    record_skew_most: float
    record_skew_mean_least: int
    record_bytes_most: int
    partitions_least: int
    replication_factor_least: int
    not_preferred_share_most: float
    absent_cluster_nights: int
    cruise_control: Thresholds


def limits(override: Path | None = None) -> Limits:
    """The limits of limits.toml, but for those that the file `override` gives."""
    found = _read(DEFAULTS)
    if override is not None:
        given = _read(override)
        goals = found[_GOALS] | given.pop(_GOALS, {})
        found |= {**given, _GOALS: goals}
    return Limits(**{**found, _GOALS: Thresholds(**found[_GOALS])})


def _read(path: Path) -> dict[str, Any]:
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise AuditError(f"cannot read the limits in {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise AuditError(f"the limits in {path} are no TOML: {error}") from None
    goals = found.pop(_GOALS, {})
    if not isinstance(goals, dict):
        raise AuditError(f"{_GOALS} in {path} is {goals!r}: it must be a table of Cruise Control's configs")
    return _checked(found, Limits, path) | {_GOALS: _checked(goals, Thresholds, path)}


def _checked(found: dict[str, Any], of: type, path: Path) -> dict[str, Any]:
    types = {name: type for name, type in get_type_hints(of).items() if name != _GOALS}
    kinds = {float: "a number, 0 or more", int: "a whole number, 0 or more", str: "a text"}
    for name, value in found.items():
        if name not in types:
            raise AuditError(f"unknown limit {name} in {path}: there are {', '.join(types)}")
        allowed = (int, float) if types[name] is float else (types[name],)
        if type(value) not in allowed or (types[name] is not str and not 0 <= value < float("inf")):
            raise AuditError(f"limit {name} in {path} is {value!r}: it must be {kinds[types[name]]}")
    return {name: types[name](value) for name, value in found.items()}
