"""Cruise Control's goals, judged on a cluster as it is (com.linkedin.kafka.cruisecontrol.analyzer.goals, 2.5 of August 2026).

A goal is violated here if the untouched cluster is outside the goal's own limits, each goal alone; Cruise Control's optimizer tells another
thing, what was violated after the goals before it had moved replicas. Limits are computed in its own double order, so they are equal to the
bit: with a mean of 100 replicas and a threshold of 1.1, 90 to 110, not 91 to 109, since 100 * (1 + 0.09) is 109.00000000000001.

    >>> count_limits(300, 3, 1.1)
    (90, 110)
    >>> topic_limits(12, 3, Thresholds())
    (0, 12)
    >>> low, high = usage_limits(450.0, 1000.0, 1.1, 0.0)
    >>> round(low, 4), round(high, 4)
    (0.4095, 0.4905)

Units are Cruise Control's: MiB, KiB/s, and percent of one core. It rounds every load to 32 bits and adds up disks in 32 bits, which
`measured` does too; whoever adds up in doubles may differ from it where a value is `close` to its limit.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kafka_model.java.hash_map import hash_map_order

DISK, NETWORK_IN, NETWORK_OUT, CPU = RESOURCES = ("disk", "network_inbound", "network_outbound", "cpu")
UNITS = {DISK: "MiB", NETWORK_IN: "KiB/s", NETWORK_OUT: "KiB/s", CPU: "% of a core"}
SATISFIED, VIOLATED, UNFIXABLE, REFUSED, UNKNOWN = "satisfied", "violated", "unfixable", "refused", "unknown"
UNDER, RIGHT, OVER, UNDECIDED = "UNDER_PROVISIONED", "RIGHT_SIZED", "OVER_PROVISIONED", "UNDECIDED"
BALANCE_MARGIN = 0.9
DEAD_CAPACITY = -1.0  # what Cruise Control gives a dead broker

_CAPACITY = {
    DISK: "DiskCapacityGoal",
    NETWORK_IN: "NetworkInboundCapacityGoal",
    NETWORK_OUT: "NetworkOutboundCapacityGoal",
    CPU: "CpuCapacityGoal",
}
_USAGE = {
    DISK: "DiskUsageDistributionGoal",
    NETWORK_IN: "NetworkInboundUsageDistributionGoal",
    NETWORK_OUT: "NetworkOutboundUsageDistributionGoal",
    CPU: "CpuUsageDistributionGoal",
}
# Where a capacity is limited.
_LIMITED = {DISK: ("broker",), NETWORK_IN: ("host",), NETWORK_OUT: ("host",), CPU: ("host", "broker")}
# The default goals in the order of their priority, which their weights follow; and whether they are hard.
DEFAULT_GOALS: dict[str, bool] = {
    "RackAwareGoal": True,
    "MinTopicLeadersPerBrokerGoal": True,
    "ReplicaCapacityGoal": True,
    **dict.fromkeys(_CAPACITY.values(), True),
    "ReplicaDistributionGoal": False,
    "PotentialNwOutGoal": False,
    **dict.fromkeys(_USAGE.values(), False),
    "TopicReplicaDistributionGoal": False,
    "LeaderReplicaDistributionGoal": False,
    "LeaderBytesInDistributionGoal": False,
}
GOALS: dict[str, bool] = {**DEFAULT_GOALS, "RackAwareDistributionGoal": True, "PreferredLeaderElectionGoal": False}


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Cruise Control's configs of these names (`.` for `_`), with its defaults."""

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

    def of(self, resource: str, kind: str) -> float:
        """The balance, capacity or low utilization threshold of a resource."""
        return float(getattr(self, f"{resource}_{kind}_threshold"))


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition with a leader, and what its leader carries; None: not told. Those without a leader Cruise Control leaves out."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    leader: int
    disk: float | None = None
    cpu: float | None = None
    network_in: float | None = None
    network_out: float | None = None


