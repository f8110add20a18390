"""disk_usage: a log dir holds what its replicas do, and is not too full."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import equal, hard, soft
from jobs.schema import LOG_STORAGE

READS = (LOG_STORAGE,)


def expectations(limits: Limits) -> list[Expectation]:
    return [
        hard(
            "usage_of_replicas",
            "A log dir holds the bytes and segments of the replicas on it.",
            equal(
                "cluster_id, broker_id, log_dir",
                said="""
                    SELECT cluster_id, broker_id, log_dir, struct(replicas, size_bytes, index_bytes, segments) AS said
                    FROM {batch} WHERE replicas > 0
                """,
                found="""
                    SELECT cluster_id, broker_id, log_dir, struct(count(*) AS replicas,
                        sum(size_bytes) AS size_bytes, sum(offset_index_bytes + time_index_bytes) AS index_bytes,
                        sum(segments) AS segments) AS found
                    FROM log_storage GROUP BY ALL
                """,
            ),
        ),
        soft(
            "disks_not_full",
            f"At most {limits.disk_used_share_most} of a log dir is used.",
            f"""
                SELECT cluster_id, broker_id, log_dir, size_bytes, capacity_bytes, used_share FROM {{batch}}
                WHERE used_share > {limits.disk_used_share_most}
            """,
            told="SELECT cluster_id FROM disk_usage WHERE used_share IS NOT NULL",
            measured="used_share",
            limit=limits.disk_used_share_most,
            formula="size / capacity of a log dir <= limit",
            change=f"""
                concat('move ', CAST(size_bytes - {limits.disk_used_share_most} * capacity_bytes AS BIGINT), ' bytes off ', log_dir,
                    ' of broker ', broker_id)
            """,
        ),
        soft(
            "disks_alike",
            f"No disk of a cluster uses {limits.disk_used_difference_most} of its capacity more than another.",
            f"""
                SELECT cluster_id, min(used_share) AS least, max(used_share) AS most FROM {{batch}}
                WHERE used_share IS NOT NULL
                GROUP BY cluster_id HAVING max(used_share) - min(used_share) > {limits.disk_used_difference_most}
            """,
            measured="most - least",
            limit=limits.disk_used_difference_most,
            formula="greatest part used - least <= limit",
            change="'move replicas from the fullest log dir to the emptiest: see plan'",
            told="SELECT cluster_id FROM disk_usage WHERE used_share IS NOT NULL",
        ),
    ]
