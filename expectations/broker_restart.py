"""Rules of broker_restart: every broker has a row, and the restart order is complete."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import Rule, hard, soft


def rules(limits: Limits) -> list[Rule]:
    return [
        hard(
            "every_broker_returns",
            "Every broker has a row, and every row has its broker.",
            """
                SELECT cluster_id, broker_id FROM broker ANTI JOIN broker_restart USING (cluster_id, broker_id)
                UNION ALL SELECT cluster_id, broker_id FROM broker_restart ANTI JOIN broker USING (cluster_id, broker_id)
            """,
        ),
        hard(
            "turns_in_order",
            "The restart order is 1, 2, 3 and so on without gaps, and no two brokers have the same turn.",
            """
                SELECT cluster_id, count(restart_order) AS turns, max(restart_order) AS last_turn FROM broker_restart
                GROUP BY cluster_id HAVING count(DISTINCT restart_order) <> count(restart_order) OR max(restart_order) <> count(restart_order)
            """,
        ),
        hard(
            "returns_within_assignment",
            "A returning broker revives at least as many partitions as it revives uncleanly, no fewer after a clean stop than after a kill, and "
            "regains at most as many leaders as prefer it.",
            """
                SELECT cluster_id, broker_id, revived_after_kill, revived_uncleanly_after_kill, revived_after_stop, revived_uncleanly_after_stop,
                    regained_leaders_after_kill, regained_leaders_after_stop, preferred_partitions
                FROM broker_restart
                WHERE revived_uncleanly_after_kill > revived_after_kill OR revived_uncleanly_after_stop > revived_after_stop
                   OR revived_after_kill > revived_after_stop
                   OR greatest(regained_leaders_after_kill, regained_leaders_after_stop) > preferred_partitions
            """,
        ),
        soft(
            "rolling_restart_has_an_order",
            "Every live broker can be restarted in turn without taking another partition below min.insync.replicas.",
            "SELECT cluster_id, broker_id FROM broker_restart WHERE live AND restart_order IS NULL",
            measured="0",
            limit=1,
            formula="turns in a rolling restart = 1",
            change="'see remedy for the partitions that fall below min.insync.replicas without broker ' || broker_id",
        ),
    ]
