"""The columnar failover is kafka_model.failover on rows: held equal on generated partitions, scenarios and rules."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs import failover
from jobs.tables import BROKER, CLUSTER, CONSUMER_GROUP, PARTITION, PRODUCER_LOAD, TOPIC
from kafka_model.failover import Outcome, Partition, outcome
from kafka_model.java_hash import string_hash
from kafka_model.partition_state import PartitionState

NAMES = {PartitionState.ONLINE: "OnlinePartition", PartitionState.OFFLINE: "OfflinePartition"}


@dataclass(frozen=True)
class Case:
    """A cluster of its own: its rules, its live brokers, one partition, and who fails."""

    id: str
    controller: str
    elr: bool
    live: list[int]
    partition: Partition
    topic_unclean: bool
    failing: list[int]
    unclean: bool | None
    controlled_shutdown: bool

    def expected(self) -> Outcome:
        unclean = self.topic_unclean if self.unclean is None else self.unclean
        rules = {"controller": self.controller, "elr": self.elr, "unclean": unclean, "controlled_shutdown": self.controlled_shutdown}
        return outcome(self.partition, [id for id in self.failing if id in self.partition.replicas], set(self.live) & set(self.partition.replicas), **rules)


def cases(count: int, seed: int) -> Iterator[Case]:
    chance = random.Random(seed)
    for number in range(count):
        brokers = list(range(1, chance.randint(2, 7)))
        replicas = chance.sample(brokers, k=chance.randint(1, min(5, len(brokers))))
        live = sorted(chance.sample(brokers, k=chance.randint(1, len(brokers))))
        elr = chance.random() < 0.5
        controller = "kraft" if elr else chance.choice(["kraft", "zookeeper"])
        any_ = chance.sample(replicas, k=chance.randint(0 if elr else 1, len(replicas)))  # dead ones too: a dump may be taken before they are fenced
        isr = [id for id in replicas if id in live and id in any_] if any_ and chance.random() < 0.6 else any_
        leaders = [id for id in isr if id in live]
        leader = chance.choice(leaders) if leaders else None
        out = [id for id in replicas if id not in isr]
        eligible = chance.sample(out, k=chance.randint(0, len(out))) if elr else []
        known = [chance.choice(replicas)] if elr and leader is None and chance.random() < 0.5 else []
        least = chance.randint(1, 4)
        partition = Partition(tuple(replicas), leader, tuple(isr), tuple(sorted(eligible)), tuple(known), least)
        failing = chance.sample(live, k=chance.randint(1, len(live)))
        unclean, controlled = chance.choice([None, True, False]), chance.random() < 0.4
        yield Case(f"case {number}", controller, elr, live, partition, chance.random() < 0.3, failing, unclean, controlled)


def test_a_group_is_coordinated_where_its_names_java_hash_says(spark: SparkSession) -> None:
    draw = random.Random(3)
    names = ["", "g", "polygenelubricants", "grüße", "\U0001f600 group", "\uffee", *("".join(chr(draw.randrange(32, 0xD7FF)) for _ in range(draw.randrange(40))) for _ in range(200))]
    df = spark.createDataFrame([(name, 50) for name in names], "group_id STRING, n BIGINT")
    found = [row.partition for row in df.select(failover.coordinator_partition(F.col("group_id"), F.col("n")).alias("partition")).collect()]
    codes = [string_hash(name) for name in names]
    assert codes[2] == -(1 << 31)  # whose absolute value Java has none of: Utils.abs says 0
    assert found == [0 if code == -(1 << 31) else abs(code) % 50 for code in codes]


def test_columns_fail_as_values_do(spark: SparkSession) -> None:
    asked = {case.id: case for case in cases(3000, seed=7)}
    affected = {id: case for id, case in asked.items() if set(case.failing) & set(case.partition.replicas)}
    rows: dict[str, list[tuple[object, ...]]] = {name: [] for name in ("cluster", "broker", "topic", "partition", "scenario")}
    for id, case in asked.items():
        of = ("s", id)
        was = case.partition
        config = {"unclean.leader.election.enable": "true"} if case.topic_unclean else {}
        rows["cluster"].append((*of, case.controller, case.elr, ["kafka-topics"], None))
        rows["broker"] += [(*of, broker, None, broker in case.live, None, None, None, None) for broker in range(1, 7)]
        rows["topic"].append((*of, "t", None, 1, len(was.replicas), was.min_insync_replicas, config))
        told = [list(was.elr), list(was.last_known_elr)] if case.elr else [None, None]
        rows["partition"].append((*of, "t", 0, was.leader, list(was.replicas), list(was.isr), *told, *[None] * (len(PARTITION.schema) - 9)))
        rows["scenario"].append((*of, "test", "one", "what-if", case.failing, [], case.unclean, case.controlled_shutdown))
    frames = [spark.createDataFrame(rows[table.name], table.columns) for table in (CLUSTER, BROKER, TOPIC, PARTITION)]
    asks = spark.createDataFrame(rows["scenario"], failover.ASKED)
    _, failed, _ = failover.outcome(asks, *frames, *(spark.createDataFrame([], table.columns) for table in (PRODUCER_LOAD, CONSUMER_GROUP)))
    found = {row.cluster_id: row for row in failed.collect()}

    assert found.keys() == affected.keys()
    for id, case in affected.items():
        row, expected, left = found[id], case.expected(), set(case.live) - set(case.failing)
        after = expected.partition
        leader = after.leader if after.leader in left else None
        transitions = [f"{NAMES[before]} -> {NAMES[now]}" for before, now in expected.transitions]
        wanted = (leader, sorted(after.isr), expected.election.value, transitions, len(left & set(after.replicas)))
        assert (row.leader, row.isr, row.election, row.transitions, row.live_replicas) == wanted, case
        assert ((row.elr, row.last_known_elr) if case.elr else ([], [])) == ((sorted(after.elr), list(after.last_known_elr)) if case.elr else ([], [])), case
