"""Rules of producer_load: all sampled records and bytes are assigned, each to one partition."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import Rule, hard, mismatches

# Topics with a row for each partition: a record may belong to a partition that has none.
_COMPLETE_TOPICS = """
    SELECT cluster_id, topic, partitions
    FROM topic
    JOIN (SELECT cluster_id, topic, count(*) AS described FROM partition GROUP BY ALL) USING (cluster_id, topic)
    WHERE described = partitions
"""


def rules(limits: Limits) -> list[Rule]:
    return [
        hard(
            "load_matches_sample",
            "The partitions of a completely described topic receive all its sampled records, except those for partitions that do not exist.",
            mismatches(
                "cluster_id, topic",
                stated=f"""
                    SELECT cluster_id, topic,
                        struct_pack(partitions := count(*), records := sum(records), size_bytes := sum(size_bytes)) AS stated
                    FROM producer_load
                    SEMI JOIN ({_COMPLETE_TOPICS}) USING (cluster_id, topic)
                    WHERE records IS NOT NULL
                    GROUP BY ALL
                """,
                computed=f"""
                    SELECT cluster_id, topic, struct_pack(partitions := CAST(partitions AS BIGINT),
                        records := sum(if(sampled_partition < partitions, records, 0)),
                        size_bytes := if(count(*) = count(size_bytes), sum(if(sampled_partition < partitions, size_bytes, 0)), NULL)) AS computed
                    FROM (SELECT cluster_id, topic, coalesce(partition, 0) AS sampled_partition, records, size_bytes FROM key_sample)
                    JOIN ({_COMPLETE_TOPICS}) USING (cluster_id, topic)
                    GROUP BY cluster_id, topic, partitions
                """,
            ),
        ),
        hard(
            "kinds_add_up",
            "The records with an explicit partition, with a key and without a key add up to all records of a partition.",
            """
                SELECT cluster_id, topic, partition, records, explicit_records, keyed_records, unkeyed_records
                FROM producer_load WHERE records <> explicit_records + keyed_records + unkeyed_records
            """,
        ),
    ]
