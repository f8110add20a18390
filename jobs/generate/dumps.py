"""Dumps of a generated fleet, in the output formats of Kafka's own tools."""

from __future__ import annotations

import csv
import json
import random
from dataclasses import dataclass
from pathlib import Path

from jobs.errors import AuditError
from jobs.generate import FACTORS, Fleet, racks_of
from kafka_model.assignor import range as range_assignor
from kafka_model.assignor import round_robin
from kafka_model.assignor.group import Member
from kafka_model.java.random_numbers import JavaRandom
from kafka_model.placement.kraft import UsableBroker, place_striped


@dataclass(frozen=True, slots=True)
class _Topic:
    name: str
    replicas: list[tuple[int, ...]]
    min_insync_replicas: int
    records: list[int]


def write(folder: Path, fleet: Fleet) -> None:
    """Write a folder for each cluster. A folder that is not empty is refused, so that no dump is lost."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise AuditError(f"{folder} is not empty: name an empty or new folder")
    try:
        for number in range(fleet.clusters):
            rng = random.Random(f"{fleet.seed} {number}")
            cluster_folder = folder / f"cluster-{number:03}"
            cluster_folder.mkdir(parents=True)
            _write_cluster(cluster_folder, fleet, number, rng)
    except OSError as error:
        raise AuditError(f"cannot write to {folder}: {error.strerror}") from None


def _write_cluster(folder: Path, fleet: Fleet, number: int, rng: random.Random) -> None:
    racks = racks_of(fleet)
    dead = rng.randrange(fleet.brokers) if number % 3 == 2 and fleet.brokers > 1 else None
    live = [id for id in range(fleet.brokers) if id != dead]
    topics = [_topic(f"topic-{index:04}", fleet, racks, rng) for index in range(fleet.topics)]

    (folder / "kafka-topics.txt").write_text("".join(_topic_lines(topic, dead) for topic in topics))
    (folder / "kafka-log-dirs.txt").write_text(_log_dirs(topics, live))
    with (folder / "brokers.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("broker_id", "rack"), *((id, racks.get(id, "")) for id in live)])
    capacity = {"DISK": str(1 << 20), "CPU": "400", "NW_IN": "100000", "NW_OUT": "100000"}
    (folder / "capacity.json").write_text(json.dumps({"brokerCapacities": [{"brokerId": "-1", "capacity": capacity}]}))
    with (folder / "key-sample.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [("topic", "key", "partition", "records", "size_bytes"), *(row for topic in topics for row in _keys(topic, fleet, rng))]
        )
    described, members = (
        zip(*(_group(f"group-{index:04}", topics, rng) for index in range(fleet.groups)), strict=True) if fleet.groups else ((), ())
    )
    (folder / "kafka-consumer-groups.txt").write_text("".join(described))
    (folder / "kafka-consumer-groups-members.txt").write_text("".join(members))


def _topic(name: str, fleet: Fleet, racks: dict[int, str], rng: random.Random) -> _Topic:
    factor, min_isr = rng.choice(FACTORS)
    factor = min(factor, fleet.brokers)
    count = min(max(1, int(rng.paretovariate(1.2) * fleet.partitions / 3)), fleet.partitions * 20)
    brokers = [UsableBroker(id, racks.get(id)) for id in range(fleet.brokers)]
    replica_lists = place_striped(brokers, count, factor, random=JavaRandom(rng.getrandbits(48)))
    if rng.random() < 0.15:  # a skewed topic: one broker is the first replica of every partition
        target = rng.randrange(fleet.brokers)
        replica_lists = [(target, *(id for id in replicas if id != target))[: len(replicas)] for replicas in replica_lists]
    return _Topic(name, replica_lists, min(min_isr, factor), [rng.randrange(100_000) for _ in replica_lists])


def _topic_lines(topic: _Topic, dead: int | None) -> str:
    factor = len(topic.replicas[0])
    configs = f"Configs: min.insync.replicas={topic.min_insync_replicas}"
    lines = [f"Topic: {topic.name}\tPartitionCount: {len(topic.replicas)}\tReplicationFactor: {factor}\t{configs}"]
    for partition, replicas in enumerate(topic.replicas):
        isr = [id for id in replicas if id != dead]
        elr = [dead] if dead in replicas and len(isr) < topic.min_insync_replicas else []
        broker_lists = {"Replicas": replicas, "Isr": isr, "Elr": elr, "LastKnownElr": [dead] if not isr else []}
        lists = "\t".join(f"{name}: {','.join(map(str, ids))}" for name, ids in broker_lists.items())
        lines.append(f"\tTopic: {topic.name}\tPartition: {partition}\tLeader: {isr[0] if isr else 'none'}\t{lists}")
    return "\n".join(lines) + "\n"


def _log_dirs(topics: list[_Topic], live: list[int]) -> str:
    brokers = []
    for id in live:
        partitions = [
            {"partition": f"{topic.name}-{partition}", "size": topic.records[partition] * 100, "offsetLag": 0, "isFuture": False}
            for topic in topics
            for partition, replicas in enumerate(topic.replicas)
            if id in replicas
        ]
        brokers.append({"broker": id, "logDirs": [{"logDir": "/var/lib/kafka/data", "error": None, "partitions": partitions}]})
    ids = ",".join(map(str, live))
    document = json.dumps({"version": 1, "brokers": brokers}, separators=(",", ":"))
    return f"Querying brokers for log directories information\nReceived log directory information from brokers {ids}\n{document}\n"


def _keys(topic: _Topic, fleet: Fleet, rng: random.Random) -> list[tuple[str, str, str, int, int]]:
    """Return rows of key-sample.csv: keys that follow Zipf's law, and a row of records without a key."""
    total = sum(topic.records) // 10
    keys = [
        (topic.name, f"user-{rng.randrange(10**6)}-{rank}", "", max(1, total // rank), 100 * max(1, total // rank))
        for rank in range(1, fleet.keys + 1)
    ]
    return [*keys, (topic.name, "", "", total, total * 100)]


def _group(name: str, topics: list[_Topic], rng: random.Random) -> tuple[str, str]:
    """Return the output of kafka-consumer-groups for a group: its offsets, and its members with their partitions."""
    topics_read = rng.sample(topics, k=min(len(topics), rng.randint(1, 3)))
    members = [Member(f"consumer-{name}-{number}", tuple(topic.name for topic in topics_read)) for number in range(rng.randint(1, 8))]
    assign = rng.choice((range_assignor.assign, round_robin.assign))
    assigned = assign({topic.name: len(topic.replicas) for topic in topics_read}, members)
    end = {(topic.name, partition): records for topic in topics_read for partition, records in enumerate(topic.records)}
    offset_rows, member_rows = [], []
    for member, partitions in assigned.items():
        partitions_by_topic: dict[str, list[int]] = {}
        for topic, partition in partitions:
            partitions_by_topic.setdefault(topic, []).append(partition)
            last = end[topic, partition]
            committed = rng.randint(0, last)
            offset_rows.append((name, topic, partition, committed, last, last - committed, member, "/127.0.0.1", "consumer"))
        assignment = ";".join(f"{topic}:{','.join(map(str, sorted(ids)))}" for topic, ids in sorted(partitions_by_topic.items()))
        member_rows.append((name, member, "/127.0.0.1", "consumer", len(partitions), "-", assignment or "-", "-", "-"))
    head = ("GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID")
    members_head = (
        "GROUP",
        "CONSUMER-ID",
        "HOST",
        "CLIENT-ID",
        "#PARTITIONS",
        "CURRENT-EPOCH",
        "CURRENT-ASSIGNMENT",
        "TARGET-EPOCH",
        "TARGET-ASSIGNMENT",
    )
    return _columns([head, *offset_rows]), _columns([members_head, *member_rows])


def _columns(rows: list[tuple[object, ...]]) -> str:
    widths = [max(len(str(cell)) for cell in column) for column in zip(*rows, strict=True)]
    return "\n" + "".join(" ".join(str(cell).ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n" for row in rows)
