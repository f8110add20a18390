"""group_assignment: a group's numbers are those of its assignment, and its members share evenly."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import equal, hard, soft
from jobs.schema import CONSUMER_ASSIGNMENT, CONSUMER_GROUP, GROUP_MEMBER

READS = (CONSUMER_ASSIGNMENT, CONSUMER_GROUP, GROUP_MEMBER)

# The groups as they are, by the assignor that they tell; a group on another assignor is judged by neither.
_IN_FORCE = "SEMI JOIN consumer_group USING (cluster_id, group_id, assignor) WHERE members_change = 0"


def expectations(limits: Limits) -> list[Expectation]:
    return [
        hard(
            "counts_as_assigned",
            "A group's members, its partitions, and the most and fewest of a member are as consumer_assignment and group_member have them.",
            equal(
                "cluster_id, group_id, assignor, members_change",
                said="""
                    SELECT cluster_id, group_id, assignor, members_change, struct(
                        CAST(members AS BIGINT) AS members,
                        CAST(members - idle_members AS BIGINT) AS busy_members,
                        CAST(partitions AS BIGINT) AS partitions,
                        CAST(max_partitions AS BIGINT) AS most,
                        CAST(min_partitions AS BIGINT) AS fewest,
                        CAST(spread AS BIGINT) AS spread) AS said
                    FROM {batch}
                """,
                found="""
                    WITH held AS (
                        SELECT cluster_id, group_id, assignor, members_change, member_id, count(*) AS held
                        FROM consumer_assignment
                        GROUP BY ALL
                    ), busy AS (
                        SELECT cluster_id, group_id, assignor, members_change,
                            count(*) AS busy_members, sum(held) AS partitions, max(held) AS most, min(held) AS least
                        FROM held
                        GROUP BY ALL
                    ), present AS (
                        SELECT *, members + members_change AS present, if(busy_members < members + members_change, 0, least) AS fewest
                        FROM busy
                        JOIN (SELECT cluster_id, group_id, count(*) AS members FROM group_member GROUP BY ALL) USING (cluster_id, group_id)
                    )
                    SELECT cluster_id, group_id, assignor, members_change,
                        struct(present AS members, busy_members, partitions, most, fewest, most - fewest AS spread) AS found
                    FROM present
                """,
            ),
        ),
        hard(
            "moves_as_assigned",
            "The partitions that moved are those that have another member than with the members as they are.",
            equal(
                "cluster_id, group_id, assignor, members_change",
                said="""
                    SELECT cluster_id, group_id, assignor, members_change, CAST(moved_partitions AS BIGINT) AS said
                    FROM {batch}
                """,
                found="""
                    SELECT cluster_id, group_id, assignor, changed.members_change, count_if(changed.member_id <> now.member_id) AS found
                    FROM consumer_assignment AS changed
                    JOIN (SELECT * FROM consumer_assignment WHERE members_change = 0) AS now
                    USING (cluster_id, group_id, assignor, topic, partition)
                    GROUP BY ALL
                """,
            ),
        ),
        soft(
            "even_consumers",
            f"By the assignor in force, no member of a group has more than {limits.consumer_spread_most} partitions more than another.",
            f"""
                SELECT cluster_id, group_id, assignor, min_partitions, max_partitions
                FROM {{batch}} {_IN_FORCE} AND spread > {limits.consumer_spread_most}
            """,
            told=f"SELECT cluster_id FROM group_assignment {_IN_FORCE}",
            measured="max_partitions - min_partitions",
            limit=limits.consumer_spread_most,
            formula="most partitions of a member - fewest <= limit",
            change="concat('let group ', group_id, ' use another assignor, or as many members as divide its partitions')",
        ),
        soft(
            "no_idle_members",
            f"By the assignor in force, at most {limits.idle_members_most} members of a group are given nothing.",
            f"""
                SELECT cluster_id, group_id, assignor, members, partitions, idle_members
                FROM {{batch}} {_IN_FORCE} AND idle_members > {limits.idle_members_most}
            """,
            told=f"SELECT cluster_id FROM group_assignment {_IN_FORCE}",
            measured="idle_members",
            limit=limits.idle_members_most,
            formula="members without a partition <= limit",
            change="concat('stop ', idle_members, ' members of group ', group_id, ', or add as many partitions')",
        ),
        soft(
            "assigned_as_predicted",
            "Members hold the partitions that the assignor in force gives them.",
            """
                SELECT cluster_id, group_id, assignor, partitions, observed_differences FROM {batch}
                WHERE observed_differences > 0
            """,
            told="SELECT cluster_id FROM group_assignment WHERE observed_differences IS NOT NULL",
            measured="observed_differences",
            limit=0,
            formula="partitions at another member than the assignor gives = 0",
            change="concat('let group ', group_id, ' rebalance, and ask again')",
        ),
    ]
