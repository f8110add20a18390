"""Every goal of Cruise Control, evaluated on a cluster as it is (com.linkedin.kafka.cruisecontrol.analyzer.goals, 2.5 of August 2026).

A goal is violated if the unchanged cluster is outside the limits of that goal alone. Cruise Control's optimizer reports something else:
which goals were violated after it had moved replicas for the goals of higher priority.

    >>> brokers = [Broker(1, "a", "h1"), Broker(2, "b", "h2")]
    >>> partitions = [Partition("t", number, (1, 2), 1) for number in range(5)]
    >>> verdicts = evaluate(brokers, partitions, Thresholds())
    >>> verdicts["RackAwareGoal"].verdict, verdicts["LeaderReplicaDistributionGoal"].verdict, verdicts["CpuCapacityGoal"].verdict
    ('satisfied', 'violated', 'unknown')

The columnar form for millions of replicas is kafka_model.cruise_control.columnar.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kafka_model.cruise_control.broker_goals import evaluate_broker_goals
from kafka_model.cruise_control.cluster_load import Broker, Partition, sum_partitions
from kafka_model.cruise_control.limits import Thresholds
from kafka_model.cruise_control.placement_goals import partitions_needed, placement_breaches, placement_verdicts, topic_leader_counts
from kafka_model.cruise_control.verdicts import Verdict


def evaluate(brokers: Sequence[Broker], partitions: Sequence[Partition], thresholds: Thresholds) -> dict[str, Verdict]:
    """Return the verdict of every goal by its name."""
    load = sum_partitions(brokers, partitions)
    verdicts = evaluate_broker_goals(brokers, load, thresholds, partitions=len(partitions))
    alive = [broker for broker in brokers if broker.alive]
    if not alive:
        return verdicts
    breaches = placement_breaches(brokers, partitions, thresholds)
    counts = {goal: len(goal_breaches) for goal, goal_breaches in breaches.items()}
    live_racks = len({broker.rack for broker in alive})
    max_replication_factor = max((len(partition.replicas) for partition in partitions), default=1)
    needed = partitions_needed(topic_leader_counts(partitions, thresholds), len(alive), thresholds)
    placement = placement_verdicts(counts, live_racks, max_replication_factor, needed, thresholds)
    for goal, verdict in placement.items():
        verdicts[goal] = replace(verdict, breaches=(*verdict.breaches, *breaches[goal]), unlisted_breaches=0)
    return verdicts
