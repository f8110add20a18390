"""Files of a log, as read by FileRecords, OffsetIndex, TimeIndex and OffsetCheckpointFile."""

from __future__ import annotations

import random
import struct
from typing import Any

from kafka_model.log.file_formats import read_batches, read_offset_checkpoint, read_offset_index, read_time_index

PROGRAMS = {"4.3.1": "LogFiles"}
RECORDED = 500
SINCE = "4.0.0"


def case(rng: random.Random) -> dict[str, Any]:
    """Draw up to 8 batches of all compressions and kinds, sometimes truncated, indexes of a closed segment, and a checkpoint."""
    base = offset = rng.choice([0, 170_410, 2**40])
    log = b""
    for _ in range(rng.randint(0, 8)):
        count = rng.randint(1, 9)
        body = bytes(rng.randrange(40))
        attributes = rng.randrange(5) | rng.choice([0, 8, 16, 48])
        timestamp = rng.randrange(2**41)
        producer = rng.choice([(-1, -1, -1), (rng.randrange(2**50), rng.randrange(9), rng.randrange(2**31))])
        log += struct.pack(
            ">qiibIhiqqqhii", offset, 49 + len(body), rng.randrange(99), 2, rng.randrange(2**32), attributes, count - 1, timestamp,
            timestamp + rng.randrange(999), *producer, count,
        ) + body  # fmt: skip
        offset += count + rng.choice([0, 0, 5])
    if log and rng.random() < 0.3:
        log = log[: rng.randrange(len(log))]
    entries = sorted(rng.sample(range(1, 10_000), rng.randint(0, 6)))
    positions = sorted(rng.sample(range(1, 2**31), len(entries)))
    stamps = sorted(rng.sample(range(1, 2**41), len(entries)))
    index = b"".join(struct.pack(">ii", *entry) for entry in zip(entries, positions, strict=True))
    timeindex = b"".join(struct.pack(">qi", *entry) for entry in zip(stamps, entries, strict=True))
    marks = {(rng.choice(["orders", "a.b-c_d"]), number): rng.randrange(2**40) for number in range(rng.randint(0, 4))}
    checkpoint = "".join([f"0\n{len(marks)}\n", *(f"{topic} {number} {mark}\n" for (topic, number), mark in marks.items())])
    return {"log": log.hex(), "index": index.hex(), "timeindex": timeindex.hex(), "base_offset": base, "checkpoint": checkpoint}


def answer(case: dict[str, Any], kafka: str) -> list[Any]:
    """List the batches, the entries of both indexes, and the offsets of the checkpoint."""
    batches = [
        [
            batch.position, batch.size_bytes, batch.base_offset, batch.last_offset, batch.partition_leader_epoch, batch.compression,
            batch.log_append_time, batch.transactional, batch.control, batch.max_timestamp_ms, batch.producer_id, batch.producer_epoch,
            batch.base_sequence, batch.records,
        ]
        for batch in read_batches(bytes.fromhex(case["log"]))
    ]  # fmt: skip
    offsets = [[entry.relative_offset, entry.position] for entry in read_offset_index(bytes.fromhex(case["index"]))]
    times = [[entry.timestamp_ms, entry.relative_offset] for entry in read_time_index(bytes.fromhex(case["timeindex"]))]
    marks = {f"{topic}-{number}": mark for (topic, number), mark in read_offset_checkpoint(case["checkpoint"]).items()}
    return [batches, offsets, times, marks]
