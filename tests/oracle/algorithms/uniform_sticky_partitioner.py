"""UniformStickyPartitioner: sticky, for records with and without keys."""

from __future__ import annotations

import random
from typing import Any

from kafka_model.partitioner.java_client import next_sticky
from tests.oracle import partitioners

PROGRAMS = {"2.8.2": "Partitioners", "3.9.2": "Partitioners"}
RECORDED = 500
SINCE = "2.4.0"
UNTIL = "3.9.2"


def case(rng: random.Random) -> dict[str, Any]:
    """Draw records with and without keys for a topic with and without leaders."""
    return partitioners.case(rng, "UniformStickyPartitioner")


def answer(case: dict[str, Any], kafka: str) -> list[int]:
    """List the partition after each step."""
    draw, available, partitions = partitioners.draws(case["seed"]), partitioners.available(case), len(case["topic"])
    chosen: list[int] = []
    sticky = None
    for kind, *_ in case["steps"]:
        previous = chosen[-1] if kind == "new_batch" else -1
        sticky = next_sticky(sticky, previous, partitions=partitions, available=available, draw=draw)
        chosen.append(previous if kind == "new_batch" else sticky)
    return chosen
