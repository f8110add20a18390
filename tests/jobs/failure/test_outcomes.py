"""Outcomes of patterns: what their key contains, their ids, and which of them occur."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest

from jobs.failure.outcomes import OutcomeCollector, outcome_id, outcome_numbers, pattern_columns
from jobs.failure.patterns import AS_TOPIC, Case, Event, Pattern, canonical, outcome_of
from jobs.schema import FAILOVER_PATTERN
from kafka_model.election.partition import Partition
from kafka_model.failover.broker_failure import KRAFT_RULES_SINCE, fail_brokers
from kafka_model.release import Release

NEWEST_RULES = len(KRAFT_RULES_SINCE) - 1
HEALTHY = Pattern(1, 0, 0, NEWEST_RULES, NEWEST_RULES, 2, 2, 3, 3, 1, (1, 2, 3), (), (), (1, 2, 3))
LEADER_DIES = Event(1, 0, AS_TOPIC, 0, (1,))


def random_cases(count: int, *, kraft: bool) -> Iterator[Case]:
    """Yield patterns with any ISR, ELR and live replicas, in which some of the live replicas fail."""
    rng = random.Random(11)
    for _ in range(count):
        replicas = range(1, rng.randint(1, 5) + 1)
        elr = kraft and rng.random() < 0.6
        isr = tuple(sorted(rng.sample(replicas, rng.randint(0 if elr else 1, len(replicas)))))
        live = tuple(sorted(rng.sample(replicas, rng.randint(1, len(replicas)))))
        leaders = [position for position in isr if position in live]
        leader = rng.choice(leaders) if leaders else 0
        eligible = tuple(position for position in replicas if position not in isr and rng.random() < 0.5) if elr else ()
        last_known = (rng.choice(replicas),) if elr and not leader and rng.random() < 0.5 else ()
        dying = tuple(rng.sample(live, rng.randint(1, len(live))))
        min_isr = rng.randint(1, 4)
        rules = (int(kraft), int(elr), rng.randint(0, 1), NEWEST_RULES, NEWEST_RULES, min_isr, min_isr, len(replicas), len(replicas))
        yield Case(Pattern(*rules, leader, isr, eligible, last_known, live), Event(len(dying), 0, rng.choice([AS_TOPIC, 0, 1]), 0, dying))


def failed(case: Case, *, controlled_shutdown: bool) -> object:
    """Return what kafka_model computes."""
    pattern, event = case
    before = Partition(
        tuple(range(1, pattern.replicas + 1)),
        pattern.leader or None,
        pattern.isr,
        pattern.elr,
        pattern.last_known_elr,
        pattern.min_insync_replicas,
    )
    return fail_brokers(
        before,
        event.dying,
        pattern.live,
        controller="kraft" if pattern.kraft else "zookeeper",
        elr=bool(pattern.elr_enabled),
        unclean=bool(pattern.topic_unclean if event.unclean == AS_TOPIC else event.unclean),
        controlled_shutdown=controlled_shutdown,
    )


def test_kraft_stops_a_broker_with_the_outcome_of_its_death() -> None:
    for case in random_cases(3_000, kraft=True):
        assert failed(case, controlled_shutdown=True) == failed(case, controlled_shutdown=False), case
        assert canonical(case) == canonical(with_shutdown(case))


def test_the_zookeeper_controller_distinguishes_them() -> None:
    cases = list(random_cases(300, kraft=False))
    assert any(failed(case, controlled_shutdown=True) != failed(case, controlled_shutdown=False) for case in cases)
    assert all(canonical(case) != canonical(with_shutdown(case)) for case in cases)


def with_shutdown(case: Case) -> Case:
    return Case(case.pattern, case.event._replace(controlled_shutdown=1))


def test_no_outcome_contains_the_broker_minus_1_that_4_0_records_for_a_lost_isr_without_a_leader() -> None:
    """A position of -1 would be the last member of a partition in the SQL of the view."""
    rules = KRAFT_RULES_SINCE.index(Release(3, 8, 0))
    without_leader = HEALTHY._replace(elr_enabled=1, election_rules=rules, oldest_election_rules=rules, leader=0, isr=(1,))
    outcome = outcome_of(canonical(Case(without_leader, LEADER_DIES)))
    assert (outcome["isr"], outcome["elr"], outcome["last_known_elr"]) == ((), (1,), ())


@pytest.mark.parametrize("kraft", [True, False])
def test_the_canonical_form_has_the_same_outcome(kraft: bool) -> None:
    for case in random_cases(1_000, kraft=kraft):
        assert outcome_of(canonical(case)) == outcome_of(case), case


@pytest.mark.parametrize(("topic", "override"), [(0, 1), (1, AS_TOPIC), (1, 1)])
def test_unclean_elections_of_the_topic_and_of_the_scenario_are_one_case(topic: int, override: int) -> None:
    case = Case(HEALTHY._replace(topic_unclean=topic), LEADER_DIES._replace(unclean=override))
    assert canonical(case) == Case(HEALTHY._replace(topic_unclean=1), LEADER_DIES)


def test_an_id_depends_on_nothing_but_the_case() -> None:
    """A change of this id gives the outcomes of earlier nights other ids than those of later ones."""
    assert outcome_id(Case(HEALTHY, LEADER_DIES)) == 7346535779226604700


def test_different_cases_have_different_ids() -> None:
    cases = {canonical(case) for kraft in (True, False) for case in random_cases(3_000, kraft=kraft)}
    assert len({outcome_id(case) for case in cases}) == len(cases) > 3_000


def test_the_columns_of_a_pattern_are_those_of_its_table() -> None:
    assert {"snapshot_id", "cluster_id", "scenario_set", *pattern_columns(Case(HEALTHY, LEADER_DIES))} == set(FAILOVER_PATTERN.schema.names)


def test_numbers_of_failures_follow_the_order_of_their_cases() -> None:
    follower = Case(HEALTHY, LEADER_DIES._replace(dying=(3,)))
    numbers = outcome_numbers([Case(HEALTHY, LEADER_DIES), follower], np.array([1, 0, 1]))
    assert numbers["leader"].tolist() == [1, 2, 1]
    assert numbers["leader_before"].tolist() == [1, 1, 1]
    assert numbers["outcome_id"][0] == numbers["outcome_id"][2] == outcome_id(follower)


def test_the_outcomes_that_occur_are_stored_once_per_scenario_set() -> None:
    outcomes, follower = OutcomeCollector(), Case(HEALTHY, LEADER_DIES._replace(dying=(3,)))
    sets = [("s", "a", "nightly"), ("s", "b", "nightly")]
    for _ in range(2):
        outcomes.add(sets, np.array([0, 0, 1]), [Case(HEALTHY, LEADER_DIES), follower], np.array([0, 1, 1]))
    outcomes.add(sets, np.array([], np.int64), [], np.array([], np.int64))
    rows = sorted((row["cluster_id"], row["dying"]) for row in outcomes.table().to_pylist())
    assert rows == [("a", [1]), ("a", [3]), ("b", [3])]
