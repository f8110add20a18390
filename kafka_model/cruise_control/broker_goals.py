"""Cruise Control's goals that depend only on the load of each broker (com.linkedin.kafka.cruisecontrol.analyzer.goals, 2.5 of August 2026).

These are ReplicaCapacityGoal, CapacityGoal, ReplicaDistributionGoal, LeaderReplicaDistributionGoal, ResourceDistributionGoal,
PotentialNwOutGoal and LeaderBytesInDistributionGoal. Two brokers with 6 replicas and 1 replica may have 3 to 4 each:

    >>> from kafka_model.cruise_control.cluster_load import sum_brokers
    >>> brokers = [Broker(1, "a", "h1"), Broker(2, "b", "h2")]
    >>> load = sum_brokers(brokers, {1: ReplicaLoad(replicas=6), 2: ReplicaLoad(replicas=1)})
    >>> verdict = evaluate_broker_goals(brokers, load, Thresholds(), partitions=7)["ReplicaDistributionGoal"]
    >>> verdict.verdict, verdict.lower, verdict.upper, [breach.smallest_change for breach in verdict.breaches]
    ('violated', 3, 4, ['move 2 replicas off broker 1', 'move 2 replicas to broker 2'])
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from kafka_model.cruise_control.cluster_load import DEAD_BROKER_CAPACITY, Broker, ClusterLoad, ReplicaLoad, is_within_float32_error
from kafka_model.cruise_control.limits import (
    CAPACITY_GOALS,
    CPU,
    DISK,
    GOALS,
    NETWORK_IN,
    NETWORK_OUT,
    RESOURCES,
    UNITS,
    USAGE_DISTRIBUTION_GOALS,
    Thresholds,
    count_limits,
    java_divide,
    utilization_limits,
)
from kafka_model.cruise_control.verdicts import (
    OVER_PROVISIONED,
    REFUSED,
    RIGHT_SIZED,
    UNDECIDED,
    UNDER_PROVISIONED,
    UNFIXABLE,
    UNKNOWN,
    Breach,
    ProvisionRecommendation,
    Verdict,
    satisfied_unless,
)
from kafka_model.java.hash_map import hash_map_order

# Resource.isHostResource and isBrokerResource: whether a capacity limits the broker, its host, or both.
_LIMITED_LEVELS = {DISK: ("broker",), NETWORK_IN: ("host",), NETWORK_OUT: ("host",), CPU: ("host", "broker")}


def evaluate_broker_goals(brokers: Sequence[Broker], load: ClusterLoad, thresholds: Thresholds, *, partitions: int) -> dict[str, Verdict]:
    """Return the verdicts of these goals by name; of all goals, as unknown, if no broker is alive."""
    alive = [broker for broker in brokers if broker.alive]
    if not alive:
        return {goal: Verdict(goal, UNKNOWN, missing_input="a live broker") for goal in GOALS}
    cluster = _Cluster(brokers, alive, load, thresholds, partitions)
    verdicts = [
        _replica_capacity(cluster),
        _replica_distribution(cluster),
        _leader_replica_distribution(cluster),
        *(_capacity(cluster, resource) for resource in RESOURCES),
        *(_usage_distribution(cluster, resource) for resource in RESOURCES),
        _potential_network_out(cluster),
        _leader_bytes_in_distribution(cluster),
    ]
    return {verdict.goal: verdict for verdict in verdicts}


def count_breach(count: int, limit: int, formula: str, noun: str, *, broker_id: int, topic: str | None = None) -> Breach:
    """Return the breach of a broker that has too many or too few replicas or leaders. `noun` is the plural of what is counted."""
    moves = abs(count - limit)
    counted = noun if moves != 1 else noun.removesuffix("s")
    topic_suffix = f" of topic {topic}" if topic is not None else ""
    change = f"move {moves} {counted}{topic_suffix} {'off' if count > limit else 'to'} broker {broker_id}"
    return Breach(count, limit, formula, change, broker_id, topic)


def count_with_noun(count: int, noun: str) -> str:
    """Return for example `1 broker` or `2 brokers`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class _Cluster:
    """The input of the goals."""

    brokers: Sequence[Broker]
    alive: Sequence[Broker]
    load: ClusterLoad
    thresholds: Thresholds
    partitions: int

    @property
    def replicas(self) -> int:
        return sum(load.replicas for load in self.load.brokers.values())

    def broker_load(self, broker: Broker) -> ReplicaLoad:
        return self.load.brokers[broker.broker_id]

    def host_capacity(self, host: str, resource: str) -> float:
        """Return the capacity of a host's live brokers."""
        capacities = [broker.capacity_for(resource) for broker in self.alive if broker.host == host]
        return math.fsum(capacities) if capacities else DEAD_BROKER_CAPACITY

    def capacity(self, resource: str) -> float:
        """Return the capacity of all live brokers."""
        return math.fsum(broker.capacity_for(resource) for broker in self.alive)

    def missing_input(self, resource: str) -> str | None:
        """Name the unknown load or capacity of a resource; None if both are known."""
        if any(broker.capacity.get(resource) is None for broker in self.alive):
            return f"{resource} capacity of each live broker"
        return f"{resource} load of each partition" if self.load.cluster.get(resource) is None else None


