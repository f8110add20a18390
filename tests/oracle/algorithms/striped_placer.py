"""StripedReplicaPlacer.place with a seeded random source, the number of draws included."""

from __future__ import annotations

import random
from typing import Any

from kafka_model.java.random_numbers import JavaRandom
from kafka_model.placement.kraft import UsableBroker, place_striped
from tests.oracle.algorithms.admin_utils import RACKS

PROGRAMS = {"3.9.2": "StripedPlacement", "4.3.1": "StripedPlacement"}
RECORDED = 1_000
SINCE = "3.3.0"


def case(rng: random.Random) -> dict[str, Any]:
    """Draw 1 to 20 brokers on up to 10 racks or none, some or all fenced, sometimes with more partitions than brokers."""
    ids = rng.sample(range(rng.choice([20, 2_000])), rng.choice([1, 2, 3, *range(1, 21)]))
    racks: list[str | None] = [*rng.sample(RACKS, rng.randint(0, len(RACKS))), rng.choice([None, "z"])]
    fenced = rng.choice([0, 0, 0.2, 0.5, 0.9, 1])
    brokers = [[broker, rng.choice(racks), rng.random() < fenced] for broker in ids]
    replication_factor = rng.choice([1, 2, 3, rng.randint(1, len(ids)), rng.randint(1, len(ids)), len(ids), len(ids) + 1, 0])
    return {
        "brokers": brokers,
        "partitions": rng.choice([1, 3, rng.randint(1, 60)]),
        "replication_factor": replication_factor,
        "seed": rng.randrange(2**48),
    }


def answer(case: dict[str, Any], kafka: str) -> list[Any]:
    """List the replicas of each partition, and the next number of the random source."""
    draws = JavaRandom(case["seed"])
    brokers = [UsableBroker(*broker) for broker in case["brokers"]]
    return [*place_striped(brokers, case["partitions"], case["replication_factor"], random=draws), draws.next_int()]
