"""Counts of fatal broker sets, compared with enumeration."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_model.failover import joint_failure
from kafka_model.failover.joint_failure import count_fatal_sets, fatal_to_writes, minimal_sets

BROKERS = st.integers(1, 9)
SETS = st.lists(st.frozensets(BROKERS, min_size=1, max_size=4), max_size=12)


@given(fatal=SETS, brokers=st.frozensets(BROKERS, min_size=1), deaths=st.integers(1, 5))
def test_count_of_fatal_sets_equals_enumeration(fatal: list[frozenset[int]], brokers: frozenset[int], deaths: int) -> None:
    within = [each for each in fatal if each <= brokers]
    enumerated = sum(any(brokers_of_set <= set(dead) for brokers_of_set in within) for dead in combinations(sorted(brokers), deaths))
    assert count_fatal_sets(within, brokers=sorted(brokers), deaths=deaths) == enumerated


@given(fatal=SETS)
def test_minimal_sets_contain_no_other_and_cover_all(fatal: list[frozenset[int]]) -> None:
    minimal = minimal_sets(fatal)
    assert not any(subset < superset for subset in minimal for superset in minimal)
    assert all(any(subset <= superset for subset in minimal) for superset in fatal)


@pytest.mark.parametrize(
    ("isr", "min_insync_replicas", "sets"),
    [([1, 2, 3], 2, [{1, 2}, {1, 3}, {2, 3}]), ([1, 2, 3], 1, [{1, 2, 3}]), ([1, 2], 2, [{1}, {2}]), ([1], 2, []), ([1, 2], 0, [{1, 2}])],
)
def test_sets_fatal_to_writes_leave_fewer_than_min_isr(isr: list[int], min_insync_replicas: int, sets: list[set[int]]) -> None:
    assert list(fatal_to_writes(isr, min_insync_replicas)) == sets


def test_too_many_sets_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joint_failure, "MAX_PARTIAL_SETS", 5)
    assert count_fatal_sets([{1, 2}], brokers=range(10), deaths=2) is None
    assert count_fatal_sets([{1}], brokers=range(10), deaths=1) == 1
