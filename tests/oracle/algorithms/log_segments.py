"""UnifiedLog: how segments roll, the entries of their indexes, where lookups begin, and what retention deletes."""

from __future__ import annotations

import random
from typing import Any

from kafka_model.log.segments import Batch, LogConfig, Segment, append, deletable_by_size, deletable_by_time, lookup, lookup_time

PROGRAMS = {"4.3.1": "LogOfSegments"}
RECORDED = 500
SINCE = "4.1.0"


def case(rng: random.Random) -> dict[str, Any]:
    """Draw up to 60 batches with mostly rising timestamps, small segments with dense indexes, and a retention by size or time."""
    now = 1_000_000
    batches = []
    for _ in range(rng.randint(0, 60)):
        now += rng.choice([0, 1, 10, 1_000])
        batches.append(
            [rng.choice([1, 1, 2, 50]), rng.choice([0, 10, 50, rng.randint(0, 300)]), max(0, now + rng.choice([0, 0, 0, -50, 40])), now]
        )
    config = {
        "internal.segment.bytes": rng.choice([20_000, 30_000, 40_000]),
        "segment.ms": rng.choice([10, 2_000, 604_800_000]),
        "index.interval.bytes": rng.choice([0, 100, 1_000, 4_096]),
        "segment.index.bytes": rng.choice([10_485_760, 1_000, 60]),
        "message.timestamp.after.max.ms": 9_223_372_036_854_775_807,
        "retention.bytes": -1,
        "retention.ms": -1,
    }
    if rng.random() < 0.5:
        config["retention.bytes"] = rng.choice([0, 1, 5_000, rng.randint(0, 60_000)])
    else:
        config["retention.ms"] = rng.choice([0, 1, 100, 5_000, rng.randint(0, 20_000)])
    end = sum(batch[0] for batch in batches)
    offsets = [0, end, *(rng.randint(0, end) for _ in range(5))]
    times = [0, now + 100, *(rng.randint(999_900, now + 60) for _ in range(5))]
    question = {"config": config, "created": 1_000_000, "batches": batches, "offsets": offsets, "times": times}
    return {**question, "high_watermark": rng.choice([end, end, rng.randint(0, end)]), "now": now + rng.choice([0, 10, 10_000])}


def answer(case: dict[str, Any], kafka: str) -> dict[str, Any]:
    """List the segments, where lookups begin, and how many segments are deleted."""
    configs = case["config"]
    config = LogConfig(
        configs["internal.segment.bytes"], configs["segment.ms"], configs["index.interval.bytes"], configs["segment.index.bytes"]
    )
    log: tuple[Segment, ...] = (Segment(0, 0, created_ms=case["created"]),)
    offset = 0
    for records, value, timestamp, now in case["batches"]:
        log = append(log, Batch(offset, offset + records - 1, _size(records, value), timestamp), config, now_ms=now)
        offset += records
    mark = None if case["high_watermark"] == offset else case["high_watermark"]
    if configs["retention.bytes"] >= 0:
        deleted = deletable_by_size(log, configs["retention.bytes"], high_watermark=mark)
    else:
        deleted = deletable_by_time(log, configs["retention.ms"], case["now"], high_watermark=mark)
    by_offset = [lookup(log, at) for at in case["offsets"]]
    by_time = [lookup_time(log, at) for at in case["times"]]
    return {
        "segments": [
            [
                segment.base_offset,
                segment.size_bytes,
                [[entry.relative_offset, entry.position] for entry in segment.offset_index],
                [[entry.timestamp_ms, entry.relative_offset] for entry in segment.time_index],
            ]
            for segment in log
        ],
        "offsets": [found and [log[found[0]].base_offset, found[1]] for found in by_offset],
        "times": [found and [log[found[0]].base_offset, found[1]] for found in by_time],
        "deleted": deleted,
    }


def _size(records: int, value: int) -> int:
    """Compute the bytes of a batch of records without keys and with equal timestamps."""
    body = 5 + _varint(value) + value  # 1 byte each: attributes, timestamp delta, offset delta, key length, header count
    return 61 + records * (_varint(body) + body)


def _varint(number: int) -> int:
    """Compute the bytes of a number in zigzag encoding."""
    return max(1, -(-(2 * number).bit_length() // 7))
