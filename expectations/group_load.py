"""Rules of group_load: members have similar numbers of partitions, and members and hosts read similar amounts, from near brokers."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import Rule, counted, readable_bytes, soft


def rules(limits: Limits) -> list[Rule]:
    return [
        soft(
            "even_consumers",
            f"The numbers of partitions that two members of a group have differ by at most {limits.consumer_spread_most}.",
            f"""
                SELECT cluster_id, group_id, members, partitions, min_partitions, max_partitions FROM group_load
                WHERE group_id IS NOT NULL AND max_partitions - min_partitions > {limits.consumer_spread_most}
            """,
            requires="SELECT cluster_id FROM group_load WHERE partitions > 0",
            measured="max_partitions - min_partitions",
            limit=limits.consumer_spread_most,
            formula="most partitions of a member - fewest <= limit",
            change="'use another assignor for group ' || group_id || ', or a number of members that divides its partitions'",
        ),
        soft(
            "no_idle_members",
            f"At most {limits.idle_members_most} members of a group have no partition.",
            f"""
                SELECT cluster_id, group_id, members, partitions, idle_members FROM group_load
                WHERE group_id IS NOT NULL AND partitions > 0 AND idle_members > {limits.idle_members_most}
            """,
            requires="SELECT cluster_id FROM group_load WHERE partitions > 0",
            measured="idle_members",
            limit=limits.idle_members_most,
            formula="members without a partition <= limit",
            change=f"'stop ' || {counted('idle_members', 'member')} || ' of group ' || group_id || ', or add as many partitions'",
        ),
        soft(
            "members_share_records",
            f"No member of a group reads more than {limits.consumer_ratio_most} times the mean records of its members.",
            f"""
                SELECT cluster_id, group_id, busiest_member, members, records, record_ratio FROM group_load
                WHERE group_id IS NOT NULL AND record_ratio > {limits.consumer_ratio_most}
            """,
            measured="record_ratio",
            limit=limits.consumer_ratio_most,
            formula="records of the busiest member / mean <= limit",
            change="'give partitions of ' || busiest_member || ' to others: another assignor, or more partitions'",
            requires="SELECT cluster_id FROM group_load WHERE record_ratio IS NOT NULL",
        ),
        soft(
            "hosts_share_records",
            f"No host reads more than {limits.consumer_ratio_most} times the mean records of the hosts, over all groups.",
            f"""
                SELECT cluster_id, busiest_member, members AS hosts, records, record_ratio FROM group_load
                WHERE group_id IS NULL AND record_ratio > {limits.consumer_ratio_most}
            """,
            measured="record_ratio",
            limit=limits.consumer_ratio_most,
            formula="records of the busiest host / mean <= limit",
            change="'move members off host ' || busiest_member",
            requires="SELECT cluster_id FROM group_load WHERE record_ratio IS NOT NULL",
        ),
        soft(
            "reads_stay_in_rack",
            f"At most {limits.avoidable_cross_rack_share_most} of the bytes that a group reads cross racks although the reader's rack has an "
            "in-sync replica.",
            f"""
                SELECT cluster_id, group_id, cross_rack_size_bytes, local_replica_size_bytes, avoidable_share FROM group_load
                WHERE group_id IS NOT NULL AND avoidable_share > {limits.avoidable_cross_rack_share_most}
            """,
            measured="avoidable_share",
            limit=limits.avoidable_cross_rack_share_most,
            formula="bytes read from another rack despite an in-sync replica in the own rack / all bytes <= limit",
            change="'set replica.selector.class to RackAwareReplicaSelector: ' || "
            f"{readable_bytes('local_replica_size_bytes')} || ' stay in their rack'",
            requires="SELECT cluster_id FROM group_load WHERE avoidable_share IS NOT NULL",
        ),
        soft(
            "topics_per_group_limited",
            f"The members of a group read at most {limits.group_topics_most} topics.",
            f"SELECT cluster_id, group_id, topics FROM group_load WHERE group_id IS NOT NULL AND topics > {limits.group_topics_most}",
            measured="topics",
            limit=limits.group_topics_most,
            formula="topics of the group <= limit",
            change="'read each topic of group ' || group_id || ' with a separate group'",
            requires="SELECT cluster_id FROM group_load WHERE partitions > 0",
        ),
    ]
