"""Compare the assignors with Kafka's own, on a group of 1,000 members and 10,000 partitions.

    python -m tests.benchmarks.assignors [PART_OF_A_CASE_NAME]...

A time is the processor time of the thread that calls `assign`, in milliseconds: the best of ten runs of the model, the best of forty runs of
Java, and Java's first run, which a new JVM would take.
"""

from __future__ import annotations

import base64
import gc
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from kafka_model.assignor import cooperative_sticky, round_robin, share_simple, sticky, uniform
from kafka_model.assignor import range as range_
from kafka_model.assignor.group import Assignment
from tests.oracle import java
from tests.oracle.groups import as_members, counts

MEMBERS, TOPICS, PARTITIONS = 1_000, 100, 100
RUNS, JAVA_RUNS = 10, 40


@dataclass(frozen=True, slots=True)
class Case:
    """An assignor with its input: for the oracle's Java program, and as a call of the model."""

    name: str
    java_program: str
    java_input: dict[str, Any]
    run_model: Callable[[], Assignment]


def main() -> None:
    print(f"{MEMBERS:,} members, {TOPICS * PARTITIONS:,} partitions in {TOPICS} topics; milliseconds of processor time")
    print(f"{'':52}{'model':>10}{'Java, warm':>12}{'ratio':>8}{'Java, first':>13}")
    for case in cases():
        if not all(part in case.name for part in sys.argv[1:]):
            continue
        nanos = java.ask(case.java_program, "4.3.1", [case.java_input | {"repeat": JAVA_RUNS}])[0]["answer"]
        warm, first = min(nanos) / 1e6, nanos[0] / 1e6
        gc.freeze()  # exclude the inputs from garbage collection; Java's collector runs in a thread that is not timed either
        model = min(_seconds(case.run_model) for _ in range(RUNS)) * 1e3
        print(f"{case.name:52}{model:>10.1f}{warm:>12.1f}{model / warm:>8.2f}{first:>13.1f}", flush=True)


def cases() -> Iterator[Case]:
    """Yield every assignor with equal and with different subscriptions, for a new group and for a group that 100 members join."""
    rng = random.Random("assignors")
    topics = {f"topic-{number:03}": PARTITIONS for number in range(TOPICS)}
    ids = {topic: base64.urlsafe_b64encode(rng.randbytes(16)).decode().rstrip("=") for topic in topics}
    equal = {f"consumer-{number}-{rng.getrandbits(128):032x}": list(topics) for number in range(MEMBERS)}
    different = {member: sorted(rng.sample(list(topics), TOPICS // 2)) for member in equal}
    for kind, subscriptions in (("equal subscriptions", equal), ("different subscriptions", different)):
        for state in ("new group", "100 members join"):
            joining = set(rng.sample(sorted(subscriptions), MEMBERS // 10)) if state != "new group" else set(subscriptions)
            owned = _owned(topics, subscriptions, joining)
            yield from _client_cases(f"{kind}, {state}", topics, subscriptions, owned)
            yield from _coordinator_cases(f"{kind}, {state}", topics, ids, subscriptions, owned)


def _client_cases(
    name: str, topics: dict[str, int], subscriptions: dict[str, list[str]], owned: dict[str, list[list[Any]]]
) -> Iterator[Case]:
    """Yield the assignors of the classic protocol. Range and round robin ignore owned partitions, so only the new group is a case."""
    generations = {"generation": 5, "subscription_generation": 5}
    java_input = {
        "topics": {topic: [[None]] * partitions for topic, partitions in topics.items()},
        "members": [
            {"id": member, "topics": names, "instance": None, "rack": None, "owned": owned[member], **generations}
            for member, names in subscriptions.items()
        ],
    }
    members = as_members(java_input)
    assignors = {
        "range": range_.assign,
        "roundrobin": round_robin.assign,
        "sticky": sticky.assign,
        "cooperative-sticky": cooperative_sticky.assign,
    }
    for assignor, assign in assignors.items():
        if "sticky" in assignor or name.endswith("new group"):
            run_model = partial(assign, counts(java_input), members)
            yield Case(f"{assignor}: {name}", "ClientAssignor", java_input | {"assignor": assignor}, run_model)


def _coordinator_cases(
    name: str, topics: dict[str, int], ids: dict[str, str], subscriptions: dict[str, list[str]], owned: dict[str, list[list[Any]]]
) -> Iterator[Case]:
    """Yield the assignors that run in the group coordinator."""
    java_input = {
        "topics": topics,
        "ids": ids,
        "members": [{"id": member, "topics": names, "instance": None, "owned": owned[member]} for member, names in subscriptions.items()],
    }
    members = as_members(java_input)
    for assignor, assign in {"uniform": uniform.assign, "simple": share_simple.assign}.items():
        run_model = partial(assign, topics, ids, members)
        yield Case(f"{assignor}: {name}", "CoordinatorAssignor", java_input | {"assignor": assignor}, run_model)


def _owned(topics: dict[str, int], subscriptions: dict[str, list[str]], joining: set[str]) -> dict[str, list[list[Any]]]:
    """Return the partitions that each member owned before the joining members came: all partitions, dealt out in turn."""
    owned: dict[str, list[list[Any]]] = {member: [] for member in subscriptions}
    turn = 0
    for topic, partitions in topics.items():
        owners = [member for member, names in subscriptions.items() if member not in joining and topic in names]
        for partition in range(partitions if owners else 0):
            owned[owners[turn % len(owners)]].append([topic, partition])
            turn += 1
    return owned


def _seconds(run: Callable[[], Assignment]) -> float:
    started = time.thread_time()
    run()
    return time.thread_time() - started


if __name__ == "__main__":
    main()