class _Used(NamedTuple):
    """The used part of the capacity of a broker or its host, in the resource's unit."""

    level: str
    replicas: int
    used: float
    capacity: float


def _used(cluster: _Cluster, broker: Broker, level: str, resource: str) -> _Used:
    is_host = level == "host"
    load = cluster.load.hosts[broker.host] if is_host else cluster.broker_load(broker)
    capacity = cluster.host_capacity(broker.host, resource) if is_host else broker.capacity_for(resource)
    return _Used(level, load.replicas, _known(load.utilization[resource]), capacity)


def _replica_capacity(cluster: _Cluster) -> Verdict:
    goal, limit = "ReplicaCapacityGoal", cluster.thresholds.max_replicas_per_broker
    formula = f"replicas <= {limit} (max.replicas.per.broker)"
    breaches = tuple(
        count_breach(cluster.broker_load(broker).replicas, limit, formula, "replicas", broker_id=broker.broker_id)
        for broker in cluster.brokers
        if cluster.broker_load(broker).replicas > limit
    )
    cluster_limit = limit * len(cluster.alive)
    if cluster.replicas <= cluster_limit:
        return Verdict(goal, satisfied_unless(breaches), None, limit, breaches)
    missing = math.ceil(cluster.replicas / limit) - len(cluster.alive)
    cluster_formula = f"replicas of the cluster <= {limit} x live brokers"
    cluster_breach = Breach(cluster.replicas, cluster_limit, cluster_formula, f"add {count_with_noun(missing, 'broker')}")
    provision = ProvisionRecommendation(UNDER_PROVISIONED, brokers=missing)
    return Verdict(goal, UNFIXABLE, None, limit, (cluster_breach, *breaches), provision=provision)


def _replica_distribution(cluster: _Cluster) -> Verdict:
    counts = {broker.broker_id: cluster.broker_load(broker).replicas for broker in cluster.brokers}
    threshold = cluster.thresholds.replica_count_balance_threshold
    verdict = _count_distribution(cluster, "ReplicaDistributionGoal", "replicas", threshold, sum(counts.values()), counts)
    return replace(verdict, provision=_removable_brokers(cluster))


def _leader_replica_distribution(cluster: _Cluster) -> Verdict:
    counts = {broker.broker_id: cluster.broker_load(broker).leaders for broker in cluster.brokers}
    threshold = cluster.thresholds.leader_replica_count_balance_threshold
    return _count_distribution(cluster, "LeaderReplicaDistributionGoal", "leaders", threshold, cluster.partitions, counts)


def _count_distribution(cluster: _Cluster, goal: str, noun: str, threshold: float, total: int, counts: dict[int, int]) -> Verdict:
    """Compare the number of replicas or leaders of each live broker with the limits."""
    lower, upper = count_limits(total, len(cluster.alive), threshold)
    mean = f"mean of {total} {noun} on {len(cluster.alive)} live brokers, m = ({threshold} - 1) x 0.9"
    breaches = []
    for broker in cluster.alive:
        count = counts[broker.broker_id]
        if count > upper:
            breaches.append(count_breach(count, upper, f"{noun} <= ceil(mean x (1 + m)), {mean}", noun, broker_id=broker.broker_id))
        elif count < lower:
            breaches.append(count_breach(count, lower, f"{noun} >= floor(mean x (1 - m)), {mean}", noun, broker_id=broker.broker_id))
    return Verdict(goal, satisfied_unless(breaches), lower, upper, tuple(breaches))


def _removable_brokers(cluster: _Cluster) -> ProvisionRecommendation:
    limit = cluster.thresholds.overprovisioned_max_replicas_per_broker
    removable = len(cluster.alive) - cluster.replicas // limit
    if removable > 0 and all(cluster.broker_load(broker).replicas <= limit for broker in cluster.alive):
        return ProvisionRecommendation(OVER_PROVISIONED, brokers=removable)
    return ProvisionRecommendation(RIGHT_SIZED)


