"""Which columns of an outcome depend on the order in which the controller handles the deaths.

Brokers that die at once are fenced (KRaft) or removed (ZooKeeper) one by one, in an order that no dump contains. Leader, harms and survivors
are the same in every order. The ELR, the last known leader, an ISR without a live member and the number of elections can differ.

It is enough to compare the orders in which each two brokers die first or last: an ELR lacks the first ones to die, the last known leader and the
last member of an ISR are the last ones, and elections depend on who dies before whom. A test compares with all orders.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Any

from jobs.failure.patterns import Case, Positions, outcome_of

_SETS = ("isr", "elr", "last_known_elr")


def order_dependent_columns(case: Case) -> list[str] | None:
    """Return the columns of `failover_pattern` that another order of the deaths would change.

    None: the controllers lose their quorum, so the order of all deaths of the cluster decides to which of them they react.
    """
    if case.event.quorum_lost:
        return None
    outcomes = [
        _comparable(outcome_of(case._replace(event=case.event._replace(dying=order)))) for order in _extreme_orders(case.event.dying)
    ]
    first, *others = outcomes
    return [name for name in first if any(other[name] != first[name] for other in others)]


def _extreme_orders(dying: Positions) -> Iterator[Positions]:
    """Yield this order, and those in which each two of the brokers die first or last instead."""
    orders = [dying]
    for pair in permutations(dying, 2):
        others = tuple([broker for broker in dying if broker not in pair])
        orders += [pair + others, others + pair]
    yield from dict.fromkeys(orders)


def _comparable(outcome: dict[str, Any]) -> dict[str, Any]:
    """Return an outcome in which equal sets of brokers are equal."""
    return outcome | {name: outcome[name] and sorted(outcome[name]) for name in _SETS}
