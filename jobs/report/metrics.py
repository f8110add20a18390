"""The newest night of each cluster as metrics in the OpenMetrics text format, for a text-file collector such as node_exporter's."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Gauge
from prometheus_client.openmetrics.exposition import generate_latest

from jobs.report.rows import Row, rows
from jobs.schema.failure import MUST_BE_ZERO, SURVIVES
from jobs.schema.publication import CONSEQUENCES

if TYPE_CHECKING:
    from jobs.views import DuckdbViews

_PREFIX = "kafka_topology"
# What each metric is, and its labels besides the cluster. A cluster has at most 50 series, and none for an unknown value.
METRICS: dict[str, tuple[str, tuple[str, ...]]] = {
    "survives": ("1: no failure of this kind harms a partition; 0: one does", ("failure", "harm")),
    "worst_failure_partitions": ("partitions that the worst failure of this kind harms", ("failure", "harm")),
    "quorum_survives": ("1: the controllers keep their quorum if any one broker dies", ()),
    "brokers": ("brokers of the cluster", ("state",)),
    "leaderless_partitions": ("partitions without a leader now", ()),
    "under_min_isr_partitions": ("partitions that refuse acks=all now", ()),
    "findings": ("findings that are not waived", ("consequence",)),
    "new_findings": ("findings that are not waived and that the previous night did not have", ()),
    "unknown_rules": ("rules whose input is missing", ()),
    "leader_skew": ("leaders of the most loaded broker, divided by the mean", ()),
    "byte_skew": ("bytes of the fullest broker, divided by the mean", ()),
    "producer_skew_lower_bound": (
        "sampled records of a topic's most loaded partition, divided by the mean of its partitions, at least; of the worst topic",
        (),
    ),
    "consumer_spread": ("partitions of the member with the most, minus those of the member with the fewest; of the worst group", ()),
    "stored_bytes": ("bytes on all brokers", ()),
    "fullest_disk_share": ("used share of the fullest broker's disks", ()),
    "published_timestamp_seconds": ("when the cluster's newest night was published", ()),
    "absent": ("1: the newest night does not publish the cluster", ()),
}


def write_metrics(connection: DuckdbViews, file: Path) -> None:
    """Write the metrics of all clusters. A reader sees the old file or the new one."""
    registry = CollectorRegistry()
    gauges = {
        name: Gauge(f"{_PREFIX}_{name}", documentation, ["cluster", *labels], registry=registry)
        for name, (documentation, labels) in METRICS.items()
    }
    for cluster_id, name, labels, value in _samples(connection):
        gauges[name].labels(cluster=cluster_id, **labels).set(value)
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_name(f".{file.name}.{os.getpid()}")
    unfinished.write_bytes(generate_latest(registry))
    unfinished.replace(file)


def _samples(connection: DuckdbViews) -> Iterator[tuple[str, str, Mapping[str, str], float]]:
    """Yield the cluster, metric, labels and value of each series whose value is known."""
    verdicts = rows(
        connection,
        "SELECT v.*, epoch(s.published_at) AS published, b.size_bytes, b.disk_used_share FROM verdict v "
        "JOIN snapshot s ON s.snapshot_id = v.snapshot_id AND s.cluster_id = v.cluster_id "
        "LEFT JOIN (SELECT cluster_id, sum(size_bytes) AS size_bytes, max(disk_used_share) AS disk_used_share "
        "FROM broker_balance WHERE latest GROUP BY cluster_id) b ON b.cluster_id = v.cluster_id WHERE v.latest",
    )
    for verdict in verdicts:
        for name, labels, value in _verdict_samples(verdict):
            if value is not None:
                yield verdict["cluster_id"], name, labels, value
    found = rows(
        connection,
        "SELECT s.cluster_id, f.consequence, coalesce(f.is_new, false) AS is_new FROM snapshot s "
        "LEFT JOIN finding f ON f.snapshot_id = s.snapshot_id AND f.cluster_id = s.cluster_id AND f.waived_until IS NULL WHERE s.latest",
    )
    for cluster_id in sorted({row["cluster_id"] for row in found}):
        of_cluster = [row for row in found if row["cluster_id"] == cluster_id]
        for consequence in CONSEQUENCES:
            yield cluster_id, "findings", {"consequence": consequence}, sum(row["consequence"] == consequence for row in of_cluster)
        yield cluster_id, "new_findings", {}, sum(row["is_new"] for row in of_cluster)
    nights = "SELECT snapshot_id FROM snapshot UNION ALL SELECT snapshot_id FROM absent_cluster"
    newest = f"SELECT cluster_id FROM absent_cluster WHERE snapshot_id = (SELECT max(snapshot_id) FROM ({nights}))"
    absent = {row["cluster_id"] for row in rows(connection, newest)}
    for cluster_id in sorted(absent | {verdict["cluster_id"] for verdict in verdicts}):
        yield cluster_id, "absent", {}, cluster_id in absent


def _verdict_samples(verdict: Row) -> Iterator[tuple[str, Mapping[str, str], float | None]]:
    for failure, prefix in SURVIVES.items():
        for harm, counts in MUST_BE_ZERO.items():
            labels, survives = {"failure": failure, "harm": harm}, verdict[f"{prefix}_{harm}"]
            yield "survives", labels, survives
            if survives is not None:
                yield "worst_failure_partitions", labels, sum(verdict[f"{failure}_{harm}_{count}"] or 0 for count in counts)
    yield "quorum_survives", {}, verdict["quorum_survives_any_broker"]
    yield "brokers", {"state": "live"}, verdict["live_brokers"]
    yield "brokers", {"state": "dead"}, None if verdict["brokers"] is None else verdict["brokers"] - verdict["live_brokers"]
    columns = {"leaderless_partitions": "leaderless_now", "under_min_isr_partitions": "under_min_isr_now", "unknown_rules": "unknown_rules",
               "stored_bytes": "size_bytes", "fullest_disk_share": "disk_used_share", "published_timestamp_seconds": "published"}  # fmt: skip
    for name in (*columns, "leader_skew", "byte_skew", "producer_skew_lower_bound", "consumer_spread"):
        yield name, {}, verdict[columns.get(name, name)]
