"""goal_verdict: every goal of Cruise Control has its verdict, which its breaches bear out."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.goal_breach import GOALS
from expectations.limits import Limits
from expectations.rule import equal, hard
from jobs.schema import CLUSTER, GOAL_BREACH

READS = (CLUSTER, GOAL_BREACH)


def expectations(limits: Limits) -> list[Expectation]:
    goals = ", ".join(f"'{goal}'" for goal in sorted(GOALS))
    return [
        hard(
            "every_goal_judged",
            "Every cluster has a verdict of each goal.",
            f"""
                SELECT cluster_id, count(goal) AS goals FROM cluster
                LEFT JOIN (SELECT cluster_id, goal FROM {{batch}} WHERE goal IN ({goals})) USING (cluster_id)
                GROUP BY cluster_id HAVING count(goal) <> {len(GOALS)}
            """,
        ),
        hard(
            "breaches_as_listed",
            "A goal has as many breaches as are listed, and is satisfied if there is none.",
            equal(
                "cluster_id, goal",
                said="SELECT cluster_id, goal, breaches AS said FROM {batch} WHERE breaches > 0 OR verdict IN ('violated', 'unfixable')",
                found="SELECT cluster_id, goal, count(*) AS found FROM goal_breach GROUP BY cluster_id, goal",
            ),
        ),
        hard(
            "says_what_it_lacks",
            "A goal that is unknown says what it lacks, and no other does.",
            "SELECT cluster_id, goal, verdict, missing_input FROM {batch} WHERE (verdict IN ('unknown', 'refused')) = (missing_input IS NULL)",
        ),
    ]
