"""group_member: every member belongs to a group that is known."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import hard
from jobs.tables import CONSUMER_GROUP

READS = (CONSUMER_GROUP,)


def expectations(limits: Limits) -> list[Expectation]:
    return [
        hard(
            "members_have_groups",
            "Every member belongs to a group that is known.",
            """
                SELECT cluster_id, group_id, member_id FROM {batch} ANTI
                JOIN consumer_group USING (cluster_id, group_id)
            """,
        ),
    ]
