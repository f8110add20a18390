"""KafkaController while brokers die, start and stop, and partitions are created, moved, deleted and balanced.

Compares states, elections, epochs and the requests to each broker.
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
SINCE = "3.7.0"
UNTIL = "3.9.2"

_LATER = ["reassign", "reassign", "isr", "isr", "delete", "deleted", "deleted"]


def case(rng: random.Random) -> dict[str, Any]:
    """Draw 1 to 8 brokers and up to 6 partitions (with and without a leader, or new), then start-up and up to 7 events."""
    brokers = rng.sample(range(rng.choice([9, 32])), rng.randint(1, 8))
    partitions = [_partition(rng, brokers, "ab"[number % 2], number // 2) for number in range(rng.randint(1, 6))]
    live = set(rng.sample(brokers, rng.choice([len(brokers), len(brokers), rng.randint(1, len(brokers))])))
    question = {
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
            chosen = rng.choice(recorded)
            target = rng.sample(brokers, rng.randint(1, min(3, len(brokers))))
            if kind == "reassign":
                events.append([kind, {"topic": chosen["topic"], "partition": chosen["partition"], "target": target}])
                moving.append((chosen, target))
            else:
                chosen, target = rng.choice(moving) if moving and rng.random() < 0.8 else (chosen, target)
                in_sync = list(dict.fromkeys([*target, *rng.sample(brokers, rng.randint(0, len(brokers)))]))
                events.append([kind, {"topic": chosen["topic"], "partition": chosen["partition"], "isr": in_sync}])
        elif kind == "delete":
            topic = rng.choice("ab")
            recorded = [partition for partition in recorded if partition["topic"] != topic]
            moving = [(partition, target) for partition, target in moving if partition["topic"] != topic]
            events.append([kind, [topic]])
        elif kind == "deleted":
            events += [[kind, broker, rng.random() < 0.1] for broker in rng.sample(brokers, rng.randint(1, len(brokers)))]
        else:
            events.append(["balance"])
    return {**question, "events": events}


def answer(case: dict[str, Any], kafka: str) -> list[dict[str, Any]]:
    """List the state of every partition and replica after each event, and the requests to each broker."""
    partitions = {}
    for fields in case["partitions"]:
        isr = tuple(fields.get("isr", ()))
        epochs = {"leader_epoch": fields["leader_epoch"], "partition_epoch": fields["partition_epoch"]} if isr else {}
        partitions[fields["topic"], fields["partition"]] = Partition(tuple(fields["replicas"]), fields.get("leader"), isr, **epochs)
    context = Context(partitions, frozenset(case["live"]), unclean_topics=frozenset(case["unclean_topics"]))
    answers = []
    for kind, *about in case["events"]:
        changed = _apply(context, kind, *about, imbalance_percentage=case["imbalance_percentage"])
        context = changed.context
        answers.append({"partitions": _partitions(context), "replicas": _replicas(context), "requests": _requests(changed)})
    return answers


def _partition(rng: random.Random, brokers: list[int], topic: str, number: int) -> dict[str, Any]:
    replicas = rng.sample(brokers, rng.randint(1, min(4, len(brokers))))
    new: dict[str, Any] = {"topic": topic, "partition": number, "replicas": replicas}
    if rng.random() < 0.1:
        return new
    isr = rng.sample(replicas, rng.choice([len(replicas), rng.randint(1, len(replicas))]))
    leader = rng.choice([*isr, *isr, *isr, None])
    return {**new, "isr": isr, "leader": leader, "leader_epoch": rng.randint(0, 5), "partition_epoch": rng.randint(5, 9)}


def _apply(context: Context, kind: str, about: Any = None, failed: bool = False, *, imbalance_percentage: int) -> Changed:
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
            return controller.on_new_partitions(context, {(new["topic"], new["partition"]): tuple(new["replicas"]) for new in about})
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
    states = {}
    for (topic, number), state in context.partition_states.items():
        partition = context.partitions.get((topic, number))
        states[f"{topic}-{number}"] = {"state": state.value} | (
            {
                "leader": partition.leader,
                "isr": partition.isr,
                "leader_epoch": partition.leader_epoch,
                "partition_epoch": partition.partition_epoch,
                "recovering": partition.recovering,
            }
            if partition is not None and partition.isr
            else {}
        )
    return states


def _replicas(context: Context) -> dict[str, str]:
    return {f"{topic}-{number}/{broker}": state.value for ((topic, number), broker), state in context.replica_states.items()}


def _requests(changed: Changed) -> dict[str, list[str]]:
    by_broker: dict[str, list[str]] = {}
    for requests in changed.requests:
        for broker, states in requests.leader_and_isr.items():
            content = {name: [*_state(state), state.replicas, new] for name, (state, new) in states.items()}
            _add(by_broker, broker, "LEADER_AND_ISR", content)
        for broker, metadata in requests.update_metadata.items():
            content = {name: [*_state(state), state.replicas, offline] for name, (state, offline) in metadata.items()}
            _add(by_broker, broker, "UPDATE_METADATA", content)
        for broker, stops in requests.stop_replica.items():
            _add(by_broker, broker, "STOP_REPLICA", dict(stops))
    return {broker: sorted(requests) for broker, requests in by_broker.items()}


def _state(state: Partition) -> list[Any]:
    return [state.leader, state.isr, state.leader_epoch, state.partition_epoch]


def _add(by_broker: dict[str, list[str]], broker: int, kind: str, content: dict[tuple[str, int], Any]) -> None:
    by_name = {f"{topic}-{number}": value for (topic, number), value in content.items()}
    by_broker.setdefault(str(broker), []).append(json.dumps({kind: by_name}, sort_keys=True, separators=(",", ":")))
