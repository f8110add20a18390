"""Hashing and placement in batch beside one Java thread, on the same keys and topics in one run:

    python -m tests.benchmarks.batches

Nanoseconds of processor time for a key or a partition: the least of the model's ten runs, the least of Java's forty. The model hashes
as the pipeline does, out of Arrow's buffers, and places by the table of patterns, whose making is counted.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from kafka_model.partitioner.key_hash import _loop_loaded, murmur2, murmur2_batch
from kafka_model.placement.zookeeper import patterns, place, place_batch
from tests.oracle import java

KEYS, BROKERS, TOPICS, PARTITIONS = 200_000, 30, 2_000, 50
RUNS, JAVA_RUNS = 10, 40


def main() -> None:
    print(f"{'':52}{'model':>9}{'Java':>9}{'ratio':>8}    nanoseconds each")
    hashing()
    for name, racks in (("rack-unaware", 0), ("rack-aware, 3 racks", 3), ("rack-aware, 10 racks", 10)):
        placing(name, racks)


def hashing() -> None:
    rng = random.Random("batches")
    keys = [rng.randbytes(rng.randint(8, 24)) for _ in range(KEYS)]
    data = np.frombuffer(b"".join(keys), np.uint8)
    offsets = np.concatenate([[0], np.cumsum([len(key) for key in keys])]).astype(np.int32)
    assert murmur2_batch(data, offsets)[:99].tolist() == [murmur2(key) for key in keys[:99]]
    took = _java("Murmur2", "4.3.1", {"keys": [key.hex() for key in keys]})
    _tell(f"murmur2, {KEYS:,} keys of 8 to 24 bytes: numpy", lambda: murmur2_batch(data, offsets), took, KEYS)
    _loop_loaded()(data, offsets)  # compiled, as in a batch of millions
    _tell(f"murmur2, {KEYS:,} keys of 8 to 24 bytes: numba", lambda: murmur2_batch(data, offsets), took, KEYS)


def placing(name: str, racks: int) -> None:
    rng = random.Random(name)
    brokers = {broker: f"rack-{broker % racks}" if racks else None for broker in range(BROKERS)}
    starts = [rng.randrange(BROKERS) for _ in range(TOPICS)]
    partitions = np.tile(np.arange(PARTITIONS), TOPICS)
    start = np.repeat(np.array(starts), PARTITIONS)

    def placed() -> Any:
        return place_batch(patterns(brokers, 3), partitions, start_index=start, shift=start)

    assert list(map(tuple, placed()[:PARTITIONS])) == place(brokers, PARTITIONS, 3, start_index=starts[0], shift=starts[0])
    question = {
        "brokers": [list(broker) for broker in brokers.items()],
        "partitions": PARTITIONS,
        "replication_factor": 3,
        "starts": starts,
    }
    took = _java("AdminUtilsAssignment", "3.9.2", question)
    _tell(f"{name}: {TOPICS:,} topics of {PARTITIONS} on {BROKERS} brokers", placed, took, TOPICS * PARTITIONS)


def _java(program: str, kafka: str, question: dict[str, Any]) -> float:
    nanos: list[int] = java.ask(program, kafka, [question | {"repeat": JAVA_RUNS}])[0]["answer"]
    return min(nanos)


def _tell(name: str, answer: Callable[[], object], took: float, each: int) -> None:
    model = min(_nanos(answer) for _ in range(RUNS))
    print(f"{name:52}{model / each:>9.1f}{took / each:>9.1f}{model / took:>8.2f}", flush=True)


def _nanos(answer: Callable[[], object]) -> int:
    began = time.process_time_ns()
    answer()
    return time.process_time_ns() - began


if __name__ == "__main__":
    main()
