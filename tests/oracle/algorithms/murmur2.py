"""Utils.murmur2 and toPositive of a key."""

from __future__ import annotations

import random
from typing import Any

from kafka_model.partitioner.key_hash import murmur2, to_positive

PROGRAMS = {"2.0.0": "Murmur2", "3.9.2": "Murmur2", "4.3.1": "Murmur2"}
RECORDED = 5_000


def case(rng: random.Random) -> dict[str, Any]:
    """Draw a key of 0 to 40 bytes."""
    return {"key": rng.randbytes(rng.randrange(41)).hex()}


def answer(case: dict[str, Any], kafka: str) -> list[int]:
    """List the hash, and the hash without its sign bit."""
    hashed = murmur2(bytes.fromhex(case["key"]))
    return [hashed, to_positive(hashed)]