@dataclass(frozen=True, slots=True)
class Use:
    """What a broker, or a host, carries; None: not told. A capacity that is not told is None, or is not there."""

    replicas: int = 0
    leaders: int = 0
    load: Mapping[str, float | None] = field(default_factory=dict)
    leader_network_in: float | None = None
    potential_network_out: float | None = None


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker; without a rack it is one of its own, as is its host."""

    broker_id: int
    rack: str
    host: str
    alive: bool = True
    capacity: Mapping[str, float | None] = field(default_factory=dict)

    def has(self, resource: str) -> float:
        """Its capacity, which a dead broker has not."""
        return (self.capacity.get(resource) or 0.0) if self.alive else DEAD_CAPACITY


@dataclass(frozen=True, slots=True)
class Breach:
    """Who is outside a limit: a broker, or a partition, or a topic on a broker."""

    measured: float
    limit: float
    formula: str
    change: str
    broker_id: int | None = None
    topic: str | None = None
    partition: int | None = None
    close: bool = False


@dataclass(frozen=True, slots=True)
class Provision:
    """What a goal says of the cluster's size: how many brokers, racks or partitions to add, or to drop."""

    status: str
    brokers: int | None = None
    racks: int | None = None
    partitions: int | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a goal says; `close`: some value is so near to its limit that Cruise Control, in 32 bits, may say otherwise."""

    goal: str
    verdict: str
    lower: float | None = None
    upper: float | None = None
    breaches: tuple[Breach, ...] = ()
    close: bool = False
    lacks: str | None = None
    provision: Provision = Provision(UNDECIDED)
    count: int | None = None  # of breaches, where they are counted elsewhere


# ---------------------------------------------------------------- limits
def margin(threshold: float) -> float:
    """How far from the mean a threshold lets a broker be."""
    return (threshold - 1) * BALANCE_MARGIN


def count_limits(total: int, live_brokers: int, threshold: float) -> tuple[int, int]:
    """The least and the most that a live broker may have of so many replicas, or leaders."""
    mean = total / live_brokers
    return math.floor(mean * max(0, 1 - margin(threshold))), math.ceil(mean * (1 + margin(threshold)))


def topic_limits(total: int, live_brokers: int, thresholds: Thresholds) -> tuple[int, int]:
    """The same of a topic's replicas, within the least and the greatest gap from the mean."""
    lower, upper = count_limits(total, live_brokers, thresholds.topic_replica_count_balance_threshold)
    mean = total / live_brokers
    least, greatest = thresholds.topic_replica_count_balance_min_gap, thresholds.topic_replica_count_balance_max_gap
    lower = max(max(0, math.floor(mean) - greatest), min(lower, max(0, math.floor(mean) - least)))
    return lower, max(math.ceil(mean) + least, min(upper, math.ceil(mean) + greatest))


def usage_limits(load: float, capacity: float, threshold: float, low: float) -> tuple[float, float]:
    """The least and the greatest part of its capacity that a live broker may use."""
    mean = _ratio(load, capacity)
    upper = mean * (1 + margin(threshold))
    if mean <= low:
        return 0.0, max(upper, low * BALANCE_MARGIN)
    return mean * max(0, 1 - margin(threshold)), upper


def rounding(replicas: int) -> float:
    """The part of a sum of so many replicas by which 32 bits may be off: eight standard deviations of their rounding."""
    return 8 * math.sqrt(max(replicas, 1)) * 2.0**-24


def follower_cpu(cpu: float, network_in: float, network_out: float) -> float:
    """What a follower costs, by what its leader does (ModelUtils)."""
    if network_in == 0 and network_out == 0:
        return 0.0
    return cpu * (0.15 * network_in) / (0.7 * network_in + 0.15 * network_out)


def balancedness_costs(thresholds: Thresholds, goals: Mapping[str, bool] = DEFAULT_GOALS) -> dict[str, float]:
    """What each goal takes from the score of 100 if it is violated."""
    costs: dict[str, float] = {}
    weight = 1 / thresholds.goal_balancedness_priority_weight
    total = 0.0
    for goal, hard in reversed(list(goals.items())):
        weight = thresholds.goal_balancedness_priority_weight * weight
        costs[goal] = weight * (thresholds.goal_balancedness_strictness_weight if hard else 1)
        total += costs[goal]
    return {goal: 100.0 * cost / total for goal, cost in costs.items()}


