"""ReplicationControlManager while brokers are fenced and return, and leaders are balanced."""

from __future__ import annotations

import random
from dataclasses import asdict
from typing import Any

from kafka_model.election.partition import Partition
from kafka_model.election.preferred_leaders import balance_leaders
from kafka_model.failover.broker_failure import fail_brokers, return_broker
from kafka_model.release import parse_release

PROGRAMS = {"4.3.1": "KRaftController"}
RECORDED = 600
SINCE = "4.0.0"


def case(rng: random.Random) -> dict[str, Any]:
    """Draw up to 4 partitions of a topic on up to 7 brokers, and up to 10 deaths, returns after a kill or a stop, and balances."""
    brokers = rng.sample(range(1, 40), rng.randint(1, 7))
    factor = rng.choice([1, 2, 3, 3, len(brokers)])
    partitions = []
    for _ in range(rng.randint(1, 4)):
        replicas = rng.sample(brokers, min(len(brokers), factor))
        isr = rng.sample(replicas, rng.choice([len(replicas), len(replicas), rng.randint(1, len(replicas))]))
        partitions.append(
            {"replicas": replicas, "leader": rng.choice([*isr, replicas[0] if replicas[0] in isr else isr[0]]), "isr": isr, "elr": [],
             "last_known_elr": [], "leader_epoch": rng.randint(0, 5), "partition_epoch": rng.randint(5, 9)}
        )  # fmt: skip
    live, steps = set(brokers), []
    for _ in range(rng.randint(1, 10)):
        kind = rng.choice(["fence", "fence", "return", "return", "balance"])
        if kind == "fence" and live:
            broker = rng.choice(sorted(live))
            live.remove(broker)
            steps.append([kind, broker])
        elif kind == "return" and live < set(brokers):
            broker = rng.choice(sorted(set(brokers) - live))
            live.add(broker)
            steps.append([kind, broker, rng.random() < 0.5])
        else:
            steps.append(["balance"])
    question = {"brokers": brokers, "dead": [], "partitions": partitions, "elr": rng.random() < 0.7}
    return {**question, "min_isr": rng.choice([1, 2, 2, 3]), "unclean": rng.random() < 0.3, "steps": steps}


def answer(case: dict[str, Any], kafka: str) -> list[Any]:
    """List the registrations after each step."""
    partitions = [
        Partition(
            **{name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()},
            min_insync_replicas=case["min_isr"],
            topic_replication_factor=len(case["partitions"][0]["replicas"]),
        )
        for fields in case["partitions"]
    ]
    live = set(case["brokers"]) - set(case["dead"])
    elr, version = case["elr"], parse_release(kafka)
    rules: dict[str, Any] = {"controller": "kraft", "elr": elr, "unclean": case["unclean"], "version": version}
    answers = []
    for kind, *about in case["steps"]:
        if kind == "fence":
            partitions = [fail_brokers(partition, about, live, **rules).partition for partition in partitions]
            live = live - {about[0]}
        elif kind == "return":
            live = live | {about[0]}
            partitions = [return_broker(partition, about[0], live, clean_stop=about[1], **rules).partition for partition in partitions]
        else:
            changed = balance_leaders(dict(enumerate(partitions)), acceptable=live, elr=elr, version=version)
            partitions = [changed.get(number, partition) for number, partition in enumerate(partitions)]
        answers.append([_registration(partition) for partition in partitions])
    return answers


def _registration(partition: Partition) -> dict[str, Any]:
    registration = asdict(partition)
    for name in ("min_insync_replicas", "topic_replication_factor", "adding_replicas", "removing_replicas"):
        del registration[name]
    return registration
