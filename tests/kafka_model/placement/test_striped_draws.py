"""Draws that explain a topic: compared with every possible placement, and with topics whose replicas were moved by hand."""

from __future__ import annotations

import random
from itertools import islice, permutations, product

import pytest

from kafka_model.java.random_numbers import JavaRandom
from kafka_model.placement.kraft import UsableBroker, place_striped
from kafka_model.placement.striped_draws import Recovered, StripedCluster, recover
from tests.kafka_model.placement.scripted_placer import place_again
from tests.oracle.algorithm import golden
from tests.oracle.algorithms.striped_draws import moved_by_hand, states

# Racks of the brokers 1, 2, ...; a capital letter is the rack of a fenced broker.
SMALL_CLUSTERS = [("aab", 1, 4), ("aab", 2, 4), ("abc", 2, 4), ("abc", 1, 5), ("aaa", 2, 4), ("aaB", 2, 3), ("aBC", 2, 3), ("aAb", 1, 5)]


def brokers_of(racks: str) -> list[UsableBroker]:
    return [UsableBroker(number, rack.lower(), rack.isupper()) for number, rack in enumerate(racks, start=1)]


class EveryDraw(JavaRandom):
    """A random source that returns one sequence of draws after the other, until all have been returned."""

    def __init__(self) -> None:
        super().__init__(0)
        self._draws: list[tuple[int, int]] = []  # each draw and its bound
        self._position = 0

    def next_int(self, bound: int | None = None) -> int:
        assert bound is not None
        if self._position == len(self._draws):
            self._draws.append((0, bound))
        self._position += 1
        return self._draws[self._position - 1][0]

    def next_sequence(self) -> bool:
        while self._draws and self._draws[-1][0] + 1 == self._draws[-1][1]:
            self._draws.pop()
        if self._draws:
            drawn, bound = self._draws[-1]
            self._draws[-1] = drawn + 1, bound
        self._position = 0
        return bool(self._draws)


def every_placement(brokers: list[UsableBroker], partitions: int, factor: int) -> set[tuple[tuple[int, ...], ...]]:
    source, placements = EveryDraw(), set()
    while True:
        placements.add(tuple(place_striped(brokers, partitions, factor, random=source)))
        if not source.next_sequence():
            return placements


@pytest.mark.parametrize(("racks", "factor", "partitions"), SMALL_CLUSTERS)
def test_one_placement_explains_a_topic_if_and_only_if_the_placer_can_draw_it(racks: str, factor: int, partitions: int) -> None:
    brokers = brokers_of(racks)
    possible = every_placement(brokers, partitions, factor)
    cluster = StripedCluster(brokers)
    replicas = list(permutations(range(1, len(racks) + 1), factor))
    every_topic = [*product(replicas, repeat=partitions)]
    assert 0 < len(possible) < len(every_topic)
    rng = random.Random(0)
    for topic in [*rng.sample(sorted(possible), min(60, len(possible))), *rng.sample(every_topic, 60)]:
        recovered = recover([cluster], topic)
        assert (recovered.explained and len(recovered.placements) == 1) == (topic in possible)


def test_a_moved_replica_is_only_explained_by_draws_that_give_it() -> None:
    topics = explained = located = 0
    for recorded in islice(golden("striped_draws"), 100):
        move = moved_by_hand(recorded.case, recorded.result["answer"])
        if move is None:
            continue
        partition, moved = move
        recovered = recover(states(recorded.case), moved)
        topics += 1
        if recovered.explained:
            explained += 1
            placed = place_again(recorded.case["brokers"], recovered.placements, len(moved), recorded.case["replication_factor"])
            assert placed == moved
        else:
            located += recovered.first_unexplained == partition
    assert topics > 60
    assert explained < topics / 5
    assert located > 0.8 * (topics - explained)


SIX_BROKERS = [UsableBroker(number, rack) for number, rack in zip((11, 12, 21, 22, 31, 32), "aabbcc", strict=True)]
TOPIC = [(11, 21, 31), (22, 32, 12), (31, 11, 21), (12, 22, 32), (21, 31, 11), (32, 12, 22)]  # racks from a, the first broker of each


def recovered_with(partition: int, replicas: tuple[int, ...]) -> Recovered:
    return recover([StripedCluster(SIX_BROKERS)], [*TOPIC[:partition], replicas, *TOPIC[partition + 1 :]])


def test_the_offsets_of_the_first_round_follow_from_its_replicas() -> None:
    (placement,) = recover([StripedCluster(SIX_BROKERS)], TOPIC).placements
    assert (placement.first_partition, placement.rack_offset, placement.shuffles) == (0, 0, ())
    assert placement.broker_offsets == (0, None, 0, None, 0, None)  # no rack has fenced brokers


def test_a_replica_moved_in_the_middle_is_found_with_its_original_place() -> None:
    topic = place_striped(SIX_BROKERS, 12, 3, random=JavaRandom(5))
    assert topic[3] == (32, 11, 22)
    recovered = recover([StripedCluster(SIX_BROKERS)], [*topic[:3], (32, 11, 21), *topic[4:]])
    assert (recovered.explained, recovered.first_unexplained, recovered.moved) == (False, 3, {3: topic[3]})


def test_a_replica_moved_to_a_rack_out_of_turn_is_found_also_in_the_last_partition() -> None:
    recovered = recovered_with(5, (32, 22, 12))
    assert (recovered.first_unexplained, recovered.moved) == (5, {5: (32, 12, 22)})


def test_replicas_assigned_by_hand_have_no_placement() -> None:
    rng = random.Random(3)
    by_hand = [rng.sample([11, 12, 21, 22, 31, 32], 3) for _ in range(40)]
    recovered = recover([StripedCluster(SIX_BROKERS)], by_hand)
    assert (recovered.placements, recovered.moved, recovered.explained) == ((), {}, False)
    assert recovered.first_unexplained is not None


def test_partitions_added_while_a_broker_was_fenced_are_a_placement_of_their_own() -> None:
    fenced = [UsableBroker(broker.broker_id, broker.rack, broker.broker_id == 21) for broker in SIX_BROKERS]
    added = place_striped(fenced, 12, 3, random=JavaRandom(5))
    topic = [*TOPIC, *added]
    recovered = recover([StripedCluster(fenced), StripedCluster(SIX_BROKERS)], topic)
    assert [(placement.first_partition, placement.fenced) for placement in recovered.placements] == [(0, ()), (6, (21,))]
    assert recover([StripedCluster(SIX_BROKERS)], topic).explained is False


def test_a_partition_without_a_row_matches_any_placement() -> None:
    assert recover([StripedCluster(SIX_BROKERS)], [*TOPIC[:2], None, *TOPIC[3:]]).explained


def test_compiled_and_plain_search_agree() -> None:
    for recorded in islice(golden("striped_draws"), 60):
        clusters, replicas = states(recorded.case), recorded.result["answer"]
        move = moved_by_hand(recorded.case, replicas)
        for topic in (replicas, *([move[1]] if move else [])):
            assert recover(clusters, topic, compiled=True) == recover(clusters, topic)
