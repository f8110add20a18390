"""The assignors beside Kafka's own, on a group of 1,000 members and 10,000 partitions, in one run:

    python -m tests.benchmarks.assignors [part of a name]

Times are of the assign call alone, in processor time of its thread: the least of the model's ten runs, the least of Java's once warmed
up, and Java's first, which a freshly started JVM would take. Java gets five seconds a case.
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
class Contest:
    """A case and the two who answer it."""

    name: str
    program: str
    question: dict[str, Any]
    answer: Callable[[], Assignment]


def main() -> None:
    print(f"{MEMBERS:,} members, {TOPICS * PARTITIONS:,} partitions in {TOPICS} topics; milliseconds of processor time")
    print(f"{'':44}{'model':>10}{'Java, warm':>12}{'ratio':>8}{'Java, first':>13}")
    for contest in contests():
        if not all(part in contest.name for part in sys.argv[1:]):
            continue
        nanos = java.ask(contest.program, "4.3.1", [contest.question | {"repeat": JAVA_RUNS}])[0]["answer"]
        warm, first = min(nanos) / 1e6, nanos[0] / 1e6
        gc.freeze()  # the questions are not the model's to walk through; Java's collector runs in a thread that is not timed
        model = min(_seconds(contest.answer) for _ in range(RUNS)) * 1e3
        print(f"{contest.name:44}{model:>10.1f}{warm:>12.1f}{model / warm:>8.2f}{first:>13.1f}", flush=True)


def contests() -> Iterator[Contest]:
    rng = random.Random("assignors")
    topics = {f"topic-{number:03}": PARTITIONS for number in range(TOPICS)}
    ids = {topic: base64.urlsafe_b64encode(rng.randbytes(16)).decode().rstrip("=") for topic in topics}
    alike = {f"consumer-{number}-{rng.getrandbits(128):032x}": list(topics) for number in range(MEMBERS)}
    different = {member: sorted(rng.sample(list(topics), TOPICS // 2)) for member in alike}
    for kind, subscriptions in (("alike", alike), ("different", different)):
        for state in ("from nothing", "100 members join"):
            newcomers = set(rng.sample(sorted(subscriptions), MEMBERS // 10)) if state != "from nothing" else set(subscriptions)
            owned = _owned(topics, subscriptions, newcomers)
            yield from _of_clients(f"{kind}, {state}", topics, subscriptions, owned)
            yield from _of_coordinator(f"{kind}, {state}", topics, ids, subscriptions, owned)


def _of_clients(
    name: str, topics: dict[str, int], subscriptions: dict[str, list[str]], owned: dict[str, list[list[Any]]]
) -> Iterator[Contest]:
    generations = {"generation": 5, "subscription_generation": 5}
    question = {
        "topics": {topic: [[None]] * partitions for topic, partitions in topics.items()},
        "members": [
            {"id": member, "topics": names, "instance": None, "rack": None, "owned": owned[member], **generations}
            for member, names in subscriptions.items()
        ],
    }
    members = as_members(question)
    assignors = {
        "range": range_.assign,
        "roundrobin": round_robin.assign,
        "sticky": sticky.assign,
        "cooperative-sticky": cooperative_sticky.assign,
    }
    for assignor, assign in assignors.items():
        if "sticky" in assignor or name.endswith("nothing"):
            answer = partial(assign, counts(question), members)
            yield Contest(f"{assignor}: {name}", "ClientAssignor", question | {"assignor": assignor}, answer)


def _of_coordinator(
    name: str, topics: dict[str, int], ids: dict[str, str], subscriptions: dict[str, list[str]], owned: dict[str, list[list[Any]]]
) -> Iterator[Contest]:
    question = {
        "topics": topics,
        "ids": ids,
        "members": [{"id": member, "topics": names, "instance": None, "owned": owned[member]} for member, names in subscriptions.items()],
    }
    members = as_members(question)
    for assignor, assign in {"uniform": uniform.assign, "simple": share_simple.assign}.items():
        answer = partial(assign, topics, ids, members)
        yield Contest(f"{assignor}: {name}", "CoordinatorAssignor", question | {"assignor": assignor}, answer)


def _owned(topics: dict[str, int], subscriptions: dict[str, list[str]], newcomers: set[str]) -> dict[str, list[list[Any]]]:
    """What all but the newcomers held before these joined: shared out in turn."""
    owned: dict[str, list[list[Any]]] = {member: [] for member in subscriptions}
    turn = 0
    for topic, partitions in topics.items():
        holders = [member for member, names in subscriptions.items() if member not in newcomers and topic in names]
        for partition in range(partitions if holders else 0):
            owned[holders[turn % len(holders)]].append([topic, partition])
            turn += 1
    return owned


def _seconds(answer: Callable[[], Assignment]) -> float:
    began = time.thread_time()
    answer()
    return time.thread_time() - began


if __name__ == "__main__":
    main()