# ---------------------------------------------------------------- verdicts on what brokers carry
def judge_brokers(
    brokers: Sequence[Broker],
    use: Mapping[int, Use],
    thresholds: Thresholds,
    *,
    partitions: int,
    max_replication_factor: int,
    hosts: Mapping[str, Use] | None = None,
    cluster: Mapping[str, float | None] | None = None,
) -> dict[str, Verdict]:
    """The goals that need no more than what each broker carries; what hosts and the cluster carry is added up if it is not given."""
    live = [broker for broker in brokers if broker.alive]
    if not live:
        return {goal: Verdict(goal, UNKNOWN, lacks="a live broker") for goal in GOALS}
    hosts = hosts if hosts is not None else _by_host(brokers, use)
    cluster = (
        cluster if cluster is not None else {resource: _sum(use[b.broker_id].load.get(resource) for b in brokers) for resource in RESOURCES}
    )
    scene = _Scene(brokers, live, use, hosts, cluster, thresholds, partitions, max_replication_factor)
    verdicts = [
        _replica_capacity(scene),
        _count(
            scene,
            "ReplicaDistributionGoal",
            "replicas",
            thresholds.replica_count_balance_threshold,
            sum(use[b.broker_id].replicas for b in brokers),
        ),
        _count(scene, "LeaderReplicaDistributionGoal", "leaders", thresholds.leader_replica_count_balance_threshold, partitions),
        *(_capacity(scene, resource) for resource in RESOURCES),
        *(_usage(scene, resource) for resource in RESOURCES),
        _potential_network_out(scene),
        _leader_bytes_in(scene),
    ]
    return {verdict.goal: verdict for verdict in verdicts}


@dataclass(frozen=True, slots=True)
class _Scene:
    brokers: Sequence[Broker]
    live: Sequence[Broker]
    use: Mapping[int, Use]
    hosts: Mapping[str, Use]
    cluster: Mapping[str, float | None]
    thresholds: Thresholds
    partitions: int
    max_replication_factor: int

    @property
    def replicas(self) -> int:
        return sum(use.replicas for use in self.use.values())

    def lacks(self, resource: str) -> str | None:
        """What is not told of a resource."""
        if any(broker.capacity.get(resource) is None for broker in self.live):
            return f"{resource} capacity of each live broker"
        return f"{resource} load of each partition" if self.cluster.get(resource) is None else None


def _replica_capacity(scene: _Scene) -> Verdict:
    goal, most = "ReplicaCapacityGoal", scene.thresholds.max_replicas_per_broker
    formula = f"replicas <= {most} (max.replicas.per.broker)"
    over = tuple(
        count_breach(scene.use[b.broker_id].replicas, most, formula, "replicas", broker_id=b.broker_id)
        for b in scene.brokers
        if scene.use[b.broker_id].replicas > most
    )
    if scene.replicas > most * len(scene.live):
        missing = math.ceil(scene.replicas / most) - len(scene.live)
        everywhere = Breach(
            scene.replicas, most * len(scene.live), f"replicas of the cluster <= {most} x live brokers", _add(missing, "broker")
        )
        return Verdict(goal, UNFIXABLE, None, most, (everywhere, *over), provision=Provision(UNDER, brokers=missing))
    return Verdict(goal, _verdict(over), None, most, over)


def _count(scene: _Scene, goal: str, what: str, threshold: float, total: int) -> Verdict:
    lower, upper = count_limits(total, len(scene.live), threshold)
    mean = f"mean of {total} {what} on {len(scene.live)} live brokers, m = ({threshold} - 1) x 0.9"
    breaches = []
    for broker in scene.live:
        count = getattr(scene.use[broker.broker_id], what)
        if count > upper:
            breaches.append(count_breach(count, upper, f"{what} <= ceil(mean x (1 + m)), {mean}", what, broker_id=broker.broker_id))
        elif count < lower:
            breaches.append(count_breach(count, lower, f"{what} >= floor(mean x (1 - m)), {mean}", what, broker_id=broker.broker_id))
    provision = _over_replicas(scene) if what == "replicas" else Provision(UNDECIDED)
    return Verdict(goal, _verdict(breaches), lower, upper, tuple(breaches), provision=provision)


def _over_replicas(scene: _Scene) -> Provision:
    most = scene.thresholds.overprovisioned_max_replicas_per_broker
    droppable = len(scene.live) - scene.replicas // most
    if droppable > 0 and all(scene.use[broker.broker_id].replicas <= most for broker in scene.live):
        return Provision(OVER, brokers=droppable)
    return Provision(RIGHT)


def count_breach(count: int, limit: int, formula: str, what: str, *, broker_id: int, topic: str | None = None) -> Breach:
    """A broker that has more than its limit of what is counted, or fewer."""
    moves = abs(count - limit)
    noun = what if moves != 1 else what.removesuffix("s")
    of = f" of topic {topic}" if topic is not None else ""
    return Breach(count, limit, formula, f"move {moves} {noun}{of} {'off' if count > limit else 'to'} broker {broker_id}", broker_id, topic)


