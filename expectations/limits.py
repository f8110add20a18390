"""The limits of the soft rules: the defaults are in limits.toml, and another file may override some of them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_type_hints

from jobs.errors import AuditError
from kafka_model.cruise_control.limits import Thresholds

_CRUISE_CONTROL = "cruise_control"  # the key of the table with Cruise Control's configs
_ALLOWED_VALUES = {float: "a number, 0 or more", int: "a whole number, 0 or more", str: "a text"}
DEFAULTS = Path(__file__).with_name("limits.toml")
# The limits that topology-audit.toml may set for some clusters: of rules about topics, about groups, and about brokers or whole clusters.
TOPIC_LIMITS = (
    "producer_skew_most", "hot_key_share_most", "partition_size_bytes_most", "record_skew_most", "record_skew_mean_least", "record_bytes_most",
    "partitions_least", "replication_factor_least",
)  # fmt: skip
GROUP_LIMITS = ("consumer_spread_most", "idle_members_most", "consumer_ratio_most", "avoidable_cross_rack_share_most", "group_topics_most")
CLUSTER_LIMITS = (
    "leader_ratio_most", "leader_ratio_least", "replica_ratio_most", "replica_ratio_least", "byte_ratio_most", "produced_ratio_most",
    "disk_used_share_most", "disk_used_difference_most", "replicas_per_broker_most", "partitions_per_cluster_most", "not_preferred_share_most",
    "plan_disk_share_most",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of the soft rules, of plans and of publishing. limits.toml explains each."""

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
    """Return the limits of limits.toml, overridden by those in the file `override`."""
    values = _read(DEFAULTS)
    if override is not None:
        overridden = _read(override)
        thresholds = values[_CRUISE_CONTROL] | overridden.pop(_CRUISE_CONTROL, {})
        values |= {**overridden, _CRUISE_CONTROL: thresholds}
    return Limits(**{**values, _CRUISE_CONTROL: Thresholds(**values[_CRUISE_CONTROL])})


def _read(path: Path) -> dict[str, Any]:
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise AuditError(f"cannot read the limits in {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise AuditError(f"the limits in {path} are not valid TOML: {error}") from None
    thresholds = values.pop(_CRUISE_CONTROL, {})
    if not isinstance(thresholds, dict):
        raise AuditError(f"{_CRUISE_CONTROL} in {path} is {thresholds!r}: it must be a table of Cruise Control's configs")
    return _checked(values, Limits, path) | {_CRUISE_CONTROL: _checked(thresholds, Thresholds, path)}


def with_limits(limits: Limits, values: Mapping[str, float]) -> Limits:
    """Return limits with other values of some of them, each with the type of its limit."""
    return replace(limits, **{name: type(getattr(limits, name))(value) for name, value in values.items()})


def limits_of_cluster(limits: Limits, policy: Iterable[Mapping[str, Any]]) -> Limits:
    """Return the limits of the brokers of a cluster and of the whole cluster; `policy` are the cluster's rows of the table `policy`."""
    rows = sorted((row for row in policy if row["topics"] is None and row["groups"] is None), key=lambda row: int(row["entry"]))
    return with_limits(limits, {row["limit_name"]: row["limit_value"] for row in rows})


def limit_value(name: str, value: object) -> float:
    """Return the value of a limit of `Limits` as a number; raise a ValueError if it is not allowed."""
    return float(_typed(value, get_type_hints(Limits)[name]))


def _checked(values: dict[str, Any], declaration: type, path: Path) -> dict[str, Any]:
    """Return values with the types of a class of limits; raises an AuditError for an unknown name or a value that is not allowed."""
    types = {name: type_ for name, type_ in get_type_hints(declaration).items() if name != _CRUISE_CONTROL}
    checked = {}
    for name, value in values.items():
        if name not in types:
            raise AuditError(f"unknown limit {name} in {path}: known limits are {', '.join(types)}")
        try:
            checked[name] = _typed(value, types[name])
        except ValueError as error:
            raise AuditError(f"limit {name} in {path} {error}") from None
    return checked


def _typed(value: object, type_: type) -> Any:
    allowed = (int, float) if type_ is float else (type_,)
    if type(value) not in allowed or (isinstance(value, int | float) and not 0 <= value < float("inf")):
        raise ValueError(f"is {value!r}: it must be {_ALLOWED_VALUES[type_]}")
    return type_(value)
