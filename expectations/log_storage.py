"""Rules of log_storage: every replica of known size has a row, and its segments fit its size."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import Rule, hard, mismatches


def rules(limits: Limits) -> list[Rule]:
    return [
        hard(
            "sizes_match_replicas",
            "Every replica of known size has a row with that size.",
            mismatches(
                "cluster_id, topic",
                stated="""
                    SELECT cluster_id, topic, struct_pack(replicas := count(*), size_bytes := sum(size_bytes)) AS stated
                    FROM log_storage GROUP BY ALL
                """,
                computed="""
                    SELECT cluster_id, topic, struct_pack(replicas := count(*), size_bytes := sum(size_bytes)) AS computed
                    FROM replica WHERE size_bytes IS NOT NULL GROUP BY ALL
                """,
            ),
        ),
        hard(
            "segments_fit_size",
            "A replica has exactly as many segments as its size needs, and its active segment is not deletable.",
            """
                SELECT cluster_id, topic, partition, broker_id, size_bytes, segment_bytes, segments, deletable_bytes
                FROM log_storage WHERE segments < 1
                OR CAST(segments AS DOUBLE) * segment_bytes < size_bytes OR (segments - 1) * segment_bytes > size_bytes
                OR deletable_bytes NOT BETWEEN 0 AND (segments - 1) * segment_bytes
            """,
        ),
    ]