def _capacity(scene: _Scene, resource: str) -> Verdict:
    goal, threshold = _CAPACITY[resource], scene.thresholds.of(resource, "capacity")
    if lacks := scene.lacks(resource):
        return Verdict(goal, UNKNOWN, lacks=lacks)
    load, capacity = _told(scene.cluster[resource]), math.fsum(broker.has(resource) for broker in scene.live)
    allowed = capacity * threshold
    breaches, close = [], _is_close(load, allowed, scene.replicas)
    for broker in scene.brokers:
        for kind, at, cap in _places(scene, broker, *_LIMITED[resource], resource=resource):
            used, limit = _told(at.load[resource]), cap * threshold
            if at.replicas and _is_close(used, limit, at.replicas):
                close = True
            if at.replicas and used > limit:
                name = f"host {broker.host}" if kind == "host" else f"broker {broker.broker_id}"
                formula = (
                    f"{resource} of the {kind} <= {cap:g} x {threshold} {UNITS[resource]}"
                    if broker.alive
                    else "a dead broker has no capacity"
                )
                breaches.append(_load_breach(used, limit, formula, resource, name, broker.broker_id, at.replicas))
                break
    if allowed < load:
        typical = _typical(scene.brokers).has(resource)
        if typical <= 0:
            return Verdict(goal, REFUSED, None, None, tuple(breaches), lacks=f"a {resource} capacity above 0: Cruise Control throws")
        missing = math.ceil((load - allowed) / (typical * threshold))
        formula = f"{resource} of the cluster <= {capacity:g} x {threshold} {UNITS[resource]}"
        everywhere = Breach(load, allowed, formula, f"{_add(missing, 'broker')} of {typical:g} {UNITS[resource]}", close=close)
        return Verdict(goal, UNFIXABLE, None, threshold, (everywhere, *breaches), close, provision=Provision(UNDER, brokers=missing))
    return Verdict(goal, _verdict(breaches), None, threshold, tuple(breaches), close)


def _places(scene: _Scene, broker: Broker, *kinds: str, resource: str) -> list[tuple[str, Use, float]]:
    """A broker and its host, as asked: what each carries, and its capacity."""
    mates = [b.has(resource) for b in scene.live if b.host == broker.host]
    of = {
        "broker": (scene.use[broker.broker_id], broker.has(resource)),
        "host": (scene.hosts[broker.host], math.fsum(mates) if mates else DEAD_CAPACITY),
    }
    return [(kind, *of[kind]) for kind in kinds]


def _usage(scene: _Scene, resource: str) -> Verdict:
    goal, threshold, low = _USAGE[resource], scene.thresholds.of(resource, "balance"), scene.thresholds.of(resource, "low_utilization")
    if lacks := scene.lacks(resource):
        return Verdict(goal, UNKNOWN, lacks=lacks)
    load, capacity = _told(scene.cluster[resource]), math.fsum(broker.has(resource) for broker in scene.live)
    lower, upper = usage_limits(load, capacity, threshold, low)
    breaches, close = [], False
    for broker in scene.live:
        # Out of the limits only if its host is so too, but for the disk.
        places = _places(scene, broker, "broker", *(() if resource == DISK else ("host",)), resource=resource)
        shares = [(_told(at.load[resource]), cap) for _, at, cap in places]
        close = close or any(_is_close(used, cap * limit, scene.replicas) for used, cap in shares for limit in (lower, upper))
        over = all(not used <= cap * upper for used, cap in shares)
        under = all(not used >= cap * lower for used, cap in shares)
        if over or under:
            used, limit = shares[0][0], shares[0][1] * (upper if over else lower)
            bound = f"<= mean x (1 + m) = {upper:.6g}" if over else f">= mean x (1 - m) = {lower:.6g}"
            formula = f"{resource} / capacity {bound}, mean = load / capacity of live brokers, m = ({threshold} - 1) x 0.9"
            breaches.append(_load_breach(used, limit, formula, resource, f"broker {broker.broker_id}", broker.broker_id, scene.replicas))
    provision = Provision(UNDECIDED)
    if not any(breach.measured > breach.limit for breach in breaches) and _ratio(load, capacity) <= low:
        most = max(broker.has(resource) for broker in scene.live)
        provision = Provision(OVER, brokers=max(len(scene.live) - _int(_ratio(_ratio(load, low), most)), 1))
    elif not breaches:
        provision = Provision(RIGHT)
    return Verdict(goal, _verdict(breaches), lower, upper, tuple(breaches), close, provision=provision)


