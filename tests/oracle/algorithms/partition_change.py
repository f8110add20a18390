"""PartitionChangeBuilder.build and PartitionRegistration.merge: several changes of one partition, from usual and unusual states."""

from __future__ import annotations

import random
from dataclasses import asdict
from typing import Any

from kafka_model.election.partition import Partition
from kafka_model.election.partition_change import Election, Reassignment, change
from kafka_model.release import Release, parse_release

PROGRAMS = {version: "PartitionChange" for version in ("3.5.2", "3.9.2", "4.1.0", "4.1.1", "4.3.1")}
RECORDED = 1_500
SINCE = "3.5.0"


def case(rng: random.Random) -> dict[str, Any]:
    """Draw a partition of 1 to 5 replicas on 8 brokers, and up to 6 changes of ISR, replicas and live brokers, with all elections."""
    brokers = rng.sample(range(0, 40, 3), 8)
    partition = _partition(rng, brokers)
    min_isr = min(rng.choice([1, 1, 2, 2, 3]), len(partition["replicas"]))
    steps = [_step(rng, partition, brokers) for _ in range(rng.randint(1, 6))]
    return {"partition": partition, "elr": rng.random() < 0.7, "min_isr": min_isr, "bump": rng.random() < 0.3, "steps": steps}


def answer(case: dict[str, Any], kafka: str) -> list[dict[str, Any] | None]:
    """List the registration after each step, null where nothing changes. Before 3.8.0 there is no ELR."""
    version = parse_release(kafka)
    elr_exists = version >= Release(3, 8, 0)
    fields = {name: tuple(value) if isinstance(value, list) else value for name, value in case["partition"].items()}
    if not elr_exists:
        fields |= {"elr": (), "last_known_elr": ()}
    partition = Partition(**fields, min_insync_replicas=case["min_isr"], topic_replication_factor=case["min_isr"])
    answers: list[dict[str, Any] | None] = []
    for step in case["steps"]:
        after = change(
            partition,
            isr=step["isr"] if "isr" in step else [broker for broker in partition.isr if broker not in step["leaving"]],
            acceptable=step["acceptable"],
            elr=case["elr"] and elr_exists,
            election=Election(step["election"]),
            unclean_shutdown=step.get("unclean_shutdown", ()),
            reassignment=Reassignment(*(tuple(step[part]) for part in ("replicas", "adding", "removing"))) if "replicas" in step else None,
            recovering=step.get("recovering"),
            bump_on_isr_shrink=case["bump"] or version < Release(3, 6, 0),
            version=version,
        )
        registration = asdict(after)
        del registration["min_insync_replicas"], registration["topic_replication_factor"]
        answers.append(None if after is partition else registration)
        partition = after
    return answers


def _partition(rng: random.Random, brokers: list[int]) -> dict[str, Any]:
    replicas = brokers[: rng.choice([1, 2, 3, 3, 3, 4, 5])]
    isr = rng.sample(replicas, rng.choice([len(replicas), len(replicas), rng.randint(0, len(replicas))]))
    rest = [broker for broker in replicas if broker not in isr]
    elr = rng.sample(rest, rng.randint(0, len(rest))) if rng.random() < 0.5 else []
    moving = rng.random() < 0.15 and len(replicas) > 2
    return {
        "replicas": replicas,
        "leader": rng.choice(isr) if isr and rng.random() < 0.9 else None,
        "isr": isr,
        "elr": sorted(elr),
        "last_known_elr": [rng.choice(replicas)] if rng.random() < 0.2 else [],
        "leader_epoch": rng.randint(0, 9),
        "partition_epoch": rng.randint(9, 99),
        "recovering": rng.random() < 0.1,
        "adding_replicas": replicas[1:2] if moving else [],
        "removing_replicas": replicas[2:3] if moving and rng.random() < 0.7 else [],
    }


def _step(rng: random.Random, partition: dict[str, Any], brokers: list[int]) -> dict[str, Any]:
    replicas = partition["replicas"]
    step: dict[str, Any] = {"acceptable": sorted(rng.sample(brokers, rng.choice([8, 8, 7, 7, 6, rng.randint(0, 8)])))}
    step["election"] = rng.choice(["online", "online", "online", "unclean", "preferred"])
    kind = rng.random()
    if kind < 0.55:
        step["leaving"] = rng.sample(replicas, rng.choice([0, 1, 1, 1, rng.randint(0, len(replicas))]))
        if rng.random() < 0.3:
            step["unclean_shutdown"] = step["leaving"] or rng.sample(replicas, 1)
    else:
        step["isr"] = rng.sample(replicas, rng.choice([len(replicas), rng.randint(1, len(replicas)), rng.randint(0, len(replicas))]))
    if rng.random() < 0.1:
        step["recovering"] = rng.random() < 0.3
    if rng.random() < 0.15:
        target = rng.sample(brokers, rng.randint(1, 4))
        removing = sorted(set(replicas) - set(target))
        step |= {"replicas": target + removing, "adding": sorted(set(target) - set(replicas)), "removing": removing}
    return step
