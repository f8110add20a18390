"""Rules of key_sample: sampled records belong to partitions that exist."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import Rule, soft


def rules(limits: Limits) -> list[Rule]:
    return [
        soft(
            "sampled_partitions_exist",
            "Every sampled record belongs to a topic of the cluster, and to one of its partitions if the sample reports one: other records are ignored.",
            """
                SELECT cluster_id, topic, partition, partitions, records
                FROM key_sample
                LEFT JOIN topic USING (cluster_id, topic)
                WHERE partitions IS NULL OR partition NOT BETWEEN 0 AND partitions - 1
            """,
            requires="SELECT cluster_id FROM key_sample",
            measured="records",
            limit=0,
            formula="sampled records for a partition that does not exist = 0",
            change="'sample the present topic ' || topic || ' again'",
        ),
    ]
