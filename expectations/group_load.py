"""group_load: members of a group, and hosts of all groups, have about as much to read, and near by."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import soft

READS = ()


def expectations(limits: Limits) -> list[Expectation]:
    return [
        soft(
            "members_read_alike",
            f"No member of a group has more than {limits.consumer_ratio_most} times the records of the mean one to read.",
            f"""
                SELECT cluster_id, group_id, busiest_member, members, records, record_ratio FROM {{batch}}
                WHERE group_id IS NOT NULL AND record_ratio > {limits.consumer_ratio_most}
            """,
            measured="record_ratio",
            limit=limits.consumer_ratio_most,
            formula="records of the busiest member / mean <= limit",
            change="concat('give partitions of ', busiest_member, ' to others: another assignor, or more partitions')",
            told="SELECT cluster_id FROM group_load WHERE record_ratio IS NOT NULL",
        ),
        soft(
            "hosts_read_alike",
            f"No host has more than {limits.consumer_ratio_most} times the records of the mean one to read, all groups together.",
            f"""
                SELECT cluster_id, busiest_member, members AS hosts, records, record_ratio FROM {{batch}}
                WHERE group_id IS NULL AND record_ratio > {limits.consumer_ratio_most}
            """,
            measured="record_ratio",
            limit=limits.consumer_ratio_most,
            formula="records of the busiest host / mean <= limit",
            change="concat('move members off host ', busiest_member)",
            told="SELECT cluster_id FROM group_load WHERE record_ratio IS NOT NULL",
        ),
        soft(
            "reads_near_by",
            f"At most {limits.avoidable_cross_rack_share_most} of what a group reads crosses racks though a replica in sync is near.",
            f"""
                SELECT cluster_id, group_id, cross_rack_size_bytes, local_replica_size_bytes, avoidable_share FROM {{batch}}
                WHERE group_id IS NOT NULL AND avoidable_share > {limits.avoidable_cross_rack_share_most}
            """,
            measured="avoidable_share",
            limit=limits.avoidable_cross_rack_share_most,
            formula="bytes from another rack with a replica in sync on the own / all bytes <= limit",
            change="concat('set replica.selector.class to RackAwareReplicaSelector: ', local_replica_size_bytes, ' bytes stay')",
            told="SELECT cluster_id FROM group_load WHERE avoidable_share IS NOT NULL",
        ),
        soft(
            "few_topics_a_group",
            f"The members of a group hold partitions of at most {limits.group_topics_most} topics.",
            f"""
                SELECT cluster_id, group_id, topics FROM {{batch}} WHERE group_id IS NOT NULL AND topics > {limits.group_topics_most}
            """,
            measured="topics",
            limit=limits.group_topics_most,
            formula="topics of the group <= limit",
            change="concat('read each topic with a group of its own, in the place of ', group_id)",
            told="SELECT cluster_id FROM group_load WHERE partitions > 0",
        ),
    ]
