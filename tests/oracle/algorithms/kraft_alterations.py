"""ReplicationControlManager while partitions are reassigned and min.insync.replicas changes, with some brokers fenced."""

from __future__ import annotations

import random
from dataclasses import asdict
from typing import Any

from kafka_model.election.alterations import change_min_isr, complete_reassignment
from kafka_model.election.partition import Partition
from kafka_model.failover.broker_failure import fail_brokers
from kafka_model.release import parse_release
from tests.oracle.algorithms import kraft_controller

PROGRAMS = {"4.3.1": "KRaftController"}
RECORDED = 600
SINCE = "4.0.0"
_COMPARED = ("replicas", "leader", "isr", "elr", "last_known_elr")


def case(rng: random.Random) -> dict[str, Any]:
    """Draw the partitions of kraft_controller, up to 3 deaths, and a new min.insync.replicas or a reassignment of the first partition."""
    question = kraft_controller.case(rng)
    brokers, first = question["brokers"], question["partitions"][0]
    deaths = [["fence", broker] for broker in rng.sample(brokers, min(len(brokers), rng.choice([0, 0, 0, 1, 2, 3])))]
    if rng.random() < 0.2:
        return question | {"steps": [*deaths, ["min_isr", rng.choice([1, 2, 3])]]}
    target = rng.choice([rng.sample(brokers, rng.randint(1, len(brokers))), rng.sample(first["replicas"], len(first["replicas"]))])
    return question | {"steps": [*deaths, ["reassign", 0, target]]}


def answer(case: dict[str, Any], kafka: str) -> list[dict[str, Any]] | None:
    """List the partitions after the last step; None: the reassignment does not complete."""
    partitions = [
        Partition(
            **{name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()},
            min_insync_replicas=case["min_isr"],
            topic_replication_factor=len(case["partitions"][0]["replicas"]) if number > 0 else None,
        )
        for number, fields in enumerate(case["partitions"])
    ]
    elr, version, live = case["elr"], parse_release(kafka), set(case["brokers"])
    rules: dict[str, Any] = {"controller": "kraft", "elr": elr, "unclean": case["unclean"], "version": version}
    for kind, *about in case["steps"]:
        if kind == "fence":
            partitions = [fail_brokers(partition, about, live, **rules).partition for partition in partitions]
            live = live - {about[0]}
        elif kind == "min_isr":
            partitions = [change_min_isr(partition, about[0]) for partition in partitions] if elr else partitions
        else:
            number, target = about
            reassigned = complete_reassignment(partitions[number], target, live=live, elr=elr, version=version)
            if reassigned is None:
                return None
            partitions[number] = reassigned
    return [{name: value for name, value in asdict(partition).items() if name in _COMPARED} for partition in partitions]


def same(model: list[dict[str, Any]] | None, kafka: list[list[dict[str, Any]] | None], case: dict[str, Any]) -> bool:
    """Compare the partitions after the last step."""
    after = kafka[-1]
    if model is None or after is None:
        return model is after
    return model == [{name: partition[name] for name in _COMPARED} for partition in after]
