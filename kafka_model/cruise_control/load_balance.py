"""Network and cpu within Cruise Control's limits: by leadership alone where that is enough, else by data.

What a leader has more than a follower (bytes out, cpu, bytes in to leaders) goes to another replica by a change of leadership, or by two
such changes against each other where the counts of leaders must stay; what every replica has alike (bytes in, bytes out that it would send
if it led) only by moving it, or by exchanging two. Of what fits, the least that is enough is taken, else the most. A change that would
take a broker beyond a hard limit, or beyond what an earlier step has won, is none (`Held.allowed`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from kafka_model.cruise_control import limits as goal
from kafka_model.cruise_control.columnar import Floats, Ints
from kafka_model.cruise_control.limits import utilization_limits
from kafka_model.cruise_control.plan_state import (
    CPU,
    LEADER_NETWORK_IN,
    NETWORK_IN,
    NETWORK_OUT,
    POTENTIAL_NETWORK_OUT,
    RESOURCE,
    Bools,
    Held,
)

LARGEST = 64  # that an exchange is sought for
_NEAREST = 8  # to exchange each with
_WORTH = 1e-3  # of what is wanted: less is not worth a change
REASONS = {
    POTENTIAL_NETWORK_OUT: "potential network out",
    NETWORK_IN: "network in",
    NETWORK_OUT: "network out",
    CPU: "cpu",
    LEADER_NETWORK_IN: "leader bytes in",
}


class _Shift(NamedTuple):
    """What must go from one broker to the other, and the most that both can bear."""

    quantity: int
    one: int
    other: int
    wanted: float
    bearable: float


def even_loads(state: Held) -> None:
    """Every quantity that is told, in the order of Cruise Control's goals."""
    for quantity in REASONS:
        if (limits := _limits(state, quantity)) is not None:
            least, most = limits
            _even(state, quantity, least, most)
            state.keep(quantity, least, most)


def relieve(state: Held, quantity: int, b: int, reason: str) -> bool:
    """Bring a broker under its ceiling by leadership alone; whether it is."""
    while (excess := float(state.use[b, quantity] - state.ceiling[b, quantity])) > 0:
        ps, slots = state.held(b)
        led = ps[slots == 0]
        led = led[state.spared(led, b)]
        more = state.leader_weight[led] - state.follower_weight[led]
        followers = state.replicas[led, 1:]
        after = state.use[followers] + more[:, None, :]
        fits = (followers >= 0) & state.open[followers] & ((after <= state.ceiling[followers]) | (more[:, None, :] <= 0)).all(axis=2)
        at = _least_enough(more[:, quantity], fits.any(axis=1), excess, np.inf)
        if at is None:
            return False
        share = after[at, :, quantity] / state.ceiling[followers[at], quantity]
        state.lead(int(led[at]), 1 + int(np.where(fits[at], share, np.inf).argmin()), reason)
    return True


def pairs(share: Floats, over: Bools, under: Bools, open: Ints) -> Iterator[tuple[int, int]]:
    """Who may give to whom, from the fullest to the emptiest: one of the two is outside its limits."""
    shares = share.tolist()
    full = sorted(open.tolist(), key=lambda b: (-shares[b], b))
    empty = full[::-1]
    short = [b for b in empty if under[b]]
    for one in full:
        for other in empty if over[one] else short:
            if shares[one] > shares[other]:
                yield one, other


def _limits(state: Held, quantity: int) -> tuple[Floats, Floats] | None:
    """The least and the most that each broker is to have; None: it is not told, or there is nothing to even."""
    thresholds, open, use = state.thresholds, state.open, state.use[:, quantity]
    none = np.full(len(use), -np.inf)
    if quantity == LEADER_NETWORK_IN:
        low = thresholds.low_utilization(goal.NETWORK_IN)
        if not state.leaders_told or (low > 0 and not state.told[goal.NETWORK_IN]):
            return None
        mean = float(use[open].sum()) / max(int(open.sum()), 1)
        least_capacity = low * state.capacity[goal.NETWORK_IN] if low > 0 else 0.0
        return none, np.maximum(mean * thresholds.balance(goal.NETWORK_IN), least_capacity) + np.zeros(len(use))
    name = goal.NETWORK_OUT if quantity == POTENTIAL_NETWORK_OUT else RESOURCE[quantity]
    if not state.told[name]:
        return None
    capacity = state.capacity[name]
    if quantity == POTENTIAL_NETWORK_OUT:
        return none, capacity * thresholds.capacity(name)
    low = thresholds.low_utilization(name)
    lower, upper = utilization_limits(float(use.sum()), float(capacity[open].sum()), thresholds.balance(name), low)
    return capacity * lower, np.minimum(capacity * upper, state.ceiling[:, quantity])


