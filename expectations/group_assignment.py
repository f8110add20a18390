"""Rules of group_assignment: every group is computed, counts match the assignment, and the observed assignment is that of the assignor."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import PARTITION_BITS, Rule, hard, mismatches, soft


def rules(limits: Limits) -> list[Rule]:
    return [
        hard(
            "every_group_computed",
            "A group with members has a row for each assignor and change of members, except a streams group.",
            mismatches(
                "cluster_id, group_id, assignor, members_change",
                stated="SELECT cluster_id, group_id, assignor, members_change, true AS stated FROM group_assignment",
                computed="""
                    WITH computed_group AS (
                        SELECT cluster_id, group_id, present.members, unnest(CASE
                            WHEN protocol = 'share' THEN ['simple']
                            WHEN coalesce(protocol, 'consumer') = 'consumer' AND assignor = 'uniform'
                                OR coalesce(protocol, 'classic') = 'classic' AND assignor IN ('sticky', 'cooperative-sticky')
                                THEN ['range', 'roundrobin', assignor]
                            ELSE ['range', 'roundrobin'] END) AS assignor
                        FROM (SELECT cluster_id, group_id, count(*) AS members FROM group_member GROUP BY ALL) AS present
                        JOIN consumer_group USING (cluster_id, group_id)
                        WHERE protocol IS DISTINCT FROM 'streams'
                    )
                    SELECT cluster_id, group_id, assignor, unnest(if(members > 1, [-1, 0, 1], [0, 1])) AS members_change, true AS computed
                    FROM computed_group
                """,
            ),
        ),
        hard(
            "counts_match_assignment",
            "The numbers of members and partitions, and the most and fewest partitions of a member, match consumer_assignment and group_member.",
            mismatches(
                "cluster_id, group_id, assignor, members_change",
                stated="""
                    SELECT cluster_id, group_id, assignor, members_change, struct_pack(
                        members := CAST(members AS BIGINT),
                        busy_members := CAST(members - idle_members AS BIGINT),
                        partitions := CAST(partitions AS BIGINT),
                        most := CAST(max_partitions AS BIGINT),
                        fewest := CAST(min_partitions AS BIGINT),
                        spread := CAST(spread AS BIGINT)) AS stated
                    FROM group_assignment
                    WHERE missing_input IS NULL AND partitions > 0
                """,
                computed="""
                    WITH member AS (
                        SELECT cluster_id, group_id, assignor, members_change, member_id, count(*) AS partitions
                        FROM consumer_assignment
                        GROUP BY ALL
                    ), busy AS (
                        SELECT cluster_id, group_id, assignor, members_change,
                            count(*) AS busy_members, sum(partitions) AS partitions, max(partitions) AS most, min(partitions) AS least
                        FROM member
                        GROUP BY ALL
                    ), changed AS (
                        SELECT *, present + members_change AS members, if(busy_members < present + members_change, 0, least) AS fewest
                        FROM busy
                        JOIN (SELECT cluster_id, group_id, count(*) AS present FROM group_member GROUP BY ALL) USING (cluster_id, group_id)
                    )
                    SELECT cluster_id, group_id, assignor, members_change, struct_pack(members := members, busy_members := busy_members,
                        partitions := partitions, most := most, fewest := fewest, spread := most - fewest) AS computed
                    FROM changed
                """,
            ),
        ),
        hard(
            "moves_match_assignment",
            "The moved partitions are those that members have, and do not have in the assignment to the present members.",
            mismatches(
                "cluster_id, group_id, assignor, members_change",
                stated="""
                    SELECT cluster_id, group_id, assignor, members_change, CAST(coalesce(moved_partitions, partitions) AS BIGINT) AS stated
                    FROM group_assignment
                    WHERE missing_input IS NULL AND partitions > 0
                """,
                # 64 partitions of a member are the bits of a number: this join has a tenth of the rows of one by partition.
                computed=f"""
                    WITH assigned AS (
                        SELECT cluster_id, group_id, assignor, members_change, topic, partition >> 6 AS chunk, member_id,
                            {PARTITION_BITS} AS partitions
                        FROM consumer_assignment
                        GROUP BY ALL
                    )
                    SELECT cluster_id, group_id, assignor, changed.members_change,
                        sum(bit_count(changed.partitions & ~coalesce(present.partitions, CAST(0 AS UBIGINT)))) AS computed
                    FROM assigned AS changed
                    LEFT JOIN (SELECT * FROM assigned WHERE members_change = 0) AS present
                    USING (cluster_id, group_id, assignor, topic, chunk, member_id)
                    GROUP BY ALL
                """,
            ),
        ),
        soft(
            "assignment_as_predicted",
            "Members have the partitions that the group's own assignor gives them; the sticky ones, uniform and simple start from what members have.",
            """
                SELECT cluster_id, group_id, assignor, partitions, observed_differences FROM group_assignment
                WHERE observed_differences > 0
            """,
            requires="SELECT cluster_id FROM group_assignment WHERE observed_differences IS NOT NULL",
            measured="observed_differences",
            limit=0,
            formula="partitions with another member than the assignor gives = 0",
            change="'rebalance group ' || group_id || ', then describe it again'",
        ),
    ]
