"""KafkaController as brokers die, come and stop, partitions are created, moved and deleted, leaders balanced: states, elections, epochs,
and who is told what.
"""

from __future__ import annotations

import json
import random
from typing import Any

from kafka_model.election import zookeeper_controller as controller
from kafka_model.election.partition import Partition
from kafka_model.election.zookeeper_controller import Changed, Context

PROGRAMS = {"3.9.2": "ZkController"}
RECORDED = 600
KAFKAS = ("3.7", "3.9")


_LATER = ["reassign", "reassign", "isr", "isr", "delete", "deleted", "deleted"]


def case(rng: random.Random) -> dict[str, Any]:
    """1 to 8 brokers, up to 6 partitions (led, leaderless, or new), then start-up and up to 7 events, often with several brokers at
    once.
    """
    brokers = rng.sample(range(rng.choice([9, 32])), rng.randint(1, 8))
    partitions = [_partition(rng, brokers, "ab"[number % 2], number // 2) for number in range(rng.randint(1, 6))]
    live = set(rng.sample(brokers, rng.choice([len(brokers), len(brokers), rng.randint(1, len(brokers))])))
    asked = {
        "partitions": partitions,
        "live": sorted(live),
        "unclean_topics": rng.choice([[], [], ["a"]]),
        "imbalance_percentage": rng.choice([0, 10, 40]),
    }
    events: list[list[Any]] = [["start_up"]]
    stopping: set[int] = set()
    recorded = [partition for partition in partitions if "isr" in partition]
    moving: list[tuple[dict[str, Any], list[int]]] = []
    for number in range(rng.randint(0, 7)):
        kind = rng.choice(["die", "die", "start", "controlled_shutdown", "balance", "create", *_LATER])
        if kind == "die" and live:
            dead = rng.sample(sorted(live), min(len(live), rng.choice([1, 1, 1, 2, 3])))
            events.append([kind, dead])
            live, stopping = live - set(dead), stopping - set(dead)
        elif kind == "start" and set(brokers) - live:
            started = rng.sample(sorted(set(brokers) - live), 1)
            events.append([kind, started])
            live |= set(started)
        elif kind == "controlled_shutdown" and live - stopping:
            stops = rng.choice(sorted(live - stopping))
            events.append([kind, stops])
            stopping.add(stops)
        elif kind == "create":
            replicas = rng.sample(brokers, rng.randint(1, min(3, len(brokers))))
            events.append([kind, [{"topic": "c", "partition": number, "replicas": replicas}]])
        elif kind in ("reassign", "isr") and recorded:
            told = rng.choice(recorded)
            brokers_of = rng.sample(brokers, rng.randint(1, min(3, len(brokers))))
            if kind == "reassign":
                events.append([kind, {"topic": told["topic"], "partition": told["partition"], "target": brokers_of}])
                moving.append((told, brokers_of))
            else:
                told, target = rng.choice(moving) if moving and rng.random() < 0.8 else (told, brokers_of)
                in_sync = list(dict.fromkeys([*target, *rng.sample(brokers, rng.randint(0, len(brokers)))]))
                events.append([kind, {"topic": told["topic"], "partition": told["partition"], "isr": in_sync}])
        elif kind == "delete":
            topic = rng.choice("ab")
            recorded = [told for told in recorded if told["topic"] != topic]
            moving = [(told, target) for told, target in moving if told["topic"] != topic]
            events.append([kind, [topic]])
        elif kind == "deleted":
            events += [[kind, broker, rng.random() < 0.1] for broker in rng.sample(brokers, rng.randint(1, len(brokers)))]
        else:
            events.append(["balance"])
    return {**asked, "events": events}


def answer(case: dict[str, Any], kafka: str) -> list[dict[str, Any]]:
    """The state of every partition and replica after each event, and the requests to each broker."""
    partitions = {}
    for told in case["partitions"]:
        isr = tuple(told.get("isr", ()))
        epochs = {"leader_epoch": told["leader_epoch"], "partition_epoch": told["partition_epoch"]} if isr else {}
        partitions[told["topic"], told["partition"]] = Partition(tuple(told["replicas"]), told.get("leader"), isr, **epochs)
    context = Context(partitions, frozenset(case["live"]), unclean_topics=frozenset(case["unclean_topics"]))
    answers = []
    for kind, *about in case["events"]:
        changed = _happen(context, kind, *about, imbalance_percentage=case["imbalance_percentage"])
        context = changed.context
        answers.append({"partitions": _partitions(context), "replicas": _replicas(context), "told": _told(changed)})
    return answers


def _partition(rng: random.Random, brokers: list[int], topic: str, number: int) -> dict[str, Any]:
    replicas = rng.sample(brokers, rng.randint(1, min(4, len(brokers))))
    told: dict[str, Any] = {"topic": topic, "partition": number, "replicas": replicas}
    if rng.random() < 0.1:
        return told
    isr = rng.sample(replicas, rng.choice([len(replicas), rng.randint(1, len(replicas))]))
    leader = rng.choice([*isr, *isr, *isr, None])
    return {**told, "isr": isr, "leader": leader, "leader_epoch": rng.randint(0, 5), "partition_epoch": rng.randint(5, 9)}


def _happen(context: Context, kind: str, about: Any = None, failed: bool = False, *, imbalance_percentage: int) -> Changed:
    match kind:
        case "start_up":
            return controller.start_up(context)
        case "die":
            return controller.on_broker_failure(context, about)
        case "start":
            return controller.on_broker_startup(context, about)
        case "controlled_shutdown":
            return controller.on_controlled_shutdown(context, about)
        case "create":
            return controller.on_new_partitions(context, {(told["topic"], told["partition"]): tuple(told["replicas"]) for told in about})
        case "reassign":
            return controller.on_reassignment(context, (about["topic"], about["partition"]), about["target"])
        case "isr":
            return controller.on_isr_change(context, (about["topic"], about["partition"]), about["isr"])
        case "delete":
            return controller.on_topic_deletion(context, about)
        case "deleted":
            return controller.on_replicas_deleted(context, about, failed=failed)
        case _:
            return controller.balance_leaders(context, imbalance_percentage=imbalance_percentage)


def _partitions(context: Context) -> dict[str, Any]:
    told = {}
    for (topic, number), state in context.partition_states.items():
        at = context.partitions.get((topic, number))
        told[f"{topic}-{number}"] = {"state": state.value} | (
            {
                "leader": at.leader,
                "isr": at.isr,
                "leader_epoch": at.leader_epoch,
                "partition_epoch": at.partition_epoch,
                "recovering": at.recovering,
            }
            if at is not None and at.isr
            else {}
        )
    return told


def _replicas(context: Context) -> dict[str, str]:
    return {f"{topic}-{number}/{broker}": state.value for ((topic, number), broker), state in context.replica_states.items()}


def _told(changed: Changed) -> dict[str, list[str]]:
    told: dict[str, list[str]] = {}
    for requests in changed.requests:
        for broker, states in requests.leader_and_isr.items():
            _put(told, broker, "LEADER_AND_ISR", {at: [*_state(state), state.replicas, new] for at, (state, new) in states.items()})
        for broker, metadata in requests.update_metadata.items():
            _put(
                told,
                broker,
                "UPDATE_METADATA",
                {at: [*_state(state), state.replicas, offline] for at, (state, offline) in metadata.items()},
            )
        for broker, stops in requests.stop_replica.items():
            _put(told, broker, "STOP_REPLICA", dict(stops))
    return {broker: sorted(requests) for broker, requests in told.items()}


def _state(state: Partition) -> list[Any]:
    return [state.leader, state.isr, state.leader_epoch, state.partition_epoch]


def _put(told: dict[str, list[str]], broker: int, kind: str, content: dict[tuple[str, int], Any]) -> None:
    named = {f"{topic}-{number}": value for (topic, number), value in content.items()}
    told.setdefault(str(broker), []).append(json.dumps({kind: named}, sort_keys=True, separators=(",", ":")))
