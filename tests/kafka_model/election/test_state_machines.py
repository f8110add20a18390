from __future__ import annotations

import itertools

import pytest

from kafka_model.election.state_machines import (
    IllegalTransition,
    PartitionState,
    ReplicaState,
    enter,
    enter_replica,
    may_enter,
)
from kafka_model.release import Release

NEW, ONLINE, OFFLINE, NON_EXISTENT = PartitionState
ALLOWED = {
    (NON_EXISTENT, NEW),
    (NEW, ONLINE), (ONLINE, ONLINE), (OFFLINE, ONLINE),
    (NEW, OFFLINE), (ONLINE, OFFLINE), (OFFLINE, OFFLINE),
    (OFFLINE, NON_EXISTENT),
}  # fmt: skip


@pytest.mark.parametrize(("state", "target"), list(itertools.product(PartitionState, PartitionState)))
def test_seed_002_each_transition_is_allowed_or_refused(state: PartitionState, target: PartitionState) -> None:
    assert may_enter(state, target) is ((state, target) in ALLOWED)
    if (state, target) in ALLOWED:
        assert enter(state, target) is target
    else:
        with pytest.raises(IllegalTransition, match=f"{target.value} may not follow {state.value}"):
            enter(state, target)


def test_an_offline_replica_may_become_deletion_ineligible_only_since_2_3() -> None:
    target = ReplicaState.DELETION_INELIGIBLE
    assert enter_replica(ReplicaState.OFFLINE, target, version=Release(2, 3, 0)) is target
    with pytest.raises(IllegalTransition):
        enter_replica(ReplicaState.OFFLINE, target, version=Release(2, 2, 2))
