"""Steps of a reassignment that bring network and cpu within the limits of Cruise Control's goals (2.5 of August 2026).

The goals are PotentialNwOutGoal, NetworkInboundUsageDistributionGoal, NetworkOutboundUsageDistributionGoal, CpuUsageDistributionGoal and
LeaderBytesInDistributionGoal, in Cruise Control's order. The search is our own.

Some load depends on who leads: bytes out, cpu, and bytes in to leaders. A change of leadership moves it without copying data, or two
opposite changes do if the counts of leaders must stay. Other load is the same on every replica: bytes in, and potential bytes out. It moves
with a replica, or by an exchange of two replicas. The smallest change that is enough is chosen, otherwise the largest that is allowed.

    >>> from dataclasses import replace
    >>> from kafka_model.cruise_control.plan_state import Cluster, DiskSpace, PlanRequest, Thresholds
    >>> cluster = Cluster.from_rows({1: "a", 2: "b"}, [("t", n, (1, 2), 1, 1.0) for n in range(2)])
    >>> loads = {"network_inbound": np.zeros(2), "network_outbound": np.array([60.0, 30.0]), "cpu": np.zeros(2)}
    >>> cluster = replace(cluster, loads=loads, capacities=dict.fromkeys(loads, np.full(2, 100.0)))
    >>> state = PlanState(cluster, PlanRequest(), Thresholds(), DiskSpace.from_share(cluster, 1.0))
    >>> relieve_by_leadership(state, NETWORK_OUT, 0, "capacity")
    True
    >>> state.replicas.tolist(), state.load[:, NETWORK_OUT].tolist()
    ([[0, 1], [1, 0]], [60.0, 30.0])

Broker 1 (index 0) may send 80 of 100 and would send 90, so broker 2 leads the partition that sends 30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from kafka_model.cruise_control import limits
from kafka_model.cruise_control.columnar import Bools, Floats, Ints
from kafka_model.cruise_control.limits import utilization_limits
from kafka_model.cruise_control.plan import (
    REASON_CPU,
    REASON_LEADER_BYTES_IN,
    REASON_NETWORK_IN,
    REASON_NETWORK_OUT,
    REASON_POTENTIAL_NETWORK_OUT,
)
from kafka_model.cruise_control.plan_state import (
    CPU,
    LEADER_NETWORK_IN,
    NETWORK_IN,
    NETWORK_OUT,
    POTENTIAL_NETWORK_OUT,
    RESOURCE_OF,
    PlanState,
    ReplicaArrays,
)

_EXCHANGE_CANDIDATES = 64  # replicas that a replica is sought for in exchange
_NEAREST = 8  # on either side of the ideal load, for each candidate
_MIN_SHARE = 1e-3  # a change that moves less of the needed load than this share is not worth making
_REASONS = {
    POTENTIAL_NETWORK_OUT: REASON_POTENTIAL_NETWORK_OUT,
    NETWORK_IN: REASON_NETWORK_IN,
    NETWORK_OUT: REASON_NETWORK_OUT,
    CPU: REASON_CPU,
    LEADER_NETWORK_IN: REASON_LEADER_BYTES_IN,
}


class _Bounds(NamedTuple):
    """The lower and the upper limit of each broker."""

    lower: Floats
    upper: Floats


class _Transfer(NamedTuple):
    """A load to move: at least `needed` to bring one of the two brokers within its limits, at most `maximum` to keep both within them."""

    quantity: int
    source: int
    destination: int
    needed: float
    maximum: float

    def reversed(self) -> _Transfer:
        return self._replace(source=self.destination, destination=self.source)


class _Choice(NamedTuple):
    """The index of what the source gives, and of what it takes in exchange; None: nothing."""

    given: int
    taken: int | None


def balance_loads(state: PlanState) -> None:
    """Balance every quantity whose loads and capacities are known."""
    for quantity in _REASONS:
        if (bounds := _bounds(state, quantity)) is not None:
            _balance(state, quantity, bounds)
            state.keep_within(quantity, bounds.lower, bounds.upper)


def relieve_by_leadership(state: PlanState, quantity: int, broker: int, reason: str) -> bool:
    """Bring a broker under its upper limit by changes of leadership; return whether they were enough."""
    while (excess := float(state.load[broker, quantity] - state.upper_limits[broker, quantity])) > 0:
        partitions, slots = state.movable_replicas(broker)
        led = partitions[slots == 0]
        led = led[state.may_stop_leading(led, broker)]
        extra_load = state.leader_load[led] - state.follower_load[led]
        followers = state.replicas[led, 1:]
        load_after = state.load[followers] + extra_load[:, None, :]
        within_limits = ((load_after <= state.upper_limits[followers]) | (extra_load[:, None, :] <= 0)).all(axis=2)
        is_candidate = (followers >= 0) & state.eligible_brokers[followers] & within_limits
        chosen = _smallest_sufficient(extra_load[:, quantity], is_candidate.any(axis=1), excess, np.inf)
        if chosen is None:
            return False
        utilization = load_after[chosen, :, quantity] / state.upper_limits[followers[chosen], quantity]
        slot = 1 + int(np.where(is_candidate[chosen], utilization, np.inf).argmin())
        state.relocate_leadership(int(led[chosen]), slot, reason)
    return True


def sources_and_destinations(utilization: Floats, is_over: Bools, is_under: Bools, brokers: Ints) -> Iterator[tuple[int, int]]:
    """Yield pairs of a fuller and an emptier broker, the fullest and the emptiest first. One of the two is outside its limits."""
    shares = utilization.tolist()
    fullest_first = sorted(brokers.tolist(), key=lambda broker: (-shares[broker], broker))
    emptiest_first = fullest_first[::-1]
    under = [broker for broker in emptiest_first if is_under[broker]]
    for source in fullest_first:
        for destination in emptiest_first if is_over[source] else under:
            if shares[source] > shares[destination]:
                yield source, destination


def repeat_until_stuck(pairs: Callable[[], Iterator[tuple[int, int]]], transfer: Callable[[int, int], bool], brokers: int) -> None:
    """Call `transfer` on the first of `pairs` that it succeeds for, again and again, until it fails for all pairs.

    A pair for which it failed is tried again only after one of its two brokers has changed.
    """
    changes = np.zeros(brokers, dtype=np.int64)
    failed: dict[tuple[int, int], tuple[int, int]] = {}
    while True:
        for source, destination in pairs():
            changes_now = int(changes[source]), int(changes[destination])
            if failed.get((source, destination)) == changes_now:
                continue
            if transfer(source, destination):
                changes[[source, destination]] += 1
                break
            failed[source, destination] = changes_now
        else:
            return


def _bounds(state: PlanState, quantity: int) -> _Bounds | None:
    """Return the limits of each broker by the goal of a quantity; None: its loads or capacities are unknown."""
    thresholds, load = state.thresholds, state.load[:, quantity]
    no_lower_limit = np.full(len(load), -np.inf)
    if quantity == LEADER_NETWORK_IN:
        low_utilization = thresholds.low_utilization(limits.NETWORK_IN)
        if not state.is_leader_network_in_known or (low_utilization > 0 and not state.is_known[limits.NETWORK_IN]):
            return None
        mean = float(load[state.eligible_brokers].sum()) / max(int(state.eligible_brokers.sum()), 1)
        low_load = low_utilization * state.capacity[limits.NETWORK_IN] if low_utilization > 0 else 0.0
        return _Bounds(no_lower_limit, np.maximum(mean * thresholds.balance(limits.NETWORK_IN), low_load) + np.zeros(len(load)))
    resource = limits.NETWORK_OUT if quantity == POTENTIAL_NETWORK_OUT else RESOURCE_OF[quantity]
    if not state.is_known[resource]:
        return None
    capacity = state.capacity[resource]
    if quantity == POTENTIAL_NETWORK_OUT:
        return _Bounds(no_lower_limit, capacity * thresholds.capacity(resource))
    cluster_load, cluster_capacity = float(load.sum()), float(capacity[state.eligible_brokers].sum())
    lower, upper = utilization_limits(cluster_load, cluster_capacity, thresholds.balance(resource), thresholds.low_utilization(resource))
    return _Bounds(capacity * lower, np.minimum(capacity * upper, state.upper_limits[:, quantity]))


def _balance(state: PlanState, quantity: int, bounds: _Bounds) -> None:
    """Transfer load from the fullest to the emptiest brokers until all are within their limits or no change is allowed."""
    eligible_brokers = np.flatnonzero(state.eligible_brokers)
    brokers = len(state.eligible_brokers)
    has_capacity = quantity != LEADER_NETWORK_IN
    capacity = state.capacity[RESOURCE_OF.get(quantity, limits.NETWORK_OUT)] if has_capacity else np.ones(brokers)

    def transfer(source: int, destination: int) -> bool:
        load = state.load[:, quantity]
        needed = float(max(load[source] - bounds.upper[source], bounds.lower[destination] - load[destination]))
        maximum = float(min(load[source] - bounds.lower[source], bounds.upper[destination] - load[destination]))
        return maximum > 0 and _transfer(state, _Transfer(quantity, source, destination, needed, maximum))

    def pairs() -> Iterator[tuple[int, int]]:
        load = state.load[:, quantity]
        return sources_and_destinations(load / capacity, load > bounds.upper, load < bounds.lower, eligible_brokers)

    repeat_until_stuck(pairs, transfer, brokers)


def _transfer(state: PlanState, transfer: _Transfer) -> bool:
    """Make the cheapest change that helps, and return whether there was one."""
    if transfer.quantity in (NETWORK_OUT, CPU, LEADER_NETWORK_IN) and _transfer_leadership(state, transfer):
        return True
    return transfer.quantity != LEADER_NETWORK_IN and _transfer_replicas(state, transfer)


def _transfer_leadership(state: PlanState, transfer: _Transfer) -> bool:
    """Change one leadership from the source to the destination, or two in opposite directions."""
    led_by_source = _led_and_followed(state, transfer.source, transfer.destination)
    led_by_destination = _led_and_followed(state, transfer.destination, transfer.source)
    extra_load, extra_load_back = (state.leader_load[led] - state.follower_load[led] for led in (led_by_source, led_by_destination))
    choice = _choose(state, transfer, extra_load, extra_load_back)
    if choice is None:
        return False
    _relocate_leadership(state, int(led_by_source[choice.given]), transfer.destination, _REASONS[transfer.quantity])
    if choice.taken is not None:
        _relocate_leadership(state, int(led_by_destination[choice.taken]), transfer.source, _REASONS[transfer.quantity])
    return True


def _relocate_leadership(state: PlanState, partition: int, broker: int, reason: str) -> None:
    state.relocate_leadership(partition, int(np.flatnonzero(state.replicas[partition] == broker)[0]), reason)


def _led_and_followed(state: PlanState, leader: int, follower: int) -> Ints:
    """Return the partitions that one broker leads and may cease to lead, and that the other follows."""
    partitions, slots = state.movable_replicas(leader)
    led = partitions[slots == 0]
    shared = led[(state.replicas[led, 1:] == follower).any(axis=1)]
    return np.asarray(shared[state.may_stop_leading(shared, leader)])


def _transfer_replicas(state: PlanState, transfer: _Transfer) -> bool:
    """Move one replica from the source to the destination, or exchange two."""
    given, taken = _transferable_replicas(state, transfer), _transferable_replicas(state, transfer.reversed())
    choice = _choose(state, transfer, state.replica_loads(*given), state.replica_loads(*taken))
    if choice is None:
        return False
    reason = _REASONS[transfer.quantity]
    state.set_replica(int(given.partitions[choice.given]), int(given.slots[choice.given]), transfer.destination, reason)
    if choice.taken is not None:
        state.set_replica(int(taken.partitions[choice.taken]), int(taken.slots[choice.taken]), transfer.source, reason)
    return True


def _transferable_replicas(state: PlanState, transfer: _Transfer) -> ReplicaArrays:
    """Return the source's replicas that the destination may have. Leaders stay if all replicas have the same load."""
    partitions, slots = state.movable_replicas(transfer.source)
    is_allowed = state.can_accept(transfer.destination, partitions, slots) & state.may_add_to_topic(partitions, transfer.destination)
    if transfer.quantity in (NETWORK_IN, POTENTIAL_NETWORK_OUT):
        is_allowed &= slots > 0
    partitions, slots = partitions[is_allowed], slots[is_allowed]
    may_leave = (slots > 0) | state.may_stop_leading(partitions, transfer.source)
    return ReplicaArrays(partitions[may_leave], slots[may_leave])


