"""Two brokers that die: what both hold is played, and the rest adds up."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from jobs.plan.failover import COUNTS, Failures, State
from jobs.schema import BROKER, CLUSTER, PARTITION, TOPIC
from jobs.steps import failover, joint_failover
from tests.jobs.rows import materialized, run_step, table, told

# Of six brokers: a partition on three racks, a thin one, one short of a replica, one on a pair, one whose last in-sync replica is alone.
PARTITIONS: list[dict[str, Any]] = [
    {"replicas": [1, 2, 3], "leader": 1, "isr": [1, 2, 3]},
    {"replicas": [4, 5], "leader": 4, "isr": [4, 5]},
    {"replicas": [2, 3, 4], "leader": 2, "isr": [2, 3]},
    {"replicas": [5, 6, 1], "leader": 5, "isr": [1, 5, 6]},
    {"replicas": [6, 2, 5], "leader": 6, "isr": [6]},
    {"replicas": [3], "leader": 3, "isr": [3]},
]
RACKS = {1: "a", 2: "b", 3: "c", 4: "a", 5: "b", 6: None}
LIVE = list(RACKS)


def frames(spark: SparkSession, controller: str, voters: list[int] | None = None) -> list[DataFrame]:
    """CLUSTER, BROKER, TOPIC, PARTITION: a topic each, min.insync.replicas 2 but for those of fewer replicas."""
    topics = [{"topic": f"t{i}", "partitions": 1, "replication_factor": len(p["replicas"]), "min_insync_replicas": min(2, len(p["replicas"]))}
              for i, p in enumerate(PARTITIONS)]  # fmt: skip
    elr = {"elr": [], "last_known_elr": []} if controller == "kraft" else {}
    return [
        table(spark, CLUSTER, {"controller": controller, "elr": controller == "kraft", "voters": voters}),
        table(spark, BROKER, *({"broker_id": id, "live": True, "rack": rack} for id, rack in RACKS.items())),
        table(spark, TOPIC, *topics),
        table(spark, PARTITION, *({"topic": f"t{i}", "partition": 0, **p, **elr} for i, p in enumerate(PARTITIONS))),
    ]


def test_every_pair_does_what_its_own_scenario_would(spark: SparkSession) -> None:
    for controller, voters in (("kraft", [1, 4, 6]), ("zookeeper", None)):
        of = frames(spark, controller, voters)
        none = [table(spark, other) for other in failover.READS[4:]]
        scenario = run_step(failover, *of, *none, parameters={})[0].localCheckpoint()  # as a job reads it: worked out
        pair, _ = run_step(joint_failover, *of, scenario, parameters={})
        asked = [("s", "c", "pairs", f"{a} {b}", "what-if", [a, b], [], None, False, []) for a, b in combinations(LIVE, 2)]
        played, _, _ = materialized(
            failover.outcome(spark.createDataFrame(asked, failover.ASKED), dict(zip(failover.READS, [*of, *none], strict=True)))
        )
        harm = ("newly_offline", "newly_refusing_acks_all", "newly_lost")
        expected = {tuple(row["brokers"]): tuple(row[name] for name in harm) for row in played.collect()}
        found = {(a, b): tuple(rest) for a, b, *rest in told(pair, "broker_id", "other_broker_id", *harm)}
        together = {pair for p in PARTITIONS for pair in combinations(sorted(p["replicas"]), 2)}
        silencing = {pair for pair in combinations(LIVE, 2) if voters and 2 * len(set(voters) - set(pair)) <= len(voters)}
        assert found == {pair: expected[pair] for pair in together | silencing}
        assert all(any(counts) for counts in zip(*found.values(), strict=True))  # each harm is done by some pair
        shared = {pair: sum(set(pair) <= set(p["replicas"]) for p in PARTITIONS) for pair in found}
        assert {(a, b): count for a, b, count in told(pair, "broker_id", "other_broker_id", "shared_partitions")} == shared
        # A plan's matrix says the same of the cluster as it is.
        states = [State(tuple(p["replicas"]), p["leader"], tuple(p["isr"]), *(((), ()) if voters else (None, None)),
                        min(2, len(p["replicas"])), len(p["replicas"])) for p in PARTITIONS]  # fmt: skip
        matrix = Failures(controller, live=RACKS, voters=voters).matrix(states)
        rows = {row.scenario_id: (row.kind, row.brokers, row.after) for row in matrix.beside(matrix)}
        nightly = {id: tuple(rest) for id, *rest in told(scenario, "scenario_id", *COUNTS)}
        assert {id: tuple(counts) for id, (kind, _, counts) in rows.items() if kind != "pair"} == nightly
        assert {tuple(pair): tuple(counts[at] for at in (2, 3, 5)) for kind, pair, counts in rows.values() if kind == "pair"} == found


def test_fatal_sets_are_counted_from_who_is_in_sync(spark: SparkSession) -> None:
    _, loss = run_step(joint_failover, *frames(spark, "kraft"), run_step(failover, *frames(spark, "kraft"), *(table(spark, other) for other in failover.READS[4:]), parameters={})[0], parameters={})  # fmt: skip
    fatal = [set(p["isr"]) for p in PARTITIONS]
    halting = [
        set(some)
        for p in PARTITIONS
        for some in combinations(p["isr"], max(len(p["isr"]) - min(2, len(p["replicas"])) + 1, 1))
        if len(p["isr"]) >= min(2, len(p["replicas"]))
    ]

    def count(sets: list[set[int]], deaths: int) -> int:
        return sum(any(each <= set(dead) for each in sets) for dead in combinations(LIVE, deaths))

    columns = ("deaths", "broker_sets", "copysets", "data_loss_sets", "write_outage_sets")
    assert told(loss, *columns) == [(2, 15, 1, count(fatal, 2), count(halting, 2)), (3, 20, 4, count(fatal, 3), count(halting, 3))]