def _load_breach(used: float, limit: float, formula: str, resource: str, name: str, broker_id: int, replicas: int) -> Breach:
    change = f"move {abs(used - limit):.6g} {UNITS[resource]} {'off' if used > limit else 'to'} {name}"
    return Breach(used, limit, formula, change, broker_id, close=_is_close(used, limit, replicas))


def _potential_network_out(scene: _Scene) -> Verdict:
    goal, threshold = "PotentialNwOutGoal", scene.thresholds.of(NETWORK_OUT, "capacity")
    if lacks := scene.lacks(NETWORK_OUT):
        return Verdict(goal, UNKNOWN, lacks=lacks)
    breaches, close = [], False
    for broker in scene.live:
        use = scene.use[broker.broker_id]
        if use.replicas == 0:
            continue
        potential, limit = _told(use.potential_network_out), broker.has(NETWORK_OUT) * threshold
        close = close or _is_close(potential, limit, use.replicas)
        if potential > limit:
            formula = f"bytes out of the leaders of all its partitions <= {broker.has(NETWORK_OUT):g} x {threshold} KiB/s"
            breaches.append(
                _load_breach(potential, limit, formula, NETWORK_OUT, f"broker {broker.broker_id}", broker.broker_id, use.replicas)
            )
    return Verdict(goal, _verdict(breaches), None, threshold, tuple(breaches), close)


def _leader_bytes_in(scene: _Scene) -> Verdict:
    """Upper only, without the margin, of absolute rates: capacities are left out but for the low utilization threshold."""
    goal, threshold, low = (
        "LeaderBytesInDistributionGoal",
        scene.thresholds.of(NETWORK_IN, "balance"),
        scene.thresholds.of(NETWORK_IN, "low_utilization"),
    )
    led = {broker.broker_id: scene.use[broker.broker_id].leader_network_in for broker in scene.live}
    if any(rate is None for rate in led.values()):
        return Verdict(goal, UNKNOWN, lacks=f"{NETWORK_IN} load of each partition")
    if low > 0 and any(broker.capacity.get(NETWORK_IN) is None for broker in scene.live):
        return Verdict(goal, UNKNOWN, lacks=f"{NETWORK_IN} capacity of each live broker")
    mean = math.fsum(_told(rate) for rate in led.values()) / len(scene.live)
    breaches, close = [], False
    for broker in scene.live:
        rate, limit = _told(led[broker.broker_id]), max(mean * threshold, low * broker.has(NETWORK_IN))
        close = close or _is_close(rate, limit, scene.partitions)
        if rate > limit:
            formula = f"bytes in to its leaders <= mean of live brokers x {threshold}"
            change = f"give up leaders of {rate - limit:.6g} KiB/s on broker {broker.broker_id}"
            breaches.append(Breach(rate, limit, formula, change, broker.broker_id, close=_is_close(rate, limit, scene.partitions)))
    return Verdict(goal, _verdict(breaches), None, mean * threshold, tuple(breaches), close)


# ---------------------------------------------------------------- verdicts on racks, topics and leaders
def rack_aware(racks: Sequence[str]) -> bool:
    """Whether a partition has each replica on a rack of its own."""
    return len(set(racks)) == len(racks)


def rack_aware_distributed(racks: Sequence[str], live_racks: int) -> bool:
    """Whether a partition's replicas are spread over the racks as evenly as can be."""
    counts = Counter(racks).values()
    return max(counts) == 1 or (len(counts) >= live_racks and max(counts) - min(counts) <= 1)


def rack_provision(live_racks: int, max_replication_factor: int, thresholds: Thresholds) -> Provision:
    """What racks say of the cluster's size, where there are as many as replicas."""
    extra = live_racks - max_replication_factor
    if extra >= thresholds.overprovisioned_min_extra_racks:
        return Provision(OVER, racks=extra - thresholds.overprovisioned_min_extra_racks + 1)
    return Provision(RIGHT)


def missing_racks(live_racks: int, max_replication_factor: int) -> Breach | None:
    """What no move can mend: a topic with more replicas than there are racks with a live broker (RackAwareGoal)."""
    if max_replication_factor <= live_racks:
        return None
    formula = "greatest replication factor <= racks with a live broker"
    return Breach(max_replication_factor, live_racks, formula, _add(max_replication_factor - live_racks, "rack"))


