"""Rules of topic_placement: every topic has a placement that its partitions support."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import Rule, counted, hard, mismatches, soft


def rules(limits: Limits) -> list[Rule]:
    return [
        hard(
            "every_topic_has_a_placement",
            "Every topic has a placement, or the reason why it has none.",
            "SELECT cluster_id, topic FROM topic ANTI JOIN topic_placement USING (cluster_id, topic)",
        ),
        hard(
            "matching_partitions_counted",
            "The matching partitions are those that have not drifted, unknown without a placement, and a placement is explained if all match.",
            mismatches(
                "cluster_id, topic",
                stated="""
                    SELECT cluster_id, topic, struct_pack(partitions := CAST(partitions AS BIGINT),
                        matching := CAST(matching_partitions AS BIGINT), explained := explained,
                        first_drifted := CASE WHEN matching_partitions IS NOT NULL THEN first_unexplained_partition END) AS stated
                    FROM topic_placement WHERE algorithm IS NOT NULL AND partitions > 0
                """,
                computed="""
                    SELECT cluster_id, topic, struct_pack(partitions := count(*),
                        matching := CASE WHEN count(drifted) = count(*) THEN count_if(NOT drifted) END,
                        explained := bool_and(drifted IS NOT DISTINCT FROM false),
                        first_drifted := min(partition) FILTER (drifted)) AS computed
                    FROM replica_assignment GROUP BY ALL
                """,
            ),
        ),
        hard(
            "algorithm_of_the_controller",
            "StripedReplicaPlacer places in KRaft clusters, with draws; AdminUtils with a ZooKeeper controller, with a start index and shift; if "
            "the kind of controller is unknown, so is the placement.",
            """
                SELECT cluster_id, topic, algorithm, controller, controller_assumed FROM topic_placement JOIN cluster USING (cluster_id)
                WHERE algorithm IS NOT NULL AND (controller_assumed OR (algorithm = 'striped') <> (controller = 'kraft'))
                   OR (start_index IS NOT NULL OR shift IS NOT NULL OR start_requested) AND (controller_assumed OR controller <> 'zookeeper')
                   OR draws IS NOT NULL AND controller <> 'kraft'
            """,
        ),
        soft(
            "placement_explained",
            "Kafka's own placement explains the replicas of all partitions of a topic: one start index and shift with a ZooKeeper controller, "
            "the random draws of the placer with KRaft.",
            """
                SELECT cluster_id, topic, algorithm, partitions, matching_partitions, first_unexplained_partition
                FROM topic_placement
                WHERE algorithm IS NOT NULL AND NOT (explained OR start_requested)
            """,
            requires="SELECT cluster_id FROM topic_placement WHERE algorithm IS NOT NULL AND NOT start_requested",
            measured="coalesce(matching_partitions, 0)",
            limit="partitions",
            formula="partitions that one placement explains = all",
            change="CASE WHEN matching_partitions IS NULL "
            "THEN 'reassign the topic, unless it was assigned on purpose: Kafka would place partition ' || first_unexplained_partition || ' elsewhere' "
            f"ELSE 'move ' || {counted('partitions - matching_partitions', 'partition')} || ' back, unless they were moved on purpose' END",
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
