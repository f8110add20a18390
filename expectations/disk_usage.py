"""Rules of disk_usage: a log dir's usage matches its replicas, and no log dir is too full."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import Rule, hard, mismatches, readable_bytes, soft


def rules(limits: Limits) -> list[Rule]:
    return [
        hard(
            "usage_matches_replicas",
            "A log dir has the bytes and segments of the replicas in it.",
            mismatches(
                "cluster_id, broker_id, log_dir",
                stated="""
                    SELECT cluster_id, broker_id, log_dir, struct_pack(replicas := replicas, size_bytes := size_bytes,
                        index_bytes := index_bytes, segments := segments, deletable_bytes := deletable_bytes) AS stated
                    FROM disk_usage WHERE replicas > 0
                """,
                computed="""
                    SELECT cluster_id, broker_id, log_dir, struct_pack(replicas := count(*), size_bytes := sum(size_bytes),
                        index_bytes := sum((8 + 12) * (greatest(size_bytes - 1, 0) // (index_interval_bytes + 1)) + 12 * (segments - 1)),
                        segments := sum(segments), deletable_bytes := sum(deletable_bytes)) AS computed
                    FROM log_storage GROUP BY ALL
                """,
            ),
        ),
        soft(
            "disks_not_full",
            f"At most {limits.disk_used_share_most} of the capacity of a log dir is used.",
            f"""
                SELECT cluster_id, broker_id, log_dir, size_bytes, capacity_bytes, used_share FROM disk_usage
                WHERE used_share > {limits.disk_used_share_most}
            """,
            requires="SELECT cluster_id FROM disk_usage WHERE used_share IS NOT NULL",
            measured="used_share",
            limit=limits.disk_used_share_most,
            formula="size / capacity of a log dir <= limit",
            change=f"""
                'move ' || {readable_bytes(f"size_bytes - {limits.disk_used_share_most} * capacity_bytes")} || ' off ' || log_dir
                    || ' of broker ' || broker_id
            """,
        ),
        soft(
            "disks_evenly_used",
            f"The used shares of two disks of a cluster differ by at most {limits.disk_used_difference_most}.",
            f"""
                SELECT cluster_id, min(used_share) AS least, max(used_share) AS most FROM disk_usage
                WHERE used_share IS NOT NULL
                GROUP BY cluster_id HAVING max(used_share) - min(used_share) > {limits.disk_used_difference_most}
            """,
            measured="most - least",
            limit=limits.disk_used_difference_most,
            formula="highest used share - lowest <= limit",
            change="'move replicas from the fullest log dir to the emptiest: see plan'",
            requires="SELECT cluster_id FROM disk_usage WHERE used_share IS NOT NULL",
        ),
    ]
