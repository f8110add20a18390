"""PartitionChangeBuilder while brokers die: each death is one change of the partitions with the broker in their ISR."""

from __future__ import annotations

import random
from dataclasses import asdict
from typing import Any

from kafka_model.election.partition import Partition
from kafka_model.failover.broker_failure import fail_brokers
from kafka_model.release import Release, parse_release

PROGRAMS = {"3.9.2": "PartitionChange", "4.3.1": "PartitionChange"}
RECORDED = 1_000
SINCE = "3.5.0"


def case(rng: random.Random) -> dict[str, Any]:
    """Draw a partition of 1 to 5 replicas with a leader, and brokers that die one after the other."""
    replicas = rng.sample(range(1, 40), rng.choice([1, 2, 3, 3, 4, 5]))
    in_sync = rng.sample(replicas, rng.choice([len(replicas), len(replicas), rng.randint(1, len(replicas))]))
    min_isr = min(rng.choice([1, 2, 2, 3]), len(replicas))
    elr = rng.random() < 0.7
    rest = [replica for replica in replicas if replica not in in_sync] if elr and len(in_sync) < min_isr else []
    died = rng.sample(replicas, rng.randint(1, len(replicas)))
    dead = set(rest) & set(rng.sample(replicas, rng.randint(0, len(replicas))))
    election = rng.choice(["online", "unclean"])
    steps = []
    for broker in died:
        dead = dead | {broker}
        steps.append({"fenced": broker, "leaving": [broker], "acceptable": sorted(set(replicas) - dead), "election": election})
    partition = {
        "replicas": replicas, "leader": rng.choice(in_sync), "isr": in_sync, "elr": rest, "last_known_elr": [],
        "leader_epoch": 3, "partition_epoch": 7, "recovering": False, "adding_replicas": [], "removing_replicas": [],
    }  # fmt: skip
    return {"partition": partition, "elr": elr, "min_isr": min_isr, "bump": False, "steps": steps}


def answer(case: dict[str, Any], kafka: str) -> list[dict[str, Any] | None]:
    """List the registration after each death, null where nothing changes. Before 3.8.0 there is no ELR."""
    version = parse_release(kafka)
    elr_exists = version >= Release(3, 8, 0)
    fields = {name: tuple(value) if isinstance(value, list) else value for name, value in case["partition"].items()}
    if not elr_exists:
        fields |= {"elr": (), "last_known_elr": ()}
    partition = Partition(**fields, min_insync_replicas=case["min_isr"])
    answers: list[dict[str, Any] | None] = []
    for step in case["steps"]:
        unclean = step["election"] == "unclean"
        [broker] = step["leaving"]
        live = [*step["acceptable"], broker]
        after = fail_brokers(
            partition, [broker], live, controller="kraft", elr=case["elr"] and elr_exists, unclean=unclean, version=version
        ).partition
        registration = asdict(after)
        del registration["min_insync_replicas"], registration["topic_replication_factor"]
        answers.append(None if after is partition else registration)
        partition = after
    return answers
