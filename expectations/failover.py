"""failover: leaders are live and in sync, those that need not change stay, and no partition that a failure touches is left out."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import equal, hard
from jobs.schema import BROKER, PARTITION, SCENARIO

READS = (BROKER, PARTITION, SCENARIO)

# One text for all rules that need the scenario and the leader: they share its scan (expectations/shared_scan.py).
_PLAYED = """
    {batch}
    JOIN (SELECT cluster_id, scenario_set, scenario_id, brokers, coalesce(quorum_lost, false) AS stuck FROM scenario)
    USING (cluster_id, scenario_set, scenario_id)
    LEFT JOIN (SELECT cluster_id, broker_id AS leader, live FROM broker) USING (cluster_id, leader)
"""


def expectations(limits: Limits) -> list[Expectation]:
    return [
        hard(
            "every_touched_partition",
            "A nightly scenario has a row for each partition with a replica on a broker that fails, and for no other.",
            equal(
                "cluster_id, scenario_set, scenario_id",
                said="""
                    SELECT cluster_id, scenario_set, scenario_id,
                        struct(count(*) AS partitions, bit_xor(xxhash64(topic, partition)) AS hash) AS said
                    FROM {batch} WHERE scenario_set = 'nightly'
                    GROUP BY ALL
                """,
                # A partition with several replicas that fail counts once, at the first of them.
                found="""
                    SELECT cluster_id, scenario_set, scenario_id,
                        struct(count(*) AS partitions, bit_xor(xxhash64(topic, partition)) AS hash) AS found
                    FROM (SELECT cluster_id, topic, partition, replicas, explode(replicas) AS broker_id FROM partition)
                    JOIN (SELECT cluster_id, scenario_set, scenario_id, brokers, explode(brokers) AS broker_id FROM scenario WHERE scenario_set = 'nightly')
                    USING (cluster_id, broker_id)
                    WHERE get(filter(replicas, id -> array_contains(brokers, id)), 0) = broker_id
                    GROUP BY ALL
                """,
            ),
        ),
        hard(
            "leader_is_live",
            "Whoever leads is a live broker, and not one that fails.",
            f"""
                SELECT cluster_id, scenario_set, scenario_id, topic, partition, leader, brokers
                FROM {_PLAYED}
                WHERE leader IS NOT NULL AND (NOT coalesce(live, false) OR array_contains(brokers, leader))
            """,
        ),
        hard(
            "leader_was_in_sync",
            "Whoever is elected was in the ISR, or an eligible leader replica, but for unclean elections.",
            """
                SELECT cluster_id, scenario_set, scenario_id, topic, partition, failover.leader, isr_before, partition.elr
                FROM {batch} AS failover
                JOIN partition USING (cluster_id, topic, partition)
                WHERE failover.leader IS DISTINCT FROM leader_before
                  AND NOT unclean
                  AND NOT array_contains(isr_before, failover.leader)
                  AND NOT coalesce(array_contains(partition.elr, failover.leader), false)
            """,
        ),
        hard(
            "leader_stays",
            "A leader in the ISR that does not fail goes on leading.",
            f"""
                SELECT cluster_id, scenario_set, scenario_id, topic, partition, leader_before, leader, brokers
                FROM {_PLAYED}
                WHERE array_contains(isr_before, leader_before)
                  AND NOT array_contains(brokers, leader_before)
                  AND leader IS DISTINCT FROM leader_before
            """,
        ),
        hard(
            "leader_in_isr",
            "Whoever leads is in the ISR.",
            """
                SELECT cluster_id, scenario_set, scenario_id, topic, partition, leader, isr FROM {batch}
                WHERE NOT array_contains(isr, leader)
            """,
        ),
        hard(
            "state_as_led",
            "A partition is an OnlinePartition if it has a leader, and an OfflinePartition if not.",
            """
                SELECT cluster_id, scenario_set, scenario_id, topic, partition, state, leader, state_before, leader_before
                FROM {batch}
                WHERE state <> if(leader IS NULL, 'OfflinePartition', 'OnlinePartition')
                   OR state_before <> if(leader_before IS NULL, 'OfflinePartition', 'OnlinePartition')
            """,
        ),
        hard(
            "min_isr_as_counted",
            "A partition is under min.insync.replicas without a leader or with fewer in sync, and at it with just as many; without a quorum of "
            "controllers it may refuse acks=all for a dead one in sync.",
            f"""
                SELECT cluster_id, scenario_set, scenario_id, topic, partition, leader, isr, min_insync_replicas, under_min_isr, at_min_isr
                FROM {_PLAYED}
                WHERE under_min_isr <> (leader IS NULL OR size(isr) < min_insync_replicas) AND NOT (under_min_isr AND stuck)
                   OR at_min_isr <> (NOT under_min_isr AND size(isr) = min_insync_replicas)
            """,
        ),
        hard(
            "survivors_as_counted",
            "A partition has as many replicas alive after a failure as it has survivors, no more than before it, and its leader is one of them.",
            """
                SELECT cluster_id, scenario_set, scenario_id, topic, partition, leader, survivors, live_replicas, live_replicas_before, assigned_replicas
                FROM {batch}
                WHERE live_replicas <> size(survivors)
                   OR live_replicas NOT BETWEEN 0 AND live_replicas_before
                   OR live_replicas_before > assigned_replicas
                   OR coalesce(NOT array_contains(survivors, leader), false)
            """,
        ),
    ]
