"""Shortfalls of a plan: requested changes that it does not make, with the reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np

from jobs.plan.candidates import Candidate
from jobs.plan.question import PlanQuestion
from jobs.schema.plan import first_values
from kafka_model.cruise_control.columnar import Bools, Cluster, Ints


def describe_shortfalls(question: PlanQuestion, candidate: Candidate, left_out: str | None) -> str | None:
    """Return the shortfalls as one text; None: the plan does all that was requested."""
    cluster, replicas = candidate.plan.cluster, candidate.plan.replicas
    obstacles = {blocked.partition: blocked.obstacle for blocked in candidate.plan.blocked}
    may_change = np.array([not question.topics or topic in question.topics for topic in cluster.topics], dtype=np.bool_)[cluster.topic]
    shortfalls = [
        *_undrained(question, cluster, replicas, may_change, obstacles),
        *_other_replication_factor(question, cluster, replicas, may_change, obstacles),
        *_empty_new_brokers(question, candidate, left_out),
        *_blocked(question, candidate, may_change, obstacles),
    ]
    return "; ".join(shortfalls) or None


def _undrained(question: PlanQuestion, cluster: Cluster, replicas: Ints, may_change: Bools, obstacles: Mapping[int, str]) -> Iterator[str]:
    for broker_id in question.drain:
        on_broker = (cluster.broker_ids[replicas] == broker_id) & (replicas >= 0) & may_change[:, None]
        if count := int(on_broker.sum()):
            reasons = _reasons(cluster, on_broker.any(axis=1), obstacles)
            yield f"broker {broker_id} cannot be drained: {count} replicas stay on it ({reasons})"


def _other_replication_factor(
    question: PlanQuestion, cluster: Cluster, replicas: Ints, may_change: Bools, obstacles: Mapping[int, str]
) -> Iterator[str]:
    for topic, factor in question.replication_factor.items():
        differs = (cluster.topic == cluster.topics.index(topic)) & ((replicas >= 0).sum(axis=1) != factor) & may_change
        if count := int(differs.sum()):
            yield f"topic {topic} cannot have {factor} replicas: {count} partitions do not ({_reasons(cluster, differs, obstacles)})"


def _empty_new_brokers(question: PlanQuestion, candidate: Candidate, left_out: str | None) -> Iterator[str]:
    if not question.balances:
        return
    replicas = candidate.plan.replicas
    used_ids = set(candidate.plan.cluster.broker_ids[np.unique(replicas[replicas >= 0])].tolist())
    too_few = {breach.broker_id for breach in candidate.assessment.verdicts["ReplicaDistributionGoal"].breaches}
    for broker_id in question.add:
        if broker_id in too_few and broker_id not in used_ids:
            yield f"broker {broker_id} gets no replica ({left_out or 'racks, disk limits and hard goals allow no move to it'})"


def _blocked(question: PlanQuestion, candidate: Candidate, may_change: Bools, obstacles: Mapping[int, str]) -> Iterator[str]:
    cluster = candidate.plan.cluster
    is_blocked = np.isin(np.arange(len(cluster.topic)), list(obstacles))
    if question.topics and (count := int((is_blocked & may_change).sum())):
        topics = first_values(sorted(set(question.topics)))
        yield f"{count} partitions of {topics} cannot be fixed ({_reasons(cluster, is_blocked & may_change, obstacles)})"
    if obstacles and not candidate.waves and not (question.topics or question.requests_moves):
        yield f"nothing can be moved: {len(obstacles)} partitions cannot be fixed ({_reasons(cluster, is_blocked, obstacles)})"


def _reasons(cluster: Cluster, partitions: Bools, obstacles: Mapping[int, str]) -> str:
    """Return why these partitions cannot be moved, the most frequent reason first, and an example."""
    indexes = np.flatnonzero(partitions).tolist()
    counts = Counter(obstacles.get(p, "no step moves it") for p in indexes)
    reasons = ", ".join(f"{count}: {obstacle}" for obstacle, count in counts.most_common())
    return f"{reasons}; for example {cluster.topics[cluster.topic[indexes[0]]]}-{cluster.partition[indexes[0]]}"
