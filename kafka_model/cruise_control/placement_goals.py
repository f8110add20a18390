"""Cruise Control's goals on racks, topics and preferred leaders (com.linkedin.kafka.cruisecontrol.analyzer.goals, 2.5 of August 2026).

These are RackAwareGoal, RackAwareDistributionGoal, TopicReplicaDistributionGoal, MinTopicLeadersPerBrokerGoal and
PreferredLeaderElectionGoal. Two replicas of a partition on one rack breach both rack goals if there are two racks:

    >>> brokers = [Broker(1, "a", "h1"), Broker(2, "a", "h2"), Broker(3, "b", "h3")]
    >>> breaches = placement_breaches(brokers, [Partition("t", 0, (1, 2), 1)], Thresholds())
    >>> {goal: len(found) for goal, found in breaches.items() if found}
    {'RackAwareGoal': 1, 'RackAwareDistributionGoal': 1}

The columnar form is kafka_model.cruise_control.columnar.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from kafka_model.cruise_control.broker_goals import count_breach, count_with_noun
from kafka_model.cruise_control.cluster_load import Broker, Partition
from kafka_model.cruise_control.limits import Thresholds, min_topic_leaders, topic_replica_limits
from kafka_model.cruise_control.verdicts import (
    OVER_PROVISIONED,
    RIGHT_SIZED,
    SATISFIED,
    UNDER_PROVISIONED,
    UNFIXABLE,
    UNKNOWN,
    VIOLATED,
    Breach,
    ProvisionRecommendation,
    Verdict,
)


def is_rack_aware(racks: Sequence[str]) -> bool:
    """Return whether a partition with replicas on these racks has no two replicas on one rack (RackAwareGoal)."""
    return len(set(racks)) == len(racks)


def is_evenly_distributed(racks: Sequence[str], live_racks: int) -> bool:
    """Return whether a partition's replicas are distributed evenly over the racks with a live broker (RackAwareDistributionGoal)."""
    counts = Counter(racks).values()
    return max(counts) == 1 or (len(counts) >= live_racks and max(counts) - min(counts) <= 1)


def placement_breaches(brokers: Sequence[Broker], partitions: Sequence[Partition], thresholds: Thresholds) -> dict[str, list[Breach]]:
    """Return the breaches of each of these goals."""
    alive = {broker.broker_id for broker in brokers if broker.alive}
    rack_of = {broker.broker_id: broker.rack for broker in brokers}
    live_racks = len({rack_of[broker_id] for broker_id in alive})
    breaches: dict[str, list[Breach]] = {"RackAwareGoal": [], "RackAwareDistributionGoal": [], "PreferredLeaderElectionGoal": []}
    for partition in partitions:
        racks = [rack_of[broker_id] for broker_id in partition.replicas]
        preferred = partition.replicas[0]
        if not is_rack_aware(racks):
            shared = len(racks) - len(set(racks))
            breach = _partition_breach(partition, shared, 0, "replicas that share a rack = 0", "move it off the rack")
            breaches["RackAwareGoal"].append(breach)
        if not is_evenly_distributed(racks, live_racks):
            highest_count, limit = max(Counter(racks).values()), math.ceil(len(racks) / live_racks)
            breach = _partition_breach(
                partition, highest_count, limit, "replicas on a rack are as even as can be", "move it to an emptier rack"
            )
            breaches["RackAwareDistributionGoal"].append(breach)
        if preferred in alive and partition.leader != preferred:
            breach = _partition_breach(partition, partition.leader, preferred, "the first replica leads", f"elect broker {preferred}")
            breaches["PreferredLeaderElectionGoal"].append(breach)
    breaches["TopicReplicaDistributionGoal"] = _topic_replica_breaches(partitions, alive, thresholds)
    breaches["MinTopicLeadersPerBrokerGoal"] = _topic_leader_breaches(partitions, alive, thresholds)
    return breaches


def placement_verdicts(
    breach_counts: Mapping[str, int],
    live_racks: int | None,
    max_replication_factor: int,
    min_partitions: int | None,
    thresholds: Thresholds,
) -> dict[str, Verdict]:
    """Return the verdicts of these goals from the number of their breaches.

    `live_racks` is the number of racks with a live broker; None: racks are unknown. `min_partitions` is the result of `partitions_needed`.
    """
    verdicts = {goal: Verdict(goal, VIOLATED if count else SATISFIED, unlisted_breaches=count) for goal, count in breach_counts.items()}
    if min_partitions is not None:
        more_partitions = ProvisionRecommendation(UNDER_PROVISIONED, partitions=min_partitions)
        goal = "MinTopicLeadersPerBrokerGoal"
        verdicts[goal] = replace(verdicts[goal], verdict=UNFIXABLE, provision=more_partitions)
    for goal in ("RackAwareGoal", "RackAwareDistributionGoal"):
        if live_racks is None:
            verdicts[goal] = Verdict(goal, UNKNOWN, missing_input="rack of each live broker")
        else:
            verdicts[goal] = replace(verdicts[goal], provision=_rack_provision(live_racks, max_replication_factor, thresholds))
    if live_racks is not None and max_replication_factor > live_racks:
        verdicts["RackAwareGoal"] = _too_few_racks(verdicts["RackAwareGoal"], live_racks, max_replication_factor)
    return verdicts


