from __future__ import annotations

from kafka_model.election.partition import Partition
from kafka_model.election.preferred_leaders import balance_leaders


def test_leadership_returns_to_the_first_replica_without_a_threshold_per_broker() -> None:
    moved, led_by_preferred = Partition((1, 2, 3), 2, (1, 2, 3)), Partition((1, 2, 3), 1, (1, 2, 3))
    balanced = balance_leaders(
        {"a": moved, **{f"home {number}": led_by_preferred for number in range(99)}}, acceptable={1, 2, 3}, elr=False
    )
    assert {name: elected.leader for name, elected in balanced.items()} == {"a": 1}
    assert balanced["a"].leader_epoch == moved.leader_epoch + 1


def test_an_out_of_sync_first_replica_changes_nothing() -> None:
    assert balance_leaders({"a": Partition((1, 2, 3), 2, (2, 3))}, acceptable={1, 2, 3}, elr=False) == {}


def test_a_partition_without_a_leader_elects_any_replica_that_can_lead() -> None:
    elected = balance_leaders({"a": Partition((1, 2, 3), None, (2, 3))}, acceptable={1, 3}, elr=False)
    assert elected["a"].leader == 3


def test_a_round_stops_at_the_maximum_number_of_elections() -> None:
    moved = {number: Partition((1, 2), 2, (1, 2)) for number in range(5)}
    assert list(balance_leaders(moved, acceptable={1, 2}, elr=False, max_elections=2)) == [0, 1]
