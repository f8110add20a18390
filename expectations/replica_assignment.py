"""replica_assignment: each partition is placed once, on brokers that are known, each of which holds it once."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import equal, hard
from jobs.schema import BROKER, PARTITION, TOPIC_PLACEMENT

READS = (BROKER, PARTITION, TOPIC_PLACEMENT)


def expectations(limits: Limits) -> list[Expectation]:
    return [
        hard(
            "every_partition_placed",
            "Every partition of a topic that can be placed is placed, beside where it is.",
            equal(
                "cluster_id, topic",
                said="""
                    SELECT cluster_id, topic, struct(count(*) AS partitions, bit_xor(xxhash64(partition, observed)) AS hash) AS said
                    FROM {batch}
                    GROUP BY ALL
                """,
                found="""
                    SELECT cluster_id, topic, struct(count(*) AS partitions, bit_xor(xxhash64(partition, replicas)) AS hash) AS found
                    FROM partition
                    SEMI JOIN (SELECT cluster_id, topic FROM topic_placement WHERE algorithm IS NOT NULL) USING (cluster_id, topic)
                    GROUP BY ALL
                """,
            ),
        ),
        hard(
            "one_replica_per_broker",
            "A broker holds at most one replica of a partition.",
            """
                SELECT cluster_id, topic, partition, replicas FROM {batch}
                WHERE size(array_distinct(replicas)) < size(replicas)
            """,
        ),
        hard(
            "placed_on_known_brokers",
            "Replicas are placed on brokers that are known.",
            """
                SELECT DISTINCT cluster_id, broker_id
                FROM (SELECT cluster_id, explode(replicas) AS broker_id FROM {batch})
                ANTI JOIN broker USING (cluster_id, broker_id)
            """,
        ),
        hard(
            "drift_as_shown",
            "A partition has drifted if it is not where it would be placed, by as many replicas as are on other brokers.",
            """
                SELECT cluster_id, topic, partition, replicas, observed, drifted, misplaced_replicas
                FROM {batch}
                WHERE drifted <> (replicas <> observed) OR misplaced_replicas <> size(array_except(observed, replicas))
            """,
        ),
    ]
