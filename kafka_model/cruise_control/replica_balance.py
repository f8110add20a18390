"""Steps of a reassignment for ReplicaDistributionGoal and TopicReplicaDistributionGoal of Cruise Control (2.5 of August 2026).

The search is our own. The number of moves is the number of replicas that brokers have too many or too few, if racks and other limits allow.

    >>> from kafka_model.cruise_control.plan_state import Cluster, DiskSpace, PlanRequest, Thresholds
    >>> rows = [("t", number, (broker_id,), broker_id, 1.0) for number, broker_id in enumerate([1] * 9 + [2] * 3)]
    >>> cluster = Cluster.from_rows(dict.fromkeys((1, 2, 3), "a"), rows)
    >>> state = PlanState(cluster, PlanRequest(), Thresholds(), DiskSpace.from_share(cluster, 1.0))
    >>> balance_replica_counts(state)
    >>> state.replica_counts.tolist()
    [5.0, 4.0, 3.0]

Twelve replicas on three brokers: each may have 3 to 5.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kafka_model.cruise_control.columnar import Bools, Ints
from kafka_model.cruise_control.limits import count_limits, topic_replica_limits
from kafka_model.cruise_control.plan import REASON_REPLICAS, REASON_TOPIC_REPLICAS
from kafka_model.cruise_control.plan_state import REPLICAS, PlanState

_EXCHANGE_CANDIDATES = 64  # replicas of another topic that are tried in exchange


class CountLimits(NamedTuple):
    """The lower and the upper limit of a broker's replicas."""

    lower: int
    upper: int


def replica_count_limits(state: PlanState) -> CountLimits:
    """Return the limits of ReplicaDistributionGoal for the eligible brokers. At least one broker must be eligible."""
    threshold = state.thresholds.replica_count_balance_threshold
    return CountLimits(*count_limits(int(state.replica_counts.sum()), int(state.eligible_brokers.sum()), threshold))


def balance_replica_counts(state: PlanState) -> None:
    """Move replicas until all brokers are within the limits of ReplicaDistributionGoal or no move is allowed."""
    eligible_brokers = np.flatnonzero(state.eligible_brokers).tolist()
    if not eligible_brokers:
        return
    lower, upper = replica_count_limits(state)
    limits = CountLimits(lower, min(upper, state.thresholds.max_replicas_per_broker))
    while True:
        over = [broker for broker in eligible_brokers if state.replica_counts[broker] > limits.upper]
        under = [broker for broker in eligible_brokers if state.replica_counts[broker] < limits.lower]
        moved = sum(_move_off(state, broker, int(state.replica_counts[broker]) - limits.upper, limits) for broker in over)
        if under and not moved:
            moved = _fill_up(state, eligible_brokers, under, limits)
        if not moved:
            state.keep_within(REPLICAS, limits.lower, limits.upper)
            return


def balance_topic_replicas(state: PlanState) -> None:
    """Move or exchange replicas of each topic that has too many on a broker, within the limits of ReplicaDistributionGoal."""
    brokers = int(state.eligible_brokers.sum())
    if not brokers:
        return
    totals = state.topic_counts.sum(axis=1).tolist()
    upper_limits = np.array([topic_replica_limits(total, brokers, state.thresholds)[1] for total in totals], dtype=np.int64)
    limits = replica_count_limits(state)
    for topic, broker in np.argwhere((state.topic_counts > upper_limits[:, None]) & state.eligible_brokers).tolist():
        partitions, slots = state.movable_replicas(broker)
        is_of_topic = state.cluster.topic[partitions] == topic
        partitions, slots = partitions[is_of_topic], slots[is_of_topic]
        for index in np.lexsort((partitions, state.cluster.size[partitions], slots == 0)).tolist():
            if state.topic_counts[topic, broker] <= upper_limits[topic]:
                break
            _move_topic_replica(state, int(partitions[index]), int(slots[index]), upper_limits, limits)
    state.topic_upper_limits = upper_limits


