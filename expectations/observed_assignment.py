"""observed_assignment: whoever was seen to hold a partition is a member."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import hard
from jobs.schema import GROUP_MEMBER

READS = (GROUP_MEMBER,)


def expectations(limits: Limits) -> list[Expectation]:
    return [
        hard(
            "holders_are_members",
            "Whoever was seen to hold a partition is a member of the group.",
            """
                SELECT cluster_id, group_id, topic, partition, member_id FROM {batch} ANTI
                JOIN group_member USING (cluster_id, group_id, member_id)
            """,
        ),
    ]
