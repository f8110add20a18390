"""failover.fail_in_order on KRaft: each death is one PartitionChangeBuilder change of the partitions that have the broker in their ISR."""

from __future__ import annotations

import random
from dataclasses import asdict
from typing import Any

from kafka_model.election.partition import Partition
from kafka_model.failover.broker_failure import fail

PROGRAMS = {"3.9.2": "PartitionChange", "4.3.1": "PartitionChange"}
RECORDED = 1_000
KAFKAS = ("3.7", "9.9")


def case(rng: random.Random) -> dict[str, Any]:
    """A led partition of 1 to 5 replicas, in sync or not, whose brokers die one after the other, some more than once over."""
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
    """The registration after each death, null where nothing is recorded."""
    told = {name: tuple(value) if isinstance(value, list) else value for name, value in case["partition"].items()}
    partition = Partition(**told, min_insync_replicas=case["min_isr"])
    answers: list[dict[str, Any] | None] = []
    for step in case["steps"]:
        unclean = step["election"] == "unclean"
        after = fail(partition, step["leaving"][0], step["acceptable"], controller="kraft", elr=case["elr"], unclean=unclean)
        stated = asdict(after)
        del stated["min_insync_replicas"], stated["topic_replication_factor"]
        answers.append(None if after is partition else stated)
        partition = after
    return answers
