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
                SELECT cluster_id, fullest_broker_id AS broker_id, most FROM {{batch}}
                WHERE level = 'replicas' AND most > {limits.replicas_per_broker_most}
            """,
            measured="most",
            limit=limits.replicas_per_broker_most,
            formula="replicas of the fullest broker <= limit",
            change=f"concat('move ', most - {limits.replicas_per_broker_most}, ' replicas off broker ', broker_id)",
        ),
        soft(
            "cluster_of_bounded_size",
            f"No cluster leads more than {limits.partitions_per_cluster_most} partitions.",
            f"""
                SELECT cluster_id, things FROM {{batch}} WHERE level = 'leaders' AND things > {limits.partitions_per_cluster_most}
            """,
            measured="things",
            limit=limits.partitions_per_cluster_most,
            formula="partitions with a leader <= limit",
            change=f"concat('move ', things - {limits.partitions_per_cluster_most}, ' partitions to another cluster')",
        ),
    ]
