"""Columns that depend on the order of the deaths: compared with all orders, and with recordings of brokers that died at once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import permutations
from typing import Any

import pytest

from jobs.failure.death_order import order_dependent_columns
from jobs.failure.patterns import AS_TOPIC, Case, Event, counts_of, outcome_of
from tests.jobs.failure.test_outcomes import HEALTHY, random_cases
from tests.jobs.test_real_failures import KILLED, RECORDINGS, State, states, steps_of

# Recordings of brokers that died at once, with their file and the order in which the controller fenced them.
AT_ONCE = {
    recording: (step["file"], step["fenced"])
    for recording in RECORDINGS
    for step in steps_of(recording)[:1]
    if step["step"] == "kill" and len(step["fenced"]) > 1 and step["file"]
}


def outcomes_in_all_orders(case: Case) -> list[dict[str, object]]:
    """Return the outcomes with all orders of the deaths, with sets of brokers as sets."""
    outcomes = []
    for order in permutations(case.event.dying):
        outcome = outcome_of(case._replace(event=case.event._replace(dying=order)))
        outcomes.append(outcome | {name: outcome[name] and frozenset(outcome[name]) for name in ("isr", "elr", "last_known_elr")})
    return outcomes


@pytest.mark.parametrize("kraft", [True, False])
def test_the_first_and_the_last_deaths_show_what_any_order_changes(kraft: bool) -> None:
    found = set()
    for case in random_cases(2_000, kraft=kraft):
        first, *others = outcomes_in_all_orders(case)
        changed = [name for name in first if any(other[name] != first[name] for other in others)]
        assert order_dependent_columns(case) == changed, case
        found.update(changed)
    in_kraft = {"election", "elr", "last_known_elr", "metadata_records"}
    assert found == {"isr", "transitions", "unclean", "leader_epochs", *(in_kraft if kraft else ())}


@pytest.mark.parametrize("kraft", [True, False])
def test_no_leader_and_no_count_depends_on_the_order(kraft: bool) -> None:
    for case in random_cases(500, kraft=kraft):
        outcomes = outcomes_in_all_orders(case)
        leaders = {(outcome["leader"], outcome["leader"] is not None and outcome["unclean"]) for outcome in outcomes}
        assert len(leaders) == len({counts_of(outcome) for outcome in outcomes}) == 1, case


@pytest.mark.parametrize(
    ("min_isr", "dying", "expected"),
    [
        (1, (1, 2), ["transitions", "leader_epochs"]),  # the ELR stays empty
        (2, (1, 2), ["transitions", "elr", "leader_epochs"]),
        (2, (2, 3), ["elr"]),
        (3, (2, 3), []),  # both join the ELR
        (2, (2,), []),
        (2, (1, 2, 3), ["transitions", "elr", "last_known_elr", "leader_epochs"]),
    ],
)
def test_the_elr_lacks_the_first_to_die_and_the_last_one_was_the_leader(min_isr: int, dying: tuple[int, ...], expected: list[str]) -> None:
    pattern = HEALTHY._replace(elr_enabled=1, min_insync_replicas=min_isr)
    columns = order_dependent_columns(Case(pattern, Event(len(dying), 0, AS_TOPIC, 0, dying)))
    assert sorted(columns or ()) == sorted(expected)


def test_without_a_quorum_the_order_of_all_deaths_decides() -> None:
    assert order_dependent_columns(Case(HEALTHY, Event(0, 1, AS_TOPIC, 0, (1,)))) is None


def recorded_cases(recording: str, order: list[int]) -> Iterator[tuple[Case, tuple[int, ...], State]]:
    """Yield each partition that loses several replicas at once: its case with this order, its replicas, and its recorded state afterwards."""
    dump = (KILLED / recording / "0-before.txt").read_text()
    kraft = "Elr: \t" in dump
    before, after = states(recording, "0-before.txt"), states(recording, AT_ONCE[recording][0])
    min_isr = {topic: int(number) for topic, number in re.findall(r"Topic: (\S+)\t.*Configs: .*min.insync.replicas=(\d+)", dump)}
    for topic, number, listed in re.findall(r"\tTopic: (\S+)\tPartition: (\d+)\tLeader: \S+\tReplicas: (\S+)", dump):
        replicas = tuple(map(int, listed.split(",")))
        state = before[topic, int(number)]
        dying = tuple(replicas.index(broker) + 1 for broker in order if broker in replicas)
        if len(dying) > 1 and state.leader is not None:
            isr = tuple(sorted(replicas.index(broker) + 1 for broker in state.isr))
            pattern = HEALTHY._replace(
                kraft=int(kraft),
                elr_enabled=int(kraft),
                min_insync_replicas=min_isr.get(topic, 1),
                replication_factor=len(replicas),
                replicas=len(replicas),
                leader=replicas.index(state.leader) + 1,
                isr=isr,
                live=tuple(range(1, len(replicas) + 1)),
            )
            yield Case(pattern, Event(len(dying), 0, AS_TOPIC, 0, dying)), replicas, after[topic, int(number)]


def differing_columns(case: Case, replicas: tuple[int, ...], recorded: State) -> set[str]:
    """Return the columns in which the outcome of a case differs from a recorded state."""
    outcome: dict[str, Any] = outcome_of(case)

    def brokers(name: str) -> frozenset[int] | None:
        return None if outcome[name] is None else frozenset(replicas[position - 1] for position in outcome[name])

    leader = outcome["leader"] and replicas[outcome["leader"] - 1]
    computed = State(leader, brokers("isr") or frozenset(), brokers("elr"), brokers("last_known_elr"))
    return {name for name in State._fields if getattr(computed, name) != getattr(recorded, name)}


def test_the_order_of_ids_differs_from_a_real_controller_only_in_the_named_columns() -> None:
    differing = set()
    for recording, (_, fenced) in AT_ONCE.items():
        for case, replicas, recorded in recorded_cases(recording, fenced):
            assert differing_columns(case, replicas, recorded) == set()
        for case, replicas, recorded in recorded_cases(recording, sorted(fenced)):
            differs = differing_columns(case, replicas, recorded)
            assert differs <= set(order_dependent_columns(case) or ()), (recording, case)
            differing |= differs
    assert differing >= {"elr", "last_known_elr"}
