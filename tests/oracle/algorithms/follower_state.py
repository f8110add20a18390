"""kafka.cluster.Replica: a leader's state of a follower after each fetch, and whether the follower is caught up."""

from __future__ import annotations

import random
from typing import Any

from kafka_model.log.replication import Follower

PROGRAMS = {"3.9.2": "FollowerState"}
RECORDED = 600
SINCE = "3.3.0"
UNTIL = "4.0.2"


def case(rng: random.Random) -> dict[str, Any]:
    """Draw up to 20 fetches of a follower that keeps up, lags or restarts earlier, from a leader that grows or was truncated."""
    offset = leader = 0
    now = 1_000
    fetches = []
    for _ in range(rng.randint(1, 20)):
        leader = max(0, leader + rng.choice([0, 1, 5, 50, -3]))
        offset = rng.choice([leader, leader, min(leader, offset + rng.randint(0, 20)), max(0, offset - 5), leader + 2])
        now += rng.choice([0, 1, 500, 10_000])
        fetches.append([offset, leader, now])
    queries = [
        [rng.choice([offset, leader, leader + 1]), now + rng.choice([0, 1, 29_999, 30_000, 30_001, 99_999]), rng.choice([30_000, 1])]
        for _ in range(6)
    ]
    return {"fetches": fetches, "asked": queries}


def answer(case: dict[str, Any], kafka: str) -> list[Any]:
    """List the state after each fetch, and whether the follower is caught up at each time asked."""
    follower = Follower(-1, 0)
    states = []
    for offset, leader, now in case["fetches"]:
        follower = follower.fetched(offset, leader, now_ms=now)
        states.append(
            [follower.log_end_offset, follower.last_caught_up_ms, follower.last_fetch_leader_log_end_offset, follower.last_fetch_ms]
        )
    return [states, [follower.caught_up(leader, now_ms=now, lag_time_max_ms=lag) for leader, now, lag in case["asked"]]]
