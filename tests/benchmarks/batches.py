"""Hash keys and place partitions in batches, compared with one Java thread on the same keys and topics.

    python -m tests.benchmarks.batches

Print nanoseconds of processor time per key or partition: the minimum of ten runs of the model and of forty runs of Java. The model
hashes keys from Arrow's buffers, as the pipeline does. It places partitions by a table of all distinct placements, as
`jobs/steps/replica_assignment.py` does; the time to build the table is included.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from kafka_model.partitioner.key_hash import murmur2
from kafka_model.partitioner.key_hash_loops import murmur2_batch
from kafka_model.placement.zookeeper import alternate_racks, place, replicas_rack_aware, replicas_rack_unaware
from tests.oracle import java

KEYS, BROKERS, TOPICS, PARTITIONS = 200_000, 30, 2_000, 50
RUNS, JAVA_RUNS = 10, 40

Numbers = npt.NDArray[np.int64]
Placements = npt.NDArray[np.int32]  # replicas by first index and shift


def main() -> None:
    print(f"{'':52}{'model':>9}{'Java':>9}{'ratio':>8}    nanoseconds each")
    compare_hashing()
    for name, racks in (("rack-unaware", 0), ("rack-aware, 3 racks", 3), ("rack-aware, 10 racks", 10)):
        compare_placement(name, racks)


def compare_hashing() -> None:
    """Compare murmur2, compiled."""
    rng = random.Random("batches")
    keys = [rng.randbytes(rng.randint(8, 24)) for _ in range(KEYS)]
    data = np.frombuffer(b"".join(keys), np.uint8)
    offsets = np.concatenate([[0], np.cumsum([len(key) for key in keys])]).astype(np.int32)
    assert murmur2_batch(data, offsets)[:99].tolist() == [murmur2(key) for key in keys[:99]]
    java_nanos = _java_nanos("Murmur2", "4.3.1", {"keys": [key.hex() for key in keys]})
    _report(f"murmur2, {KEYS:,} keys of 8 to 24 bytes", lambda: murmur2_batch(data, offsets), java_nanos, KEYS)


def compare_placement(name: str, racks: int) -> None:
    """Compare AdminUtils' placement of topics; 0 racks: without rack awareness."""
    rng = random.Random(name)
    brokers = {broker: f"rack-{broker % racks}" if racks else None for broker in range(BROKERS)}
    starts = [rng.randrange(BROKERS) for _ in range(TOPICS)]
    partitions = np.tile(np.arange(PARTITIONS), TOPICS)
    start = np.repeat(np.array(starts), PARTITIONS)

    def place_all() -> Any:
        return place_batch(distinct_placements(brokers, 3), partitions, start_index=start, shift=start)

    assert list(map(tuple, place_all()[:PARTITIONS])) == place(brokers, PARTITIONS, 3, start_index=starts[0], shift=starts[0])
    java_input = {
        "brokers": [list(broker) for broker in brokers.items()],
        "partitions": PARTITIONS,
        "replication_factor": 3,
        "starts": starts,
    }
    java_nanos = _java_nanos("AdminUtilsAssignment", "3.9.2", java_input)
    _report(f"{name}: {TOPICS:,} topics of {PARTITIONS} on {BROKERS} brokers", place_all, java_nanos, TOPICS * PARTITIONS)


def distinct_placements(brokers: Mapping[int, str | None], replication_factor: int) -> Placements:
    """List the replicas of a partition for every first index and every shift that makes a difference."""
    shifts = max(1, len(brokers) - 1)
    positions = [(first_index, shift) for first_index in range(len(brokers)) for shift in range(shifts)]
    racks = {broker: rack for broker, rack in brokers.items() if rack is not None}
    if racks:
        arranged = alternate_racks(racks)
        rows = [replicas_rack_aware(racks, arranged, first_index, shift, replication_factor) for first_index, shift in positions]
    else:
        rows = [replicas_rack_unaware(list(brokers), first_index, shift, replication_factor) for first_index, shift in positions]
    return np.array(rows, dtype=np.int32).reshape(len(brokers), shifts, replication_factor)


def place_batch(placements: Placements, partitions: Numbers, *, start_index: Numbers, shift: Numbers) -> Placements:
    """Look up the replicas of many partitions of new topics, one row each."""
    brokers, shifts, _ = placements.shape
    first_index = _modulo(partitions + start_index, brokers)
    rows = first_index * shifts + _modulo(partitions // brokers + shift, shifts)
    replicas: Placements = placements.reshape(brokers * shifts, -1).take(rows, axis=0)
    return replicas


def _modulo(numbers: Numbers, divisor: int) -> Numbers:
    """Return numbers % divisor for non-negative numbers. numpy's remainder takes five times as long as its division."""
    remainder: Numbers = numbers - numbers // divisor * divisor
    return remainder


def _java_nanos(program: str, kafka_version: str, java_input: dict[str, Any]) -> int:
    """Return the nanoseconds of the fastest run in Java."""
    nanos: list[int] = java.ask(program, kafka_version, [java_input | {"repeat": JAVA_RUNS}])[0]["answer"]
    return min(nanos)


def _report(name: str, run: Callable[[], object], java_nanos: int, items: int) -> None:
    """Run the model and print its time per item, Java's, and their ratio."""
    model_nanos = min(_nanos(run) for _ in range(RUNS))
    print(f"{name:52}{model_nanos / items:>9.1f}{java_nanos / items:>9.1f}{model_nanos / java_nanos:>8.2f}", flush=True)


def _nanos(run: Callable[[], object]) -> int:
    started = time.process_time_ns()
    run()
    return time.process_time_ns() - started


if __name__ == "__main__":
    main()
