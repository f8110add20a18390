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

NEW, ONLINE, OFFLINE, GONE = PartitionState
LEGAL = {
    (GONE, NEW),
    (NEW, ONLINE), (ONLINE, ONLINE), (OFFLINE, ONLINE),
    (NEW, OFFLINE), (ONLINE, OFFLINE), (OFFLINE, OFFLINE),
    (OFFLINE, GONE),
}  # fmt: skip


@pytest.mark.parametrize(("state", "target"), list(itertools.product(PartitionState, PartitionState)))
def test_seed_002_each_pair_of_states_is_legal_or_refused(state: PartitionState, target: PartitionState) -> None:
    assert may_enter(state, target) is ((state, target) in LEGAL)
    if (state, target) in LEGAL:
        assert enter(state, target) is target
    else:
        with pytest.raises(IllegalTransition, match=f"{target.value} may not follow {state.value}"):
            enter(state, target)


def test_a_replica_offline_proves_ineligible_for_deletion_since_2_3_only() -> None:
    target = ReplicaState.DELETION_INELIGIBLE
    assert enter_replica(ReplicaState.OFFLINE, target) is target
    with pytest.raises(IllegalTransition):
        enter_replica(ReplicaState.OFFLINE, target, since_2_3=False)
