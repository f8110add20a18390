"""The columnar failover equals kafka_model.failover.broker_failure on generated partitions, scenarios and rules."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.schema import (
    BROKER,
    CLUSTER,
    COMMITTED_OFFSET,
    OBSERVED_ASSIGNMENT,
    PARTITION,
    PARTITION_LOAD,
    PRODUCER_LOAD,
    REPLICA,
    TOPIC,
    Table,
)
from jobs.steps import failover
from kafka_model.election import zookeeper_controller
from kafka_model.election.partition import Partition
from kafka_model.election.state_machines import PartitionState
from kafka_model.failover.broker_failure import Outcome, fail_brokers
from kafka_model.java.hash_map import string_hash
from tests.jobs.rows import materialized, table, told

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
        return fail_brokers(
            self.partition,
            [id for id in self.failing if id in self.partition.replicas],
            set(self.live) & set(self.partition.replicas),
            **rules,
        )


def cases(count: int, seed: int) -> Iterator[Case]:
    chance = random.Random(seed)
    for number in range(count):
        brokers = list(range(1, chance.randint(2, 7)))
        replicas = chance.sample(brokers, k=chance.randint(1, min(5, len(brokers))))
        live = sorted(chance.sample(brokers, k=chance.randint(1, len(brokers))))
        elr = chance.random() < 0.5
        controller = "kraft" if elr else chance.choice(["kraft", "zookeeper"])
        any_ = chance.sample(
            replicas, k=chance.randint(0 if elr else 1, len(replicas))
        )  # dead ones too: a dump may be taken before they are fenced
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
    names = [
        "",
        "g",
        "polygenelubricants",
        "grüße",
        "\U0001f600 group",
        "\uffee",
        *("".join(chr(draw.randrange(32, 0xD7FF)) for _ in range(draw.randrange(40))) for _ in range(200)),
    ]
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
        rows["cluster"].append((*of, case.controller, case.elr, ["kafka-topics"], *[None] * (len(CLUSTER.schema) - 5)))
        rows["broker"] += [(*of, broker, None, broker in case.live, *[None] * (len(BROKER.schema) - 5)) for broker in range(1, 7)]
        rows["topic"].append((*of, "t", None, 1, len(was.replicas), was.min_insync_replicas, config))
        told = [list(was.elr), list(was.last_known_elr)] if case.elr else [None, None]
        rows["partition"].append((*of, "t", 0, was.leader, list(was.replicas), list(was.isr), *told, *[None] * (len(PARTITION.schema) - 9)))
        rows["scenario"].append((*of, "test", "one", "what-if", case.failing, [], case.unclean, case.controlled_shutdown, []))
    frames = {table: spark.createDataFrame(rows.get(table.name, []), table.columns) for table in failover.READS}
    asks = spark.createDataFrame(rows["scenario"], failover.ASKED)
    _, failed, _ = materialized(failover.outcome(asks, frames))
    found = {row.cluster_id: row for row in failed.collect()}

    assert found.keys() == affected.keys()
    for id, case in affected.items():
        row, expected, left = found[id], case.expected(), set(case.live) - set(case.failing)
        after = expected.partition
        leader = after.leader if after.leader in left else None
        transitions = [f"{NAMES[before]} -> {NAMES[now]}" for before, now in expected.transitions]
        wanted = (leader, sorted(after.isr), expected.election.value, transitions, len(left & set(after.replicas)), after.leader_epoch)
        assert (row.leader, row.isr, row.election, row.transitions, row.live_replicas, row.leader_epochs) == wanted, case
        assert ((row.elr, row.last_known_elr) if case.elr else ([], [])) == (
            (sorted(after.elr), list(after.last_known_elr)) if case.elr else ([], [])
        ), case


def test_the_zookeeper_controller_sends_as_many_requests_as_the_model(spark: SparkSession) -> None:
    draw = random.Random(5)
    partitions, asked, expected = [], [], {}
    for number in range(40):
        brokers = range(draw.randint(2, 7))
        known = {}
        for partition in range(draw.randint(1, 5)):
            replicas = draw.sample(brokers, k=draw.randint(1, min(4, len(brokers))))
            isr = [replica for replica in replicas if draw.random() < 0.7] or replicas[:1]
            known["t", partition] = Partition(tuple(replicas), draw.choice(isr), tuple(isr))
            partitions.append(
                {
                    "cluster_id": f"c{number}",
                    "topic": "t",
                    "partition": partition,
                    "leader": known["t", partition].leader,
                    "replicas": replicas,
                    "isr": isr,
                }
            )
        unclean = draw.random() < 0.3
        up = zookeeper_controller.start_up(
            zookeeper_controller.Context(known, frozenset(brokers), unclean_topics=frozenset({"t"} if unclean else ()))
        ).context
        for broker in brokers:
            for in_order in (False, True):
                shut = zookeeper_controller.on_controlled_shutdown(up, broker) if in_order else zookeeper_controller.Changed(up)
                sent = shut.followed_by(zookeeper_controller.on_broker_failure(shut.context, [broker])).requests
                id = f"{'stop' if in_order else 'broker'} {broker}"
                expected[f"c{number}", id] = tuple(
                    sum(len(getattr(batch, kind)) for batch in sent) for kind in ("leader_and_isr", "update_metadata", "stop_replica")
                )
                asked.append(("s", f"c{number}", "test", id, "what-if", [broker], [], unclean, in_order, []))
    clusters = sorted({cluster for cluster, _ in expected})
    of = {of: table(spark, of) for of in failover.READS}
    of[CLUSTER] = table(spark, CLUSTER, *({"cluster_id": cluster, "controller": "zookeeper"} for cluster in clusters))
    of[BROKER] = table(spark, BROKER, *({"cluster_id": row[1], "broker_id": row[5][0], "live": True} for row in asked if not row[8]))
    of[TOPIC] = table(spark, TOPIC, *({"cluster_id": cluster, "topic": "t"} for cluster in clusters))
    of[PARTITION] = table(spark, PARTITION, *partitions)
    scenario, _, _ = materialized(failover.outcome(spark.createDataFrame(asked, failover.ASKED), of))
    requests = told(scenario, "cluster_id", "scenario_id", "leader_and_isr_requests", "update_metadata_requests", "stop_replica_requests")
    found = {(cluster, id): tuple(rest) for cluster, id, *rest in requests}
    assert found == expected
    assert any(stop for _, _, stop in expected.values())


def three(spark: SparkSession, *partitions: dict[str, Any], **of: Any) -> dict[Table, DataFrame]:
    """Brokers 1, 2, 3 with two log dirs each, and a KRaft cluster of them; topic t with these partitions, all replicas in sync."""
    rows = [
        {"topic": "t", "partition": number, "leader": p["replicas"][0], "isr": sorted(p["replicas"]), "elr": [], "last_known_elr": [], **p}
        for number, p in enumerate(partitions)
    ]
    tables = {other: table(spark, other) for other in failover.READS}
    tables[CLUSTER] = table(spark, CLUSTER, {"controller": "kraft", "elr": True, **of})
    tables[BROKER] = table(spark, BROKER, *({"broker_id": id, "live": True, "network_out_capacity_bytes_per_s": 100.0} for id in (1, 2, 3)))
    tables[TOPIC] = table(spark, TOPIC, {"topic": "t", "partitions": len(rows), "replication_factor": 2, "min_insync_replicas": 1})
    tables[PARTITION] = table(spark, PARTITION, *rows)
    return tables


def play(spark: SparkSession, of: dict[Table, DataFrame], *brokers: int, log_dirs: tuple[str, ...] = ()) -> tuple[DataFrame, ...]:
    asked = [("s", "c", "test", "one", "what-if", list(brokers), [], None, False, list(log_dirs))]
    return materialized(failover.outcome(spark.createDataFrame(asked, failover.ASKED), of, replica=of.get(REPLICA)))


def test_nobody_is_elected_once_the_controllers_have_lost_their_quorum(spark: SparkSession) -> None:
    """Of two deaths the second is noticed by nobody: its partitions stay led by the dead, and those that it follows in wait for it."""
    of = three(spark, {"replicas": [1, 2]}, {"replicas": [2, 3]}, {"replicas": [3, 2]}, voters=[1, 2, 3], controller_id=2)
    scenario, failed, _ = play(spark, of, 1, 2)
    assert told(scenario, "quorum_lost", "controller_moves", "metadata_records") == [(True, True, 2)]
    assert told(failed, "partition", "leader", "isr", "under_min_isr") == [
        (0, None, [2], True),
        (1, None, [2, 3], True),
        (2, 3, [2, 3], True),
    ]
    scenario, failed, _ = play(spark, three(spark, {"replicas": [2, 3]}, voters=[1, 7, 8]), 1, 2)
    assert told(scenario, "quorum_lost") == [(False,)]
    assert told(failed, "leader", "isr", "under_min_isr") == [(3, [3], False)]


def test_a_log_dir_takes_the_replicas_on_it_and_no_others(spark: SparkSession) -> None:
    of = three(spark, {"replicas": [1, 2]}, {"replicas": [1, 3]}, {"replicas": [2, 1]})
    places = [(0, 1, "/a"), (0, 2, "/a"), (1, 1, "/b"), (1, 3, "/a"), (2, 2, "/a"), (2, 1, "/a")]
    of[REPLICA] = table(
        spark, REPLICA, *({"topic": "t", "partition": p, "broker_id": id, "replica_index": 0, "log_dir": place} for p, id, place in places)
    )
    scenario, failed, load = play(spark, of, log_dirs=("1:/a",))
    assert told(failed, "partition", "leader_before", "leader", "isr") == [(0, 1, 2, [2]), (2, 2, 2, [2])]
    assert told(load, "broker_id", "leaders_before", "gained_leaders") == [(2, 1, 1)]
    assert told(scenario, "partitions", "moved_leaders", "metadata_records") == [(2, 1, 3)]
    _, failed, _ = play(spark, of, 2, log_dirs=("1:/a",))
    assert told(failed, "partition", "leader", "isr", "elr") == [(0, None, [], [1]), (2, None, [], [1])]


def test_what_a_lost_leader_has_and_its_successor_has_not_is_at_risk(spark: SparkSession) -> None:
    of = three(
        spark,
        {"replicas": [1, 2], "replica_size_bytes": [1000, 900]},
        {"replicas": [1, 3], "isr": [1], "replica_size_bytes": [500, 200]},
        {"replicas": [1], "replica_size_bytes": [70]},
        {"replicas": [1, 3], "replica_size_bytes": [80, None]},
        {"replicas": [2, 1]},
    )
    grown = {"observed_records": 10, "observed_size_bytes": 500}
    of[PRODUCER_LOAD] = table(spark, PRODUCER_LOAD, {"topic": "t", "partition": 0, **grown}, {"topic": "t", "partition": 1, **grown})
    scenario, failed, _ = play(spark, of, 1)
    rows = [(0, 2, 100, 2), (1, None, 300, 6), (2, None, 70, None), (3, 3, None, None), (4, 2, 0, 0)]
    assert told(failed, "partition", "leader", "at_risk_size_bytes", "at_risk_records") == rows
    assert told(scenario, "at_risk_size_bytes", "at_risk_records", "at_risk_unknown") == [(470, 8, 1)]


def test_a_survivor_sends_what_producers_write_to_each_follower_and_group(spark: SparkSession) -> None:
    of = three(spark, {"replicas": [1, 2]}, {"replicas": [2, 3]}, {"replicas": [3, 2]}, {"replicas": [2, 1]})
    of[PRODUCER_LOAD] = table(
        spark,
        PRODUCER_LOAD,
        *({"topic": "t", "partition": p, "observed_size_bytes_per_s": rate} for p, rate in enumerate((10.0, 20.0, 30.0, 99.0))),
    )
    held = [(0, "g", "m"), (0, "h", "n"), (2, "g", "m")]
    of[OBSERVED_ASSIGNMENT] = table(
        spark, OBSERVED_ASSIGNMENT, *({"topic": "t", "partition": p, "group_id": g, "member_id": m} for p, g, m in held)
    )
    measured = {"topic": "t", "partition": 3, "network_in_bytes_per_s": 40.0}  # before what was seen
    of[PARTITION_LOAD] = table(spark, PARTITION_LOAD, measured)
    scenario, _, load = play(spark, of, 1)
    # 2 led partition 1 (20 to one follower) and 3 (40 to one); now 0 too (10 to two groups, no follower), and 3 has lost its follower.
    assert told(load, "broker_id", "gained_size_bytes_per_s", "network_out_bytes_per_s", "network_out_share") == [(2, 10.0, 40.0, 0.4)]
    assert told(scenario, "fullest_survivor", "fullest_survivor_share", "concentration") == [(2, 0.4, 2.0)]


def test_records_and_members_without_a_leader_have_nowhere_to_go(spark: SparkSession) -> None:
    of = three(spark, {"replicas": [1]}, {"replicas": [2]}, {"replicas": [2, 3]})
    kinds = {"explicit_records": 1, "keyed_records": 5, "unkeyed_records": 4, "records": 10, "size_bytes": 1000}
    of[PRODUCER_LOAD] = table(spark, PRODUCER_LOAD, *({"topic": "t", "partition": p, **kinds} for p in range(3)))
    held = [(0, "g", "all"), (0, "h", "some"), (1, "h", "some"), (2, "i", "other")]
    of[OBSERVED_ASSIGNMENT] = table(
        spark, OBSERVED_ASSIGNMENT, *({"topic": "t", "partition": p, "group_id": g, "member_id": m} for p, g, m in held)
    )
    of[COMMITTED_OFFSET] = table(spark, COMMITTED_OFFSET, {"topic": "t", "partition": 0, "group_id": "batch"})
    asked = (
        "undeliverable_records",
        "undeliverable_size_bytes",
        "redirected_records",
        "undeliverable_share",
        "affected_groups",
        "stranded_members",
    )
    assert told(play(spark, of, 1)[0], *asked) == [(6, 600, 4, 0.2, 3, 1)]
    # Without any leader in the topic, records without a key have nowhere to go either.
    assert told(play(spark, of, 1, 2, 3)[0], *asked) == [(30, 3000, 0, 1.0, 4, 3)]
    of[PRODUCER_LOAD], of[OBSERVED_ASSIGNMENT], of[COMMITTED_OFFSET] = (
        table(spark, of) for of in (PRODUCER_LOAD, OBSERVED_ASSIGNMENT, COMMITTED_OFFSET)
    )
    assert told(play(spark, of, 1)[0], *asked) == [(None,) * 6]


def test_kraft_writes_a_record_for_each_change_and_each_registration(spark: SparkSession) -> None:
    """Compare the count with the model, one death at a time."""
    draw = random.Random(9)
    drawn = [draw.sample([1, 2, 3], k=draw.randint(1, 3)) for _ in range(12)]
    partitions = [{"replicas": replicas, "isr": sorted(replicas[: draw.randint(1, len(replicas))])} for replicas in drawn]
    of = three(spark, *partitions)
    for failing in ([1], [2, 3], [3, 1, 2]):
        changes = 0
        for told_ in partitions:
            replicas = tuple(told_["replicas"])
            partition, live = Partition(replicas, replicas[0], tuple(told_["isr"])), {1, 2, 3}
            for broker in failing:
                after = partition
                if broker in replicas:
                    after = fail_brokers(partition, [broker], live, controller="kraft", elr=True, unclean=False).partition
                live = live - {broker}
                changes += after != partition
                partition = after
        assert told(play(spark, of, *failing)[0], "metadata_records") == [(changes + len(failing),)]
