"""Rules of cluster_balance: the score follows from the goals, and no goal asks for more hardware."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import Rule, counted, hard, soft


def rules(limits: Limits) -> list[Rule]:
    return [
        hard(
            "score_matches_weights",
            "The highest score of a cluster is 100 minus the weights of its violated goals, or -1, and the lowest score is not above it.",
            """
                SELECT cluster_id, highest_score, violated_weight FROM cluster LEFT JOIN cluster_balance USING (cluster_id) LEFT JOIN (
                    SELECT cluster_id, sum(if(verdict IN ('violated', 'unfixable'), weight, 0)) AS violated_weight
                    FROM goal_verdict GROUP BY cluster_id
                ) USING (cluster_id)
                WHERE highest_score IS NULL OR (highest_score <> -1 AND abs(100 - violated_weight - highest_score) > 1e-6)
                    OR lowest_score > highest_score + 1e-6
            """,
        ),
        soft(
            "enough_brokers",
            "No goal asks for more brokers, racks or partitions (Cruise Control's UNDER_PROVISIONED).",
            """
                SELECT cluster_id, brokers_to_add, racks_to_add, partitions_needed FROM cluster_balance WHERE provision = 'UNDER_PROVISIONED'
            """,
            requires="SELECT cluster_id FROM cluster_balance WHERE provision <> 'UNDECIDED'",
            measured="coalesce(brokers_to_add, racks_to_add, partitions_needed)",
            limit=0,
            formula="brokers, racks or partitions that goals ask for = 0",
            change=f"""
                'add' || coalesce(' ' || {counted("brokers_to_add", "broker")}, '') || coalesce(' ' || {counted("racks_to_add", "rack")}, '')
                    || coalesce(' partitions up to ' || partitions_needed, '')
            """,
        ),
    ]