def least_topic_leaders(leaders: int, live_brokers: int, thresholds: Thresholds) -> int:
    """The leaders that each live broker must have of a topic with so many (MinTopicLeadersPerBrokerGoal)."""
    return thresholds.min_topic_leaders_per_broker or leaders // live_brokers


def provision(verdicts: Mapping[str, Verdict], live_brokers: int, max_replication_factor: int, thresholds: Thresholds) -> Provision:
    """What the default goals say together (ProvisionResponse.aggregate): one that lacks something decides, then one that is content."""
    said = [
        _within(verdicts[goal].provision, live_brokers, max_replication_factor, thresholds) for goal in DEFAULT_GOALS if goal in verdicts
    ]
    status = next((status for status in (UNDER, RIGHT, OVER) if any(each.status == status for each in said)), UNDECIDED)
    if status in (RIGHT, UNDECIDED):
        return Provision(status)
    of_status = [each for each in said if each.status == status]
    choose = max if status == UNDER else min
    counts = {name: [n for each in of_status if (n := getattr(each, name)) is not None] for name in ("brokers", "racks", "partitions")}
    return Provision(status, **{name: choose(numbers) if numbers else None for name, numbers in counts.items()})


def _within(said: Provision, live_brokers: int, max_replication_factor: int, thresholds: Thresholds) -> Provision:
    """No cluster is over-provisioned below the least brokers, nor loses more than leave one for each replica."""
    if said.status != OVER:
        return said
    spare = live_brokers - max_replication_factor
    if live_brokers < thresholds.overprovisioned_min_brokers or (said.brokers is not None and said.brokers > spare and spare <= 0):
        return Provision(RIGHT)
    return Provision(OVER, brokers=spare) if said.brokers is not None and said.brokers > spare else said


def score(verdicts: Mapping[str, Verdict], thresholds: Thresholds, *, dead_brokers: bool) -> tuple[float, float]:
    """The balancedness score, -1 with dead brokers: the least and the most that it may be, which differ where a goal is not told."""
    if dead_brokers:
        return -1.0, -1.0
    most = least = 100.0
    for goal, cost in balancedness_costs(thresholds).items():
        verdict = verdicts[goal].verdict
        most -= cost if verdict in (VIOLATED, UNFIXABLE) else 0.0
        least -= cost if verdict != SATISFIED else 0.0
    return least, most


# ---------------------------------------------------------------- a whole cluster, of a few partitions
def judge(brokers: Sequence[Broker], partitions: Sequence[Partition], thresholds: Thresholds) -> dict[str, Verdict]:
    """Every goal's verdict."""
    use, hosts, cluster = measured(brokers, partitions)
    max_rf = max((len(partition.replicas) for partition in partitions), default=1)
    verdicts = judge_brokers(
        brokers, use, thresholds, partitions=len(partitions), max_replication_factor=max_rf, hosts=hosts, cluster=cluster
    )
    live = {broker.broker_id: broker for broker in brokers if broker.alive}
    if not live:
        return verdicts
    rack_of = {broker.broker_id: broker.rack for broker in brokers}
    live_racks = len({broker.rack for broker in live.values()})
    unsafe, uneven, elsewhere = [], [], []
    for p in partitions:
        racks = [rack_of[id] for id in p.replicas]
        if not rack_aware(racks):
            shared = len(racks) - len(set(racks))
            unsafe.append(_partition_breach(p, shared, 0, "replicas that share a rack = 0", "move it off the rack"))
        if not rack_aware_distributed(racks, live_racks):
            most, even = max(Counter(racks).values()), math.ceil(len(racks) / live_racks)
            uneven.append(_partition_breach(p, most, even, "replicas on a rack are as even as can be", "move it to an emptier rack"))
        if p.replicas[0] in live and p.leader != p.replicas[0]:
            elsewhere.append(_partition_breach(p, p.leader, p.replicas[0], "the first replica leads", f"elect broker {p.replicas[0]}"))
    topics, missing = _topic_leaders(partitions, live, thresholds)
    found = {
        "RackAwareGoal": unsafe,
        "RackAwareDistributionGoal": uneven,
        "PreferredLeaderElectionGoal": elsewhere,
        "TopicReplicaDistributionGoal": _topic_replicas(partitions, live, thresholds),
        "MinTopicLeadersPerBrokerGoal": topics,
    }
    others = judge_spread({goal: len(breaches) for goal, breaches in found.items()}, live_racks, max_rf, missing, thresholds)
    return verdicts | {goal: replace(verdict, breaches=(*verdict.breaches, *found[goal])) for goal, verdict in others.items()}


