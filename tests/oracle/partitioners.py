"""Shared parts of the partitioners' cases: topics, steps, and the numbers of ThreadLocalRandom from a seed (JDK 17 and 21)."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

_LONG = (1 << 64) - 1


def topic(rng: random.Random) -> list[list[Any]]:
    """Draw 1 to 8 partitions in the order of the metadata, often shuffled: [partition, rack of its leader, available]."""
    partitions = list(range(rng.choice([1, 2, 3, *range(1, 9)])))
    if rng.random() < 0.5:
        rng.shuffle(partitions)
    available = rng.choice([1, 1, 0.7, 0.3, 0])
    return [[partition, rng.choice([None, "a", "b", "c"]), rng.random() < available] for partition in partitions]


def sends(rng: random.Random) -> list[list[Any]]:
    """Draw records with a key, with the empty key and without a key, and full batches between them."""
    steps: list[list[Any]] = []
    for _ in range(rng.randint(1, 30)):
        key = rng.choice([None, None, None, "", rng.randbytes(rng.randrange(12)).hex()])
        steps.append(["new_batch"] if steps and rng.random() < 0.3 else ["send", key])
    return steps


def case(rng: random.Random, name: str) -> dict[str, Any]:
    """Draw a case for the partitioner of that class."""
    return {"class": f"org.apache.kafka.clients.producer.{name}", "topic": topic(rng), "seed": rng.randrange(2**63), "steps": sends(rng)}


def available(case: dict[str, Any]) -> list[int]:
    """List the partitions with a leader in the order of the metadata."""
    return [partition for partition, _, led in case["topic"] if led]


def draws(seed: int) -> Callable[[], int]:
    """Return ThreadLocalRandom.nextInt() of the main thread, whose id is 1, started with a seed."""
    state = seed

    def draw() -> int:
        nonlocal state
        state = (state + (1 << 1) + 0x9E3779B97F4A7C15) & _LONG
        mixed = (state ^ state >> 33) * 0xFF51AFD7ED558CCD & _LONG
        high = ((mixed ^ mixed >> 33) * 0xC4CEB9FE1A85EC53 & _LONG) >> 32
        return high - (1 << 32) if high >> 31 else high

    return draw
