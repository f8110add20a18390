"""broker_balance: brokers carry what the partitions say, and share it evenly."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import equal, hard, soft
from jobs.tables import BROKER, PARTITION

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
        ),
        soft(
            "even_replicas",
            f"A live broker has replicas {limits.replica_ratio_least} to {limits.replica_ratio_most} times the mean, or within one of it.",
            _uneven("replicas", "replica_ratio", limits.replica_ratio_least, limits.replica_ratio_most),
        ),
        soft(
            "even_bytes",
            f"A live broker stores at most {limits.byte_ratio_most} times the bytes of the mean.",
            f"""
                SELECT cluster_id, broker_id, size_bytes, byte_ratio FROM {{batch}}
                WHERE byte_ratio > {limits.byte_ratio_most}
            """,
            told="SELECT cluster_id FROM broker_balance WHERE byte_ratio IS NOT NULL",
        ),
        soft(
            "even_produced",
            f"A live broker gets at most {limits.produced_ratio_most} times the sampled bytes of the mean.",
            f"""
                SELECT cluster_id, broker_id, produced_size_bytes, produced_ratio FROM {{batch}}
                WHERE produced_ratio > {limits.produced_ratio_most}
            """,
            told="SELECT cluster_id FROM broker_balance WHERE produced_ratio IS NOT NULL",
        ),
    ]


def _uneven(count: str, ratio: str, least: float, most: float) -> str:
    """Whole things cannot be shared more evenly than to within one of the mean."""
    return (
        f"SELECT cluster_id, broker_id, {count}, {ratio} FROM "
        f"(SELECT *, avg(if(live, {count}, NULL)) OVER (PARTITION BY cluster_id) AS mean FROM {{batch}}) "
        f"WHERE {ratio} NOT BETWEEN {least} AND {most} AND abs({count} - mean) >= 1"
    )