def _capacity(cluster: _Cluster, resource: str) -> Verdict:
    goal, threshold = CAPACITY_GOALS[resource], cluster.thresholds.capacity(resource)
    if missing_input := cluster.missing_input(resource):
        return Verdict(goal, UNKNOWN, missing_input=missing_input)
    load, capacity = _known(cluster.load.cluster[resource]), cluster.capacity(resource)
    allowed = capacity * threshold
    breaches, near_limit = _capacity_breaches(cluster, resource, threshold)
    near_limit = near_limit or is_within_float32_error(load, allowed, cluster.replicas)
    if load > allowed:
        return _cluster_over_capacity(cluster, resource, load, capacity, breaches, near_limit=near_limit)
    return Verdict(goal, satisfied_unless(breaches), None, threshold, breaches, near_limit)


def _cluster_over_capacity(
    cluster: _Cluster, resource: str, load: float, capacity: float, breaches: tuple[Breach, ...], *, near_limit: bool
) -> Verdict:
    """Return the verdict on a cluster whose load is over the limit of its total capacity."""
    goal, threshold = CAPACITY_GOALS[resource], cluster.thresholds.capacity(resource)
    typical = _typical_broker(cluster.brokers).capacity_for(resource)
    if typical <= 0:
        missing_input = f"a {resource} capacity above 0: Cruise Control throws"
        return Verdict(goal, REFUSED, None, None, breaches, missing_input=missing_input)
    allowed = capacity * threshold
    missing = math.ceil((load - allowed) / (typical * threshold))
    formula = f"{resource} of the cluster <= {capacity:g} x {threshold} {UNITS[resource]}"
    change = f"add {count_with_noun(missing, 'broker')} of {typical:g} {UNITS[resource]}"
    cluster_breach = Breach(load, allowed, formula, change, near_limit=near_limit)
    provision = ProvisionRecommendation(UNDER_PROVISIONED, brokers=missing)
    return Verdict(goal, UNFIXABLE, None, threshold, (cluster_breach, *breaches), near_limit, provision=provision)


def _capacity_breaches(cluster: _Cluster, resource: str, threshold: float) -> tuple[tuple[Breach, ...], bool]:
    """Return the brokers over their own or their host's limit, and whether some load is close to its limit."""
    breaches, near_limit = [], False
    for broker in cluster.brokers:
        for level in _LIMITED_LEVELS[resource]:
            _, replicas, used, capacity = _used(cluster, broker, level, resource)
            limit = capacity * threshold
            near_limit = near_limit or (replicas > 0 and is_within_float32_error(used, limit, replicas))
            if replicas and used > limit:
                name = f"host {broker.host}" if level == "host" else f"broker {broker.broker_id}"
                formula = f"{resource} of the {level} <= {capacity:g} x {threshold} {UNITS[resource]}"
                formula = formula if broker.alive else "a dead broker has no capacity"
                breaches.append(_load_breach(used, limit, formula, resource, name, broker.broker_id, replicas))
                break
    return tuple(breaches), near_limit


def _typical_broker(brokers: Sequence[Broker]) -> Broker:
    """Return the broker whose capacity Cruise Control takes for that of a broker to add: the first live one of a Java HashSet.

    That set is filled from a HashSet of all brokers, which decides the order of brokers in the same bucket.
    """
    order = hash_map_order([broker.broker_id for broker in brokers], _integer_hashes)
    alive = {broker.broker_id: broker for broker in brokers if broker.alive}
    return alive[hash_map_order([broker_id for broker_id in order if broker_id in alive], _integer_hashes)[0]]


def _integer_hashes(values: Sequence[int]) -> Sequence[int]:
    """Return the hash codes of Java Integers, which are their values."""
    return values


def _usage_distribution(cluster: _Cluster, resource: str) -> Verdict:
    goal, threshold = USAGE_DISTRIBUTION_GOALS[resource], cluster.thresholds.balance(resource)
    if missing_input := cluster.missing_input(resource):
        return Verdict(goal, UNKNOWN, missing_input=missing_input)
    load, capacity = _known(cluster.load.cluster[resource]), cluster.capacity(resource)
    lower, upper = utilization_limits(load, capacity, threshold, cluster.thresholds.low_utilization(resource))
    breaches, near_limit = [], False
    for broker in cluster.alive:
        # A broker breaches a limit of network or cpu only if its host breaches it too.
        levels = ("broker",) if resource == DISK else ("broker", "host")
        usages = [_used(cluster, broker, level, resource) for level in levels]
        near_limit = near_limit or any(
            is_within_float32_error(usage.used, usage.capacity * limit, cluster.replicas) for usage in usages for limit in (lower, upper)
        )
        # Written so that a NaN limit is breached, as in Cruise Control.
        is_over = all(not usage.used <= usage.capacity * upper for usage in usages)
        is_under = all(not usage.used >= usage.capacity * lower for usage in usages)
        if is_over or is_under:
            used, limit = usages[0].used, usages[0].capacity * (upper if is_over else lower)
            bound = f"<= mean x (1 + m) = {upper:.6g}" if is_over else f">= mean x (1 - m) = {lower:.6g}"
            formula = f"{resource} / capacity {bound}, mean = load / capacity of live brokers, m = ({threshold} - 1) x 0.9"
            name = f"broker {broker.broker_id}"
            breaches.append(_load_breach(used, limit, formula, resource, name, broker.broker_id, cluster.replicas))
    provision = _usage_provision(cluster, resource, breaches, load, capacity)
    return Verdict(goal, satisfied_unless(breaches), lower, upper, tuple(breaches), near_limit, provision=provision)