def _even(state: Held, quantity: int, least: Floats, most: Floats) -> None:
    """From the fullest to the emptiest, until all are within the limits or nothing fits."""
    open = np.flatnonzero(state.open)
    capacity = np.ones(len(most)) if quantity == LEADER_NETWORK_IN else state.capacity[RESOURCE.get(quantity, goal.NETWORK_OUT)]
    changes = np.zeros(len(most), dtype=np.int64)
    stuck: dict[tuple[int, int], tuple[int, int]] = {}
    while True:
        use = state.use[:, quantity]
        for one, other in pairs(use / capacity, use > most, use < least, open):
            now = int(changes[one]), int(changes[other])
            if stuck.get((one, other)) == now:
                continue
            wanted = float(max(use[one] - most[one], least[other] - use[other]))
            bearable = float(min(use[one] - least[one], most[other] - use[other]))
            if bearable > 0 and _shift(state, _Shift(quantity, one, other, wanted, bearable)):
                changes[[one, other]] += 1
                break
            stuck[one, other] = now
        else:
            return


def _shift(state: Held, of: _Shift) -> bool:
    """By one leadership, else by two against each other; else by one replica, else by two."""
    if of.quantity in (NETWORK_OUT, CPU, LEADER_NETWORK_IN) and _lead_elsewhere(state, of):
        return True
    return of.quantity != LEADER_NETWORK_IN and _move_elsewhere(state, of)


def _lead_elsewhere(state: Held, of: _Shift) -> bool:
    reason = REASONS[of.quantity]
    led, back = _led_and_followed(state, of.one, of.other), _led_and_followed(state, of.other, of.one)
    more, more_back = (state.leader_weight[ps] - state.follower_weight[ps] for ps in (led, back))
    found = _one_or_two(state, of, more, more_back)
    if found is None:
        return False
    for ps, at, to in ((led, found[0], of.other), (back, found[1], of.one)):
        if at is not None:
            p = int(ps[at])
            state.lead(p, int(np.flatnonzero(state.replicas[p] == to)[0]), reason)
    return True


def _led_and_followed(state: Held, leader: int, follower: int) -> Ints:
    """The partitions that the one leads and the other follows."""
    ps, slots = state.held(leader)
    led = ps[slots == 0]
    shared = led[(state.replicas[led, 1:] == follower).any(axis=1)]
    return np.asarray(shared[state.spared(shared, leader)])


def _move_elsewhere(state: Held, of: _Shift) -> bool:
    reason = REASONS[of.quantity]
    (ps, slots), (back_ps, back_slots) = _movable(state, of, of.one, of.other), _movable(state, of, of.other, of.one)
    found = _one_or_two(state, of, state.weights(ps, slots), state.weights(back_ps, back_slots))
    if found is None:
        return False
    at, back = found
    state.put(int(ps[at]), int(slots[at]), of.other, reason)
    if back is not None:
        state.put(int(back_ps[back]), int(back_slots[back]), of.one, reason)
    return True


def _movable(state: Held, of: _Shift, one: int, other: int) -> tuple[Ints, Ints]:
    """The replicas that the other may take; where all weigh alike, leaders stay."""
    ps, slots = state.held(one)
    fits = state.takes(ps, slots, other)
    if of.quantity in (NETWORK_IN, POTENTIAL_NETWORK_OUT):
        fits &= slots > 0
    fits &= state.fresh(ps, other)
    ps, slots = ps[fits], slots[fits]
    stays = (slots > 0) | state.spared(ps, one)
    return ps[stays], slots[stays]


def _one_or_two(state: Held, of: _Shift, weights: Floats, back: Floats) -> tuple[int, int | None] | None:
    """One of these weights to give, or one and one to take back for it."""
    gains = weights[:, of.quantity]
    at = _least_enough(gains, state.allowed(weights, of.one, of.other), of.wanted, of.bearable)
    if at is not None:
        return at, None
    returned = back[:, of.quantity]
    rising = np.argsort(returned, kind="stable")
    enough = min(of.wanted, of.bearable)
    given: list[int] = []
    taken: list[int] = []
    for i in np.argsort(-gains, kind="stable")[:LARGEST].tolist():
        k = int(np.searchsorted(returned[rising], gains[i] - enough, side="right"))
        nearest = rising[max(k - _NEAREST, 0) : k + _NEAREST].tolist()
        given += [i] * len(nearest)
        taken += nearest
    if not given:
        return None
    net = weights[given] - back[taken]
    best = _least_enough(net[:, of.quantity], state.allowed(net, of.one, of.other), of.wanted, of.bearable)
    return None if best is None else (given[best], taken[best])


def _least_enough(gains: Floats, allowed: Bools | Sequence[bool], wanted: float, bearable: float) -> int | None:
    """The least gain that is enough, else the greatest; the first of equals."""
    fits = np.flatnonzero(np.asarray(allowed) & (gains > _WORTH * wanted) & (gains <= bearable))
    if not len(fits):
        return None
    enough = fits[gains[fits] >= wanted]
    return int(enough[gains[enough].argmin()] if len(enough) else fits[gains[fits].argmax()])
