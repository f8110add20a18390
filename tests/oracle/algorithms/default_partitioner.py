"""DefaultPartitioner: the counter of 2.0, the sticky partition of 2.4 and later, and the hash of a key in both."""

from __future__ import annotations

import random
from typing import Any

from kafka_model.partitioner.java_client import default_partition, next_sticky, partition_for_key
from kafka_model.release import Release, parse_release
from tests.oracle import partitioners

PROGRAMS = {"2.0.0": "Partitioners", "2.8.2": "Partitioners", "3.9.2": "Partitioners"}
RECORDED = 500
UNTIL = "3.9.2"


def case(rng: random.Random) -> dict[str, Any]:
    """Draw records with and without keys for a topic with and without leaders."""
    return partitioners.case(rng, "internals.DefaultPartitioner")


def answer(case: dict[str, Any], kafka: str) -> list[int]:
    """List the partition after each step."""
    draw, available, partitions = partitioners.draws(case["seed"]), partitioners.available(case), len(case["topic"])
    sticks = parse_release(kafka) >= Release(2, 4, 0)
    chosen: list[int] = []
    counter = sticky = None
    for kind, *key in case["steps"]:
        if kind == "new_batch":
            if sticks:
                sticky = next_sticky(sticky, chosen[-1], partitions=partitions, available=available, draw=draw)
            chosen.append(chosen[-1])
        elif key[0] is not None:
            chosen.append(partition_for_key(bytes.fromhex(key[0]), partitions))
        elif not sticks:
            counter = draw() if counter is None else counter
            partition, counter = default_partition(None, counter, partitions=partitions, available=available)
            chosen.append(partition)
        else:
            sticky = next_sticky(sticky, -1, partitions=partitions, available=available, draw=draw)
            chosen.append(sticky)
    return chosen
