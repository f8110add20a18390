"""DefaultPartitioner: the counter of 2.0, the sticky partition of 2.4 and later, and a key's hash in both."""

from __future__ import annotations

import random
from typing import Any

from kafka_model.partitioner.java_client import default_partition, next_sticky, partition_for_key
from kafka_model.release import release
from tests.oracle import partitioners

PROGRAMS = {"2.0.0": "Partitioners", "2.8.2": "Partitioners", "3.9.2": "Partitioners"}
RECORDED = 500
KAFKAS = ("2.0", "3.9")


def case(rng: random.Random) -> dict[str, Any]:
    """Records with and without keys for a topic with and without leaders."""
    return partitioners.case(rng, "internals.DefaultPartitioner")


def answer(case: dict[str, Any], kafka: str) -> list[int]:
    """The partition after each step."""
    draw, available, partitions = partitioners.draws(case["seed"]), partitioners.available(case), len(case["topic"])
    sticks = release(kafka) >= (2, 4)
    placed: list[int] = []
    counter = sticky = None
    for kind, *key in case["steps"]:
        if kind == "new_batch":
            if sticks:
                sticky = next_sticky(sticky, placed[-1], partitions=partitions, available=available, draw=draw)
            placed.append(placed[-1])
        elif key[0] is not None:
            placed.append(partition_for_key(bytes.fromhex(key[0]), partitions))
        elif not sticks:
            counter = draw() if counter is None else counter
            partition, counter = default_partition(None, counter, partitions=partitions, available=available)
            placed.append(partition)
        else:
            sticky = next_sticky(sticky, -1, partitions=partitions, available=available, draw=draw)
            placed.append(sticky)
    return placed
