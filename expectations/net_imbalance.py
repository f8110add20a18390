"""net_imbalance: a broker, and a cluster, hold no more than Kafka is known to bear."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import soft

READS = ()


def expectations(limits: Limits) -> list[Expectation]:
    return [
        soft(
            "brokers_of_bounded_size",
            f"No broker holds more than {limits.replicas_per_broker_most} replicas.",
            f"""
                SELECT cluster_id, fullest_broker_id AS broker_id, fullest_broker_items FROM {{batch}}
                WHERE level = 'replicas' AND fullest_broker_items > {limits.replicas_per_broker_most}
            """,
            measured="fullest_broker_items",
            limit=limits.replicas_per_broker_most,
            formula="replicas of the fullest broker <= limit",
            change=f"concat('move ', fullest_broker_items - {limits.replicas_per_broker_most}, ' replicas off broker ', broker_id)",
        ),
        soft(
            "cluster_of_bounded_size",
            f"No cluster leads more than {limits.partitions_per_cluster_most} partitions.",
            f"""
                SELECT cluster_id, items FROM {{batch}} WHERE level = 'leaders' AND items > {limits.partitions_per_cluster_most}
            """,
            measured="items",
            limit=limits.partitions_per_cluster_most,
            formula="partitions with a leader <= limit",
            change=f"concat('move ', items - {limits.partitions_per_cluster_most}, ' partitions to another cluster')",
        ),
    ]