def _fill_up(state: PlanState, eligible_brokers: list[int], under: list[int], limits: CountLimits) -> int:
    """Move replicas to brokers with too few, from brokers that are within their limits; return the number of moves."""
    moved = 0
    donors = [broker for broker in eligible_brokers if state.replica_counts[broker] > limits.lower]
    donors.sort(key=lambda broker: (-int(state.replica_counts[broker]), broker))
    for donor in donors:
        needed = sum(limits.lower - int(state.replica_counts[broker]) for broker in under)
        spare = min(int(state.replica_counts[donor]) - limits.lower, -(-needed // len(donors)))
        if spare > 0 and needed > 0:
            moved += _move_off(state, donor, spare, CountLimits(limits.lower, limits.lower))
    return moved


def _move_off(state: PlanState, broker: int, moves: int, limits: CountLimits) -> int:
    """Move so many replicas off a broker, followers and small ones first, and return how many were moved.

    They go to brokers under the upper limit, and to those under the lower limit if there are any.
    """
    partitions, slots = state.movable_replicas(broker)
    counts_of_topic = state.topic_counts[state.cluster.topic[partitions], broker]
    order = np.lexsort((partitions, state.cluster.size[partitions], -counts_of_topic, slots == 0))
    partitions, slots = partitions[order], slots[order]
    moved, has_room, is_placeable = 0, *_room(state, partitions, slots, limits)
    for index in range(len(partitions)):
        if moved == moves or not has_room.any():
            break
        if not is_placeable[index]:
            continue
        partition, slot = int(partitions[index]), int(slots[index])
        candidates = state.destinations(partition, slot) & has_room & state.within_limits(partition, slot)
        is_under = candidates & (state.replica_counts < limits.lower)
        destination = state.best_destination(partition, slot, is_under if is_under.any() else candidates)
        if destination is not None:
            state.set_replica(partition, slot, destination, REASON_REPLICAS)
            moved += 1
            if state.replica_counts[destination] >= limits.upper:
                has_room, is_placeable = _room(state, partitions, slots, limits)
    return moved


def _room(state: PlanState, partitions: Ints, slots: Ints, limits: CountLimits) -> tuple[Bools, Bools]:
    """Return the brokers with room for one more replica, and which of these replicas one of them may have: in a full cluster few."""
    has_room = state.eligible_brokers & (state.replica_counts < limits.upper)
    may_move = [state.can_accept(broker, partitions, slots) for broker in np.flatnonzero(has_room).tolist()]
    return has_room, np.any([np.zeros(len(partitions), dtype=np.bool_), *may_move], axis=0)


def _move_topic_replica(state: PlanState, partition: int, slot: int, upper_limits: Ints, limits: CountLimits) -> None:
    """Move the replica to a broker with room for its topic; if the counts of replicas must stay, exchange it for another topic's."""
    broker, topic = int(state.replicas[partition, slot]), int(state.cluster.topic[partition])
    candidates = state.destinations(partition, slot) & (state.topic_counts[topic] < upper_limits[topic])
    destination = None
    if state.replica_counts[broker] > limits.lower:
        has_room = (state.replica_counts < limits.upper) & state.within_limits(partition, slot)
        destination = state.best_destination(partition, slot, candidates & has_room)
    if destination is not None:
        state.set_replica(partition, slot, destination, REASON_TOPIC_REPLICAS)
    else:
        _exchange(state, partition, slot, np.flatnonzero(candidates), upper_limits)


def _exchange(state: PlanState, partition: int, slot: int, candidates: Ints, upper_limits: Ints) -> None:
    """Exchange the replica for one of another topic, if some candidate has one that may be exchanged.

    Candidates with the fewest replicas of the topic come first, and replicas of the nearest size, which leave the disks as they are.
    """
    broker, topic = int(state.replicas[partition, slot]), int(state.cluster.topic[partition])
    size = state.cluster.size
    for candidate in candidates[np.lexsort((candidates, state.topic_counts[topic, candidates]))].tolist():
        partitions, slots = state.movable_replicas(candidate)
        topics = state.cluster.topic[partitions]
        is_allowed = (slots > 0) & (state.topic_counts[topics, broker] < upper_limits[topics]) & (topics != topic)
        allowed = np.flatnonzero(is_allowed)
        order = allowed[np.lexsort((partitions[allowed], abs(size[partitions[allowed]] - size[partition])))]
        for index in order[:_EXCHANGE_CANDIDATES].tolist():
            taken_partition, taken_slot = int(partitions[index]), int(slots[index])
            net_load = state.replica_load(partition, slot) - state.replica_load(taken_partition, taken_slot)
            is_placeable = partition != taken_partition and bool(state.destinations(taken_partition, taken_slot)[broker])
            if is_placeable and state.may_transfer(net_load[None, :], broker, candidate)[0]:
                state.set_replica(partition, slot, candidate, REASON_TOPIC_REPLICAS)
                state.set_replica(taken_partition, taken_slot, broker, REASON_TOPIC_REPLICAS)
                return
