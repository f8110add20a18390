"""What real clusters did when brokers died (kafka-facts 10), and the ZooKeeper controller's rules; more cases are golden."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_model.election import zookeeper_controller
from kafka_model.election.state_machines import ENTERED_FROM, PartitionState
from kafka_model.failover.broker_failure import (
    Controller,
    Election,
    Outcome,
    Partition,
    come_back,
    fail,
    fail_in_order,
    outcome,
    shut_down,
    state,
)

ONLINE, OFFLINE = PartitionState.ONLINE, PartitionState.OFFLINE
LIVE = {11, 21, 31}


def led(min_insync_replicas: int = 1, *replicas: int) -> Partition:
    held = replicas or (11, 21, 31)
    return Partition(replicas=held, leader=held[0], isr=held, min_insync_replicas=min_insync_replicas)


@pytest.mark.parametrize(("min_insync_replicas", "elr"), [(1, ()), (2, (21,)), (3, (21, 11))])
def test_killing_11_then_21_leaves_31_and_in_the_elr_who_left_below_min(min_insync_replicas: int, elr: tuple[int, ...]) -> None:
    after = fail_in_order(led(min_insync_replicas), [11, 21], LIVE, controller="kraft", elr=True, unclean=False)
    assert (after.leader, after.isr, after.elr) == (31, (31,), elr)


def test_in_kraft_with_elr_the_last_member_moves_to_the_elr_at_replication_factor_1_too() -> None:
    after = fail(led(1, 11), 11, set(), controller="kraft", elr=True, unclean=False)
    assert (after.leader, after.isr, after.elr, after.last_known_elr) == (None, (), (11,), (11,))


def test_in_kraft_without_elr_the_last_member_stays_in_the_isr() -> None:
    after = fail(led(1, 11), 11, set(), controller="kraft", elr=False, unclean=False)
    assert (after.leader, after.isr, after.elr, after.last_known_elr) == (None, (11,), (), ())


def test_zookeepers_last_member_stays_in_the_isr() -> None:
    after = fail(led(1, 11), 11, set(), controller="zookeeper", elr=False, unclean=False)
    assert (after.leader, after.isr) == (None, (11,))


def test_a_live_member_of_the_elr_leads_once_the_isr_is_empty_and_the_others_stay_in_it() -> None:
    partition = Partition(replicas=(11, 21, 31), leader=31, isr=(31,), elr=(11, 21), min_insync_replicas=3)
    after = fail(partition, 31, {11, 21}, controller="kraft", elr=True, unclean=True)
    assert (after.leader, after.isr, after.elr, after.last_known_elr) == (11, (11,), (21, 31), ())


def test_an_unclean_election_empties_the_elr_in_kraft() -> None:
    partition = Partition(replicas=(11, 21, 31), leader=31, isr=(31,), min_insync_replicas=2)
    came = outcome(partition, [31], LIVE, controller="kraft", elr=True, unclean=True)
    assert (came.partition.leader, came.partition.isr, came.partition.elr, came.partition.last_known_elr) == (11, (11,), (), ())
    assert came.partition.recovering
    assert came.election is Election.UNCLEAN
    assert came.transitions == ((ONLINE, OFFLINE), (OFFLINE, ONLINE))


@pytest.mark.parametrize("controller", ["zookeeper", "kraft"])
def test_a_follower_that_dies_leaves_the_isr_and_nothing_is_elected(controller: Controller) -> None:
    came = outcome(led(2), [21], LIVE, controller=controller, elr=False, unclean=False)
    assert (came.partition.leader, came.partition.isr) == (11, (11, 31))
    assert (came.election, came.transitions) == (Election.NONE, ())


@pytest.mark.parametrize("controller", ["zookeeper", "kraft"])
def test_a_leader_that_dies_is_followed_by_the_next_in_the_order_of_the_assignment(controller: Controller) -> None:
    partition = Partition(replicas=(11, 21, 31), leader=11, isr=(31, 21, 11))
    came = outcome(partition, [11], LIVE, controller=controller, elr=False, unclean=False)
    assert (came.partition.leader, came.partition.isr) == (21, (31, 21))
    assert (came.election, came.transitions) == (Election.OFFLINE, ((ONLINE, OFFLINE), (OFFLINE, ONLINE)))


def test_zookeepers_controlled_shutdown_hands_leadership_over_without_going_offline() -> None:
    came = outcome(led(2), [11], LIVE, controller="zookeeper", elr=False, unclean=False, controlled_shutdown=True)
    assert (came.partition.leader, came.partition.isr) == (21, (21, 31))
    assert (came.election, came.transitions) == (Election.CONTROLLED_SHUTDOWN, ((ONLINE, ONLINE),))


def test_zookeepers_controlled_shutdown_of_the_only_member_ends_as_its_death_does() -> None:
    partition = Partition(replicas=(11, 21), leader=11, isr=(11,))
    came = outcome(partition, [11], LIVE, controller="zookeeper", elr=False, unclean=True, controlled_shutdown=True)
    assert (came.partition.leader, came.partition.isr, came.election) == (21, (21,), Election.UNCLEAN)


def test_in_kraft_a_controlled_shutdown_ends_in_the_same_picture_as_a_kill() -> None:
    for partition in (led(1), led(2), led(3), led(1, 11)):
        stopped = shut_down(partition, 11, {21, 31}, controller="kraft", elr=True, unclean=False)
        assert stopped == fail(partition, 11, {21, 31}, controller="kraft", elr=True, unclean=False)


def test_a_partition_without_a_leader_stays_offline_when_another_replica_dies() -> None:
    partition = Partition(replicas=(11, 21), leader=None, isr=(11,))
    came = outcome(partition, [21], {21, 31}, controller="zookeeper", elr=False, unclean=False)
    assert came.partition == partition
    assert came.transitions == ((OFFLINE, OFFLINE),)


PARTITIONS = st.builds(
    lambda held, in_sync, leads, least: Partition(
        replicas=tuple(held),
        isr=tuple(sorted(in_sync & set(held))) or (held[0],),
        leader=(sorted(in_sync & set(held)) or [held[0]])[leads % len(in_sync & set(held) or {0})],
        min_insync_replicas=least,
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
        came = outcome(partition, brokers, range(1, 7), controller=controller, elr=elr, unclean=unclean, controlled_shutdown=controlled)
        after = came.partition
        assert after.leader not in brokers
        if after.leader is not None:
            assert after.leader in after.isr
            assert not set(after.isr) & set(brokers)
            if came.election is not Election.UNCLEAN and not unclean:
                assert after.leader in {*partition.isr, *partition.elr}
        assert all(state in ENTERED_FROM[target] for state, target in came.transitions)


@given(PARTITIONS, st.permutations(range(1, 7)), st.booleans(), st.booleans())
def test_zookeepers_failover_is_what_its_controller_does(partition: Partition, order: list[int], unclean: bool, controlled: bool) -> None:
    name = ("topic", 0)
    unclean_topics = frozenset({"topic"} if unclean else ())
    whole = frozenset(range(1, 7))
    context = zookeeper_controller.start_up(zookeeper_controller.Context({name: partition}, whole, unclean_topics=unclean_topics)).context
    left = set(whole)
    came = partition
    for broker in order:
        left.remove(broker)
        if controlled:
            context = zookeeper_controller.on_controlled_shutdown(context, broker).context
        context = zookeeper_controller.on_broker_failure(context, [broker]).context
        came = outcome(
            came, [broker], left | {broker}, controller="zookeeper", elr=False, unclean=unclean, controlled_shutdown=controlled
        ).partition
        assert came == context.partitions[name]
        assert state(came, left) is context.partition_states[name]


def returned(partition: Partition, broker: int, live_after: set[int], *, clean_stop: bool, unclean: bool = False) -> Outcome:
    return come_back(partition, broker, live_after, controller="kraft", elr=True, unclean=unclean, clean_stop=clean_stop)


def test_a_killed_member_of_the_elr_never_leads_by_it_and_the_last_known_leader_waits_until_it_is_empty() -> None:
    # min 2, all three killed: 31 is in the ELR with 21, and was the last leader
    down = fail_in_order(led(2), [11, 21, 31], LIVE, controller="kraft", elr=True, unclean=False)
    assert (down.leader, down.isr, set(down.elr), down.last_known_elr) == (None, (), {21, 31}, (31,))
    alone = returned(down, 31, {31}, clean_stop=False).partition
    assert (alone.leader, alone.elr) == (None, (21,))
    both = returned(alone, 21, {21, 31}, clean_stop=False)
    assert (both.partition.leader, both.partition.isr, both.partition.recovering) == (31, (31,), True)
    assert both.election is Election.LAST_KNOWN_LEADER


def test_after_a_stop_in_order_the_first_of_the_elr_to_come_back_leads_and_the_others_stay_in_it() -> None:
    down = fail_in_order(led(2), [11, 21, 31], LIVE, controller="kraft", elr=True, unclean=False)
    back = returned(down, 21, {21}, clean_stop=True)
    assert (back.partition.leader, back.partition.isr, back.partition.elr) == (21, (21,), (31,))
    assert (back.election, back.partition.recovering) == (Election.OFFLINE, False)


def test_with_unclean_election_any_replica_leads_the_moment_it_is_back() -> None:
    down = fail_in_order(led(2), [11, 21, 31], LIVE, controller="kraft", elr=True, unclean=True)
    back = returned(down, 11, {11}, clean_stop=False, unclean=True)
    assert (back.partition.leader, back.partition.isr, back.partition.elr, back.partition.last_known_elr) == (11, (11,), (), ())
    assert back.election is Election.UNCLEAN


def test_in_zookeeper_the_last_member_of_the_isr_leads_again_once_it_is_back() -> None:
    down = fail(led(1, 11), 11, set(), controller="zookeeper", elr=False, unclean=False)
    back = come_back(down, 11, {11}, controller="zookeeper", elr=False, unclean=False, clean_stop=False)
    assert (back.partition.leader, back.partition.isr) == (11, (11,))
    assert back.transitions == ((OFFLINE, OFFLINE), (OFFLINE, ONLINE))
