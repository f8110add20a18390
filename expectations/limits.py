"""The limits of the soft rules: limits.toml holds them, another file may override some."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_type_hints

from jobs.errors import AuditError

DEFAULTS = Path(__file__).with_name("limits.toml")


@dataclass(frozen=True, slots=True)
class Limits:
    """What the soft rules allow; limits.toml says what each means."""

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
    replication_factor_least: int
    not_preferred_share_most: float


def limits(override: Path | None = None) -> Limits:
    """The limits of limits.toml, but for those that the file `override` gives."""
    found = _read(DEFAULTS)
    if override is not None:
        found |= _read(override)
    return Limits(**found)


def _read(path: Path) -> dict[str, Any]:
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise AuditError(f"cannot read the limits in {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise AuditError(f"the limits in {path} are no TOML: {error}") from None
    types = get_type_hints(Limits)
    for name, value in found.items():
        if name not in types:
            raise AuditError(f"unknown limit {name} in {path}: there are {', '.join(field.name for field in fields(Limits))}")
        allowed = (int, float) if types[name] is float else (int,)
        if type(value) not in allowed or not 0 <= value < float("inf"):
            kind = "a number" if types[name] is float else "a whole number"
            raise AuditError(f"limit {name} in {path} is {value!r}: it must be {kind}, 0 or more")
    return {name: types[name](value) for name, value in found.items()}
