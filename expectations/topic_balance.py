"""topic_balance: topics as the rules of thumb of others have them."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import soft

READS = ()


def expectations(limits: Limits) -> list[Expectation]:
    return [
        soft(
            "several_partitions",
            f"A topic has {limits.partitions_least} partitions or more.",
            f"""
                SELECT cluster_id, topic, partitions FROM {{batch}} WHERE partitions < {limits.partitions_least}
            """,
            measured="partitions",
            limit=limits.partitions_least,
            formula="partitions >= limit",
            change=f"concat('add ', {limits.partitions_least} - partitions, ' partitions to ', topic)",
        ),
        soft(
            "partitions_of_bounded_size",
            f"No partition stores more than {limits.partition_size_bytes_most} bytes.",
            f"""
                SELECT cluster_id, topic, fullest_partition, fullest_size_bytes FROM {{batch}}
                WHERE fullest_size_bytes > {limits.partition_size_bytes_most}
            """,
            measured="fullest_size_bytes",
            limit=limits.partition_size_bytes_most,
            formula="bytes of the fullest partition <= limit",
            change="concat('keep less, or add partitions to ', topic)",
            told="SELECT cluster_id FROM topic_balance WHERE fullest_size_bytes IS NOT NULL",
        ),
        soft(
            "records_even",
            "The fullest partition of a topic does not have many more records than the mean one, where that has some.",
            f"""
                SELECT cluster_id, topic, records, partitions, record_skew FROM {{batch}}
                WHERE record_skew > {limits.record_skew_most} AND records >= {limits.record_skew_mean_least} * partitions
            """,
            measured="record_skew",
            limit=limits.record_skew_most,
            formula="records of the fullest partition / mean - 1 <= limit",
            change="concat('see topic_load and hot_key for the keys of ', topic)",
            told="SELECT cluster_id FROM topic_balance WHERE records IS NOT NULL",
        ),
        soft(
            "records_small",
            f"The mean record of a topic has no more than {limits.record_bytes_most} bytes.",
            f"""
                SELECT cluster_id, topic, mean_record_bytes FROM {{batch}} WHERE mean_record_bytes > {limits.record_bytes_most}
            """,
            measured="mean_record_bytes",
            limit=limits.record_bytes_most,
            formula="bytes of the leaders / records <= limit",
            change="concat('store what is large elsewhere, and send where it lies to ', topic)",
            told="SELECT cluster_id FROM topic_balance WHERE mean_record_bytes IS NOT NULL",
        ),
    ]
