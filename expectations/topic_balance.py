"""Rules of topic_balance: topics follow published guidelines for partitions and records."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import Rule, counted, soft


def rules(limits: Limits) -> list[Rule]:
    return [
        soft(
            "several_partitions",
            f"A topic has at least {limits.partitions_least} partitions.",
            f"SELECT cluster_id, topic, partitions FROM topic_balance WHERE partitions < {limits.partitions_least}",
            measured="partitions",
            limit=limits.partitions_least,
            formula="partitions >= limit",
            change=f"'add ' || {counted(f'{limits.partitions_least} - partitions', 'partition')} || ' to ' || topic",
        ),
        soft(
            "partition_size_limited",
            f"No partition stores more than {limits.partition_size_bytes_most} bytes.",
            f"""
                SELECT cluster_id, topic, fullest_partition, fullest_size_bytes FROM topic_balance
                WHERE fullest_size_bytes > {limits.partition_size_bytes_most}
            """,
            measured="fullest_size_bytes",
            limit=limits.partition_size_bytes_most,
            formula="bytes of the fullest partition <= limit",
            change="'reduce the retention of ' || topic || ', or add partitions'",
            requires="SELECT cluster_id FROM topic_balance WHERE fullest_size_bytes IS NOT NULL",
        ),
        soft(
            "even_records",
            f"The fullest partition of a topic exceeds the mean of its partitions by at most {limits.record_skew_most} times the mean, if the mean "
            f"is at least {limits.record_skew_mean_least} records.",
            f"""
                SELECT cluster_id, topic, records, partitions, record_skew FROM topic_balance
                WHERE record_skew > {limits.record_skew_most} AND records >= {limits.record_skew_mean_least} * partitions
            """,
            measured="record_skew",
            limit=limits.record_skew_most,
            formula="records of the fullest partition / mean - 1 <= limit",
            change="'see topic_load and hot_key for the keys of ' || topic",
            requires="SELECT cluster_id FROM topic_balance WHERE records IS NOT NULL",
        ),
        soft(
            "record_size_limited",
            f"The mean record of a topic has at most {limits.record_bytes_most} bytes.",
            f"SELECT cluster_id, topic, mean_record_bytes FROM topic_balance WHERE mean_record_bytes > {limits.record_bytes_most}",
            measured="mean_record_bytes",
            limit=limits.record_bytes_most,
            formula="bytes of the leaders / records <= limit",
            change="'store large values elsewhere, and send references to them to ' || topic",
            requires="SELECT cluster_id FROM topic_balance WHERE mean_record_bytes IS NOT NULL",
        ),
    ]
