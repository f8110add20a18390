"""Rules of topic_load: a topic's load matches its partitions, and no partition is too hot."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import Rule, hard, mismatches, soft


def rules(limits: Limits) -> list[Rule]:
    return [
        hard(
            "load_matches_partitions",
            "The records, bytes and keys of a topic are the sums over its partitions.",
            mismatches(
                "cluster_id, topic",
                stated="""
                    SELECT cluster_id, topic, struct_pack(partitions := CAST(partitions AS BIGINT), records := records,
                        size_bytes := size_bytes, keys := keys) AS stated
                    FROM topic_load
                """,
                computed="""
                    SELECT cluster_id, topic, struct_pack(partitions := count(*), records := sum(records),
                        size_bytes := sum(size_bytes), keys := sum(keys)) AS computed
                    FROM producer_load GROUP BY ALL
                """,
            ),
        ),
        hard(
            "skew_not_below_floor",
            "No topic has less skew than its hottest key alone causes.",
            "SELECT cluster_id, topic, skew_lower_bound, skew_floor FROM topic_load WHERE skew_lower_bound < skew_floor - 1e-6",
        ),
        soft(
            "even_producers",
            f"The hottest partition of a topic receives at most {limits.producer_skew_most} times the mean records of its partitions, "
            "wherever the records without a key go.",
            f"""
                SELECT cluster_id, topic, hottest_partition, skew_lower_bound, skew_floor, hottest_key_share FROM topic_load
                WHERE skew_lower_bound > {limits.producer_skew_most}
            """,
            requires="SELECT cluster_id FROM topic_load WHERE skew_lower_bound IS NOT NULL",
            measured="skew_lower_bound",
            limit=limits.producer_skew_most,
            formula="records of the hottest partition / mean <= limit",
            change=f"""
                if(skew_floor > {limits.producer_skew_most}, 'split the hottest keys: no partitioner can share them more evenly',
                    'use another partitioner, or another number of partitions')
            """,
        ),
    ]
