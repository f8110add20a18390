"""Client quotas, access control entries, and the configs of brokers, groups and client-metrics subscriptions."""

from __future__ import annotations

import re
from typing import NamedTuple

import pyarrow as pa

from jobs.ingest.facts import AccessControl, ClientQuota, ConfigValue
from jobs.ingest.resolve.evidence import Evidence
from jobs.ingest.resolve.rows import table_of
from jobs.schema import ACL, CLIENT_QUOTA, CONFIG

_SECRET = re.compile(r"password|secret|jaas|token|credential|keystore\.key|truststore\.certificates", re.IGNORECASE)


class ConfigRow(NamedTuple):
    """A row of `config`."""

    entity_type: str
    entity_name: str
    config: str
    value: str | None


def setting_tables(evidence: Evidence) -> dict[str, pa.Table]:
    """Return the tables of quotas, access control entries and configs."""
    quotas: list[ClientQuota] = evidence.facts(ClientQuota)
    entries: list[AccessControl] = evidence.facts(AccessControl)
    return {
        "client_quota": table_of(CLIENT_QUOTA, sorted(quotas, key=lambda quota: tuple(name or "" for name in quota[: quota.KEY_FIELDS]))),
        "acl": table_of(ACL, sorted(entries)),
        "config": table_of(CONFIG, sorted(_config_rows(evidence), key=lambda row: row[:3])),
    }


def _config_rows(evidence: Evidence) -> list[ConfigRow]:
    """Return the configs that are set; those of topics are in `topic`. Values that may be secrets are never stored."""
    return [
        ConfigRow(fact.kind, fact.name, fact.config, None if _SECRET.search(fact.config) else fact.value)
        for fact in evidence.facts(ConfigValue)
        if fact.kind != "topic" and fact.value is not None
    ]
