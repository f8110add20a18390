"""Rules of topic: every partition has a topic that is described completely, with enough replicas."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import Rule, counted, hard, mismatches, soft


def rules(limits: Limits) -> list[Rule]:
    return [
        hard(
            "partitions_have_topics",
            "Every partition belongs to a topic that has a row.",
            "SELECT DISTINCT cluster_id, topic FROM partition ANTI JOIN topic USING (cluster_id, topic)",
        ),
        soft(
            "partitions_described",
            "The dumps describe as many partitions of a topic as they report for it.",
            mismatches(
                "cluster_id, topic",
                stated="SELECT cluster_id, topic, CAST(partitions AS BIGINT) AS stated FROM topic",
                computed="""
                    SELECT cluster_id, topic, count(*) AS computed
                    FROM partition
                    SEMI JOIN topic USING (cluster_id, topic)
                    GROUP BY ALL
                """,
            ),
            measured="computed",
            limit="stated",
            formula="partitions described = partitions reported",
            change="'describe the complete topic: kafka-topics --describe'",
        ),
        soft(
            "enough_replicas",
            f"A topic has a replication factor of at least {limits.replication_factor_least}.",
            f"SELECT cluster_id, topic, replication_factor FROM topic WHERE replication_factor < {limits.replication_factor_least}",
            measured="replication_factor",
            limit=limits.replication_factor_least,
            formula="replication factor >= limit",
            change=f"'add ' || {counted(f'{limits.replication_factor_least} - replication_factor', 'replica')} || ' to each partition of ' || topic",
        ),
        soft(
            "min_insync_replicas_known",
            "The dumps report min.insync.replicas for every topic: otherwise 1 is assumed.",
            "SELECT cluster_id, topic FROM topic WHERE min_insync_replicas IS NULL",
            measured="0",
            limit="1",
            formula="min.insync.replicas reported = 1",
            change="'describe the configs too: kafka-configs --describe --all'",
        ),
    ]
