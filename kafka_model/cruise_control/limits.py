"""The limits of Cruise Control's goals (com.linkedin.kafka.cruisecontrol.analyzer, 2.5 of August 2026).

The thresholds are those of BalancingConstraint. The limits are those of ReplicaDistributionAbstractGoal, TopicReplicaDistributionGoal and
ResourceDistributionGoal, computed in Cruise Control's own order of double operations, so that they are equal to the bit. With a mean of
100 replicas and a threshold of 1.1, the limits are 90 and 110 and not 91 and 109, because 100 * (1 + 0.09) is 109.00000000000001:

    >>> count_limits(300, 3, 1.1)
    (90, 110)
    >>> topic_replica_limits(12, 3, Thresholds())
    (0, 12)
    >>> lower, upper = utilization_limits(450.0, 1000.0, 1.1, 0.0)
    >>> round(lower, 4), round(upper, 4)
    (0.4095, 0.4905)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

DISK, NETWORK_IN, NETWORK_OUT, CPU = RESOURCES = ("disk", "network_inbound", "network_outbound", "cpu")
UNITS = {DISK: "MiB", NETWORK_IN: "KiB/s", NETWORK_OUT: "KiB/s", CPU: "% of a core"}
BALANCE_MARGIN = 0.9  # ReplicaDistributionAbstractGoal, ResourceDistributionGoal

CAPACITY_GOALS = {
    DISK: "DiskCapacityGoal",
    NETWORK_IN: "NetworkInboundCapacityGoal",
    NETWORK_OUT: "NetworkOutboundCapacityGoal",
    CPU: "CpuCapacityGoal",
}
USAGE_DISTRIBUTION_GOALS = {
    DISK: "DiskUsageDistributionGoal",
    NETWORK_IN: "NetworkInboundUsageDistributionGoal",
    NETWORK_OUT: "NetworkOutboundUsageDistributionGoal",
    CPU: "CpuUsageDistributionGoal",
}
# AnalyzerConfig's default goals in order of priority, each with whether it is hard.
DEFAULT_GOALS: dict[str, bool] = {
    "RackAwareGoal": True,
    "MinTopicLeadersPerBrokerGoal": True,
    "ReplicaCapacityGoal": True,
    **dict.fromkeys(CAPACITY_GOALS.values(), True),
    "ReplicaDistributionGoal": False,
    "PotentialNwOutGoal": False,
    **dict.fromkeys(USAGE_DISTRIBUTION_GOALS.values(), False),
    "TopicReplicaDistributionGoal": False,
    "LeaderReplicaDistributionGoal": False,
    "LeaderBytesInDistributionGoal": False,
}
GOALS: dict[str, bool] = {**DEFAULT_GOALS, "RackAwareDistributionGoal": True, "PreferredLeaderElectionGoal": False}


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Cruise Control's configs with their defaults. Each field has the config's name, with `_` for `.`."""

    replica_count_balance_threshold: float = 1.1
    leader_replica_count_balance_threshold: float = 1.1
    topic_replica_count_balance_threshold: float = 3.0
    topic_replica_count_balance_min_gap: int = 2
    topic_replica_count_balance_max_gap: int = 40
    disk_balance_threshold: float = 1.1
    network_inbound_balance_threshold: float = 1.1
    network_outbound_balance_threshold: float = 1.1
    cpu_balance_threshold: float = 1.1
    disk_capacity_threshold: float = 0.8
    network_inbound_capacity_threshold: float = 0.8
    network_outbound_capacity_threshold: float = 0.8
    cpu_capacity_threshold: float = 0.7
    disk_low_utilization_threshold: float = 0.0
    network_inbound_low_utilization_threshold: float = 0.0
    network_outbound_low_utilization_threshold: float = 0.0
    cpu_low_utilization_threshold: float = 0.0
    max_replicas_per_broker: int = 10_000
    overprovisioned_max_replicas_per_broker: int = 1_500
    overprovisioned_min_brokers: int = 3
    overprovisioned_min_extra_racks: int = 2
    topics_with_min_leaders_per_broker: str = ""
    min_topic_leaders_per_broker: int = 1
    goal_balancedness_priority_weight: float = 1.1
    goal_balancedness_strictness_weight: float = 1.5

    def balance(self, resource: str) -> float:
        """Return the balance threshold of a resource."""
        return float(getattr(self, f"{resource}_balance_threshold"))

    def capacity(self, resource: str) -> float:
        """Return the capacity threshold of a resource."""
        return float(getattr(self, f"{resource}_capacity_threshold"))

    def low_utilization(self, resource: str) -> float:
        """Return the low utilization threshold of a resource."""
        return float(getattr(self, f"{resource}_low_utilization_threshold"))


