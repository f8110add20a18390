from __future__ import annotations

import pytest

from kafka_model.election.partition import Partition
from kafka_model.election.partition_change import change
from kafka_model.release import Release, UnknownVersion


def test_elr_before_3_8_is_refused() -> None:
    with pytest.raises(UnknownVersion):
        change(Partition((1,), 1, (1,)), isr=(1,), acceptable={1}, elr=True, version=Release(3, 7, 2))


def test_before_4_3_a_reassignment_completes_only_when_all_staying_replicas_are_in_sync() -> None:
    moving = Partition((1, 2, 3), 1, (1, 2), adding_replicas=(2,))
    before, since = (
        change(moving, isr=(1, 2), acceptable={1, 2}, elr=True, version=version) for version in (Release(4, 2, 2), Release(4, 3, 0))
    )
    assert before.adding_replicas == (2,)
    assert since.adding_replicas == ()


def test_until_4_1_0_the_last_known_leader_is_cleared_by_any_change_that_leaves_a_leader() -> None:
    led = Partition((36,), 36, (36,), last_known_elr=(36,))
    before, since = (change(led, isr=(36,), acceptable={36}, elr=True, version=version) for version in (Release(4, 1, 0), Release(4, 1, 1)))
    assert (before.last_known_elr, before.partition_epoch) == ((), 1)
    assert since is led
