"""Rules of goal_breach: the cluster as it is fulfils each of Cruise Control's goals."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import Rule, hard, soft_explained

# For each goal: the name of its rule, and the sentence.
GOALS = {
    "RackAwareGoal": ("one_replica_per_rack", "No two replicas of a partition are in the same rack"),
    "RackAwareDistributionGoal": (
        "replicas_even_over_racks",
        "The replicas of a partition are spread over the racks as evenly as possible",
    ),
    "MinTopicLeadersPerBrokerGoal": (
        "topic_leaders_on_every_broker",
        "Every live broker leads the required number of partitions of each configured topic",
    ),
    "ReplicaCapacityGoal": ("replicas_within_capacity", "No broker has more replicas than max.replicas.per.broker"),
    "DiskCapacityGoal": ("disk_within_capacity", "No broker stores more than the allowed share of its disk capacity"),
    "NetworkInboundCapacityGoal": ("network_in_within_capacity", "No host receives more than the allowed share of its network capacity"),
    "NetworkOutboundCapacityGoal": ("network_out_within_capacity", "No host sends more than the allowed share of its network capacity"),
    "CpuCapacityGoal": ("cpu_within_capacity", "No broker or host uses more than the allowed share of its CPU cores"),
    "ReplicaDistributionGoal": ("replicas_near_mean", "Every live broker has about as many replicas as the mean"),
    "PotentialNwOutGoal": (
        "potential_network_out_within_capacity",
        "No broker would send more than the allowed share of its capacity if it led all its partitions",
    ),
    "DiskUsageDistributionGoal": ("disk_use_near_mean", "Every live broker uses about the mean share of its disk capacity"),
    "NetworkInboundUsageDistributionGoal": (
        "network_in_near_mean",
        "Every live broker receives about the mean share of its network capacity",
    ),
    "NetworkOutboundUsageDistributionGoal": (
        "network_out_near_mean",
        "Every live broker sends about the mean share of its network capacity",
    ),
    "CpuUsageDistributionGoal": ("cpu_use_near_mean", "Every live broker uses about the mean share of its CPU cores"),
    "TopicReplicaDistributionGoal": (
        "topic_replicas_near_mean",
        "Every broker with replicas of a topic has about the mean number of them",
    ),
    "LeaderReplicaDistributionGoal": ("leaders_near_mean", "Every live broker leads about the mean number of partitions"),
    "LeaderBytesInDistributionGoal": (
        "leader_bytes_in_near_mean",
        "No broker receives much more than the mean for the partitions that it leads",
    ),
    "PreferredLeaderElectionGoal": ("first_replica_leads", "Every partition whose first replica is live has it as the leader"),
}


def rules(limits: Limits) -> list[Rule]:
    return [
        hard(
            "breaches_exceed_limits",
            "Every breach belongs to a goal with a verdict, and its measured value differs from the limit.",
            """
                SELECT cluster_id, goal, broker_id, topic, partition, measured, limit_value FROM goal_breach
                LEFT JOIN (SELECT cluster_id, goal, verdict FROM goal_verdict WHERE verdict <> 'unknown') USING (cluster_id, goal)
                WHERE verdict IS NULL OR measured = limit_value
            """,
        ),
        *(
            soft_explained(
                name,
                f"{claim} (Cruise Control's {goal}).",
                f"""
                    SELECT cluster_id, broker_id, topic, partition, measured, limit_value, formula, smallest_change, near_limit
                    FROM goal_breach WHERE goal = '{goal}'
                """,
                requires=f"SELECT cluster_id FROM goal_verdict WHERE goal = '{goal}' AND verdict NOT IN ('unknown', 'refused')",
            )
            for goal, (name, claim) in GOALS.items()
        ),
    ]
