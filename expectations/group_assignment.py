"""Rules of group_assignment: counts match the assignment, and members share partitions evenly."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import PARTITION_BITS, Rule, hard, mismatches, soft

# The present members, by the assignor that the group reports. A group with another assignor has no such row.
_CURRENT = "SEMI JOIN consumer_group USING (cluster_id, group_id, assignor) WHERE members_change = 0"


def rules(limits: Limits) -> list[Rule]:
    return [
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
            "The moved partitions are those whose member differs from the assignment to the present members.",
            mismatches(
                "cluster_id, group_id, assignor, members_change",
                stated="""
                    SELECT cluster_id, group_id, assignor, members_change, CAST(moved_partitions AS BIGINT) AS stated
                    FROM group_assignment
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
            "even_consumers",
            f"With the group's own assignor, the numbers of partitions of two members differ by at most {limits.consumer_spread_most}.",
            f"""
                SELECT cluster_id, group_id, assignor, min_partitions, max_partitions
                FROM group_assignment {_CURRENT} AND spread > {limits.consumer_spread_most}
            """,
            requires=f"SELECT cluster_id FROM group_assignment {_CURRENT}",
            measured="max_partitions - min_partitions",
            limit=limits.consumer_spread_most,
            formula="most partitions of a member - fewest <= limit",
            change="'use another assignor for group ' || group_id || ', or a number of members that divides its partitions'",
        ),
        soft(
            "no_idle_members",
            f"With the group's own assignor, at most {limits.idle_members_most} of its members have no partition.",
            f"""
                SELECT cluster_id, group_id, assignor, members, partitions, idle_members
                FROM group_assignment {_CURRENT} AND idle_members > {limits.idle_members_most}
            """,
            requires=f"SELECT cluster_id FROM group_assignment {_CURRENT}",
            measured="idle_members",
            limit=limits.idle_members_most,
            formula="members without a partition <= limit",
            change="'stop ' || idle_members || ' members of group ' || group_id || ', or add as many partitions'",
        ),
        soft(
            "assignment_as_predicted",
            "Members have the partitions that the group's own assignor gives them.",
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
