"""producer_load: what producers were sampled to send is all there, and goes to each partition once."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import equal, hard
from jobs.schema import KEY_SAMPLE, PARTITION, TOPIC

READS = (KEY_SAMPLE, PARTITION, TOPIC)

# The topics of which every partition is described: a record may belong to one that is not.
_WHOLE = """
    SELECT cluster_id, topic, partitions
    FROM topic
    JOIN (SELECT cluster_id, topic, count(*) AS described FROM partition GROUP BY ALL) USING (cluster_id, topic)
    WHERE described = partitions
"""


def expectations(limits: Limits) -> list[Expectation]:
    return [
        hard(
            "load_as_sampled",
            "The partitions of a topic that is described in whole get all that was sampled of it, but for partitions that do not exist.",
            equal(
                "cluster_id, topic",
                said=f"""
                    SELECT cluster_id, topic, struct(count(*) AS partitions, sum(records) AS records, sum(size_bytes) AS size_bytes) AS said
                    FROM {{batch}}
                    SEMI JOIN ({_WHOLE}) USING (cluster_id, topic)
                    WHERE records IS NOT NULL
                    GROUP BY ALL
                """,
                found=f"""
                    SELECT cluster_id, topic, struct(CAST(partitions AS BIGINT) AS partitions,
                        sum(if(sampled < partitions, records, 0)) AS records,
                        sum(if(sampled < partitions, size_bytes, 0)) AS size_bytes) AS found
                    FROM (SELECT cluster_id, topic, coalesce(partition, 0) AS sampled, records, size_bytes FROM key_sample)
                    JOIN ({_WHOLE}) USING (cluster_id, topic)
                    GROUP BY cluster_id, topic, partitions
                """,
            ),
        ),
        hard(
            "kinds_add_up",
            "The records of a partition are those with an explicit partition, with a key, and without.",
            """
                SELECT cluster_id, topic, partition, records, explicit_records, keyed_records, unkeyed_records
                FROM {batch} WHERE records <> explicit_records + keyed_records + unkeyed_records
            """,
        ),
        hard(
            "shares_sum_to_one",
            "The shares of a topic's partitions sum to one, those of records and those of bytes.",
            """
                SELECT cluster_id, topic, sum(record_share) AS record_shares, sum(byte_share) AS byte_shares
                FROM {batch}
                GROUP BY ALL
                HAVING (sum(records) > 0 AND abs(record_shares - 1) > 1e-6)
                    OR (sum(size_bytes) > 0 AND abs(byte_shares - 1) > 1e-6)
            """,
        ),
    ]
