"""Rules of topic_partitioner: all producers of a topic put a key into the same partition."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import Rule, hard, soft


def rules(limits: Limits) -> list[Rule]:
    return [
        hard(
            "explained_records_add_up",
            "The records that partitioners explain and the unexplained ones add up to all observed records.",
            """
                SELECT * FROM topic_partitioner
                WHERE explained_records + second_records > records OR split_records > records
                    OR abs(unexplained_share * records - (records - explained_records)) > 0.5
            """,
        ),
        soft(
            "one_partitioner",
            "One partitioner explains the partition of every key of a topic: otherwise two clients, or an added partition, break the key order.",
            "SELECT * FROM topic_partitioner WHERE second_partitioner IS NOT NULL OR split_keys > 0",
            requires="SELECT cluster_id FROM topic_partitioner",
            measured="records - explained_records + split_records",
            limit=0,
            formula="records that another partitioner placed, or with a key in two partitions = 0",
            change="""
                coalesce('let all clients use ' || partitioner || ', not ' || second_partitioner,
                    'keep the number of partitions, or write the topic again')
            """,
        ),
    ]
