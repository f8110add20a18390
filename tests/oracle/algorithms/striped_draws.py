"""The draws of StripedReplicaPlacer, recovered from topics that it placed: new ones, and ones that grew by partitions."""

from __future__ import annotations

import random
from typing import Any

from kafka_model.placement.kraft import UsableBroker
from kafka_model.placement.striped_draws import StripedCluster, recover
from tests.kafka_model.placement.scripted_placer import place_again
from tests.oracle.algorithms.admin_utils import RACKS

PROGRAMS = {"3.9.2": "StripedTopic", "4.3.1": "StripedTopic"}
RECORDED = 500
SINCE = "3.3.0"
_MAX_ROUNDS = 10


def case(rng: random.Random) -> dict[str, Any]:
    """Draw 1 to 20 brokers on up to 10 racks or none, replication factor 1 to 5, up to ten rounds; every second topic grows up to twice.

    In every second cluster some brokers are fenced, in some only when the topic is new, or only when it grows.
    """
    ids = rng.sample(range(rng.choice([20, 2_000])), rng.choice([1, 2, 3, *range(1, 21)]))
    racks: list[str | None] = [*rng.sample(RACKS, rng.randint(0, len(RACKS))), rng.choice([None, "z"])]
    fenced_share = rng.choice([0, 0, 0, 0.2, 0.5, 0.8])
    fenced = [broker for broker in ids[1:] if rng.random() < fenced_share]
    partitions = rng.randint(1, max(1, rng.randint(1, _MAX_ROUNDS) * (len(ids) - len(fenced))))
    placements = [[partitions, fenced if rng.random() < 0.8 else []]]
    for _ in range(rng.choice([0, 0, 1, 2])):
        placements.append([rng.randint(1, 2 * (len(ids) - len(fenced)) + 3), fenced if rng.random() < 0.8 else []])
    return {
        "brokers": [[broker, rng.choice(racks)] for broker in ids],
        "placements": placements,
        "replication_factor": rng.randint(1, min(5, len(ids))),
        "seed": rng.randrange(2**48),
    }


def states(case: dict[str, Any]) -> list[StripedCluster]:
    """Return the states of the brokers in which placements of the topic were made."""
    fenced_sets = dict.fromkeys(tuple(fenced) for _, fenced in case["placements"])
    return [StripedCluster([UsableBroker(broker, rack, broker in fenced) for broker, rack in case["brokers"]]) for fenced in fenced_sets]


def answer(case: dict[str, Any], kafka: str) -> None:
    """The model needs Kafka's answer: see `same`."""


def same(model: None, kafka: list[list[int]], case: dict[str, Any]) -> bool:
    """Whether the recovered draws explain all replicas, and place them again."""
    recovered = recover(states(case), kafka)
    return recovered.explained and place_again(case["brokers"], recovered.placements, len(kafka), case["replication_factor"]) == kafka


def moved_by_hand(case: dict[str, Any], kafka: list[list[int]]) -> tuple[int, list[list[int]]] | None:
    """Move one replica of a topic to a broker that has none of its partition. Return the partition and the replicas; None: no such broker."""
    rng = random.Random(case["seed"])
    partition, replica = rng.randrange(len(kafka)), rng.randrange(case["replication_factor"])
    others = [broker for broker, _ in case["brokers"] if broker not in kafka[partition]]
    if not others:
        return None
    moved = [list(replicas) for replicas in kafka]
    moved[partition][replica] = rng.choice(others)
    return partition, moved