def partitions_needed(leaders: Mapping[str, int], live_brokers: int, thresholds: Thresholds) -> int | None:
    """Return the most partitions that a topic needs to give each live broker its minimum of leaders (MinTopicLeadersPerBrokerGoal).

    `leaders` is the number of leaders of each topic that the goal applies to. None: every such topic has enough partitions.
    """
    minimums = {topic: min_topic_leaders(count, live_brokers, thresholds) * live_brokers for topic, count in leaders.items()}
    return max((minimum for topic, minimum in minimums.items() if leaders[topic] < minimum), default=None)


def topic_replica_formula(*, is_over: bool) -> str:
    """Describe the upper or the lower limit of a topic's replicas on a broker."""
    bound = "<= ceil(mean x (1 + m))" if is_over else ">= floor(mean x (1 - m))"
    return f"replicas of the topic {bound}, within topic.replica.count.balance.min.gap and max.gap of the mean"


def topic_leader_counts(partitions: Sequence[Partition], thresholds: Thresholds) -> Counter[str]:
    """Count the leaders of each topic that MinTopicLeadersPerBrokerGoal applies to."""
    pattern = thresholds.topics_with_min_leaders_per_broker
    return Counter(partition.topic for partition in partitions if pattern and re.fullmatch(pattern, partition.topic))


def _rack_provision(live_racks: int, max_replication_factor: int, thresholds: Thresholds) -> ProvisionRecommendation:
    extra = live_racks - max_replication_factor
    if extra >= thresholds.overprovisioned_min_extra_racks:
        return ProvisionRecommendation(OVER_PROVISIONED, racks=extra - thresholds.overprovisioned_min_extra_racks + 1)
    return ProvisionRecommendation(RIGHT_SIZED)


def _too_few_racks(verdict: Verdict, live_racks: int, max_replication_factor: int) -> Verdict:
    """Return RackAwareGoal's verdict if some topic has more replicas than there are racks with a live broker."""
    missing = max_replication_factor - live_racks
    formula = "greatest replication factor <= racks with a live broker"
    breach = Breach(max_replication_factor, live_racks, formula, f"add {count_with_noun(missing, 'rack')}")
    provision = ProvisionRecommendation(UNDER_PROVISIONED, racks=missing)
    return replace(verdict, verdict=UNFIXABLE, breaches=(breach,), provision=provision)


def _partition_breach(partition: Partition, measured: int, limit: int, formula: str, change: str) -> Breach:
    return Breach(measured, limit, formula, change, None, partition.topic, partition.partition)


def _topic_replica_breaches(partitions: Sequence[Partition], alive: set[int], thresholds: Thresholds) -> list[Breach]:
    """Compare each live broker's replicas of a topic with the limits. Brokers without a replica of the topic are not compared."""
    counts = Counter((partition.topic, broker_id) for partition in partitions for broker_id in partition.replicas)
    totals = Counter(topic for topic, _ in counts.elements())
    breaches = []
    for (topic, broker_id), count in sorted(counts.items()):
        lower, upper = topic_replica_limits(totals[topic], len(alive), thresholds)
        if broker_id in alive and not lower <= count <= upper:
            is_over = count > upper
            formula = topic_replica_formula(is_over=is_over)
            breaches.append(count_breach(count, upper if is_over else lower, formula, "replicas", broker_id=broker_id, topic=topic))
    return breaches


def _topic_leader_breaches(partitions: Sequence[Partition], alive: set[int], thresholds: Thresholds) -> list[Breach]:
    """Compare each live broker's leaders of a topic with the minimum."""
    leaders = Counter((partition.topic, partition.leader) for partition in partitions)
    breaches = []
    for topic, total in sorted(topic_leader_counts(partitions, thresholds).items()):
        minimum = min_topic_leaders(total, len(alive), thresholds)
        for broker_id in sorted(alive):
            if (count := leaders[topic, broker_id]) < minimum:
                formula = f"leaders of the topic >= {minimum}"
                breaches.append(count_breach(count, minimum, formula, "leaders", broker_id=broker_id, topic=topic))
    return breaches
