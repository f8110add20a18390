"""The loops of striped_draws.py: follow StripedReplicaPlacer along observed replicas, and bind each draw when a replica shows it.

Brokers are numbered in the order of their lists: racks sorted, of each rack the unfenced brokers and then the fenced ones, sorted by id.
List 2 r has the unfenced brokers of rack r, list 2 r + 1 the fenced ones. A slot is a place of a list; in the first round the brokers of a
list fill its slots in sorted order from an unknown offset, in later rounds in any order. Racks fill the rack positions in sorted order in
the first round, in any order later.

A rack position whose rack is not known yet gets the rack of the observed replica. If a rack without a broker for this replica could also be
there, the search decides and tries the other decision later. A rack whose brokers are all fenced has none for a first replica: the position
is only known to be one of those racks until a later replica shows which.

Plain functions on integer arrays, which `compiled` compiles with numba.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np

_START, _SIZE, _INDEX, _EPOCH, _ADVANCE = range(5)  # columns of `lists`: the first two are fixed, the others are BrokerList's state
_UNKNOWN, _FENCED = -1, -2  # at a rack position: any rack, or one of those whose brokers are all fenced
_MAX_RUNS = 200  # decisions that one search tries


@cache
def compiled() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return `search` and `repair`, compiled. Importing numba takes 0.8 s: plain Python is faster below some 10,000 partitions."""
    from numba import njit

    scope = dict(globals())
    callers_last = (
        _next_slot, _has_none_left, _bind, _choose_rack, _find_leader, _find_followers, _end_round, _run, _next_decision, search, repair
    )  # fmt: skip
    for function in callers_last:
        scope[function.__name__] = njit(cache=True, nogil=True)(FunctionType(function.__code__, scope, function.__name__))
    return scope["search"], scope["repair"]


def search(observed: Any, start: Any, skipped: Any, lists: Any, list_of: Any, unfenced: Any, found: Any) -> Any:
    """Follow one placement from partition `start` as far as draws explain it.

    Return the first partition that no draws explain, and the rack offset of the last try. `skipped` partitions need not match. `found`
    receives the slots of each partition, and the orders of racks and brokers of each round, -1 where unknown; they are complete if the
    search reaches the end.
    """
    racks = len(lists) // 2
    slots, rack_orders, broker_orders = found
    limit = 1 + racks * (1 + len(rack_orders))
    choice, options, best = np.zeros(limit, dtype=np.int64), np.zeros(limit, dtype=np.int64), start
    for _ in range(_MAX_RUNS):
        reached, decisions = _run(observed, start, skipped, lists, list_of, unfenced, choice, options, slots, rack_orders, broker_orders)
        best = max(best, reached)
        if reached == len(observed) or not _next_decision(choice, options, decisions):
            break
    return best, choice[0]


def repair(observed: Any, start: Any, skipped: Any, lists: Any, list_of: Any, unfenced: Any, broken: Any, found: Any) -> Any:
    """Find the one further partition to skip with which a placement from `start`, broken at `broken`, gets furthest.

    Return that partition and the first one that is then not explained. Only partitions of the same round can be the reason.
    """
    first = start if unfenced == 1 else broken - (broken - start) % unfenced
    best_skip, best = broken, broken
    for skip in range(broken, first - 1, -1):
        if not skipped[skip]:
            skipped[skip] = True
            reached, _ = search(observed, start, skipped, lists, list_of, unfenced, found)
            skipped[skip] = False
            if reached > best:
                best_skip, best = skip, reached
    return best_skip, best


