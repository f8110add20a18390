"""Rules of replica_assignment: each partition is placed once, on known and different brokers."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import Rule, hard, mismatches, rows_hash


def rules(limits: Limits) -> list[Rule]:
    return [
        hard(
            "every_partition_placed",
            "Every partition of a topic that Kafka can place has a row with its observed replicas.",
            mismatches(
                "cluster_id, topic",
                stated=f"""
                    SELECT cluster_id, topic, struct_pack(partitions := count(*), hash := {rows_hash("partition", "observed")}) AS stated
                    FROM replica_assignment
                    GROUP BY ALL
                """,
                computed=f"""
                    SELECT cluster_id, topic, struct_pack(partitions := count(*), hash := {rows_hash("partition", "replicas")}) AS computed
                    FROM partition
                    SEMI JOIN (SELECT cluster_id, topic FROM topic_placement WHERE algorithm IS NOT NULL) USING (cluster_id, topic)
                    GROUP BY ALL
                """,
            ),
        ),
        hard(
            "one_replica_per_broker",
            "No partition is placed twice on one broker.",
            """
                SELECT cluster_id, topic, partition, replicas FROM replica_assignment
                WHERE len(list_distinct(replicas)) < len(replicas)
            """,
        ),
        hard(
            "placed_on_known_brokers",
            "Every partition is placed on brokers that have a row.",
            """
                SELECT DISTINCT cluster_id, broker_id
                FROM (SELECT cluster_id, unnest(replicas) AS broker_id FROM replica_assignment)
                ANTI JOIN broker USING (cluster_id, broker_id)
            """,
        ),
        hard(
            "drift_matches_replicas",
            "A partition has drifted if its observed replicas differ from its placement; misplaced replicas are those on other brokers. Both "
            "are unknown without a placement.",
            """
                SELECT cluster_id, topic, partition, replicas, observed, drifted, misplaced_replicas
                FROM replica_assignment
                WHERE drifted <> (replicas <> observed) OR replicas IS NOT NULL AND drifted IS NULL OR replicas IS NULL AND NOT drifted
                   OR misplaced_replicas IS DISTINCT FROM CASE WHEN replicas = observed THEN 0
                       WHEN replicas IS NOT NULL
                       THEN len(list_filter(list_distinct(observed), lambda id: NOT list_contains(replicas, id))) END
            """,
        ),
    ]
