"""Rules of observed_assignment: every observed owner of a partition is a member."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import Rule, hard


def rules(limits: Limits) -> list[Rule]:
    return [
        hard(
            "owners_are_members",
            "The observed owner of a partition is a member of the group.",
            """
                SELECT cluster_id, group_id, topic, partition, member_id FROM observed_assignment
                ANTI JOIN group_member USING (cluster_id, group_id, member_id)
            """,
        ),
    ]