def _choose(state: PlanState, transfer: _Transfer, given_loads: Floats, taken_loads: Floats) -> _Choice | None:
    """Choose one load to give; if none is allowed, one to give and one to take in exchange."""
    source, destination, quantity = transfer.source, transfer.destination, transfer.quantity
    gains = given_loads[:, quantity]
    is_allowed = state.may_transfer(given_loads, source, destination)
    chosen = _smallest_sufficient(gains, is_allowed, transfer.needed, transfer.maximum)
    if chosen is not None:
        return _Choice(chosen, None)
    losses = taken_loads[:, quantity]
    order_by_loss = np.argsort(losses, kind="stable")
    ideal_gain = min(transfer.needed, transfer.maximum)
    given: list[int] = []
    taken: list[int] = []
    for candidate in np.argsort(-gains, kind="stable")[:_EXCHANGE_CANDIDATES].tolist():
        position = int(np.searchsorted(losses[order_by_loss], gains[candidate] - ideal_gain, side="right"))
        nearest = order_by_loss[max(position - _NEAREST, 0) : position + _NEAREST].tolist()
        given += [candidate] * len(nearest)
        taken += nearest
    if not given:
        return None
    net_loads = given_loads[given] - taken_loads[taken]
    is_allowed = state.may_transfer(net_loads, source, destination)
    chosen = _smallest_sufficient(net_loads[:, quantity], is_allowed, transfer.needed, transfer.maximum)
    return None if chosen is None else _Choice(given[chosen], taken[chosen])


def _smallest_sufficient(gains: Floats, is_allowed: Bools | Sequence[bool], needed: float, maximum: float) -> int | None:
    """Return the index of the smallest allowed gain that is enough, otherwise of the largest; the first of equal ones."""
    allowed = np.flatnonzero(np.asarray(is_allowed) & (gains > _MIN_SHARE * needed) & (gains <= maximum))
    if not len(allowed):
        return None
    sufficient = allowed[gains[allowed] >= needed]
    return int(sufficient[gains[sufficient].argmin()] if len(sufficient) else allowed[gains[allowed].argmax()])
