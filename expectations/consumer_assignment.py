"""Rules of consumer_assignment: every subscribed partition is assigned to one subscribed member, in a share group to at least one."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import PARTITION_BITS, Rule, hard, mismatches


def rules(limits: Limits) -> list[Rule]:
    return [
        hard(
            "every_partition_assigned",
            "An assignor that is computed assigns every partition of the topics that the present members subscribe to.",
            mismatches(
                "cluster_id, group_id, assignor, members_change, topic",
                stated="""
                    SELECT cluster_id, group_id, assignor, members_change, topic, struct_pack(
                        partitions := count(*) FILTER (assignor <> 'simple') + count(DISTINCT partition) FILTER (assignor = 'simple'),
                        last_partition := max(partition)) AS stated
                    FROM consumer_assignment
                    GROUP BY ALL
                """,
                computed="""
                    WITH consumer AS (
                        SELECT cluster_id, group_id, member_id, topics,
                            member_id = max(member_id) OVER (PARTITION BY cluster_id, group_id) AS leaves
                        FROM group_member
                    ), subscription AS (
                        SELECT cluster_id, group_id, leaves, unnest(topics) AS topic FROM consumer
                    ), subscribed AS (
                        SELECT cluster_id, group_id, topic, bool_and(leaves) AS only_by_last FROM subscription GROUP BY ALL
                    )
                    SELECT cluster_id, group_id, assignor, members_change, topic,
                        struct_pack(partitions := CAST(topic.partitions AS BIGINT), last_partition := topic.partitions - 1) AS computed
                    FROM group_assignment
                    JOIN subscribed USING (cluster_id, group_id)
                    JOIN topic USING (cluster_id, topic)
                    WHERE missing_input IS NULL AND NOT (only_by_last AND members_change = -1)
                """,
            )
            # A member of a share group keeps partitions of a topic that nobody subscribes to any more.
            + " AND (assignor <> 'simple' OR computed IS NOT NULL)",
        ),
        hard(
            "one_member_per_partition",
            "An assignor of consumer groups assigns a partition to one member.",
            f"""
                SELECT cluster_id, group_id, assignor, members_change, topic, min(partition) AS first_partition, count(*) AS members
                FROM consumer_assignment
                WHERE assignor <> 'simple'
                GROUP BY cluster_id, group_id, assignor, members_change, topic, partition >> 6
                HAVING count(*) > bit_count({PARTITION_BITS})
            """,
        ),
        hard(
            "assigned_to_subscribers",
            "A partition is assigned to a member of the group that subscribes to its topic.",
            # The sticky assignors also give partitions to members without topics, and simple leaves them those of earlier subscriptions.
            """
                SELECT cluster_id, group_id, assignor, topic, partition, member_id
                FROM consumer_assignment
                ANTI JOIN (SELECT cluster_id, group_id, member_id, unnest(topics) AS topic FROM group_member)
                USING (cluster_id, group_id, member_id, topic)
                ANTI JOIN (SELECT cluster_id, group_id FROM group_member WHERE len(topics) = 0) USING (cluster_id, group_id)
                WHERE members_change = 0 AND assignor <> 'simple'
            """,
        ),
    ]