def _run(
    observed: Any, start: Any, skipped: Any, shape: Any, list_of: Any, unfenced: Any, choice: Any, options: Any,
    slots: Any, rack_orders: Any, broker_orders: Any,
) -> Any:  # fmt: skip
    """Follow the placement with these decisions; return the first partition that breaks it and the number of decisions."""
    racks = len(shape) // 2
    lists = shape.copy()
    brokers = np.full((2, len(list_of)), -1)  # the broker of each slot, and the slot of each broker
    order = np.full((2, racks), -1)  # the rack of each position, and the position of each rack
    for rack in range(racks):
        order[0, rack] = order[1, rack] = rack
    options[0], decisions, epoch, round_number = racks, 1, 0, 0
    offset = choice[0]
    for partition in range(start, len(observed)):
        if epoch == unfenced and unfenced > 1:
            _end_round(round_number, order, brokers, rack_orders, broker_orders)
            for rack in range(racks):
                order[0, rack] = order[1, rack] = _UNKNOWN
            for slot in range(len(list_of)):
                brokers[0, slot] = brokers[1, slot] = -1
            epoch, round_number = 0, round_number + 1
        offset %= racks
        row, skip = observed[partition], skipped[partition]
        position, decisions = _find_leader(
            row, skip, offset, epoch, round_number, lists, list_of, order, brokers, choice, options, decisions, slots[partition]
        )
        if position >= 0:
            position, decisions = _find_followers(
                row, skip, offset, position, epoch, round_number, lists, list_of, order, brokers, choice, options, decisions,
                slots[partition],
            )  # fmt: skip
        if position < 0:
            return partition, decisions
        epoch += 1
        offset += 1
    _end_round(round_number, order, brokers, rack_orders, broker_orders)
    return len(observed), decisions


def _find_leader(
    row: Any, skip: Any, offset: Any, epoch: Any, round_number: Any, lists: Any, list_of: Any, order: Any, brokers: Any,
    choice: Any, options: Any, decisions: Any, slots: Any,
) -> Any:  # fmt: skip
    """Place the first replica; return its rack position, -1 if it does not match, and the number of decisions."""
    racks = len(order[0])
    position = offset
    for _ in range(racks):
        if order[0, position] == _UNKNOWN:
            decisions = _choose_rack(position, row[0], skip, epoch, False, lists, list_of, order, choice, options, decisions)
            if order[0, position] == _UNKNOWN:
                return -1, decisions
        if order[0, position] != _FENCED:
            list_id = 2 * order[0, position]
            slot = _next_slot(list_id, epoch, lists)
            if slot >= 0:
                slots[0] = slot
                return position if skip or _bind(slot, row[0], list_id, round_number, lists, list_of, brokers) else -1, decisions
        position = (position + 1) % racks
    return -1, decisions


def _find_followers(
    row: Any, skip: Any, offset: Any, leader: Any, epoch: Any, round_number: Any, lists: Any, list_of: Any, order: Any, brokers: Any,
    choice: Any, options: Any, decisions: Any, slots: Any,
) -> Any:  # fmt: skip
    """Place the other replicas; return 0, -1 if one does not match, and the number of decisions."""
    racks = len(order[0])
    position, replica, steps = offset, 1, 0
    while replica < len(row):
        steps += 1
        if steps > racks * (len(row) + 2):
            return -1, decisions
        if position == leader:
            leader = -1  # the rack of the leader is skipped once
        else:
            if order[0, position] < 0:
                decisions = _choose_rack(position, row[replica], skip, epoch, True, lists, list_of, order, choice, options, decisions)
                if order[0, position] < 0:
                    return -1, decisions
            list_id = 2 * order[0, position]
            slot = _next_slot(list_id, epoch, lists)
            if slot < 0:
                list_id += 1
                slot = _next_slot(list_id, epoch, lists)
            if slot >= 0:
                slots[replica] = slot
                if not skip and not _bind(slot, row[replica], list_id, round_number, lists, list_of, brokers):
                    return -1, decisions
                replica += 1
        position = (position + 1) % racks
    return 0, decisions


