"""cluster_balance: the score is what the violated goals leave of it."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import hard, soft
from jobs.schema import CLUSTER, GOAL_VERDICT

READS = (CLUSTER, GOAL_VERDICT)


def expectations(limits: Limits) -> list[Expectation]:
    return [
        hard(
            "score_as_weighed",
            "Every cluster has its score: 100 less the weights of the goals that are violated, or -1.",
            """
                SELECT cluster_id, highest_score, taken FROM cluster LEFT JOIN {batch} USING (cluster_id) LEFT JOIN (
                    SELECT cluster_id, sum(if(verdict IN ('violated', 'unfixable'), weight, 0)) AS taken
                    FROM goal_verdict GROUP BY cluster_id
                ) USING (cluster_id)
                WHERE highest_score IS NULL OR (highest_score <> -1 AND abs(100 - taken - highest_score) > 1e-6) OR lowest_score > highest_score + 1e-6
            """,
        ),
        soft(
            "enough_brokers",
            "No goal asks for more brokers, racks or partitions (Cruise Control's UNDER_PROVISIONED).",
            """
                SELECT cluster_id, brokers_to_add, racks_to_add, partitions_needed FROM {batch} WHERE provision = 'UNDER_PROVISIONED'
            """,
            told="SELECT cluster_id FROM cluster_balance WHERE provision <> 'UNDECIDED'",
            measured="coalesce(brokers_to_add, racks_to_add, partitions_needed)",
            limit=0,
            formula="brokers, racks or partitions that goals ask for = 0",
            change="""
                concat('add', coalesce(' ' || brokers_to_add || ' brokers', ''), coalesce(' ' || racks_to_add || ' racks', ''),
                    coalesce(' partitions up to ' || partitions_needed, ''))
            """,
        ),
    ]
