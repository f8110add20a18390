"""Cruise Control's goals on an unchanged cluster, each goal alone: verdict, exact limits, violators, and the provision recommendation.

No package registry has its analyzer. To run it, set CRUISE_CONTROL_SOURCE to a checkout of github.com/linkedin/cruise-control:
`CRUISE_CONTROL_SOURCE=folder python -m tests.oracle record cruise_control_goals`. The analyzer is compiled into the cache, with its
dependencies from Maven Central.
"""

from __future__ import annotations

import math
import random
from typing import Any

from kafka_model.cruise_control import goals
from kafka_model.cruise_control.cluster_load import Broker, Partition
from kafka_model.cruise_control.limits import (
    CPU,
    DISK,
    NETWORK_IN,
    NETWORK_OUT,
    Thresholds,
    balancedness_cost_by_goal,
    topic_replica_limits,
)
from kafka_model.cruise_control.verdicts import OVER_PROVISIONED, REFUSED, UNFIXABLE, VIOLATED, Verdict
from tests.oracle import cruise_control
from tests.oracle.cruise_control import ask as ask  # records the golden file

PROGRAMS = {cruise_control.VERSION: "CruiseControlGoals"}
RECORDED = 600


def case(rng: random.Random) -> dict[str, Any]:
    """Draw 1 to 12 brokers, some dead, some on shared racks and hosts; even and skewed topics; loads from 0 to more than the capacity."""
    brokers = rng.choice([1, 2, 3, *range(3, 13)])
    ids = rng.sample(range(rng.choice([20, 2_000])), brokers)
    racks, hosts = rng.randint(1, brokers), rng.choice([brokers, brokers, rng.randint(1, brokers)])
    dead = rng.choice([0, 0, 0, 0.3])
    # A host is on one rack.
    host_of = {broker_id: rng.randrange(hosts) if hosts < brokers else position for position, broker_id in enumerate(ids)}
    rack_of = {host: rng.randrange(racks) for host in range(brokers)}
    uneven = rng.random() < 0.3
    rows = [
        [
            broker_id,
            f"r{rack_of[host_of[broker_id]]}",
            f"h{host_of[broker_id]}",
            position == 0 or rng.random() >= dead,
            *_capacity(rng, uneven=uneven),
        ]
        for position, broker_id in enumerate(ids)
    ]
    return {"brokers": rows, "partitions": _partitions(rng, ids), "config": _config(rng)}


def _capacity(rng: random.Random, *, uneven: bool) -> list[int]:
    factor = rng.choice([1, 2, 4]) if uneven else 1
    return [factor * 1_000 * rng.choice([1, 1, 1, 2] if uneven else [1]), factor * 100, factor * 1_000, factor * 1_000]


def _partitions(rng: random.Random, ids: list[int]) -> list[list[Any]]:
    load_factor = rng.choice([0, 0.2, 1, 1, 3])
    even = rng.random() < 0.4
    partitions, start = [], 0
    for topic in range(rng.choice([1, 2, 5])):
        replication_factor = rng.randint(1, min(4, len(ids)))
        for number in range(rng.choice([1, 3, 8, 30])):
            start += 1
            if even:
                replicas = [ids[(start + slot) % len(ids)] for slot in range(replication_factor)]
            else:
                replicas = sorted(rng.sample(ids, replication_factor), key=lambda broker_id: (rng.random() < 0.5, ids.index(broker_id)))
            leader = replicas[0] if rng.random() < 0.8 else rng.choice(replicas)
            means = [mean * load_factor for mean in (40, 3, 20, 30)]
            loads = [round(rng.expovariate(1 / mean) if mean and not even else mean, 3) for mean in means]
            partitions.append([f"t{topic}", number, replicas, leader, *loads])
    return partitions


