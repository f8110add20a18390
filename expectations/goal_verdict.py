"""Rules of goal_verdict: every goal of Cruise Control has a verdict that matches its breaches."""

from __future__ import annotations

from expectations.goal_breach import GOALS
from expectations.limits import Limits
from expectations.rule import Rule, hard, mismatches


def rules(limits: Limits) -> list[Rule]:
    goals = ", ".join(f"'{goal}'" for goal in sorted(GOALS))
    return [
        hard(
            "every_goal_has_a_verdict",
            "Every cluster has a verdict for each goal.",
            f"""
                SELECT cluster_id, count(goal) AS goals FROM cluster
                LEFT JOIN (SELECT cluster_id, goal FROM goal_verdict WHERE goal IN ({goals})) USING (cluster_id)
                GROUP BY cluster_id HAVING count(goal) <> {len(GOALS)}
            """,
        ),
        hard(
            "breaches_counted",
            "The number of breaches of a goal is its number of rows in goal_breach, and a goal without a breach is not violated.",
            mismatches(
                "cluster_id, goal",
                stated="""
                    SELECT cluster_id, goal, breaches AS stated FROM goal_verdict
                    WHERE breaches > 0 OR verdict IN ('violated', 'unfixable')
                """,
                computed="SELECT cluster_id, goal, count(*) AS computed FROM goal_breach GROUP BY cluster_id, goal",
            ),
        ),
        hard(
            "missing_input_stated",
            "A goal that is unknown or refused states the missing input or the reason, and no other goal does.",
            "SELECT cluster_id, goal, verdict, missing_input FROM goal_verdict WHERE (verdict IN ('unknown', 'refused')) = (missing_input IS NULL)",
        ),
    ]
