"""The smallest reassignment that brings a cluster within the limits of Cruise Control's goals, hard goals before soft ones.

No class of Kafka or Cruise Control: the goals and limits are Cruise Control's (2.5 of August 2026), the search is our own. It draws no
random numbers. The steps run in this order, and each keeps what the earlier ones have reached:

1. required_moves: replicas are added and removed for the requested replication factors; replicas leave dead and drained brokers, and racks
   that hold another replica of the partition while some rack holds fewer
2. capacity_moves: no broker has more than `max.replicas.per.broker`, a fuller disk or more network or cpu load than its capacity allows, if
   other brokers have room
3. replica_balance: the counts of replicas (ReplicaDistributionGoal), then of each topic's replicas (TopicReplicaDistributionGoal)
4. leader_balance: the counts of leaders (LeaderReplicaDistributionGoal), by changes of leadership alone
5. disk_balance: the disks (DiskUsageDistributionGoal)
6. load_balance: network and cpu (PotentialNwOutGoal, the usage distribution goals, LeaderBytesInDistributionGoal)

A replica goes to a live broker without a replica of its partition, on a rack with the fewest of them; among those to the broker with the
fewest replicas, then the fewest of the topic, then the least bytes, then the lowest index.

    >>> replicas = [(1, 2), (1, 3), (1, 2)]
    >>> rows = [("t", number, brokers, 1, 10.0) for number, brokers in enumerate(replicas)]
    >>> cluster = Cluster.from_rows({1: "a", 2: "b", 3: "c"}, rows)
    >>> plan_reassignment(cluster).replicas.tolist()
    [[0, 1], [0, 2], [1, 0]]

Broker 1 leads all three partitions and may lead two, so its other replica leads the last one, which copies no data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from kafka_model.cruise_control.capacity_moves import relieve_network_and_cpu, relieve_replicas_and_disks
from kafka_model.cruise_control.columnar import Cluster
from kafka_model.cruise_control.disk_balance import balance_disks
from kafka_model.cruise_control.leader_balance import balance_leaders
from kafka_model.cruise_control.limits import Thresholds
from kafka_model.cruise_control.load_balance import balance_loads
from kafka_model.cruise_control.plan import Plan, PlanRequest
from kafka_model.cruise_control.plan_state import DiskSpace, PlanState
from kafka_model.cruise_control.replica_balance import balance_replica_counts, balance_topic_replicas
from kafka_model.cruise_control.required_moves import change_replication_factors, leave_dead_brokers, leave_shared_racks

BALANCING_STEPS: dict[str, Callable[[PlanState], None]] = {
    "capacity": relieve_replicas_and_disks,
    "network and cpu capacity": relieve_network_and_cpu,
    "replicas": balance_replica_counts,
    "topic replicas": balance_topic_replicas,
    "leaders": balance_leaders,
    "disks": balance_disks,
    "network and cpu": balance_loads,
}


def plan_reassignment(
    cluster: Cluster,
    request: PlanRequest = PlanRequest(),
    thresholds: Thresholds = Thresholds(),
    disk_space: DiskSpace | None = None,
) -> Plan:
    """Return the replicas that partitions should have."""
    *_, plan = plan_by_step(cluster, request, thresholds, disk_space)
    return plan


def plan_by_step(
    cluster: Cluster,
    request: PlanRequest = PlanRequest(),
    thresholds: Thresholds = Thresholds(),
    disk_space: DiskSpace | None = None,
) -> Iterator[Plan]:
    """Yield the plan without balancing, then the plan after each of BALANCING_STEPS: the same plan again if the step changes nothing."""
    state = PlanState(cluster, request, thresholds, DiskSpace.from_share(cluster, math.inf) if disk_space is None else disk_space)
    change_replication_factors(state)
    leave_dead_brokers(state)
    leave_shared_racks(state)
    plan = Plan(cluster, state.replicas.copy(), state.reasons.copy(), tuple(state.blocked))
    yield plan
    if request.balance and not request.topics:
        for step in BALANCING_STEPS.values():
            step(state)
            if not np.array_equal(state.replicas, plan.replicas):
                plan = Plan(cluster, state.replicas.copy(), state.reasons.copy(), tuple(state.blocked))
            yield plan


def net_imbalance(counts: Iterable[int]) -> int:
    """Return how many must move until any two of the groups have the same count, or differ by one (Yelp's kafka-utils)."""
    ranked = sorted(counts, reverse=True)
    mean, remainder = divmod(sum(ranked), len(ranked))
    return sum(max(0, count - mean - (rank < remainder)) for rank, count in enumerate(ranked))
