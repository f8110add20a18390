from __future__ import annotations

from kafka_model.election.partition import Partition
from kafka_model.election.preferred_leaders import balance_leaders


def test_a_partition_that_its_first_replica_can_lead_goes_back_to_it_whatever_the_share_of_the_broker() -> None:
    away, home = Partition((1, 2, 3), 2, (1, 2, 3)), Partition((1, 2, 3), 1, (1, 2, 3))
    balanced = balance_leaders({"a": away, **{f"home {number}": home for number in range(99)}}, acceptable={1, 2, 3}, elr=False)
    assert {name: after.leader for name, after in balanced.items()} == {"a": 1}
    assert balanced["a"].leader_epoch == away.leader_epoch + 1


def test_a_first_replica_out_of_sync_is_not_waited_for() -> None:
    assert balance_leaders({"a": Partition((1, 2, 3), 2, (2, 3))}, acceptable={1, 2, 3}, elr=False) == {}


def test_a_partition_without_a_leader_takes_whoever_can_lead() -> None:
    after = balance_leaders({"a": Partition((1, 2, 3), None, (2, 3))}, acceptable={1, 3}, elr=False)
    assert after["a"].leader == 3


def test_a_round_stops_at_its_limit() -> None:
    away = {number: Partition((1, 2), 2, (1, 2)) for number in range(5)}
    assert list(balance_leaders(away, acceptable={1, 2}, elr=False, max_elections=2)) == [0, 1]
