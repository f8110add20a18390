"""Rules of topic_placement: every topic has a placement that its partitions support."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import Rule, hard, mismatches, soft

# Only a ZooKeeper-based cluster places by a start index: the KRaft controller draws random numbers for each topic.
_WITH_START_INDEX = "SELECT cluster_id FROM cluster WHERE controller = 'zookeeper'"


def rules(limits: Limits) -> list[Rule]:
    return [
        hard(
            "every_topic_has_a_placement",
            "Every topic has a placement, or the reason why it has none.",
            "SELECT cluster_id, topic FROM topic ANTI JOIN topic_placement USING (cluster_id, topic)",
        ),
        hard(
            "matching_partitions_counted",
            "The matching partitions are those that have not drifted, and a placement is explained if all partitions match.",
            mismatches(
                "cluster_id, topic",
                stated="""
                    SELECT cluster_id, topic, struct_pack(partitions := CAST(partitions AS BIGINT),
                        matching := CAST(matching_partitions AS BIGINT), explained := explained) AS stated
                    FROM topic_placement WHERE algorithm IS NOT NULL AND partitions > 0
                """,
                computed="""
                    SELECT cluster_id, topic, struct_pack(partitions := count(*), matching := count_if(NOT drifted),
                        explained := bool_and(NOT drifted)) AS computed
                    FROM replica_assignment GROUP BY ALL
                """,
            ),
        ),
        soft(
            "placement_explained",
            "One start index and shift explain the replicas of all partitions of a topic.",
            f"""
                SELECT cluster_id, topic, partitions, matching_partitions, start_index, shift
                FROM topic_placement
                SEMI JOIN ({_WITH_START_INDEX}) USING (cluster_id)
                WHERE NOT (explained OR start_requested)
            """,
            requires=f"SELECT cluster_id FROM topic_placement SEMI JOIN ({_WITH_START_INDEX}) USING (cluster_id) WHERE NOT start_requested",
            measured="matching_partitions",
            limit="partitions",
            formula="partitions that one start index explains = all",
            change="'move ' || (partitions - matching_partitions) || ' partitions back, unless they were moved on purpose'",
        ),
        soft(
            "placeable",
            "Kafka accepts the topic's partitions and replicas for placement on the present brokers.",
            "SELECT cluster_id, topic, refusal FROM topic_placement WHERE refusal IS NOT NULL",
            measured="1",
            limit=0,
            formula="reasons for Kafka to refuse the topic = 0",
            change="refusal",
        ),
    ]
