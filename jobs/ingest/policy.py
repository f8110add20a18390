"""The policy in topology-audit.toml: owners, waivers and limits, by patterns of clusters, topics and groups.

    [[owner]]
    name = "ledger team"
    contact = "mailto://ledger@example.com"
    clusters = "payments-*"
    topics = "ledger*"

    [[waiver]]
    rule = "topic.enough_replicas"
    topics = "scratch-*"
    reason = "can be computed again"
    owner = "ledger team"
    expires = 2026-12-31

    [[limit]]
    topics = "audit-log"
    producer_skew_most = 4.0

In a pattern, `*` is any text and `?` one character; a missing pattern matches everything. An owner has the rows of its topics and the rows of
its groups; with neither pattern it has all rows of its clusters, also those of brokers. A waiver or a limit applies to rows that match all its
patterns. If several owners match a row, or several entries set one of its limits, the last entry applies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any, NamedTuple

import pyarrow as pa

from expectations.finding import RULES
from expectations.limits import CLUSTER_LIMITS, GROUP_LIMITS, TOPIC_LIMITS, limit_value
from expectations.pattern import COLUMNS, matches
from jobs.errors import listed, suggestion
from jobs.schema import BY_NAME, OWNER, POLICY, WAIVER, Table

Row = Mapping[str, Any]
PATTERNS = ("clusters", *COLUMNS)
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?!\d)")


class Entry(NamedTuple):
    """An entry of the file: its kind, its number among the entries of its kind, its patterns, and the other columns of its rows."""

    kind: str
    number: int
    patterns: Mapping[str, str]
    rows: list[Row]

    @property
    def name(self) -> str:
        """Return the name of the entry in messages."""
        return f"[[{self.kind}]] {self.number}"


class Policy(NamedTuple):
    """The entries of a file, or those that apply to a cluster."""

    entries: tuple[Entry, ...] = ()

    def of_cluster(self, cluster_id: str) -> Policy:
        """Return the entries that apply to a cluster."""
        return Policy(tuple(entry for entry in self.entries if matches(entry.patterns.get("clusters"), cluster_id)))


class _Kind(NamedTuple):
    """A kind of entry: its table, the keys that it must and may have besides patterns, and the function that returns its rows."""

    table: Table
    required: tuple[str, ...]
    optional: tuple[str, ...]
    rows: Callable[[Row], list[Row]]


def parse_policy(document: Mapping[str, Any]) -> Policy:
    """Return the policy of a parsed file; raise a ValueError that names the entry and the key that is not valid."""
    entries = [entry for kind in KINDS for entry in _entries(kind, document.get(kind, []))]
    contacts: dict[str, str] = {}
    for entry in entries:
        for row in entry.rows:
            contact = row.get("contact")
            if contact is not None and contacts.setdefault(row["owner"], contact) != contact:
                raise ValueError(f"{entry.name}: contact: {row['owner']} has another contact in an earlier entry")
    return Policy(tuple(_with_contact(entry, contacts) if entry.kind == "owner" else entry for entry in entries))


def _with_contact(entry: Entry, contacts: Mapping[str, str]) -> Entry:
    """Return an entry of an owner with the contact that any entry has for this owner."""
    return entry._replace(rows=[{**row, "contact": contacts.get(row["owner"])} for row in entry.rows])


def _entries(kind: str, found: object) -> list[Entry]:
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        raise ValueError(f"{kind} must be a list of tables: write [[{kind}]] above each entry")
    entries = []
    for number, values in enumerate(found, start=1):
        try:
            entries.append(_entry(kind, number, values))
        except ValueError as error:
            raise ValueError(f"[[{kind}]] {number}: {error}") from None
    return entries


def _entry(kind: str, number: int, values: Row) -> Entry:
    _, required, optional, rows = KINDS[kind]
    known = (*required, *optional, *PATTERNS)
    for key in values:
        if key not in known:
            raise ValueError(f"{key} is not a known key: use {listed(known)}{suggestion(key, known)}")
    for key in required:
        if key not in values:
            raise ValueError(f"{key} is missing")
    patterns = {key: _text(values, key) for key in PATTERNS if key in values}
    return Entry(kind, number, patterns, rows(values))


def _text(values: Row, key: str) -> str:
    if not isinstance(value := values[key], str) or not value.strip():
        raise ValueError(f"{key} must be a text that is not empty, not {value!r}")
    return value


def _owner_name(values: Row, key: str) -> str:
    if "," in (name := _text(values, key)):
        raise ValueError(f"{key} must not contain a comma, which separates the owners of a finding: {name!r}")
    return name


def _owner(values: Row) -> list[Row]:
    return [{"owner": _owner_name(values, "name"), "contact": _text(values, "contact") if "contact" in values else None}]


def _waiver(values: Row) -> list[Row]:
    name, expires = _text(values, "rule"), values["expires"]
    names = {known: rule for rule in RULES for known in (rule, rule.partition(".")[2])}
    if name not in names:
        raise ValueError(f"rule: no soft rule has the name {name} (hard rules cannot be waived){suggestion(name, names)}")
    if not isinstance(expires, date) or isinstance(expires, datetime):
        raise ValueError(f"expires must be a date such as 2026-12-31, without quotes, not {expires!r}")
    suite, _, rule = names[name].partition(".")
    for pattern, column in COLUMNS.items():
        if pattern in values and column not in BY_NAME[suite].schema.names:
            raise ValueError(f"{pattern} is not possible with {names[name]}: its rows are not about {pattern}")
    return [{"suite": suite, "rule": rule, "reason": _text(values, "reason"), "owner": _owner_name(values, "owner"), "expires": expires}]


def _limit(values: Row) -> list[Row]:
    names = [key for key in values if key not in PATTERNS]
    if not names:
        raise ValueError("sets no limit: add one of those in expectations/limits.toml, such as producer_skew_most = 4.0")
    for pattern, allowed in (("topics", TOPIC_LIMITS), ("groups", GROUP_LIMITS)):
        if pattern in values and (wrong := [name for name in names if name not in allowed]):
            raise ValueError(f"{pattern} is not possible with {wrong[0]}: only with {', '.join(allowed)}")
    rows = []
    for name in names:
        try:
            rows.append({"limit_name": name, "limit_value": limit_value(name, values[name])})
        except ValueError as error:
            raise ValueError(f"{name} {error}") from None
    return rows


KINDS = {
    "owner": _Kind(OWNER, ("name",), ("contact",), _owner),
    "waiver": _Kind(WAIVER, ("rule", "reason", "owner", "expires"), (), _waiver),
    "limit": _Kind(POLICY, (), (*TOPIC_LIMITS, *GROUP_LIMITS, *CLUSTER_LIMITS), _limit),
}


def policy_tables(policy: Policy, snapshot_id: str, cluster: pa.Table) -> dict[str, pa.Table]:
    """Return the rows of the tables of KINDS by table name, without snapshot_id and cluster_id.

    `cluster` is the row of the cluster. If it has none, because no file is readable, it has no policy.
    """
    captured_at = next(iter(cluster["captured_at"].to_pylist()), None)
    common = dict.fromkeys(PATTERNS) | {"snapshot_date": night_date(snapshot_id, captured_at)}
    rows: dict[str, list[Row]] = {kind: [] for kind in KINDS}
    for entry in policy.entries if len(cluster) else ():
        rows[entry.kind] += [{**common, **entry.patterns, **row, "entry": entry.number} for row in entry.rows]
    return {kind.table.name: pa.Table.from_pylist(rows[name], pa.schema(list(kind.table.schema)[2:])) for name, kind in KINDS.items()}


def night_date(snapshot_id: str, captured_at: datetime | None) -> date | None:
    """Return the day of a night: the date at the start of its id, otherwise the UTC day of the capture; None: unknown."""
    if start := _DATE.match(snapshot_id):
        try:
            return date.fromisoformat(start[0])
        except ValueError:  # not a date, for example 2026-00-00
            pass
    return captured_at.date() if captured_at else None