def _usage_provision(cluster: _Cluster, resource: str, breaches: Sequence[Breach], load: float, capacity: float) -> ProvisionRecommendation:
    """Recommend to remove brokers if no broker is over its limit and the cluster's utilization is low."""
    low_utilization = cluster.thresholds.low_utilization(resource)
    if not any(breach.measured > breach.limit for breach in breaches) and java_divide(load, capacity) <= low_utilization:
        largest = max(broker.capacity_for(resource) for broker in cluster.alive)
        needed = _java_int(java_divide(java_divide(load, low_utilization), largest))
        return ProvisionRecommendation(OVER_PROVISIONED, brokers=max(len(cluster.alive) - needed, 1))
    return ProvisionRecommendation(UNDECIDED if breaches else RIGHT_SIZED)


def _potential_network_out(cluster: _Cluster) -> Verdict:
    """Compare what each broker would send if it led all its partitions with the limit of its capacity."""
    goal, threshold = "PotentialNwOutGoal", cluster.thresholds.capacity(NETWORK_OUT)
    if missing_input := cluster.missing_input(NETWORK_OUT):
        return Verdict(goal, UNKNOWN, missing_input=missing_input)
    breaches, near_limit = [], False
    for broker in cluster.alive:
        load, capacity = cluster.broker_load(broker), broker.capacity_for(NETWORK_OUT)
        if load.replicas == 0:
            continue
        potential, limit = _known(load.potential_network_out), capacity * threshold
        near_limit = near_limit or is_within_float32_error(potential, limit, load.replicas)
        if potential > limit:
            formula = f"bytes out of the leaders of all its partitions <= {capacity:g} x {threshold} KiB/s"
            name = f"broker {broker.broker_id}"
            breaches.append(_load_breach(potential, limit, formula, NETWORK_OUT, name, broker.broker_id, load.replicas))
    return Verdict(goal, satisfied_unless(breaches), None, threshold, tuple(breaches), near_limit)


def _leader_bytes_in_distribution(cluster: _Cluster) -> Verdict:
    """Compare the bytes per second that each broker's leaders receive with the mean.

    The goal has no lower limit and no margin. It uses capacities only for the low utilization threshold.
    """
    goal, threshold = "LeaderBytesInDistributionGoal", cluster.thresholds.balance(NETWORK_IN)
    low_utilization = cluster.thresholds.low_utilization(NETWORK_IN)
    rates = {broker.broker_id: cluster.broker_load(broker).leader_network_in for broker in cluster.alive}
    if any(rate is None for rate in rates.values()):
        return Verdict(goal, UNKNOWN, missing_input=f"{NETWORK_IN} load of each partition")
    if low_utilization > 0 and any(broker.capacity.get(NETWORK_IN) is None for broker in cluster.alive):
        return Verdict(goal, UNKNOWN, missing_input=f"{NETWORK_IN} capacity of each live broker")
    mean = math.fsum(_known(rate) for rate in rates.values()) / len(cluster.alive)
    breaches, any_near_limit = [], False
    for broker in cluster.alive:
        rate, limit = _known(rates[broker.broker_id]), max(mean * threshold, low_utilization * broker.capacity_for(NETWORK_IN))
        near_limit = is_within_float32_error(rate, limit, cluster.partitions)
        any_near_limit = any_near_limit or near_limit
        if rate > limit:
            formula = f"bytes in to its leaders <= mean of live brokers x {threshold}"
            change = f"give up leaders of {rate - limit:.6g} KiB/s on broker {broker.broker_id}"
            breaches.append(Breach(rate, limit, formula, change, broker.broker_id, near_limit=near_limit))
    return Verdict(goal, satisfied_unless(breaches), None, mean * threshold, tuple(breaches), any_near_limit)


def _load_breach(used: float, limit: float, formula: str, resource: str, name: str, broker_id: int, replicas: int) -> Breach:
    change = f"move {abs(used - limit):.6g} {UNITS[resource]} {'off' if used > limit else 'to'} {name}"
    return Breach(used, limit, formula, change, broker_id, near_limit=is_within_float32_error(used, limit, replicas))


def _java_int(value: float) -> int:
    """Cast a double to an int as Java does."""
    return 0 if math.isnan(value) else int(max(min(value, 2**31 - 1), -(2**31)))


def _known(value: float | None) -> float:
    assert value is not None
    return value
