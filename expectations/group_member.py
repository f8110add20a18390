"""Rules of group_member: every member belongs to a known group, and none has Sarama's client id."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import Rule, hard, soft


def rules(limits: Limits) -> list[Rule]:
    return [
        hard(
            "members_have_groups",
            "Every member belongs to a group that has a row.",
            "SELECT cluster_id, group_id, member_id FROM group_member ANTI JOIN consumer_group USING (cluster_id, group_id)",
        ),
        soft(
            "no_sarama",
            "No member has Sarama's default client id: Sarama may partition and assign differently from Java clients.",
            "SELECT cluster_id, group_id, member_id, client_id FROM group_member WHERE lower(client_id) = 'sarama'",
            measured="1",
            limit=0,
            formula="members with client id sarama = 0",
            change="'set a client id for ' || member_id || ', and see topic_partitioner'",
            requires="SELECT cluster_id FROM group_member WHERE client_id IS NOT NULL",
        ),
    ]
