"""key_sample: producers were sampled on partitions that exist."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import soft
from jobs.schema import TOPIC

READS = (TOPIC,)


def expectations(limits: Limits) -> list[Expectation]:
    return [
        soft(
            "sampled_partitions_exist",
            "Every sampled record goes to a topic, and a partition if it names one, that the cluster has: others get no load.",
            """
                SELECT cluster_id, topic, partition, partitions, records
                FROM {batch}
                LEFT JOIN topic USING (cluster_id, topic)
                WHERE partitions IS NULL OR partition NOT BETWEEN 0 AND partitions - 1
            """,
            told="SELECT cluster_id FROM key_sample",
            measured="records",
            limit=0,
            formula="sampled records for a partition that the topic has not = 0",
            change="concat('take a sample of what ', topic, ' is now')",
        ),
    ]
