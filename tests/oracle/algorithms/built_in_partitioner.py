"""BuiltInPartitioner: sticky by bytes, weighted by queue sizes, in the producer's rack since 4.4."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from kafka_model.partitioner.java_client import BuiltIn, append, load_stats, load_stats_in_rack, next_built_in
from kafka_model.release import Release, parse_release
from tests.oracle import partitioners

PROGRAMS = {"3.9.2": "BuiltInPartitions", "4.3.1": "BuiltInPartitions", "4.4.0": "BuiltInPartitions"}
RECORDED = 700
SINCE = "3.3.0"


def case(rng: random.Random) -> dict[str, Any]:
    """Draw appends of up to three batch sizes, and queue sizes between them: equal ones, a few ready, one partition, none."""
    topic = partitioners.topic(rng)
    size = rng.choice([1, 100, 16_384])
    steps: list[list[Any]] = []
    for _ in range(rng.randint(1, 25)):
        if rng.random() < 0.25:
            queues = [rng.choice([0, 1, rng.randint(0, 9)]) for _ in topic]
            length = rng.choice([len(topic), len(topic), rng.randint(0, len(topic))])
            steps.append(["load", queues, [partition for partition, *_ in topic], [rack or "" for _, rack, _ in topic], length])
        else:
            steps.append(["append", rng.randint(0, 3 * size), rng.random() < 0.6])
    question = {"topic": topic, "seed": rng.randrange(2**63), "sticky_batch_size": size}
    return {**question, "rack": rng.choice([None, "a", "b", "elsewhere"]), "steps": steps}


def answer(case: dict[str, Any], kafka: str) -> list[int | None]:
    """List the sticky partition after each step."""
    draw, rack = partitioners.draws(case["seed"]), case["rack"] if parse_release(kafka) >= Release(4, 4, 0) else None
    topic = BuiltIn(case["sticky_batch_size"])

    def next_partition() -> int:
        return next_built_in(
            draw,
            partitions=len(case["topic"]),
            available=partitioners.available(case),
            leader_racks={partition: leader_rack for partition, leader_rack, _ in case["topic"]},
            rack=rack,
            load=topic.load,
            load_in_rack=topic.load_in_rack,
        )

    placed = []
    for kind, *about in case["steps"]:
        if kind == "append":
            if topic.partition is None:
                topic = replace(topic, partition=next_partition())
            topic = append(topic, about[0], enable_switch=about[1], next_partition=next_partition)
        else:
            queues, partitions, racks, length = about
            inside = load_stats_in_rack(queues, partitions, racks, rack, length) if rack is not None else None
            topic = replace(topic, load=load_stats(queues, partitions, length), load_in_rack=inside)
            if topic.partition is None:
                topic = replace(topic, partition=next_partition())
        placed.append(topic.partition)
    return placed
