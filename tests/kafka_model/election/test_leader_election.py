from __future__ import annotations

from kafka_model.election.leader_election import elect_controlled_shutdown, elect_offline, elect_preferred, elect_reassign


def test_seed_002_offline_election_elects_the_first_live_in_sync_replica_of_the_assignment() -> None:
    assert elect_offline([1, 2, 3], isr=[3, 2], live=[2, 3], unclean=False) == 2  # not 3, the first of the ISR


def test_seed_002_without_a_live_in_sync_replica_only_an_unclean_election_elects_a_leader() -> None:
    assert elect_offline([1, 2, 3], isr=[1], live=[3, 2], unclean=False) is None
    assert elect_offline([1, 2, 3], isr=[1], live=[3, 2], unclean=True) == 2
    assert elect_offline([1, 2, 3], isr=[1], live=[4], unclean=True) is None


def test_unclean_election_prefers_an_in_sync_replica() -> None:
    assert elect_offline([1, 2, 3], isr=[3], live=[2, 3], unclean=True) == 3


def test_seed_002_reassign_election_considers_only_the_target_replicas() -> None:
    assert elect_reassign([4, 5], isr=[1, 5], live=[1, 4, 5]) == 5
    assert elect_reassign([4], isr=[1], live=[1, 4]) is None


def test_seed_002_preferred_election_considers_only_the_first_replica() -> None:
    assert elect_preferred([1, 2], isr=[1, 2], live=[1, 2]) == 1
    assert elect_preferred([1, 2], isr=[2], live=[1, 2]) is None
    assert elect_preferred([1, 2], isr=[1, 2], live=[2]) is None


def test_seed_002_controlled_shutdown_election_skips_brokers_that_are_shutting_down() -> None:
    assert elect_controlled_shutdown([1, 2, 3], isr=[1, 2, 3], live=[1, 2, 3], shutting_down=[1, 2]) == 3
    assert elect_controlled_shutdown([1, 2], isr=[1, 2], live=[1, 2], shutting_down=[1, 2]) is None
