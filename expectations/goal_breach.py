"""goal_breach: Cruise Control's goals hold, each alone on the cluster as it is."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import hard, soft_as_told
from jobs.schema import GOAL_VERDICT

READS = (GOAL_VERDICT,)

# The goal, the rule's name, and what it claims.
GOALS = {
    "RackAwareGoal": ("one_replica_per_rack", "The replicas of a partition are on racks of their own"),
    "RackAwareDistributionGoal": ("replicas_even_over_racks", "The replicas of a partition are spread over the racks as evenly as can be"),
    "MinTopicLeadersPerBrokerGoal": (
        "topic_leaders_on_every_broker",
        "Every live broker leads the least number of partitions of each topic that asks for it",
    ),
    "ReplicaCapacityGoal": ("replicas_within_capacity", "No broker has more replicas than max.replicas.per.broker"),
    "DiskCapacityGoal": ("disk_within_capacity", "No broker stores more than the allowed part of its disk capacity"),
    "NetworkInboundCapacityGoal": ("network_in_within_capacity", "No host takes in more than the allowed part of its network capacity"),
    "NetworkOutboundCapacityGoal": ("network_out_within_capacity", "No host sends more than the allowed part of its network capacity"),
    "CpuCapacityGoal": ("cpu_within_capacity", "No broker or host uses more than the allowed part of its cores"),
    "ReplicaDistributionGoal": ("replicas_near_mean", "Every live broker has about as many replicas as the mean"),
    "PotentialNwOutGoal": (
        "potential_network_out_within_capacity",
        "No broker would send more than the allowed part of its capacity if it led all that it holds",
    ),
    "DiskUsageDistributionGoal": ("disk_use_near_mean", "Every live broker uses about the mean part of its disk capacity"),
    "NetworkInboundUsageDistributionGoal": (
        "network_in_near_mean",
        "Every live broker takes in about the mean part of its network capacity",
    ),
    "NetworkOutboundUsageDistributionGoal": (
        "network_out_near_mean",
        "Every live broker sends about the mean part of its network capacity",
    ),
    "CpuUsageDistributionGoal": ("cpu_use_near_mean", "Every live broker uses about the mean part of its cores"),
    "TopicReplicaDistributionGoal": (
        "topic_replicas_near_mean",
        "Brokers that hold a topic hold about as many of its replicas as the mean",
    ),
    "LeaderReplicaDistributionGoal": ("leaders_near_mean", "Every live broker leads about as many partitions as the mean"),
    "LeaderBytesInDistributionGoal": (
        "leader_bytes_in_near_mean",
        "No broker takes in much more for the partitions that it leads than the mean",
    ),
    "PreferredLeaderElectionGoal": ("first_replica_leads", "A partition whose first replica is live is led by it"),
}


def expectations(limits: Limits) -> list[Expectation]:
    return [
        hard(
            "breaks_its_limit",
            "A breach names a goal that judged the cluster, and a value that is not its limit.",
            """
                SELECT cluster_id, goal, broker_id, topic, partition, measured, limit_value FROM {batch}
                LEFT JOIN (SELECT cluster_id, goal, verdict FROM goal_verdict WHERE verdict <> 'unknown') USING (cluster_id, goal)
                WHERE verdict IS NULL OR measured = limit_value
            """,
        ),
        *(
            soft_as_told(
                rule,
                f"{claim} (Cruise Control's {goal}).",
                f"""
                    SELECT cluster_id, broker_id, topic, partition, measured, limit_value, formula, smallest_change, near_limit
                    FROM {{batch}} WHERE goal = '{goal}'
                """,
                told=f"SELECT cluster_id FROM goal_verdict WHERE goal = '{goal}' AND verdict NOT IN ('unknown', 'refused')",
            )
            for goal, (rule, claim) in GOALS.items()
        ),
    ]
