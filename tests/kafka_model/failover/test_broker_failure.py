"""Broker deaths and returns, compared with recordings of real clusters (kafka-facts 10) and with the model of the ZooKeeper controller.

The golden files contain more cases.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_model.election import zookeeper_controller
from kafka_model.election.partition import Partition
from kafka_model.election.state_machines import ENTERED_FROM, PartitionState
from kafka_model.failover.broker_failure import Controller, ElectionKind, Outcome, fail_brokers, return_broker

ONLINE, OFFLINE = PartitionState.ONLINE, PartitionState.OFFLINE
LIVE = {11, 21, 31}


def all_in_sync(min_insync_replicas: int = 1, *brokers: int) -> Partition:
    replicas = brokers or (11, 21, 31)
    return Partition(replicas=replicas, leader=replicas[0], isr=replicas, min_insync_replicas=min_insync_replicas)


def partition_after_deaths(partition: Partition, brokers: Iterable[int], *, elr: bool = True, unclean: bool = False) -> Partition:
    """Kill the brokers of a KRaft cluster."""
    return fail_brokers(partition, brokers, LIVE, controller="kraft", elr=elr, unclean=unclean).partition


@pytest.mark.parametrize(("min_insync_replicas", "elr"), [(1, ()), (2, (21,)), (3, (21, 11))])
def test_brokers_that_leave_the_isr_below_min_isr_join_the_elr(min_insync_replicas: int, elr: tuple[int, ...]) -> None:
    survivor = partition_after_deaths(all_in_sync(min_insync_replicas), [11, 21])
    assert (survivor.leader, survivor.isr, survivor.elr) == (31, (31,), elr)


def test_kraft_with_elr_moves_the_only_replica_to_the_elr() -> None:
    survivor = partition_after_deaths(all_in_sync(1, 11), [11])
    assert (survivor.leader, survivor.isr, survivor.elr, survivor.last_known_elr) == (None, (), (11,), (11,))


def test_kraft_without_elr_leaves_the_last_member_in_the_isr() -> None:
    survivor = partition_after_deaths(all_in_sync(1, 11), [11], elr=False)
    assert (survivor.leader, survivor.isr, survivor.elr, survivor.last_known_elr) == (None, (11,), (), ())


def test_zookeeper_leaves_the_last_member_in_the_isr() -> None:
    survivor = fail_brokers(all_in_sync(1, 11), [11], {11}, controller="zookeeper", elr=False, unclean=False).partition
    assert (survivor.leader, survivor.isr) == (None, (11,))


def test_with_an_empty_isr_a_live_elr_member_leads_and_the_others_stay_in_the_elr() -> None:
    partition = Partition(replicas=(11, 21, 31), leader=31, isr=(31,), elr=(11, 21), min_insync_replicas=3)
    survivor = partition_after_deaths(partition, [31], unclean=True)
    assert (survivor.leader, survivor.isr, survivor.elr, survivor.last_known_elr) == (11, (11,), (21, 31), ())


def test_kraft_unclean_election_empties_the_elr() -> None:
    partition = Partition(replicas=(11, 21, 31), leader=31, isr=(31,), min_insync_replicas=2)
    outcome = fail_brokers(partition, [31], LIVE, controller="kraft", elr=True, unclean=True)
    survivor = outcome.partition
    assert (survivor.leader, survivor.isr, survivor.elr, survivor.last_known_elr) == (11, (11,), (), ())
    assert survivor.recovering
    assert outcome.election is ElectionKind.UNCLEAN
    assert outcome.transitions == ((ONLINE, OFFLINE), (OFFLINE, ONLINE))


@pytest.mark.parametrize("controller", ["zookeeper", "kraft"])
def test_death_of_a_follower_shrinks_the_isr_without_election(controller: Controller) -> None:
    outcome = fail_brokers(all_in_sync(2), [21], LIVE, controller=controller, elr=False, unclean=False)
    assert (outcome.partition.leader, outcome.partition.isr) == (11, (11, 31))
    assert (outcome.election, outcome.transitions) == (ElectionKind.NONE, ())


@pytest.mark.parametrize("controller", ["zookeeper", "kraft"])
def test_after_the_leaders_death_the_next_in_the_assignment_leads(controller: Controller) -> None:
    partition = Partition(replicas=(11, 21, 31), leader=11, isr=(31, 21, 11))
    outcome = fail_brokers(partition, [11], LIVE, controller=controller, elr=False, unclean=False)
    assert (outcome.partition.leader, outcome.partition.isr) == (21, (31, 21))
    assert (outcome.election, outcome.transitions) == (ElectionKind.OFFLINE, ((ONLINE, OFFLINE), (OFFLINE, ONLINE)))


def test_zookeeper_controlled_shutdown_transfers_leadership_without_going_offline() -> None:
    outcome = fail_brokers(all_in_sync(2), [11], LIVE, controller="zookeeper", elr=False, unclean=False, controlled_shutdown=True)
    assert (outcome.partition.leader, outcome.partition.isr) == (21, (21, 31))
    assert (outcome.election, outcome.transitions) == (ElectionKind.CONTROLLED_SHUTDOWN, ((ONLINE, ONLINE),))


def test_zookeeper_controlled_shutdown_of_the_only_isr_member_ends_like_its_death() -> None:
    partition = Partition(replicas=(11, 21), leader=11, isr=(11,))
    outcome = fail_brokers(partition, [11], LIVE, controller="zookeeper", elr=False, unclean=True, controlled_shutdown=True)
    assert (outcome.partition.leader, outcome.partition.isr, outcome.election) == (21, (21,), ElectionKind.UNCLEAN)


def test_kraft_controlled_shutdown_ends_like_a_death() -> None:
    for partition in (all_in_sync(1), all_in_sync(2), all_in_sync(3), all_in_sync(1, 11)):
        stopped = fail_brokers(partition, [11], LIVE, controller="kraft", elr=True, unclean=False, controlled_shutdown=True).partition
        assert stopped == partition_after_deaths(partition, [11])


def test_a_partition_without_a_leader_stays_offline_when_another_replica_dies() -> None:
    partition = Partition(replicas=(11, 21), leader=None, isr=(11,))
    outcome = fail_brokers(partition, [21], {21, 31}, controller="zookeeper", elr=False, unclean=False)
    assert outcome.partition == partition
    assert outcome.transitions == ((OFFLINE, OFFLINE),)


PARTITIONS = st.builds(
    lambda replicas, in_sync, nth_leader, min_insync_replicas: Partition(
        replicas=tuple(replicas),
        isr=tuple(sorted(in_sync & set(replicas))) or (replicas[0],),
        leader=(sorted(in_sync & set(replicas)) or [replicas[0]])[nth_leader % len(in_sync & set(replicas) or {0})],
        min_insync_replicas=min_insync_replicas,
    ),
    st.lists(st.integers(1, 6), min_size=1, max_size=4, unique=True),
    st.sets(st.integers(1, 6)),
    st.integers(0, 5),
    st.integers(1, 3),
)


@given(PARTITIONS, st.permutations(range(1, 7)), st.booleans(), st.booleans(), st.booleans())
def test_a_leader_is_live_and_in_the_isr_and_was_in_sync_unless_unclean(
    partition: Partition, order: list[int], elr: bool, unclean: bool, controlled: bool
) -> None:
    for controller, failing in itertools.product(("zookeeper", "kraft"), range(7)):
        brokers = order[:failing]
        outcome = fail_brokers(
            partition, brokers, range(1, 7), controller=controller, elr=elr, unclean=unclean, controlled_shutdown=controlled
        )
        survivor = outcome.partition
        assert survivor.leader not in brokers
        if survivor.leader is not None:
            assert survivor.leader in survivor.isr
            assert not set(survivor.isr) & set(brokers)
            if outcome.election is not ElectionKind.UNCLEAN and not unclean:
                assert survivor.leader in {*partition.isr, *partition.elr}
        assert all(state in ENTERED_FROM[target] for state, target in outcome.transitions)


@given(PARTITIONS, st.permutations(range(1, 7)), st.booleans(), st.booleans())
def test_zookeeper_failures_equal_those_of_its_controller(partition: Partition, order: list[int], unclean: bool, controlled: bool) -> None:
    name = ("topic", 0)
    unclean_topics = frozenset({"topic"} if unclean else ())
    brokers = frozenset(range(1, 7))
    context = zookeeper_controller.start_up(zookeeper_controller.Context({name: partition}, brokers, unclean_topics=unclean_topics)).context
    live = set(brokers)
    survivor = partition
    for broker in order:
        if controlled:
            context = zookeeper_controller.on_controlled_shutdown(context, broker).context
        context = zookeeper_controller.on_broker_failure(context, [broker]).context
        survivor = fail_brokers(
            survivor, [broker], live, controller="zookeeper", elr=False, unclean=unclean, controlled_shutdown=controlled
        ).partition
        live.remove(broker)
        assert survivor == context.partitions[name]
        assert (ONLINE if survivor.leader in live else OFFLINE) is context.partition_states[name]


def return_in_kraft(partition: Partition, broker: int, live_after: set[int], *, clean_stop: bool, unclean: bool = False) -> Outcome:
    return return_broker(partition, broker, live_after, controller="kraft", elr=True, unclean=unclean, clean_stop=clean_stop)


def test_a_killed_elr_member_leaves_the_elr_and_the_last_known_leader_waits_until_it_is_empty() -> None:
    # min.insync.replicas is 2 and all three brokers were killed: 31 is in the ELR with 21, and was the last leader.
    down = partition_after_deaths(all_in_sync(2), [11, 21, 31])
    assert (down.leader, down.isr, set(down.elr), down.last_known_elr) == (None, (), {21, 31}, (31,))
    alone = return_in_kraft(down, 31, {31}, clean_stop=False).partition
    assert (alone.leader, alone.elr) == (None, (21,))
    both = return_in_kraft(alone, 21, {21, 31}, clean_stop=False)
    assert (both.partition.leader, both.partition.isr, both.partition.recovering) == (31, (31,), True)
    assert both.election is ElectionKind.LAST_KNOWN_LEADER


def test_after_clean_stops_the_first_elr_member_to_return_leads_and_the_others_stay_in_the_elr() -> None:
    down = partition_after_deaths(all_in_sync(2), [11, 21, 31])
    returned = return_in_kraft(down, 21, {21}, clean_stop=True)
    assert (returned.partition.leader, returned.partition.isr, returned.partition.elr) == (21, (21,), (31,))
    assert (returned.election, returned.partition.recovering) == (ElectionKind.OFFLINE, False)


def test_with_unclean_election_any_returning_replica_leads_at_once() -> None:
    down = partition_after_deaths(all_in_sync(2), [11, 21, 31], unclean=True)
    returned = return_in_kraft(down, 11, {11}, clean_stop=False, unclean=True)
    assert (returned.partition.leader, returned.partition.isr, returned.partition.elr, returned.partition.last_known_elr) == (
        11,
        (11,),
        (),
        (),
    )
    assert returned.election is ElectionKind.UNCLEAN


def test_zookeeper_last_isr_member_leads_again_after_its_return() -> None:
    down = fail_brokers(all_in_sync(1, 11), [11], {11}, controller="zookeeper", elr=False, unclean=False).partition
    returned = return_broker(down, 11, {11}, controller="zookeeper", elr=False, unclean=False, clean_stop=False)
    assert (returned.partition.leader, returned.partition.isr) == (11, (11,))
    assert returned.transitions == ((OFFLINE, OFFLINE), (OFFLINE, ONLINE))
