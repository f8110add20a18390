"""Rules of failover: every affected partition has a row, leaders are live and in sync, and unaffected leaders stay."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import Rule, hard, mismatches, rows_hash

_WITH_SCENARIO_AND_LEADER = """
    failover
    JOIN (SELECT cluster_id, scenario_set, scenario_id, brokers, coalesce(quorum_lost, false) AS without_quorum FROM scenario)
    USING (cluster_id, scenario_set, scenario_id)
    LEFT JOIN (SELECT cluster_id, broker_id AS leader, live FROM broker) USING (cluster_id, leader)
"""


def rules(limits: Limits) -> list[Rule]:
    return [
        hard(
            "every_affected_partition",
            "A nightly scenario has a row for every partition with a replica on a broker that fails, and for no other partition.",
            mismatches(
                "cluster_id, scenario_set, scenario_id",
                stated=f"""
                    SELECT cluster_id, scenario_set, scenario_id,
                        struct_pack(partitions := count(*), hash := {rows_hash("topic", "partition")}) AS stated
                    FROM failover WHERE scenario_set = 'nightly'
                    GROUP BY ALL
                """,
                # A partition with several replicas that fail counts once, at the first of them.
                computed=f"""
                    SELECT cluster_id, scenario_set, scenario_id,
                        struct_pack(partitions := count(*), hash := {rows_hash("topic", "partition")}) AS computed
                    FROM (SELECT cluster_id, topic, partition, replicas, unnest(replicas) AS broker_id FROM partition)
                    JOIN (SELECT cluster_id, scenario_set, scenario_id, brokers, unnest(brokers) AS broker_id
                          FROM scenario WHERE scenario_set = 'nightly')
                    USING (cluster_id, broker_id)
                    WHERE list_filter(replicas, lambda id: list_contains(brokers, id))[1] = broker_id
                    GROUP BY ALL
                """,
            ),
        ),
        hard(
            "leader_is_live",
            "A leader is a live broker that does not fail.",
            f"""
                SELECT cluster_id, scenario_set, scenario_id, topic, partition, leader, brokers
                FROM {_WITH_SCENARIO_AND_LEADER}
                WHERE leader IS NOT NULL AND (NOT coalesce(live, false) OR list_contains(brokers, leader))
            """,
        ),
        hard(
            "leader_was_in_sync",
            "A newly elected leader was in the ISR or was an eligible leader replica, except in an unclean election.",
            """
                SELECT cluster_id, scenario_set, scenario_id, topic, partition, failover.leader, isr_before, partition.elr
                FROM failover
                JOIN partition USING (cluster_id, topic, partition)
                WHERE failover.leader IS DISTINCT FROM leader_before
                  AND NOT unclean
                  AND NOT list_contains(isr_before, failover.leader)
                  AND NOT coalesce(list_contains(partition.elr, failover.leader), false)
            """,
        ),
        hard(
            "leader_stays",
            "A leader in the ISR that does not fail stays the leader.",
            f"""
                SELECT cluster_id, scenario_set, scenario_id, topic, partition, leader_before, leader, brokers
                FROM {_WITH_SCENARIO_AND_LEADER}
                WHERE list_contains(isr_before, leader_before)
                  AND NOT list_contains(brokers, leader_before)
                  AND leader IS DISTINCT FROM leader_before
            """,
        ),
        hard(
            "leader_in_isr",
            "A leader is in the ISR.",
            """
                SELECT cluster_id, scenario_set, scenario_id, topic, partition, leader, isr FROM failover
                WHERE NOT list_contains(isr, leader)
            """,
        ),
        hard(
            "state_matches_leader",
            "A partition with a leader is an OnlinePartition, and one without a leader is an OfflinePartition.",
            """
                SELECT cluster_id, scenario_set, scenario_id, topic, partition, state, leader, state_before, leader_before
                FROM failover
                WHERE state <> if(leader IS NULL, 'OfflinePartition', 'OnlinePartition')
                   OR state_before <> if(leader_before IS NULL, 'OfflinePartition', 'OnlinePartition')
            """,
        ),
        hard(
            "min_isr_matches_isr",
            "A partition is under min.insync.replicas if it has no leader or a smaller ISR, and at min.insync.replicas if its ISR has that size. "
            "Without a controller quorum, dead brokers stay in the ISR, so a partition with a larger ISR may be under it too.",
            f"""
                SELECT cluster_id, scenario_set, scenario_id, topic, partition, leader, isr, min_insync_replicas, under_min_isr, at_min_isr
                FROM {_WITH_SCENARIO_AND_LEADER}
                WHERE under_min_isr <> (leader IS NULL OR len(isr) < min_insync_replicas) AND NOT (under_min_isr AND without_quorum)
                   OR at_min_isr <> (NOT under_min_isr AND len(isr) = min_insync_replicas)
            """,
        ),
        hard(
            "survivors_counted",
            "The live replicas after a failure are the survivors, are no more than before it, and include the leader.",
            """
                SELECT cluster_id, scenario_set, scenario_id, topic, partition, leader, survivors, live_replicas, live_replicas_before, assigned_replicas
                FROM failover
                WHERE live_replicas <> len(survivors)
                   OR live_replicas NOT BETWEEN 0 AND live_replicas_before
                   OR live_replicas_before > assigned_replicas
                   OR coalesce(NOT list_contains(survivors, leader), false)
            """,
        ),
    ]
