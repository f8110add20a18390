"""Rules of partition: every cluster has partitions, because a cluster without any must not count as healthy."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import Rule, hard, soft


def rules(limits: Limits) -> list[Rule]:
    return [
        hard(
            "not_empty",
            "Every cluster has at least one readable partition: without partitions the audit has nothing to compute.",
            "SELECT cluster_id FROM cluster ANTI JOIN partition USING (cluster_id)",
        ),
        soft(
            "no_reassignment_in_progress",
            "No partition is being reassigned: an interrupted reassignment leaves more replicas than requested.",
            """
                SELECT cluster_id, topic, partition, adding_replicas, removing_replicas FROM partition
                WHERE len(adding_replicas) > 0 OR len(removing_replicas) > 0
            """,
            measured="1",
            limit=0,
            formula="reassignments of the partition in progress = 0",
            change="'wait until it ends, or cancel it: kafka-reassign-partitions --cancel'",
        ),
    ]
