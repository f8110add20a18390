"""Sets of brokers that die together, counted, and counted one by one."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_model.failover import joint_failure
from kafka_model.failover.joint_failure import fatal_to_writes, minimal, sets_that_fail

BROKERS = st.integers(1, 9)
SETS = st.lists(st.frozensets(BROKERS, min_size=1, max_size=4), max_size=12)


@given(fatal=SETS, brokers=st.frozensets(BROKERS, min_size=1), deaths=st.integers(1, 5))
def test_sets_are_counted_as_one_by_one(fatal: list[frozenset[int]], brokers: frozenset[int], deaths: int) -> None:
    within = [each for each in fatal if each <= brokers]
    one_by_one = sum(any(each <= set(dead) for each in within) for dead in combinations(sorted(brokers), deaths))
    assert sets_that_fail(within, brokers=sorted(brokers), deaths=deaths) == one_by_one


@given(fatal=SETS)
def test_minimal_sets_hold_no_other_and_lose_none(fatal: list[frozenset[int]]) -> None:
    kept = minimal(fatal)
    assert not any(one < other for one in kept for other in kept)
    assert all(any(one <= each for one in kept) for each in fatal)


@pytest.mark.parametrize(
    ("isr", "least", "sets"),
    [([1, 2, 3], 2, [{1, 2}, {1, 3}, {2, 3}]), ([1, 2, 3], 1, [{1, 2, 3}]), ([1, 2], 2, [{1}, {2}]), ([1], 2, []), ([1, 2], 0, [{1, 2}])],
)
def test_writes_stop_when_too_few_are_in_sync(isr: list[int], least: int, sets: list[set[int]]) -> None:
    assert list(fatal_to_writes(isr, least)) == sets


def test_what_is_too_much_to_walk_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joint_failure, "MOST", 5)
    assert sets_that_fail([{1, 2}], brokers=range(10), deaths=2) is None
    assert sets_that_fail([{1}], brokers=range(10), deaths=1) == 1
