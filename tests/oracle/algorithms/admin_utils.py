"""AdminUtils.assignReplicasToBrokers: rack-unaware, rack-aware, mixed racks, added partitions, drawn and given start indexes, errors."""

from __future__ import annotations

import random
from typing import Any

from kafka_model.java.random_numbers import JavaRandom
from kafka_model.placement.zookeeper import place

PROGRAMS = {"2.0.0": "AdminUtilsAssignment200", "3.9.2": "AdminUtilsAssignment"}
RECORDED = 1_000
UNTIL = "3.9.2"
ERRORS = {"AdminOperationException": "MixedRacks"}
RACKS = ["a", "b", "rack-1", "rack-10", "rack-2", "", "\uffee", "\U0001f600", "\u00e9", "us-east-1a"]


def case(rng: random.Random) -> dict[str, Any]:
    """Draw 1 to 14 brokers with gaps in their ids, in any order, on uneven racks, and a replication factor from -1 to too many."""
    ids = rng.sample(range(rng.choice([14, 40, 2_000])), rng.choice([1, 2, 3, *range(1, 15)]))
    racks = rng.sample(RACKS, rng.randint(1, 5))
    lacking = rng.choice([0, 0, 0, 1, 1, 0.1])  # the share of brokers without a rack
    brokers = [[broker, None if rng.random() < lacking else rng.choice(racks)] for broker in ids]
    replication_factor = rng.choice([1, 2, 3, len(ids), len(ids), rng.randint(1, len(ids)), len(ids) + 1, 0, -1])
    question = {
        "brokers": brokers,
        "partitions": rng.choice([1, 2, rng.randint(1, 40), rng.randint(1, 40), 0]),
        "replication_factor": replication_factor,
    }
    question["start_partition"] = rng.choice([-1, -1, 0, 1, len(ids), rng.randint(0, 50)])
    if rng.random() < 0.5:
        return {**question, "seed": rng.randrange(2**48)}
    return {**question, "start_index": rng.randint(0, 2 * len(ids))}


def answer(case: dict[str, Any], kafka: str) -> list[tuple[int, ...]]:
    """Place each partition."""
    if "seed" in case:  # AdminUtils draws the start, then the shift
        draws = JavaRandom(case["seed"])
        start, shift = draws.next_int(len(case["brokers"])), draws.next_int(len(case["brokers"]))
    else:
        start = shift = case["start_index"]
    brokers = {broker: rack for broker, rack in case["brokers"]}
    question = case["partitions"], case["replication_factor"]
    return place(brokers, *question, start_index=start, shift=shift, start_partition=case["start_partition"])
