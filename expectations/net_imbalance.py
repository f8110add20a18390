"""Rules of net_imbalance: a broker and a cluster have no more replicas and partitions than Kafka supports well."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import Rule, counted, soft


def rules(limits: Limits) -> list[Rule]:
    return [
        soft(
            "replicas_per_broker_limited",
            f"No broker has more than {limits.replicas_per_broker_most} replicas.",
            f"""
                SELECT cluster_id, fullest_broker_id AS broker_id, fullest_broker_items FROM net_imbalance
                WHERE level = 'replicas' AND fullest_broker_items > {limits.replicas_per_broker_most}
            """,
            measured="fullest_broker_items",
            limit=limits.replicas_per_broker_most,
            formula="replicas of the fullest broker <= limit",
            change=f"'move ' || {counted(f'fullest_broker_items - {limits.replicas_per_broker_most}', 'replica')} || ' off broker ' || broker_id",
        ),
        soft(
            "partitions_per_cluster_limited",
            f"No cluster has more than {limits.partitions_per_cluster_most} partitions with a leader.",
            f"SELECT cluster_id, items FROM net_imbalance WHERE level = 'leaders' AND items > {limits.partitions_per_cluster_most}",
            measured="items",
            limit=limits.partitions_per_cluster_most,
            formula="partitions with a leader <= limit",
            change=f"'move ' || {counted(f'items - {limits.partitions_per_cluster_most}', 'partition')} || ' to another cluster'",
        ),
    ]
