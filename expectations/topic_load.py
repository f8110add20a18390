"""topic_load: a topic's load is that of its partitions, and no partition is too hot."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import equal, hard, soft
from jobs.schema import PRODUCER_LOAD

READS = (PRODUCER_LOAD,)


def expectations(limits: Limits) -> list[Expectation]:
    return [
        hard(
            "load_of_partitions",
            "The records and bytes of a topic are those of its partitions.",
            equal(
                "cluster_id, topic",
                said="""
                    SELECT cluster_id, topic, struct(CAST(partitions AS BIGINT) AS partitions, records, size_bytes,
                        keys) AS said
                    FROM {batch}
                """,
                found="""
                    SELECT cluster_id, topic, struct(count(*) AS partitions, sum(records) AS records,
                        sum(size_bytes) AS size_bytes, sum(keys) AS keys) AS found
                    FROM producer_load GROUP BY ALL
                """,
            ),
        ),
        hard(
            "skew_over_floor",
            "No topic is less skewed than its hottest key allows.",
            "SELECT cluster_id, topic, skew, skew_floor FROM {batch} WHERE skew < skew_floor - 1e-6",
        ),
        soft(
            "even_producers",
            f"The hottest partition of a topic gets at most {limits.producer_skew_most} times the records of the mean one.",
            f"""
                SELECT cluster_id, topic, hottest_partition, skew, skew_floor, hottest_key_share FROM {{batch}}
                WHERE skew > {limits.producer_skew_most}
            """,
            told="SELECT cluster_id FROM topic_load WHERE skew IS NOT NULL",
            measured="skew",
            limit=limits.producer_skew_most,
            formula="records of the hottest partition / mean <= limit",
            change=f"""
                if(skew_floor > {limits.producer_skew_most}, 'split the hottest keys: no partitioner does better than they allow',
                    'another partitioner, or another number of partitions')
            """,
        ),
    ]
