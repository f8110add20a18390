"""The goals before a plan equal the goals of the night, because both use the same size of each partition."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from expectations.limits import limits
from jobs.errors import NoSuchPlan
from jobs.plan.plan import READS, WRITES, Planned, Question, planned
from jobs.schema import BROKER, CLUSTER, PARTITION, PARTITION_LOAD, PLAN_BROKER, PLAN_GOAL, REPLICA, Table
from jobs.spark.session import dataframe_from_arrow
from jobs.steps import goal
from tests.jobs.plan.clusters import generated_cluster, with_replica_sizes, with_uneven_sizes
from tests.jobs.rows import rows, run_step


def verdicts_of_night(spark: SparkSession, clusters: dict[str, dict[Table, pa.Table]]) -> dict[tuple[str, str], tuple[str, int]]:
    """Return the verdict and the number of breaches of each cluster and goal in `goal_verdict`."""
    tables = [
        pa.Table.from_pylist(
            [row | {"cluster_id": id} for id, tables in clusters.items() for row in tables[table].to_pylist()], table.schema
        )
        for table in goal.READS
    ]
    frames = [dataframe_from_arrow(spark, given, table.columns) for table, given in zip(goal.READS, tables, strict=True)]
    verdicts, *_ = run_step(goal, *frames, thresholds=limits(None).cruise_control)
    return {(row["cluster_id"], row["goal"]): (row["verdict"], row["breaches"]) for row in verdicts.toArrow().to_pylist()}


def test_verdicts_before_a_plan_equal_those_of_the_night(spark: SparkSession) -> None:
    clusters = {f"c{seed}": with_uneven_sizes(generated_cluster(seed), seed) for seed in range(40)}
    nightly = verdicts_of_night(spark, clusters)
    compared, disk_verdicts = 0, set()
    for id, tables in clusters.items():
        try:
            plan = planned(tables, Question("p", id, balance=False), limits(None))
        except NoSuchPlan:
            continue
        for row in plan_rows(plan, PLAN_GOAL):
            assert (id, row["goal"], (row["verdict_before"], row["breaches_before"])) == (id, row["goal"], nightly[id, row["goal"]])
            if row["goal"].startswith("Disk"):
                disk_verdicts.add(row["verdict_before"])
        compared += 1
    assert compared > 30
    assert {"satisfied", "violated", "unfixable"} <= disk_verdicts


MIB = 2**20


@pytest.mark.parametrize(
    ("reported_mib", "leader_mib", "follower_mib", "verdict", "size_mib"),
    [
        (100, 900, 900, "satisfied", 100),
        (900, 100, 100, "violated", 900),
        (None, 100, 900, "satisfied", 100),
        (None, 900, 100, "violated", 900),
        (None, None, 900, "violated", 900),
        (None, None, None, "unknown", None),
    ],
)
def test_disk_load_is_the_reported_load_or_the_leaders_size_or_the_largest(
    spark: SparkSession, reported_mib: int | None, leader_mib: int | None, follower_mib: int | None, verdict: str, size_mib: int | None
) -> None:
    tables = {table: rows(table) for table in READS}
    tables[CLUSTER] = rows(CLUSTER, {"controller": "kraft", "elr": False})
    tables[BROKER] = rows(
        BROKER,
        *({"broker_id": id, "rack": f"r{id}", "live": True, "disk_capacity_bytes": 1000.0 * MIB} for id in (1, 2, 3)),
    )
    tables[PARTITION] = rows(PARTITION, {"topic": "t", "partition": 0, "replicas": [1, 2], "leader": 1, "isr": [1, 2]})
    sizes = {1: leader_mib, 2: follower_mib}
    tables[REPLICA] = rows(
        REPLICA,
        *({"topic": "t", "partition": 0, "broker_id": id, "size_bytes": size and size * MIB} for id, size in sizes.items()),
    )
    if reported_mib is not None:
        tables[PARTITION_LOAD] = rows(PARTITION_LOAD, {"topic": "t", "partition": 0, "disk_bytes": reported_mib * float(MIB)})
    tables = with_replica_sizes(tables)
    plan = planned(tables, Question("p", "c", balance=False), limits(None))
    assert {row["goal"]: row["verdict_before"] for row in plan_rows(plan, PLAN_GOAL)}["DiskCapacityGoal"] == verdict
    assert verdicts_of_night(spark, {"c": tables})["c", "DiskCapacityGoal"][0] == verdict
    size = None if size_mib is None else size_mib * MIB
    assert {row["broker_id"]: row["size_bytes_before"] for row in plan_rows(plan, PLAN_BROKER)} == {1: size, 2: size, 3: 0.0}


def plan_rows(plan: Planned, table: Table) -> list[dict[str, Any]]:
    return plan.tables[WRITES.index(table)].to_pylist()
