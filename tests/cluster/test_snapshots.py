"""The recorded dumps are consistent: their nights, key samples and scenarios belong to the same clusters."""

import csv
import re
from collections import Counter
from pathlib import Path

import pytest

from jobs.cli import BUNDLED

SNAPSHOTS = Path(__file__).parents[1] / "snapshots"
NIGHT_BEFORE = SNAPSHOTS / "night-before"


def end_offsets(night: Path, cluster: str) -> dict[tuple[str, str], int]:
    lines = (night / cluster / "kafka-get-offsets.txt").read_text().split()
    return {(topic, partition): int(offset) for topic, partition, offset in (line.split(":") for line in lines)}


def partition_states(file: Path) -> set[tuple[str, ...]]:
    """Return topic, partition, leader and replicas of each partition, with ISR and ELR in sorted order."""
    lines = re.findall(r"\tTopic: (\S+)\tPartition: (\d+)\tLeader: (\S+)\tReplicas: (\S+)\tIsr: (\S*)\tElr: (\S*)\t", file.read_text())
    return {(*line[:4], *(",".join(sorted(ids.split(","))) for ids in line[4:])) for line in lines}


@pytest.mark.parametrize("cluster", ["orders-eu", "payments-us"])
def test_end_offsets_grow_by_the_records_of_the_key_sample(cluster: str) -> None:
    before, now = end_offsets(NIGHT_BEFORE, cluster), end_offsets(BUNDLED, cluster)
    complete = {topic for topic, _ in before} - {topic for topic, partition in before.keys() - now.keys()} - {"__consumer_offsets"}
    grown: Counter[str] = Counter()
    for (topic, partition), offset in now.items():
        grown[topic] += offset - before[topic, partition]
    sent: Counter[str] = Counter()
    with (BUNDLED / cluster / "key-sample.csv").open() as file:
        for row in csv.DictReader(file):
            sent[row["topic"]] += int(row["records"])
    assert len(complete) >= 9
    assert {topic: grown[topic] for topic in complete} == {topic: sent[topic] for topic in complete}


@pytest.mark.parametrize("file", sorted((SNAPSHOTS / "killed").glob("*-*/0-before.txt")), ids=lambda file: file.parent.name)
def test_every_scenario_starts_from_the_same_healthy_cluster(file: Path) -> None:
    patterns = ("night-before/*/kafka-topics.txt", "zookeeper/*/kafka-topics.txt", "killed/six-rack-a/0-before.txt")
    dumps = [dump for pattern in patterns for dump in SNAPSHOTS.glob(pattern)]
    (healthy,) = [dump for dump in dumps if file.parent.name.startswith(dump.parent.name.removesuffix("rack-a"))]
    assert partition_states(file) == partition_states(healthy)


def test_the_bundled_dumps_continue_the_night_before() -> None:
    assert partition_states(BUNDLED / "orders-eu/kafka-topics.txt") == partition_states(NIGHT_BEFORE / "orders-eu/kafka-topics.txt")
    after_the_loss = SNAPSHOTS / "killed/payments-us-broker-11/1-kill-11.txt"
    assert partition_states(BUNDLED / "payments-us/kafka-topics.txt") == partition_states(after_the_loss)
