"""Rules of broker_balance: counts match the partitions, and brokers share the load evenly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from expectations.limits import Limits
from expectations.rule import Rule, counted, hard, mismatches, readable_bytes, soft


def rules(limits: Limits) -> list[Rule]:
    return [
        hard(
            "counts_match_partitions",
            "Every broker has a row with the replicas, in-sync replicas, leaders and preferred leaders that the partitions give it.",
            mismatches(
                "cluster_id, broker_id",
                stated="""
                    SELECT cluster_id, broker_id, struct_pack(replicas := replicas, in_sync_replicas := in_sync_replicas,
                        leaders := leaders, preferred_leaders := preferred_leaders) AS stated
                    FROM broker_balance
                """,
                computed="""
                    WITH role AS (
                        SELECT cluster_id, broker_id, 1 AS replica, if(list_contains(isr, broker_id), 1, NULL) AS in_sync, NULL AS leader,
                            if(replicas[1] = broker_id, 1, NULL) AS preferred
                        FROM (SELECT cluster_id, replicas, isr, unnest(replicas) AS broker_id FROM partition)
                        UNION ALL SELECT cluster_id, leader, NULL, NULL, 1, NULL FROM partition
                        UNION ALL SELECT cluster_id, broker_id, NULL, NULL, NULL, NULL FROM broker
                    )
                    SELECT cluster_id, broker_id, struct_pack(replicas := count(replica), in_sync_replicas := count(in_sync),
                        leaders := count(leader), preferred_leaders := count(preferred)) AS computed
                    FROM role
                    SEMI JOIN broker USING (cluster_id, broker_id)
                    GROUP BY ALL
                """,
            ),
        ),
        _even("even_leaders", "leaders", "leader_ratio", limits.leader_ratio_least, limits.leader_ratio_most),
        _even("even_replicas", "replicas", "replica_ratio", limits.replica_ratio_least, limits.replica_ratio_most),
        soft(
            "even_bytes",
            f"A live broker stores at most {limits.byte_ratio_most} times the mean bytes of the live brokers.",
            f"SELECT cluster_id, broker_id, size_bytes, byte_ratio FROM broker_balance WHERE byte_ratio > {limits.byte_ratio_most}",
            **_move("size_bytes", "byte_ratio", 0, limits.byte_ratio_most, readable_bytes),
            requires="SELECT cluster_id FROM broker_balance WHERE byte_ratio IS NOT NULL",
        ),
        soft(
            "even_produced_bytes",
            f"A live broker receives at most {limits.produced_ratio_most} times the mean sampled bytes of the live brokers.",
            f"""
                SELECT cluster_id, broker_id, produced_size_bytes, produced_ratio FROM broker_balance
                WHERE produced_ratio > {limits.produced_ratio_most}
            """,
            **_move("produced_size_bytes", "produced_ratio", 0, limits.produced_ratio_most, _leaders_that_receive),
            requires="SELECT cluster_id FROM broker_balance WHERE produced_ratio IS NOT NULL",
        ),
        soft(
            "stored_bytes_within_capacity",
            "No broker stores more than its reported disk capacity: a larger value means that the capacity is wrong.",
            "SELECT cluster_id, broker_id, size_bytes, disk_used_share FROM broker_balance WHERE disk_used_share > 1",
            measured="disk_used_share",
            limit=1,
            formula="bytes stored / reported disk capacity <= 1",
            change="'set the disk capacity of broker ' || broker_id || ' in capacity.json: it stores ' || " + readable_bytes("size_bytes"),
            requires="SELECT cluster_id FROM broker_balance WHERE disk_used_share IS NOT NULL",
        ),
    ]


def _even(name: str, count: str, ratio: str, least: float, most: float) -> Rule:
    # Whole replicas and leaders cannot be shared more evenly than to within one of the mean.
    return soft(
        name,
        f"A live broker has {least} to {most} times the mean number of {count}, or differs from the mean by less than one.",
        f"SELECT cluster_id, broker_id, {count}, {ratio} FROM "
        f"(SELECT *, avg(if(live, {count}, NULL)) OVER (PARTITION BY cluster_id) AS mean FROM broker_balance) "
        f"WHERE {ratio} NOT BETWEEN {least} AND {most} AND abs({count} - mean) >= 1",
        **_move(count, ratio, least, most, lambda excess: counted(excess, count.removesuffix("s"))),
    )


def _leaders_that_receive(size: str) -> str:
    return f"'leaders that receive ' || {readable_bytes(size)} || ' of the sampled bytes'"


def _move(count: str, ratio: str, least: float, most: float, words: Callable[[str], str]) -> dict[str, Any]:
    """Return the explanation of an uneven share: the change moves the part that exceeds the limit, which `words` expresses with a unit."""
    limit = f"if({ratio} > {most}, {most}, {least})"
    excess = f"CAST(ceil(abs({count} - {count} * {limit} / if({ratio} = 0, 1, {ratio}))) AS BIGINT)"
    return {
        "measured": ratio,
        "limit": limit,
        "formula": f"{count} / mean of the live brokers within {least} and {most}",
        "change": f"'move ' || {words(excess)} || if({ratio} > {most}, ' off', ' to') || ' broker ' || broker_id",
    }
