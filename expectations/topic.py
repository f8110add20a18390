"""topic: every partition has its topic, described in whole and with replicas enough."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import equal, hard, soft
from jobs.schema import PARTITION

READS = (PARTITION,)


def expectations(limits: Limits) -> list[Expectation]:
    return [
        hard(
            "topics_of_partitions",
            "Every partition belongs to a topic that is known.",
            "SELECT DISTINCT cluster_id, topic FROM partition ANTI JOIN {batch} USING (cluster_id, topic)",
        ),
        soft(
            "partitions_described",
            "The dump describes as many partitions of a topic as it says there are.",
            equal(
                "cluster_id, topic",
                said="SELECT cluster_id, topic, CAST(partitions AS BIGINT) AS said FROM {batch}",
                found="""
                    SELECT cluster_id, topic, count(*) AS found
                    FROM partition
                    SEMI JOIN {batch} USING (cluster_id, topic)
                    GROUP BY ALL
                """,
            ),
            measured="found",
            limit="said",
            formula="partitions described = partitions told",
            change="'describe the topic whole: kafka-topics --describe'",
        ),
        soft(
            "enough_replicas",
            f"A topic has a replication factor of {limits.replication_factor_least} or more.",
            f"""
                SELECT cluster_id, topic, replication_factor FROM {{batch}}
                WHERE replication_factor < {limits.replication_factor_least}
            """,
            measured="replication_factor",
            limit=limits.replication_factor_least,
            formula="replication factor >= the least asked for",
            change=f"concat('add ', {limits.replication_factor_least} - replication_factor, ' replicas to each partition of ', topic)",
        ),
        soft(
            "min_insync_replicas_told",
            "The dump tells the min.insync.replicas of every topic; where it does not, 1 is taken.",
            "SELECT cluster_id, topic FROM {batch} WHERE min_insync_replicas IS NULL",
            measured="0",
            limit="1",
            formula="min.insync.replicas told = 1",
            change="'describe the configs too: kafka-configs --describe --all'",
        ),
    ]
