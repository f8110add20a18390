"""group_member: every member belongs to a group that is known."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import hard, soft
from jobs.schema import CONSUMER_GROUP

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
        soft(
            "no_sarama",
            "No member goes by the client id that Sarama has by default: it may produce and assign otherwise than Java clients do.",
            """
                SELECT cluster_id, group_id, member_id, client_id FROM {batch} WHERE lower(client_id) = 'sarama'
            """,
            measured="1",
            limit=0,
            formula="members with client id sarama = 0",
            change="concat('name the client of ', member_id, ', and see topic_partitioner')",
            told="SELECT cluster_id FROM group_member WHERE client_id IS NOT NULL",
        ),
    ]