def _config(rng: random.Random) -> dict[str, Any]:
    if rng.random() < 0.5:
        return {}
    return {
        "replica.count.balance.threshold": rng.choice([1.05, 1.1, 1.5, 2.5]),
        "leader.replica.count.balance.threshold": rng.choice([1.05, 1.1, 1.5]),
        "topic.replica.count.balance.threshold": rng.choice([1.1, 1.5, 3.0]),
        "topic.replica.count.balance.min.gap": rng.choice([0, 1, 2]),
        "topic.replica.count.balance.max.gap": rng.choice([2, 5, 40]),
        **{f"{name}.balance.threshold": rng.choice([1.05, 1.1, 1.4]) for name in ("disk", "network.inbound", "network.outbound", "cpu")},
        **{f"{name}.capacity.threshold": rng.choice([0.3, 0.7, 0.8]) for name in ("disk", "network.inbound", "network.outbound", "cpu")},
        **{
            f"{name}.low.utilization.threshold": rng.choice([0.0, 0.1, 0.2])
            for name in ("disk", "network.inbound", "network.outbound", "cpu")
        },
        "max.replicas.per.broker": rng.choice([5, 20, 10_000]),
        "overprovisioned.max.replicas.per.broker": 5,
        "topics.with.min.leaders.per.broker": rng.choice(["", "t0", "t.*"]),
        "min.topic.leaders.per.broker": rng.choice([0, 1, 2]),
    }


def answer(case: dict[str, Any], kafka: str) -> dict[str, Any]:
    """Compute verdicts, limits, violators and recommendations with the model."""
    brokers = [
        Broker(broker_id, rack, host, alive, {DISK: disk, CPU: cpu, NETWORK_IN: network_in, NETWORK_OUT: network_out})
        for broker_id, rack, host, alive, disk, cpu, network_in, network_out in case["brokers"]
    ]
    partitions = [
        Partition(topic, number, tuple(replicas), leader, disk, cpu, network_in, network_out)
        for topic, number, replicas, leader, disk, cpu, network_in, network_out in case["partitions"]
    ]
    thresholds = Thresholds(**{name.replace(".", "_"): value for name, value in case["config"].items()})
    verdicts = goals.evaluate(brokers, partitions, thresholds)
    answers: dict[str, Any] = {name: _as_json(verdict) for name, verdict in verdicts.items() if name != "PreferredLeaderElectionGoal"}
    answers["PreferredLeaderElectionGoal"] = {"relocates": verdicts["PreferredLeaderElectionGoal"].verdict == VIOLATED}
    live = sum(broker.alive for broker in brokers)
    for name in ("TopicReplicaDistributionGoal", "LeaderBytesInDistributionGoal"):
        answers[name]["limits"] = _limits(name, verdicts[name], brokers, partitions, thresholds, live)
    return answers | {"costs": balancedness_cost_by_goal(thresholds)}


def _as_json(verdict: Verdict) -> dict[str, Any]:
    answer: dict[str, Any] = {"verdict": verdict.verdict, "provision": None}
    if verdict.verdict == UNFIXABLE or (verdict.provision.status == OVER_PROVISIONED and verdict.provision.racks):
        size = verdict.provision
        counts = (size.brokers, size.racks, size.partitions)
        answer["provision"] = [size.status, *(cruise_control.NO_COUNT if count is None else count for count in counts)]
    if verdict.verdict in (UNFIXABLE, REFUSED) or verdict.goal in cruise_control.ONLY_THROWS:
        return answer
    sides = [1 if breach.measured > breach.limit else -1 for breach in verdict.breaches]
    answer["violators"] = [[b.broker_id, *([b.topic] if b.topic else []), side] for b, side in zip(verdict.breaches, sides, strict=True)]
    answer["violators"].sort(key=lambda violator: ([violator[1]] if len(violator) == 3 else []) + [violator[0]])
    if verdict.lower is not None:
        answer["limits"] = ["NaN" if math.isnan(limit) else limit for limit in (verdict.lower, verdict.upper or 0)]
    if verdict.goal == "ReplicaDistributionGoal":
        answer["drop"] = verdict.provision.brokers
    return answer


def _limits(
    name: str, verdict: Verdict, brokers: list[Broker], partitions: list[Partition], thresholds: Thresholds, live: int
) -> dict[str, Any]:
    """Compute the limits by topic or by broker."""
    if name == "TopicReplicaDistributionGoal":
        totals: dict[str, int] = {}
        for partition in partitions:
            totals[partition.topic] = totals.get(partition.topic, 0) + len(partition.replicas)
        return {topic: list(topic_replica_limits(total, live, thresholds)) for topic, total in totals.items()}
    low = thresholds.network_inbound_low_utilization_threshold
    return {str(b.broker_id): max(verdict.upper or 0.0, low * b.capacity_for(NETWORK_IN)) for b in brokers if b.alive}
