"""RoundRobinPartitioner: a counter from 0, for records with and without keys."""

from __future__ import annotations

import random
from typing import Any

from kafka_model.partitioner.java_client import round_robin_partition
from tests.oracle import partitioners

PROGRAMS = {"2.8.2": "Partitioners", "3.9.2": "Partitioners", "4.3.1": "Partitioners"}
RECORDED = 500
SINCE = "2.4.0"


def case(rng: random.Random) -> dict[str, Any]:
    """Draw records with and without keys for a topic with and without leaders."""
    question = partitioners.case(rng, "RoundRobinPartitioner")
    return {**question, "steps": [step for step in question["steps"] if step[0] == "send"]}


def answer(case: dict[str, Any], kafka: str) -> list[int]:
    """List the partition of each record."""
    counter, chosen = 0, []
    for _ in case["steps"]:
        partition, counter = round_robin_partition(counter, partitions=len(case["topic"]), available=partitioners.available(case))
        chosen.append(partition)
    return chosen
