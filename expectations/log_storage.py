"""log_storage: every replica whose size is told has its segments, which hold it."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import equal, hard
from jobs.schema import REPLICA

READS = (REPLICA,)


def expectations(limits: Limits) -> list[Expectation]:
    return [
        hard(
            "sizes_of_replicas",
            "The replicas whose size is told are there, with that size.",
            equal(
                "cluster_id, topic",
                said="""
                    SELECT cluster_id, topic, struct(count(*) AS replicas, sum(size_bytes) AS size_bytes) AS said
                    FROM {batch} GROUP BY ALL
                """,
                found="""
                    SELECT cluster_id, topic, struct(count(*) AS replicas, sum(size_bytes) AS size_bytes) AS found
                    FROM replica WHERE size_bytes IS NOT NULL GROUP BY ALL
                """,
            ),
        ),
        hard(
            "segments_hold_the_size",
            "A replica has as many segments as hold its size and no more, of which the active one is never deleted.",
            """
                SELECT cluster_id, topic, partition, broker_id, size_bytes, segment_bytes, segments, deletable_bytes
                FROM {batch} WHERE segments < 1
                OR CAST(segments AS DOUBLE) * segment_bytes < size_bytes OR (segments - 1) * segment_bytes > size_bytes
                OR deletable_bytes NOT BETWEEN 0 AND (segments - 1) * segment_bytes
            """,
        ),
    ]