def _choose_rack(
    position: Any, broker: Any, skip: Any, epoch: Any, fenced_too: Any, lists: Any, list_of: Any, order: Any,
    choice: Any, options: Any, decisions: Any,
) -> Any:  # fmt: skip
    """Bind a rack to a position: that of the broker which is observed next, or one without a broker for it. Return the number of decisions."""
    racks = len(order[0])
    among_fenced = order[0, position] == _FENCED
    unbound = fenced_positions = unbound_fenced = last_unbound = 0
    for rack in range(racks):
        if order[0, rack] == _FENCED:
            fenced_positions += 1
        if order[1, rack] < 0:
            unbound += 1
            last_unbound = rack
            if lists[2 * rack, _SIZE] == 0:
                unbound_fenced += 1
    free_fenced = unbound_fenced if among_fenced else unbound_fenced - fenced_positions
    candidates = np.empty(racks + 1, dtype=np.int64)
    count = 0
    shown = list_of[broker] // 2 if broker >= 0 else -1
    for rack in range(-1, racks):  # the shown rack first
        chosen = shown if rack < 0 else rack
        if chosen < 0 or order[1, chosen] >= 0 or (rack == shown):
            continue
        all_fenced = lists[2 * chosen, _SIZE] == 0
        if (all_fenced and free_fenced == 0) or (among_fenced and not all_fenced):
            continue
        if rack < 0 or (not skip and (fenced_too or not all_fenced) and _has_none_left(chosen, epoch, fenced_too, lists)):
            candidates[count] = chosen
            count += 1
    if not fenced_too and free_fenced > 0 and not skip:
        candidates[count] = _FENCED
        count += 1
    if count == 0 and skip and unbound == 1:
        candidates[0] = last_unbound
        count = 1
    pick = 0
    if count > 1:
        options[decisions] = count
        pick = choice[decisions]
        decisions += 1
    if count > 0:
        order[0, position] = candidates[pick]
        if candidates[pick] >= 0:
            order[1, candidates[pick]] = position
    return decisions


def _has_none_left(rack: Any, epoch: Any, fenced_too: Any, lists: Any) -> Any:
    """Whether a visit to the rack returns no broker."""
    for list_id in range(2 * rack, 2 * rack + (2 if fenced_too else 1)):
        if lists[list_id, _SIZE] and not (lists[list_id, _EPOCH] == epoch and lists[list_id, _INDEX] >= lists[list_id, _SIZE]):
            return False
    return True


def _next_slot(list_id: Any, epoch: Any, lists: Any) -> Any:
    """Return the next slot of a list as BrokerList.next does, -1 if none is left for this partition."""
    size = lists[list_id, _SIZE]
    if size == 0:
        return -1
    if lists[list_id, _EPOCH] != epoch:
        lists[list_id, _EPOCH], lists[list_id, _INDEX] = epoch, 0
        lists[list_id, _ADVANCE] = (lists[list_id, _ADVANCE] + 1) % size
    if lists[list_id, _INDEX] >= size:
        return -1
    lists[list_id, _INDEX] += 1
    return lists[list_id, _START] + (lists[list_id, _INDEX] - 1 + lists[list_id, _ADVANCE]) % size


def _bind(slot: Any, broker: Any, list_id: Any, round_number: Any, lists: Any, list_of: Any, brokers: Any) -> Any:
    """Bind the broker to the slot. Return False if it is of another list, or if one of them is bound already."""
    if broker < 0 or list_of[broker] != list_id:
        return False
    if brokers[0, slot] >= 0 or brokers[1, broker] >= 0:
        return brokers[0, slot] == broker
    if round_number > 0:
        brokers[0, slot], brokers[1, broker] = broker, slot
    else:
        start, size = lists[list_id, _START], lists[list_id, _SIZE]
        for index in range(size):
            one, other = start + (slot - start + index) % size, start + (broker - start + index) % size
            brokers[0, one], brokers[1, other] = other, one
    return True


def _end_round(round_number: Any, order: Any, brokers: Any, rack_orders: Any, broker_orders: Any) -> None:
    for rack in range(len(order[0])):
        rack_orders[round_number, rack] = order[0, rack]
    for slot in range(len(brokers[0])):
        broker_orders[round_number, slot] = brokers[0, slot]


def _next_decision(choice: Any, options: Any, decisions: Any) -> Any:
    """Change the last decision that has another option; return False if none has."""
    for last in range(decisions - 1, -1, -1):
        if choice[last] + 1 < options[last]:
            choice[last] += 1
            for later in range(last + 1, len(choice)):
                choice[later] = 0
            return True
    return False
