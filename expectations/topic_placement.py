"""topic_placement: each topic's placement is judged by its partitions, and the topics that no start explains are findings."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import equal, hard, soft
from jobs.schema import CLUSTER, REPLICA_ASSIGNMENT, TOPIC, TOPIC_PLACEMENT

READS = (CLUSTER, TOPIC, REPLICA_ASSIGNMENT, TOPIC_PLACEMENT)

# KRaft's controller draws anew for each topic, and not by a start index.
_STARTED = "SELECT cluster_id FROM cluster WHERE controller = 'zookeeper'"


def expectations(limits: Limits) -> list[Expectation]:
    return [
        hard(
            "every_topic_judged",
            "Every topic has a placement, or the reason why it has none.",
            "SELECT cluster_id, topic FROM topic ANTI JOIN {batch} USING (cluster_id, topic)",
        ),
        hard(
            "matches_as_placed",
            "The partitions that match are those that have not drifted, and the placement is explained if all do.",
            equal(
                "cluster_id, topic",
                said="""
                    SELECT cluster_id, topic, struct(CAST(partitions AS BIGINT) AS partitions,
                        CAST(matching_partitions AS BIGINT) AS matching, explained) AS said
                    FROM {batch} WHERE algorithm IS NOT NULL AND partitions > 0
                """,
                found="""
                    SELECT cluster_id, topic, struct(count(*) AS partitions, count_if(NOT drifted) AS matching,
                        bool_and(NOT drifted) AS explained) AS found
                    FROM replica_assignment GROUP BY ALL
                """,
            ),
        ),
        soft(
            "placement_explained",
            "One start index and shift explain where all partitions of a topic are.",
            f"""
                SELECT cluster_id, topic, partitions, matching_partitions, start_index, shift
                FROM {{batch}}
                SEMI JOIN ({_STARTED}) USING (cluster_id)
                WHERE NOT (explained OR start_requested)
            """,
            told=f"SELECT cluster_id FROM topic_placement SEMI JOIN ({_STARTED}) USING (cluster_id) WHERE NOT start_requested",
            measured="matching_partitions",
            limit="partitions",
            formula="partitions where one start puts them = all",
            change="concat('move back ', partitions - matching_partitions, ' partitions, if nobody meant them to be elsewhere')",
        ),
        soft(
            "placeable",
            "Kafka would not refuse to place a topic as it is.",
            "SELECT cluster_id, topic, refusal FROM {batch} WHERE refusal IS NOT NULL",
            measured="1",
            limit=0,
            formula="reasons for Kafka to refuse the topic = 0",
            change="refusal",
        ),
    ]