def judge_spread(
    breaches: Mapping[str, int], live_racks: int | None, max_replication_factor: int, partitions_needed: int | None, thresholds: Thresholds
) -> dict[str, Verdict]:
    """The goals of racks, topics and leaders, by how many breaches each has; without `live_racks`, racks are not told. `partitions_needed`
    is how many the topic needs that has too few for its leaders (MinTopicLeadersPerBrokerGoal); None: none has.
    """
    verdicts = {goal: Verdict(goal, VIOLATED if count else SATISFIED, count=count) for goal, count in breaches.items()}
    if partitions_needed is not None:
        short = Provision(UNDER, partitions=partitions_needed)
        verdicts["MinTopicLeadersPerBrokerGoal"] = replace(verdicts["MinTopicLeadersPerBrokerGoal"], verdict=UNFIXABLE, provision=short)
    for goal in ("RackAwareGoal", "RackAwareDistributionGoal"):
        if live_racks is None:
            verdicts[goal] = Verdict(goal, UNKNOWN, lacks="rack of each live broker")
        else:
            verdicts[goal] = replace(verdicts[goal], provision=rack_provision(live_racks, max_replication_factor, thresholds))
    if live_racks is not None and (short_of := missing_racks(live_racks, max_replication_factor)):
        size = Provision(UNDER, racks=max_replication_factor - live_racks)
        verdicts["RackAwareGoal"] = replace(verdicts["RackAwareGoal"], verdict=UNFIXABLE, breaches=(short_of,), provision=size)
    return verdicts


def _partition_breach(of: Partition, measured: int, limit: int, formula: str, change: str) -> Breach:
    return Breach(measured, limit, formula, change, None, of.topic, of.partition)


def _topic_replicas(partitions: Sequence[Partition], live: Mapping[int, Broker], thresholds: Thresholds) -> list[Breach]:
    """A broker without any replica of a topic is never asked."""
    counts = Counter((p.topic, id) for p in partitions for id in p.replicas)
    totals = Counter(topic for topic, _ in counts.elements())
    breaches = []
    for (topic, broker_id), count in sorted(counts.items()):
        lower, upper = topic_limits(totals[topic], len(live), thresholds)
        if broker_id in live and not lower <= count <= upper:
            limit = upper if count > upper else lower
            breaches.append(count_breach(count, limit, topic_formula(over=count > upper), "replicas", broker_id=broker_id, topic=topic))
    return breaches


def topic_formula(*, over: bool) -> str:
    """The limit of a topic's replicas on a broker, in words."""
    side = "<= ceil(mean x (1 + m))" if over else ">= floor(mean x (1 - m))"
    return f"replicas of the topic {side}, within topic.replica.count.balance.min.gap and max.gap of the mean"


def _topic_leaders(partitions: Sequence[Partition], live: Mapping[int, Broker], thresholds: Thresholds) -> tuple[list[Breach], int | None]:
    """With how many partitions the topic needs that cannot give each live broker its leaders."""
    pattern = thresholds.topics_with_min_leaders_per_broker
    leaders = Counter(p.topic for p in partitions if pattern and re.fullmatch(pattern, p.topic))
    led = Counter((p.topic, p.leader) for p in partitions)
    breaches, needed = [], []
    for topic, count in sorted(leaders.items()):
        least = least_topic_leaders(count, len(live), thresholds)
        if count < least * len(live):
            needed.append(least * len(live))
        for id in sorted(live):
            if led[topic, id] < least:
                breaches.append(
                    count_breach(led[topic, id], least, f"leaders of the topic >= {least}", "leaders", broker_id=id, topic=topic)
                )
    return breaches, max(needed, default=None)


