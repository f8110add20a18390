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
from kafka_model.cruise_control.plan_state import REPLICAS, PlanState, ReplicaArrays

_EXCHANGE_CANDIDATES = 64  # replicas of other topics that are tried in exchange, as many smaller ones as larger ones


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
        exchange = _TopicExchange(state, topic, broker, upper_limits)
        for index in np.argsort(slots == 0, kind="stable").tolist():  # followers first, and small ones
            if state.topic_counts[topic, broker] <= upper_limits[topic]:
                break
            partition, slot = int(partitions[index]), int(slots[index])
            candidates = state.destinations(partition, slot) & (state.topic_counts[topic] < upper_limits[topic])
            if not _move_topic_replica(state, partition, slot, candidates, limits):
                exchange.replace(partition, slot, np.flatnonzero(candidates))
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
    order = np.lexsort((-counts_of_topic, slots == 0))
    partitions, slots = partitions[order], slots[order]
    moved, has_room, is_placeable = 0, *_room(state, partitions, slots, limits)
    for index in range(len(partitions)):
        if moved == moves:
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


def _move_topic_replica(state: PlanState, partition: int, slot: int, candidates: Bools, limits: CountLimits) -> bool:
    """Move the replica to one of the candidates, if the counts of replicas allow it, and return whether they do."""
    if state.replica_counts[state.replicas[partition, slot]] <= limits.lower:
        return False
    has_room = (state.replica_counts < limits.upper) & state.within_limits(partition, slot)
    destination = state.best_destination(partition, slot, candidates & has_room)
    if destination is not None:
        state.set_replica(partition, slot, destination, REASON_TOPIC_REPLICAS)
    return destination is not None


class _TopicExchange:
    """Exchanges replicas of a topic that a broker has too many of for followers of topics that it has room for."""

    def __init__(self, state: PlanState, topic: int, broker: int, upper_limits: Ints) -> None:
        self._state, self._topic, self._broker, self._upper_limits = state, topic, broker, upper_limits
        # Brokers without a follower that the broker may take. They get none while replicas of the topic are exchanged.
        self._exhausted: set[int] = set()

    def replace(self, partition: int, slot: int, candidates: Ints) -> None:
        """Exchange the replica, if some candidate has one that may be exchanged.

        Candidates with the fewest replicas of the topic come first, and replicas of the nearest size, which leave the disks as they are.
        """
        state, broker = self._state, self._broker
        for candidate in candidates[np.lexsort((candidates, state.topic_counts[self._topic, candidates]))].tolist():
            if candidate in self._exhausted:
                continue
            partitions, slots = self._nearest(candidate, state.cluster.size[partition])
            net_loads = state.replica_load(partition, slot) - state.replica_loads(partitions, slots)
            is_allowed = state.may_transfer(net_loads, broker, candidate)
            if is_allowed.any():
                chosen = int(is_allowed.argmax())
                state.set_replica(partition, slot, candidate, REASON_TOPIC_REPLICAS)
                state.set_replica(int(partitions[chosen]), int(slots[chosen]), broker, REASON_TOPIC_REPLICAS)
                return

    def _nearest(self, candidate: int, size: float) -> ReplicaArrays:
        """Return followers of a candidate that the broker may take, the nearest to this size first."""
        partitions, slots = self._state.movable_replicas(candidate)
        position = int(np.searchsorted(self._state.cluster.size[partitions], size))
        around = slice(max(position - _EXCHANGE_CANDIDATES, 0), position + _EXCHANGE_CANDIDATES)
        found = self._acceptable(partitions[around], slots[around])
        if not len(found.partitions):
            found = self._acceptable(partitions, slots)
        if not len(found.partitions):
            self._exhausted.add(candidate)
        nearest = np.argsort(abs(self._state.cluster.size[found.partitions] - size), kind="stable")[:_EXCHANGE_CANDIDATES]
        return ReplicaArrays(found.partitions[nearest], found.slots[nearest])

    def _acceptable(self, partitions: Ints, slots: Ints) -> ReplicaArrays:
        """Return the followers among these replicas that the broker may take."""
        has_room = self._state.topic_counts[:, self._broker] < self._upper_limits
        is_candidate = (slots > 0) & has_room[self._state.cluster.topic[partitions]]
        partitions, slots = partitions[is_candidate], slots[is_candidate]
        is_accepted = self._state.can_accept(self._broker, partitions, slots)
        return ReplicaArrays(partitions[is_accepted], slots[is_accepted])
