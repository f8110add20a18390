"""broker_balance: brokers carry what the partitions say, and share it evenly."""

from __future__ import annotations

from typing import Any

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import equal, hard, soft
from jobs.schema import BROKER, PARTITION

READS = (BROKER, PARTITION)


def expectations(limits: Limits) -> list[Expectation]:
    return [
        hard(
            "carries_the_partitions",
            "Every broker has its row, with the replicas, in-sync replicas, leaders and preferred leaders that the partitions give it.",
            equal(
                "cluster_id, broker_id",
                said="""
                    SELECT cluster_id, broker_id, struct(replicas, in_sync_replicas, leaders, preferred_leaders) AS said
                    FROM {batch}
                """,
                found="""
                    WITH held AS (
                        SELECT cluster_id, broker_id, 1 AS replica, if(array_contains(isr, broker_id), 1, NULL) AS in_sync, NULL AS led,
                            if(get(replicas, 0) = broker_id, 1, NULL) AS preferred
                        FROM partition LATERAL VIEW explode(replicas) AS broker_id
                        UNION ALL SELECT cluster_id, leader, NULL, NULL, 1, NULL FROM partition
                        UNION ALL SELECT cluster_id, broker_id, NULL, NULL, NULL, NULL FROM broker
                    )
                    SELECT cluster_id, broker_id, struct(count(replica) AS replicas, count(in_sync) AS in_sync_replicas,
                        count(led) AS leaders, count(preferred) AS preferred_leaders) AS found
                    FROM held
                    SEMI JOIN broker USING (cluster_id, broker_id)
                    GROUP BY ALL
                """,
            ),
        ),
        soft(
            "even_leaders",
            f"A live broker has leaders {limits.leader_ratio_least} to {limits.leader_ratio_most} times the mean, or within one of it.",
            _uneven("leaders", "leader_ratio", limits.leader_ratio_least, limits.leader_ratio_most),
            **_moves("leaders", "leader_ratio", limits.leader_ratio_least, limits.leader_ratio_most),
        ),
        soft(
            "even_replicas",
            f"A live broker has replicas {limits.replica_ratio_least} to {limits.replica_ratio_most} times the mean, or within one of it.",
            _uneven("replicas", "replica_ratio", limits.replica_ratio_least, limits.replica_ratio_most),
            **_moves("replicas", "replica_ratio", limits.replica_ratio_least, limits.replica_ratio_most),
        ),
        soft(
            "even_bytes",
            f"A live broker stores at most {limits.byte_ratio_most} times the bytes of the mean.",
            f"""
                SELECT cluster_id, broker_id, size_bytes, byte_ratio FROM {{batch}}
                WHERE byte_ratio > {limits.byte_ratio_most}
            """,
            **_moves("size_bytes", "byte_ratio", 0, limits.byte_ratio_most, "bytes"),
            told="SELECT cluster_id FROM broker_balance WHERE byte_ratio IS NOT NULL",
        ),
        soft(
            "even_produced",
            f"A live broker gets at most {limits.produced_ratio_most} times the sampled bytes of the mean.",
            f"""
                SELECT cluster_id, broker_id, produced_size_bytes, produced_ratio FROM {{batch}}
                WHERE produced_ratio > {limits.produced_ratio_most}
            """,
            **_moves("produced_size_bytes", "produced_ratio", 0, limits.produced_ratio_most, "sampled bytes to leaders"),
            told="SELECT cluster_id FROM broker_balance WHERE produced_ratio IS NOT NULL",
        ),
        soft(
            "capacities_hold_what_is_stored",
            "No broker stores more than its disk capacity as told: else that is another broker's, or a default left in place.",
            "SELECT cluster_id, broker_id, size_bytes, disk_used_share FROM {batch} WHERE disk_used_share > 1",
            measured="disk_used_share",
            limit=1,
            formula="bytes stored / disk capacity told <= 1",
            change="concat('tell the disk capacity of broker ', broker_id, ' in capacity.json: it stores ', size_bytes, ' bytes')",
            told="SELECT cluster_id FROM broker_balance WHERE disk_used_share IS NOT NULL",
        ),
    ]


def _moves(count: str, ratio: str, least: float, most: float, noun: str | None = None) -> dict[str, Any]:
    """What is measured of an uneven share, and how much must move: as much as lies beyond its limit."""
    limit = f"if({ratio} > {most}, {most}, {least})"
    return {
        "measured": ratio,
        "limit": limit,
        "formula": f"{count} / mean of the live brokers within {least} and {most}",
        "change": f"concat('move ', CAST(ceil(abs({count} - {count} * {limit} / if({ratio} = 0, 1, {ratio}))) AS BIGINT), ' {noun or count} ', "
        f"if({ratio} > {most}, 'off', 'to'), ' broker ', broker_id)",
    }


def _uneven(count: str, ratio: str, least: float, most: float) -> str:
    """Whole things cannot be shared more evenly than to within one of the mean."""
    return (
        f"SELECT cluster_id, broker_id, {count}, {ratio} FROM "
        f"(SELECT *, avg(if(live, {count}, NULL)) OVER (PARTITION BY cluster_id) AS mean FROM {{batch}}) "
        f"WHERE {ratio} NOT BETWEEN {least} AND {most} AND abs({count} - mean) >= 1"
    )
