"""Rules of broker_pair: every pair that shares a partition has a row, and loses at least as much as one of its brokers."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import Rule, counted, hard, mismatches, soft


def rules(limits: Limits) -> list[Rule]:
    return [
        hard(
            "every_pair_simulated",
            "Every two live brokers that share partitions have a row with the number of partitions that they share.",
            mismatches(
                "cluster_id, broker_id, other_broker_id",
                stated="SELECT cluster_id, broker_id, other_broker_id, shared_partitions AS stated FROM broker_pair WHERE shared_partitions > 0",
                computed="""
                    WITH pair AS (
                        SELECT cluster_id, broker_id, unnest(replicas) AS other_broker_id
                        FROM (SELECT cluster_id, replicas, unnest(replicas) AS broker_id FROM partition)
                    ), shared AS (
                        SELECT cluster_id, broker_id, other_broker_id, count(*) AS computed FROM pair
                        WHERE broker_id < other_broker_id GROUP BY ALL
                    ), live_broker AS (
                        SELECT cluster_id, broker_id, broker_id AS other_broker_id FROM broker WHERE live
                    )
                    SELECT * FROM shared
                    SEMI JOIN live_broker USING (cluster_id, broker_id)
                    SEMI JOIN live_broker USING (cluster_id, other_broker_id)
                """,
            ),
        ),
        hard(
            "pair_loses_as_much_as_each_broker",
            "The loss of two brokers takes at least as many partitions offline as the loss of either of them.",
            """
                SELECT cluster_id, broker_id, other_broker_id, pair.newly_offline AS offline_without_both,
                    one.newly_offline AS offline_without_one
                FROM broker_pair AS pair
                JOIN (
                    SELECT cluster_id, brokers[1] AS lost_broker_id, newly_offline
                    FROM scenario WHERE scenario_set = 'nightly' AND kind = 'broker'
                ) AS one USING (cluster_id)
                WHERE lost_broker_id IN (broker_id, other_broker_id) AND one.newly_offline > pair.newly_offline
            """,
        ),
        soft(
            "data_survives_two_brokers",
            "If any two brokers are lost, every partition keeps a replica with all acknowledged records.",
            "SELECT cluster_id, broker_id, other_broker_id, newly_lost FROM broker_pair WHERE newly_lost > 0",
            measured="newly_lost",
            limit=0,
            formula="partitions that lose acknowledged records with both brokers = 0",
            change=f"""
                'move a replica of ' || {counted("newly_lost", "partition")} || ' off broker ' || broker_id || ' or ' || other_broker_id
                    || ', or add a replica'
            """,
        ),
    ]
