"""What an operator configures about the clusters of a source: the file `topology-audit.toml` beside their folders.

    [cluster.payments-us]
    kafka_version = "4.1.0"

Each table `[cluster.NAME]` is about the cluster with that folder name. `[[owner]]`, `[[waiver]]` and `[[limit]]` are the policy (policy.py).
A key or value that is not valid fails the night before it starts.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from expectations.pattern import matches
from jobs.errors import AuditError, listed, suggestion
from jobs.ingest.policy import KINDS, Policy, parse_policy
from kafka_model.release import Release, parse_release

FILE = "topology-audit.toml"


class ClusterConfiguration(NamedTuple):
    """The configuration of a cluster; None: not configured."""

    kafka_version: Release | None = None
    policy: Policy = Policy()


NOT_CONFIGURED = ClusterConfiguration()


class Configuration(NamedTuple):
    """The content of the file: the configuration of clusters by name, and the policy of all clusters."""

    clusters: Mapping[str, ClusterConfiguration]
    policy: Policy

    def of_cluster(self, cluster_id: str) -> ClusterConfiguration:
        """Return what is configured about a cluster."""
        return self.clusters.get(cluster_id, NOT_CONFIGURED)._replace(policy=self.policy.of_cluster(cluster_id))

    def without_cluster(self, cluster_ids: Collection[str]) -> list[str]:
        """Return the configured names and patterns that match none of these clusters."""
        patterns = [(entry.patterns["clusters"], entry.name) for entry in self.policy.entries if "clusters" in entry.patterns]
        unused = [f"{pattern} ({name})" for pattern, name in patterns if not any(matches(pattern, id) for id in cluster_ids)]
        return [*(name for name in self.clusters if name not in cluster_ids), *unused]


EMPTY = Configuration({}, Policy())


def _kafka_version(value: Any) -> Release:
    if not isinstance(value, str):
        raise ValueError(f'must be text such as "4.1.0", not {value!r}')
    return parse_release(value)


# The keys of a table [cluster.NAME], and how their values are parsed. A ValueError states what is wrong.
_CLUSTER_KEYS: Mapping[str, Callable[[Any], Any]] = {"kafka_version": _kafka_version}


def parse_configuration(content: bytes) -> Configuration:
    """Return the configuration in a file; raise an AuditError for the first thing that is not valid."""
    try:
        document = tomllib.loads(content.decode())
    except ValueError as e:  # not UTF-8, or not TOML
        raise AuditError(f"{FILE} cannot be parsed: {e}") from e
    _check_keys("", document, ("cluster", *KINDS))
    clusters = _table("cluster", document.get("cluster", {}))
    try:
        policy = parse_policy(document)
    except ValueError as e:
        raise AuditError(f"{FILE}: {e}") from e
    return Configuration({name: _cluster(f"cluster.{name}", settings) for name, settings in clusters.items()}, policy)


def _cluster(name: str, settings: Any) -> ClusterConfiguration:
    values = {}
    _check_keys(name, _table(name, settings), tuple(_CLUSTER_KEYS))
    for key, value in settings.items():
        try:
            values[key] = _CLUSTER_KEYS[key](value)
        except ValueError as e:
            raise AuditError(f"{FILE}: {name}.{key}: {e}") from e
    return ClusterConfiguration(**values)


def _table(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise AuditError(f"{FILE}: {name} must be a table, such as [cluster.payments-us], not {value!r}")
    return value


def _check_keys(name: str, table: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in table:
        if key not in known:
            where = f"{name}.{key}" if name else key
            raise AuditError(f"{FILE}: {where} is not a known key: use {listed(known)}{suggestion(key, known)}")
