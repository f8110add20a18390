"""Rules of consumer_assignment: every subscribed partition is assigned to one subscribed member."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import Rule, hard, mismatches


def rules(limits: Limits) -> list[Rule]:
    return [
        hard(
            "every_partition_assigned",
            "Each assignor assigns every partition of a subscribed topic to the present members, to one member more and to one member fewer.",
            mismatches(
                "cluster_id, group_id, assignor, members_change, topic",
                stated="""
                    SELECT cluster_id, group_id, assignor, members_change, topic,
                        struct_pack(partitions := count(*), last_partition := max(partition)) AS stated
                    FROM consumer_assignment
                    GROUP BY ALL
                """,
                computed="""
                    WITH consumer AS (
                        SELECT * FROM group_member
                        ANTI JOIN (SELECT cluster_id, group_id FROM consumer_group WHERE protocol = 'share') USING (cluster_id, group_id)
                    ), subscribed AS (
                        SELECT DISTINCT cluster_id, group_id, unnest(topics) AS topic FROM consumer
                    ), changed AS (
                        SELECT cluster_id, group_id, unnest(if(count(*) > 1, [-1, 0, 1], [0, 1])) AS members_change
                        FROM consumer
                        GROUP BY cluster_id, group_id
                    )
                    SELECT cluster_id, group_id, assignor, members_change, topic,
                        struct_pack(partitions := CAST(partitions AS BIGINT), last_partition := partitions - 1) AS computed
                    FROM subscribed
                    JOIN changed USING (cluster_id, group_id)
                    JOIN topic USING (cluster_id, topic)
                    CROSS JOIN (VALUES ('range'), ('roundrobin')) AS assignors(assignor)
                """,
            ),
        ),
        hard(
            "assigned_to_subscribers",
            "A partition is assigned to a member of the group that subscribes to its topic.",
            """
                SELECT cluster_id, group_id, assignor, topic, partition, member_id
                FROM consumer_assignment
                ANTI JOIN (SELECT cluster_id, group_id, member_id, unnest(topics) AS topic FROM group_member)
                USING (cluster_id, group_id, member_id, topic)
                WHERE members_change = 0
            """,
        ),
    ]
