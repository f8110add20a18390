"""kafka.cluster.Partition on a real log: LEO, high watermark and ISR while records are appended and followers fetch or lag."""

from __future__ import annotations

import random
from typing import Any

from kafka_model.log.replication import Leader
from kafka_model.release import parse_release

PROGRAMS = {"3.9.2": "PartitionLeader"}
RECORDED = 500
SINCE = "3.5.0"
UNTIL = "3.9.2"


def case(rng: random.Random) -> dict[str, Any]:
    """Draw an elected leader of up to 5 replicas, and up to 30 events: followers keep up, lag, stop and return."""
    replicas = list(range(rng.choice([1, 2, 3, 3, 4, 5])))
    start = rng.choice([0, 0, 5, rng.randint(0, 20)])
    lag = rng.choice([30_000, 30_000, 1_000])
    now = began = rng.choice([100_000, 31_000, 500])
    at = {follower: rng.choice([start, rng.randint(0, start)]) for follower in replicas[1:]}
    end, events = start, []
    asleep = {follower for follower in at if rng.random() < 0.2}
    for _ in range(rng.randint(0, 30)):
        now += rng.choice([0, 1, 500, lag // 2, lag, lag + 1])
        kind = rng.random()
        if kind < 0.3:
            added = rng.randint(1, 5)
            end += added
            events.append(["append", added, now])
        elif kind < 0.8 and at:
            follower = rng.choice([follower for follower in at if follower not in asleep] or list(at))
            at[follower] = rng.choice([end, end, min(end, at[follower] + rng.randint(0, 4)), at[follower], max(0, at[follower] - 1)])
            events.append(["fetch", follower, at[follower], now])
        else:
            asleep = {follower for follower in at if rng.random() < 0.2}
            events.append(["shrink", now])
    question = {"log_end_offset": start, "high_watermark": rng.choice([start, rng.randint(0, start)]), "replicas": replicas}
    isr = [0, *rng.sample(replicas[1:], rng.choice([len(at), rng.randint(0, len(at))]))]
    return {**question, "isr": isr, "min_isr": rng.choice([1, 1, 2, 3]), "lag": lag, "now": began, "events": events}


def answer(case: dict[str, Any], kafka: str) -> list[list[Any]]:
    """List LEO, high watermark and ISR after the election and after each event."""
    leader = Leader.elected(
        0,
        case["log_end_offset"],
        case["high_watermark"],
        case["isr"],
        case["replicas"],
        now_ms=case["now"],
        lag_time_max_ms=case["lag"],
        min_insync_replicas=case["min_isr"],
        version=parse_release(kafka),
    )
    states = [leader]
    for kind, *about, now in case["events"]:
        if kind == "append":
            leader = leader.append(*about, now_ms=now)
        else:
            leader = leader.fetch(*about, now_ms=now) if kind == "fetch" else leader.shrink_isr(now_ms=now)
        states.append(leader)
    return [[state.log_end_offset, state.high_watermark, sorted(state.isr)] for state in states]
