"""broker_restart: every broker has its return, turns are one after the other, and there is one for each live broker."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import hard, soft
from jobs.schema import BROKER

READS = (BROKER,)


def expectations(limits: Limits) -> list[Expectation]:
    return [
        hard(
            "every_broker_returns",
            "Every broker has its row, and no other.",
            """
                SELECT cluster_id, broker_id FROM broker ANTI JOIN {batch} USING (cluster_id, broker_id)
                UNION ALL SELECT cluster_id, broker_id FROM {batch} ANTI JOIN broker USING (cluster_id, broker_id)
            """,
        ),
        hard(
            "turns_in_order",
            "The turns of a rolling restart are 1, 2, 3 and so on, one for each broker that has one.",
            """
                SELECT cluster_id, count(restart_order) AS turns, max(restart_order) AS last_turn FROM {batch}
                GROUP BY cluster_id HAVING count(DISTINCT restart_order) <> count(restart_order) OR max(restart_order) <> count(restart_order)
            """,
        ),
        hard(
            "no_more_than_held",
            "A broker gives back no more than it holds.",
            """
                SELECT cluster_id, broker_id, revived_partitions, revived_uncleanly, regained_leaders, preferred_partitions FROM {batch}
                WHERE revived_uncleanly > revived_partitions OR regained_leaders > preferred_partitions
            """,
        ),
        soft(
            "rolling_restart_has_an_order",
            "All live brokers can be restarted one after the other so that no partition falls under min ISR that need not.",
            "SELECT cluster_id, broker_id FROM {batch} WHERE live AND restart_order IS NULL",
            measured="0",
            limit=1,
            formula="turns in a rolling restart = 1",
            change="concat('see remedy for what falls under min ISR without broker ', broker_id)",
        ),
    ]
