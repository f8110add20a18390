"""Failures of generated clusters, compared with kafka_model, and what they do to clients and brokers."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from jobs.failure.scenarios import Scenario
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
from jobs.steps.failover import group_hashes
from kafka_model.election import zookeeper_controller
from kafka_model.election.partition import Partition
from kafka_model.election.state_machines import PartitionState
from kafka_model.failover.broker_failure import Outcome, fail_brokers
from kafka_model.java.hash_map import string_hash
from tests.jobs.rows import sorted_rows, table
from tests.jobs.simulation import simulated

NAMES = {PartitionState.ONLINE: "OnlinePartition", PartitionState.OFFLINE: "OfflinePartition"}


@dataclass(frozen=True)
class Case:
    """A cluster with its election rules, its live brokers, one partition, and the brokers that fail."""

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
    rng = random.Random(seed)
    for number in range(count):
        brokers = list(range(1, rng.randint(2, 7)))
        replicas = rng.sample(brokers, k=rng.randint(1, min(5, len(brokers))))
        live = sorted(rng.sample(brokers, k=rng.randint(1, len(brokers))))
        elr = rng.random() < 0.5
        controller = "kraft" if elr else rng.choice(["kraft", "zookeeper"])
        # An ISR may contain dead brokers: a dump can be taken before they are fenced.
        isr = rng.sample(replicas, k=rng.randint(0 if elr else 1, len(replicas)))
        if isr and rng.random() < 0.6:
            isr = [id for id in replicas if id in live and id in isr]
        leaders = [id for id in isr if id in live]
        leader = rng.choice(leaders) if leaders else None
        out_of_sync = [id for id in replicas if id not in isr]
        eligible = rng.sample(out_of_sync, k=rng.randint(0, len(out_of_sync))) if elr else []
        last_known = [rng.choice(replicas)] if elr and leader is None and rng.random() < 0.5 else []
        min_isr = rng.randint(1, 4)
        partition = Partition(tuple(replicas), leader, tuple(isr), tuple(sorted(eligible)), tuple(last_known), min_isr)
        failing = rng.sample(live, k=rng.randint(1, len(live)))
        unclean, controlled = rng.choice([None, True, False]), rng.random() < 0.4
        yield Case(f"case {number}", controller, elr, live, partition, rng.random() < 0.3, failing, unclean, controlled)


def test_group_hashes_equal_the_java_hash_of_the_group_ids() -> None:
    rng = random.Random(3)
    names = [
        "",
        "g",
        "polygenelubricants",
        "grüße",
        "\U0001f600 group",
        "\uffee",
        *("".join(chr(rng.randrange(32, 0xD7FF)) for _ in range(rng.randrange(40))) for _ in range(200)),
    ]
    found = group_hashes(pa.array(names))
    codes = [string_hash(name) for name in names]
    assert codes[2] == -(1 << 31)  # Java has no absolute value of it: Utils.abs returns 0
    assert found.to_pylist() == [0 if code == -(1 << 31) else abs(code) for code in codes]


def test_simulated_partitions_equal_the_model(spark: SparkSession) -> None:
    all_cases = {case.id: case for case in cases(3000, seed=7)}
    affected = {id: case for id, case in all_cases.items() if set(case.failing) & set(case.partition.replicas)}
    clusters, brokers, topics, partitions, scenarios = [], [], [], [], []
    for id, case in all_cases.items():
        before = case.partition
        config = [("unclean.leader.election.enable", "true")] if case.topic_unclean else []
        topic = {"cluster_id": id, "topic": "t"}
        clusters.append({"cluster_id": id, "controller": case.controller, "elr": case.elr})
        brokers += [{"cluster_id": id, "broker_id": broker, "live": broker in case.live} for broker in range(1, 7)]
        topics.append(
            {**topic, "replication_factor": len(before.replicas), "min_insync_replicas": before.min_insync_replicas, "configs": config}
        )
        elr = {"elr": before.elr, "last_known_elr": before.last_known_elr} if case.elr else {}
        partitions.append({**topic, "leader": before.leader, "replicas": before.replicas, "isr": before.isr, **elr})
        scenarios.append(
            Scenario("s", id, "test", "one", "what-if", case.failing, unclean=case.unclean, controlled_shutdown=case.controlled_shutdown)
        )
    inputs = {each: table(spark, each) for each in failover.READS}
    inputs |= {CLUSTER: table(spark, CLUSTER, *clusters), BROKER: table(spark, BROKER, *brokers)}
    inputs |= {TOPIC: table(spark, TOPIC, *topics), PARTITION: table(spark, PARTITION, *partitions)}
    _, outcomes, _ = simulated(scenarios, inputs)
    found = {row.cluster_id: row for row in outcomes.collect()}

    assert found.keys() == affected.keys()
    for id, case in affected.items():
        row, expected, survivors = found[id], case.expected(), set(case.live) - set(case.failing)
        after = expected.partition
        leader = after.leader if after.leader in survivors else None
        transitions = [f"{NAMES[before]} -> {NAMES[now]}" for before, now in expected.transitions]
        live_replicas = len(survivors & set(after.replicas))
        wanted = (leader, sorted(after.isr), expected.election.value, transitions, live_replicas, after.leader_epoch)
        assert (row.leader, row.isr, row.election, row.transitions, row.live_replicas, row.leader_epochs) == wanted, case
        assert ((row.elr, row.last_known_elr) if case.elr else ([], [])) == (
            (sorted(after.elr), list(after.last_known_elr)) if case.elr else ([], [])
        ), case


def test_the_zookeeper_controller_sends_as_many_requests_as_the_model(spark: SparkSession) -> None:
    rng = random.Random(5)
    partitions, scenarios, brokers_of, expected = [], [], {}, {}
    for number in range(40):
        cluster_id, brokers = f"c{number}", range(rng.randint(2, 7))
        brokers_of[cluster_id] = brokers
        in_model = {}
        for partition in range(rng.randint(1, 5)):
            replicas = rng.sample(brokers, k=rng.randint(1, min(4, len(brokers))))
            isr = [replica for replica in replicas if rng.random() < 0.7] or replicas[:1]
            leader = rng.choice(isr)
            in_model["t", partition] = Partition(tuple(replicas), leader, tuple(isr))
            row = {"cluster_id": cluster_id, "topic": "t", "partition": partition, "leader": leader, "replicas": replicas, "isr": isr}
            partitions.append(row)
        unclean = rng.random() < 0.3
        started = zookeeper_controller.start_up(
            zookeeper_controller.Context(in_model, frozenset(brokers), unclean_topics=frozenset({"t"} if unclean else ()))
        ).context
        for broker in brokers:
            for controlled in (False, True):
                shut_down = (
                    zookeeper_controller.on_controlled_shutdown(started, broker) if controlled else zookeeper_controller.Changed(started)
                )
                sent = shut_down.followed_by(zookeeper_controller.on_broker_failure(shut_down.context, [broker])).requests
                id = f"{'stop' if controlled else 'broker'} {broker}"
                expected[cluster_id, id] = tuple(
                    sum(len(getattr(batch, kind)) for batch in sent) for kind in ("leader_and_isr", "update_metadata", "stop_replica")
                )
                scenarios.append(
                    Scenario("s", cluster_id, "test", id, "what-if", [broker], unclean=unclean, controlled_shutdown=controlled)
                )
    inputs = {each: table(spark, each) for each in failover.READS}
    inputs[CLUSTER] = table(spark, CLUSTER, *({"cluster_id": id, "controller": "zookeeper"} for id in brokers_of))
    live = ({"cluster_id": id, "broker_id": broker, "live": True} for id, brokers in brokers_of.items() for broker in brokers)
    inputs[BROKER] = table(spark, BROKER, *live)
    inputs[TOPIC] = table(spark, TOPIC, *({"cluster_id": id, "topic": "t"} for id in brokers_of))
    inputs[PARTITION] = table(spark, PARTITION, *partitions)
    scenario, _, _ = simulated(scenarios, inputs)
    requests = sorted_rows(
        scenario, "cluster_id", "scenario_id", "leader_and_isr_requests", "update_metadata_requests", "stop_replica_requests"
    )
    assert {(cluster, id): tuple(counts) for cluster, id, *counts in requests} == expected
    assert any(stop_replica for _, _, stop_replica in expected.values())


def three_brokers(spark: SparkSession, *partitions: dict[str, Any], **cluster: Any) -> dict[Table, DataFrame]:
    """Brokers 1, 2, 3 of a KRaft cluster, and topic t with these partitions, with all replicas in sync by default."""
    rows = [
        {"topic": "t", "partition": number, "leader": p["replicas"][0], "isr": sorted(p["replicas"]), "elr": [], "last_known_elr": [], **p}
        for number, p in enumerate(partitions)
    ]
    inputs = {other: table(spark, other) for other in failover.READS}
    inputs[CLUSTER] = table(spark, CLUSTER, {"controller": "kraft", "elr": True, **cluster})
    brokers = ({"broker_id": id, "live": True, "network_out_capacity_bytes_per_s": 100.0} for id in (1, 2, 3))
    inputs[BROKER] = table(spark, BROKER, *brokers)
    inputs[TOPIC] = table(spark, TOPIC, {"topic": "t", "partitions": len(rows), "replication_factor": 2, "min_insync_replicas": 1})
    inputs[PARTITION] = table(spark, PARTITION, *rows)
    return inputs


def kill(inputs: dict[Table, DataFrame], *brokers: int, log_dirs: tuple[str, ...] = ()) -> tuple[DataFrame, ...]:
    """Compute `scenario`, `failover` and `failover_load` of one failure."""
    return simulated([Scenario("s", "c", "test", "one", "what-if", brokers, log_dirs=log_dirs)], inputs)


def test_without_a_quorum_no_leader_is_elected_and_no_isr_shrinks(spark: SparkSession) -> None:
    """The controllers do not react to the second death: its partitions stay led by a dead broker, or wait for a dead follower."""
    inputs = three_brokers(spark, {"replicas": [1, 2]}, {"replicas": [2, 3]}, {"replicas": [3, 2]}, voters=[1, 2, 3], controller_id=2)
    scenario, outcomes, _ = kill(inputs, 1, 2)
    assert sorted_rows(scenario, "quorum_lost", "controller_moves", "metadata_records") == [(True, True, 2)]
    assert sorted_rows(outcomes, "partition", "leader", "isr", "under_min_isr") == [
        (0, None, [2], True),
        (1, None, [2, 3], True),
        (2, 3, [2, 3], True),
    ]
    scenario, outcomes, _ = kill(three_brokers(spark, {"replicas": [2, 3]}, voters=[1, 7, 8]), 1, 2)
    assert sorted_rows(scenario, "quorum_lost") == [(False,)]
    assert sorted_rows(outcomes, "leader", "isr", "under_min_isr") == [(3, [3], False)]


def test_a_failed_log_dir_affects_only_its_own_replicas(spark: SparkSession) -> None:
    inputs = three_brokers(spark, {"replicas": [1, 2]}, {"replicas": [1, 3]}, {"replicas": [2, 1]})
    log_dirs = [(0, 1, "/a"), (0, 2, "/a"), (1, 1, "/b"), (1, 3, "/a"), (2, 2, "/a"), (2, 1, "/a")]
    inputs[REPLICA] = table(
        spark,
        REPLICA,
        *({"topic": "t", "partition": p, "broker_id": id, "replica_index": 0, "log_dir": log_dir} for p, id, log_dir in log_dirs),
    )
    scenario, outcomes, load = kill(inputs, log_dirs=("1:/a",))
    assert sorted_rows(outcomes, "partition", "leader_before", "leader", "isr") == [(0, 1, 2, [2]), (2, 2, 2, [2])]
    assert sorted_rows(load, "broker_id", "leaders_before", "gained_leaders") == [(2, 1, 1)]
    assert sorted_rows(scenario, "partitions", "moved_leaders", "metadata_records") == [(2, 1, 3)]
    _, outcomes, _ = kill(inputs, 2, log_dirs=("1:/a",))
    assert sorted_rows(outcomes, "partition", "leader", "isr", "elr") == [(0, None, [], [1]), (2, None, [], [1])]


def test_bytes_of_a_lost_leader_that_its_successor_lacks_are_at_risk(spark: SparkSession) -> None:
    inputs = three_brokers(
        spark,
        {"replicas": [1, 2], "replica_size_bytes": [1000, 900]},
        {"replicas": [1, 3], "isr": [1], "replica_size_bytes": [500, 200]},
        {"replicas": [1], "replica_size_bytes": [70]},
        {"replicas": [1, 3], "replica_size_bytes": [80, None]},
        {"replicas": [2, 1]},
    )
    growth = {"topic": "t", "observed_records": 10, "observed_size_bytes": 500}
    # Retention may have deleted what the size of partition 2 did not grow by, so the size of its records is unknown.
    sources = ("offsets_and_log", "offsets_and_sample", "size_growth")
    inputs[PRODUCER_LOAD] = table(
        spark, PRODUCER_LOAD, *({**growth, "partition": p, "observed_size_source": source} for p, source in enumerate(sources))
    )
    scenario, outcomes, _ = kill(inputs, 1)
    rows = [(0, 2, 100, 2), (1, None, 300, 6), (2, None, 70, None), (3, 3, None, None), (4, 2, 0, 0)]
    assert sorted_rows(outcomes, "partition", "leader", "at_risk_size_bytes", "at_risk_records") == rows
    assert sorted_rows(scenario, "at_risk_size_bytes", "at_risk_records", "at_risk_unknown") == [(470, 8, 1)]


def test_a_survivor_sends_the_written_bytes_to_each_follower_and_group(spark: SparkSession) -> None:
    inputs = three_brokers(spark, {"replicas": [1, 2]}, {"replicas": [2, 3]}, {"replicas": [3, 2]}, {"replicas": [2, 1]})
    inputs[PRODUCER_LOAD] = table(
        spark,
        PRODUCER_LOAD,
        *({"topic": "t", "partition": p, "observed_size_bytes_per_s": rate} for p, rate in enumerate((10.0, 20.0, 30.0, 99.0))),
    )
    assigned = [(0, "g", "m"), (0, "h", "n"), (2, "g", "m")]
    inputs[OBSERVED_ASSIGNMENT] = table(
        spark, OBSERVED_ASSIGNMENT, *({"topic": "t", "partition": p, "group_id": g, "member_id": m} for p, g, m in assigned)
    )
    measured = {"topic": "t", "partition": 3, "network_in_bytes_per_s": 40.0}  # takes precedence over the observed rate
    inputs[PARTITION_LOAD] = table(spark, PARTITION_LOAD, measured)
    scenario, _, load = kill(inputs, 1)
    # Broker 2 sent 20 to a follower of partition 1 and 40 to one of partition 3. Now it also sends 10 to each of two groups of partition 0, and
    # the follower of partition 3 is dead.
    assert sorted_rows(load, "broker_id", "gained_size_bytes_per_s", "network_out_bytes_per_s", "network_out_share") == [
        (2, 10.0, 40.0, 0.4)
    ]
    assert sorted_rows(scenario, "fullest_survivor", "fullest_survivor_share", "concentration") == [(2, 0.4, 2.0)]


def test_records_without_a_leader_are_undeliverable_and_their_readers_stranded(spark: SparkSession) -> None:
    inputs = three_brokers(spark, {"replicas": [1]}, {"replicas": [2]}, {"replicas": [2, 3]})
    sampled = {"explicit_records": 1, "keyed_records": 5, "unkeyed_records": 4, "records": 10, "size_bytes": 1000}
    inputs[PRODUCER_LOAD] = table(spark, PRODUCER_LOAD, *({"topic": "t", "partition": p, **sampled} for p in range(3)))
    assigned = [(0, "g", "all"), (0, "h", "some"), (1, "h", "some"), (2, "i", "other")]
    inputs[OBSERVED_ASSIGNMENT] = table(
        spark, OBSERVED_ASSIGNMENT, *({"topic": "t", "partition": p, "group_id": g, "member_id": m} for p, g, m in assigned)
    )
    inputs[COMMITTED_OFFSET] = table(spark, COMMITTED_OFFSET, {"topic": "t", "partition": 0, "group_id": "batch"})
    columns = (
        "undeliverable_records",
        "undeliverable_size_bytes",
        "redirected_records",
        "undeliverable_share",
        "affected_groups",
        "stranded_members",
    )
    assert sorted_rows(kill(inputs, 1)[0], *columns) == [(6, 600, 4, 0.2, 3, 1)]
    # If no partition of the topic has a leader, records without a key are undeliverable too.
    assert sorted_rows(kill(inputs, 1, 2, 3)[0], *columns) == [(30, 3000, 0, 1.0, 4, 3)]
    inputs[PRODUCER_LOAD], inputs[OBSERVED_ASSIGNMENT], inputs[COMMITTED_OFFSET] = (
        table(spark, each) for each in (PRODUCER_LOAD, OBSERVED_ASSIGNMENT, COMMITTED_OFFSET)
    )
    assert sorted_rows(kill(inputs, 1)[0], *columns) == [(None,) * 6]


def test_kraft_writes_a_record_per_changed_partition_and_per_registration(spark: SparkSession) -> None:
    """Compare the count with the model, one death at a time."""
    rng = random.Random(9)
    replica_lists = [rng.sample([1, 2, 3], k=rng.randint(1, 3)) for _ in range(12)]
    partitions = [{"replicas": replicas, "isr": sorted(replicas[: rng.randint(1, len(replicas))])} for replicas in replica_lists]
    inputs = three_brokers(spark, *partitions)
    for failing in ([1], [2, 3], [3, 1, 2]):
        changes = 0
        for row in partitions:
            replicas = tuple(row["replicas"])
            partition, live = Partition(replicas, replicas[0], tuple(row["isr"])), {1, 2, 3}
            for broker in failing:
                after = partition
                if broker in replicas:
                    after = fail_brokers(partition, [broker], live, controller="kraft", elr=True, unclean=False).partition
                live = live - {broker}
                changes += after != partition
                partition = after
        assert sorted_rows(kill(inputs, *failing)[0], "metadata_records") == [(changes + len(failing),)]
