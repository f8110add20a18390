"""Which clusters have known racks: a broker without a rack in the dumps has none, or its rack is unknown."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

# Formats that report the rack of every live broker, or that it has none.
_REPORT_RACKS = frozenset(
    {"broker-list", "kafka-broker-api-versions", "kafka-cluster", "kafka-dump-log", "metadata-log", "topology-capture", "zookeeper"}
)


def clusters_with_known_racks(cluster: pa.Table, broker: pa.Table) -> set[str]:
    """Return the ids of the clusters with a file that reports racks, or with a broker that has one."""
    reported = {row["cluster_id"] for row in cluster.to_pylist() if _REPORT_RACKS.intersection(row["sources"])}
    return reported | set(broker.filter(pc.field("rack").is_valid())["cluster_id"].to_pylist())