def measured(brokers: Sequence[Broker], partitions: Iterable[Partition]) -> tuple[dict[int, Use], dict[str, Use], dict[str, float | None]]:
    """What brokers, hosts and the cluster carry, added up as Cruise Control does: disks in 32 bits, in the order of the partitions."""
    host_of = {broker.broker_id: broker.host for broker in brokers}
    sums: dict[object, _Sum] = defaultdict(_Sum)
    for broker in brokers:  # idle ones too
        sums[broker.broker_id], sums[broker.host]
    for p in partitions:
        for id in p.replicas:
            for place in (id, host_of[id], None):
                sums[place].add(p, leads=id == p.leader)
            sums[id].potential = _plus(sums[id].potential, p.network_out)
    use = {broker.broker_id: sums[broker.broker_id].use() for broker in brokers}
    return use, {host: sums[host].use() for host in set(host_of.values())}, dict(sums[None].use().load)


@dataclass(slots=True)
class _Sum:
    """A running sum of replicas; None: one of them is not told."""

    replicas: int = 0
    leaders: int = 0
    disk: float | None = 0.0
    led_in: float | None = 0.0
    copied_in: float | None = 0.0
    out: float | None = 0.0
    cpu: float | None = 0.0
    potential: float | None = 0.0

    def add(self, p: Partition, *, leads: bool) -> None:
        self.replicas += 1
        self.leaders += leads
        self.disk = None if self.disk is None or p.disk is None else _float(self.disk + _float(p.disk))
        cpu = p.cpu
        if leads:
            self.led_in, self.out = _plus(self.led_in, p.network_in), _plus(self.out, p.network_out)
        else:
            self.copied_in = _plus(self.copied_in, p.network_in)
            told = p.cpu is not None and p.network_in is not None and p.network_out is not None
            cpu = follower_cpu(_told(p.cpu), _told(p.network_in), _told(p.network_out)) if told else None
        self.cpu = _plus(self.cpu, cpu)

    def use(self) -> Use:
        into = None if self.led_in is None or self.copied_in is None else _float(self.led_in) + _float(self.copied_in)
        load = {DISK: self.disk, NETWORK_IN: into, NETWORK_OUT: _rounded(self.out), CPU: _rounded(self.cpu)}
        return Use(self.replicas, self.leaders, load, _rounded(self.led_in), _rounded(self.potential))


# ---------------------------------------------------------------- numbers
def _by_host(brokers: Sequence[Broker], use: Mapping[int, Use]) -> dict[str, Use]:
    hosts: dict[str, list[Use]] = defaultdict(list)
    for broker in brokers:
        hosts[broker.host].append(use[broker.broker_id])
    return {
        host: uses[0]
        if len(uses) == 1
        else Use(sum(u.replicas for u in uses), sum(u.leaders for u in uses), {r: _sum(u.load.get(r) for u in uses) for r in RESOURCES})
        for host, uses in hosts.items()
    }


def _typical(brokers: Sequence[Broker]) -> Broker:
    """The broker whose capacity stands for all: the first live one that a Java HashSet gives, filled from another of all brokers."""
    first = hash_map_order([broker.broker_id for broker in brokers], _hashes)
    live = {broker.broker_id: broker for broker in brokers if broker.alive}
    return live[hash_map_order([id for id in first if id in live], _hashes)[0]]


def _hashes(ids: Sequence[int]) -> Sequence[int]:
    """An Integer's hash code is itself."""
    return ids


def _add(count: int, noun: str) -> str:
    return f"add {count} {noun}{'' if count == 1 else 's'}"


def _verdict(breaches: Sequence[Breach]) -> str:
    return VIOLATED if breaches else SATISFIED


def _is_close(value: float, limit: float, replicas: int) -> bool:
    return abs(value - limit) <= rounding(replicas) * max(abs(value), abs(limit)) and max(abs(value), abs(limit)) > 0


def _ratio(dividend: float, divisor: float) -> float:
    """As Java divides: by zero too."""
    if divisor != 0:
        return dividend / divisor
    return math.nan if dividend == 0 or math.isnan(dividend) else math.copysign(math.inf, dividend)


def _int(value: float) -> int:
    """As Java casts a double to int."""
    return 0 if math.isnan(value) else int(max(min(value, 2**31 - 1), -(2**31)))


def _float(value: float) -> float:
    return float(np.float32(value))


def _rounded(value: float | None) -> float | None:
    return None if value is None else _float(value)


def _plus(total: float | None, value: float | None) -> float | None:
    return None if total is None or value is None else total + _float(value)


def _sum(values: Iterable[float | None]) -> float | None:
    numbers = list(values)
    return None if any(number is None for number in numbers) else math.fsum(_told(number) for number in numbers)


def _told(value: float | None) -> float:
    assert value is not None
    return value