def balance_percentage_with_margin(threshold: float) -> float:
    """Return how far a broker may be from the mean, as a share of the mean."""
    return (threshold - 1) * BALANCE_MARGIN


def count_limits(total: int, live_brokers: int, threshold: float) -> tuple[int, int]:
    """Return the lower and the upper limit of a live broker's replicas or leaders (ReplicaDistributionAbstractGoal)."""
    mean = total / live_brokers
    margin = balance_percentage_with_margin(threshold)
    return math.floor(mean * max(0, 1 - margin)), math.ceil(mean * (1 + margin))


def topic_replica_limits(total: int, live_brokers: int, thresholds: Thresholds) -> tuple[int, int]:
    """Return the lower and the upper limit of a live broker's replicas of one topic (TopicReplicaDistributionGoal).

    They are the limits of `count_limits`, moved so that their gap from the mean is between the minimum and the maximum gap.
    """
    lower, upper = count_limits(total, live_brokers, thresholds.topic_replica_count_balance_threshold)
    mean = total / live_brokers
    min_gap, max_gap = thresholds.topic_replica_count_balance_min_gap, thresholds.topic_replica_count_balance_max_gap
    lower = max(max(0, math.floor(mean) - max_gap), min(lower, max(0, math.floor(mean) - min_gap)))
    return lower, max(math.ceil(mean) + min_gap, min(upper, math.ceil(mean) + max_gap))


def utilization_limits(load: float, capacity: float, threshold: float, low_utilization: float) -> tuple[float, float]:
    """Return the lower and the upper limit of a live broker's utilization, as a share of its capacity (ResourceDistributionGoal).

    `load` and `capacity` are those of the cluster. At or below `low_utilization` there is no lower limit.
    """
    mean = java_divide(load, capacity)
    margin = balance_percentage_with_margin(threshold)
    upper = mean * (1 + margin)
    if mean <= low_utilization:
        return 0.0, max(upper, low_utilization * BALANCE_MARGIN)
    return mean * max(0, 1 - margin), upper


def min_topic_leaders(leaders: int, live_brokers: int, thresholds: Thresholds) -> int:
    """Return how many leaders of a topic each live broker must have (MinTopicLeadersPerBrokerGoal)."""
    return thresholds.min_topic_leaders_per_broker or leaders // live_brokers


def balancedness_cost_by_goal(thresholds: Thresholds) -> dict[str, float]:
    """Return how much each default goal, if violated, takes off the score of 100 (KafkaCruiseControlUtils).

    A goal costs more than the next one in priority, and a hard goal more than a soft one.
    """
    costs: dict[str, float] = {}
    weight = 1 / thresholds.goal_balancedness_priority_weight
    total = 0.0
    for goal, is_hard in reversed(list(DEFAULT_GOALS.items())):
        weight = thresholds.goal_balancedness_priority_weight * weight
        costs[goal] = weight * (thresholds.goal_balancedness_strictness_weight if is_hard else 1)
        total += costs[goal]
    return {goal: 100.0 * cost / total for goal, cost in costs.items()}


def java_divide(dividend: float, divisor: float) -> float:
    """Divide doubles as Java does: a division by zero gives NaN or an infinity."""
    if divisor != 0:
        return dividend / divisor
    return math.nan if dividend == 0 or math.isnan(dividend) else math.copysign(math.inf, dividend)
