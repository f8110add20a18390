"""topic_partitioner: all clients that produce to a topic put a key in the same partition."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import hard, soft

READS = ()


def expectations(limits: Limits) -> list[Expectation]:
    return [
        hard(
            "explained_of_found",
            "What the partitioners explain is part of what was found, and what none explains is the rest.",
            """
                SELECT * FROM {batch}
                WHERE explained_records + second_records > records OR split_records > records
                    OR abs(unexplained_share * records - (records - explained_records)) > 0.5
            """,
        ),
        soft(
            "one_partitioner",
            "A topic's keys are where one partitioner puts them, each in one partition: else two clients, or an added partition, break their order.",
            "SELECT * FROM {batch} WHERE second_partitioner IS NOT NULL OR split_keys > 0",
            told="SELECT cluster_id FROM topic_partitioner",
            measured="records - explained_records + split_records",
            limit=0,
            formula="records that another partitioner placed, or of a key in two partitions = 0",
            change="""
                coalesce('let all clients use ' || partitioner || ', not ' || second_partitioner,
                    'change the number of partitions no more, or write the topic anew')
            """,
        ),
    ]
