"""consumer_assignment: every partition that a consumer group subscribes to has one reader, who subscribes to it."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import equal, hard
from jobs.schema import CONSUMER_GROUP, GROUP_MEMBER, TOPIC

READS = (CONSUMER_GROUP, GROUP_MEMBER, TOPIC)


def expectations(limits: Limits) -> list[Expectation]:
    return [
        hard(
            "every_partition_given",
            "Each partition of a subscribed topic is given to a member: by each assignor, as the members are, one more and one fewer.",
            equal(
                "cluster_id, group_id, assignor, members_change, topic",
                said="""
                    SELECT cluster_id, group_id, assignor, members_change, topic,
                        struct(count(*) AS partitions, max(partition) AS last) AS said
                    FROM {batch}
                    GROUP BY ALL
                """,
                found="""
                    WITH consumer AS (
                        SELECT * FROM group_member
                        ANTI JOIN (SELECT cluster_id, group_id FROM consumer_group WHERE protocol = 'share') USING (cluster_id, group_id)
                    ), subscribed AS (
                        SELECT DISTINCT cluster_id, group_id, explode(topics) AS topic FROM consumer
                    ), changed AS (
                        SELECT cluster_id, group_id, explode(if(count(*) > 1, array(-1, 0, 1), array(0, 1))) AS members_change
                        FROM consumer
                        GROUP BY cluster_id, group_id
                    )
                    SELECT cluster_id, group_id, assignor, members_change, topic,
                        struct(CAST(partitions AS BIGINT) AS partitions, partitions - 1 AS last) AS found
                    FROM subscribed
                    JOIN changed USING (cluster_id, group_id)
                    JOIN topic USING (cluster_id, topic)
                    CROSS JOIN (VALUES ('range'), ('roundrobin')) AS (assignor)
                """,
            ),
        ),
        hard(
            "given_to_subscribers",
            "A partition is given to a member that the group has, and that subscribes to the topic.",
            """
                SELECT cluster_id, group_id, assignor, topic, partition, member_id
                FROM {batch}
                ANTI JOIN (SELECT cluster_id, group_id, member_id, explode(topics) AS topic FROM group_member)
                USING (cluster_id, group_id, member_id, topic)
                WHERE members_change = 0
            """,
        ),
    ]
