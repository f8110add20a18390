"""partition: there are some, since a cluster of which no partition is known must not pass for a healthy one."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import hard, soft
from jobs.schema import CLUSTER

READS = (CLUSTER,)


def expectations(limits: Limits) -> list[Expectation]:
    return [
        hard(
            "not_empty",
            "Every cluster has a partition that could be read: without kafka-topics --describe, nothing can be said of it.",
            "SELECT cluster_id FROM cluster ANTI JOIN {batch} USING (cluster_id)",
        ),
        soft(
            "no_reassignment_left",
            "No partition is being reassigned: what was interrupted leaves more replicas than asked for.",
            """
                SELECT cluster_id, topic, partition, adding_replicas, removing_replicas FROM {batch}
                WHERE size(coalesce(adding_replicas, array())) > 0 OR size(coalesce(removing_replicas, array())) > 0
            """,
            measured="1",
            limit=0,
            formula="reassignments of the partition under way = 0",
            change="'let it end, or cancel it: kafka-reassign-partitions --cancel'",
        ),
    ]
