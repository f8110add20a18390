"""Rules of replica: every assigned replica has a row, and no other replica is on a disk."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import Rule, hard, mismatches, rows_hash, soft


def rules(limits: Limits) -> list[Rule]:
    columns = ("partition", "replica_index", "broker_id", "in_sync", "size_bytes")
    return [
        hard(
            "replicas_as_assigned",
            "Every replica of a partition has a row with its index in the assignment and its size, in sync if it is in the ISR.",
            mismatches(
                "cluster_id, topic",
                stated=f"""
                    SELECT cluster_id, topic,
                        struct_pack(replicas := count(*), in_sync := count_if(in_sync), hash := {rows_hash(*columns)}) AS stated
                    FROM replica
                    WHERE replica_index IS NOT NULL
                    GROUP BY ALL
                """,
                computed=f"""
                    WITH indexed AS (
                        SELECT *, unnest(range(len(replicas))) AS index FROM partition
                    ), assigned AS (
                        SELECT cluster_id, topic, partition, CAST(index AS INT) AS replica_index, replicas[index + 1] AS broker_id,
                            list_contains(isr, replicas[index + 1]) AS in_sync, replica_size_bytes[index + 1] AS size_bytes
                        FROM indexed
                    )
                    SELECT cluster_id, topic,
                        struct_pack(replicas := count(*), in_sync := count_if(in_sync), hash := {rows_hash(*columns)}) AS computed
                    FROM assigned
                    GROUP BY ALL
                """,
            ),
        ),
        soft(
            "no_stray_replicas",
            "No log dir contains a replica that is not assigned to its broker.",
            """
                SELECT cluster_id, topic, partition, broker_id, log_dir, size_bytes FROM replica
                WHERE replica_index IS NULL
            """,
            requires="SELECT cluster_id FROM replica WHERE log_dir IS NOT NULL",
            measured="1",
            limit=0,
            formula="replicas on disk that are not assigned = 0",
            change="'delete ' || topic || '-' || partition || ' on broker ' || broker_id || ' when no reassignment is in progress'",
        ),
    ]
