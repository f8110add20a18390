"""The goals before a plan equal the goals of the night, because both use the same size of each partition."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from expectations.limits import limits
from jobs.errors import NoSuchPlan
from jobs.plan.current import READS
from jobs.schema import BROKER, CLUSTER, PARTITION, PARTITION_LOAD, REPLICA
from jobs.spark.session import dataframe_from_arrow
from jobs.steps import goal
from tests.jobs.plan.clusters import Tables, generated_cluster, plan_rows, with_replica_sizes, with_uneven_sizes
from tests.jobs.rows import rows, run_step

MIB = 2**20


class Sizes(NamedTuple):
    """Sizes of a partition in MiB; None: unknown."""

    reported: int | None  # by Cruise Control
    leader: int | None
    follower: int | None


class Expected(NamedTuple):
    """The verdict of DiskCapacityGoal on brokers of 1000 MiB, and the size of the partition in MiB."""

    verdict: str
    size: int | None


DISK_LOADS = {
    Sizes(100, 900, 900): Expected("satisfied", 100),
    Sizes(900, 100, 100): Expected("violated", 900),
    Sizes(None, 100, 900): Expected("satisfied", 100),
    Sizes(None, 900, 100): Expected("violated", 900),
    Sizes(None, None, 900): Expected("violated", 900),
    Sizes(None, None, None): Expected("unknown", None),
}


def cluster_with_one_partition(sizes: Sizes) -> Tables:
    """Return a partition of these sizes on brokers 1 and 2 of three; broker 1 leads it."""
    tables = {table: rows(table) for table in READS}
    tables[CLUSTER] = rows(CLUSTER, {"controller": "kraft", "elr": False})
    brokers = (
        {"broker_id": broker_id, "rack": f"r{broker_id}", "live": True, "disk_capacity_bytes": 1000.0 * MIB} for broker_id in (1, 2, 3)
    )
    tables[BROKER] = rows(BROKER, *brokers)
    tables[PARTITION] = rows(PARTITION, {"topic": "t", "partition": 0, "replicas": [1, 2], "leader": 1, "isr": [1, 2]})
    tables[REPLICA] = rows(
        REPLICA,
        *(
            {"topic": "t", "partition": 0, "broker_id": broker_id, "size_bytes": size and size * MIB}
            for broker_id, size in ((1, sizes.leader), (2, sizes.follower))
        ),
    )
    if sizes.reported is not None:
        tables[PARTITION_LOAD] = rows(PARTITION_LOAD, {"topic": "t", "partition": 0, "disk_bytes": sizes.reported * float(MIB)})
    return with_replica_sizes(tables)


GENERATED = {f"generated {seed}": with_uneven_sizes(generated_cluster(seed), seed) for seed in range(40)}
BY_SIZES = {str(sizes): cluster_with_one_partition(sizes) for sizes in DISK_LOADS}


@pytest.fixture(scope="module")
def nightly_goals(spark: SparkSession) -> dict[tuple[str, str], tuple[str, int]]:
    """Return the verdict and the number of breaches in `goal_verdict`, by cluster and goal."""
    clusters = GENERATED | BY_SIZES
    tables = [
        pa.Table.from_pylist(
            [row | {"cluster_id": cluster_id} for cluster_id, tables in clusters.items() for row in tables[table].to_pylist()], table.schema
        )
        for table in goal.READS
    ]
    frames = [dataframe_from_arrow(spark, table_rows, table.columns) for table, table_rows in zip(goal.READS, tables, strict=True)]
    verdicts, *_ = run_step(goal, *frames, thresholds=limits(None).cruise_control)
    return {(row["cluster_id"], row["goal"]): (row["verdict"], row["breaches"]) for row in verdicts.toArrow().to_pylist()}


def test_goals_before_a_plan_equal_those_of_the_night(nightly_goals: dict[tuple[str, str], tuple[str, int]]) -> None:
    compared, disk_verdicts = 0, set()
    for cluster_id, tables in GENERATED.items():
        try:
            plan = plan_rows(tables, cluster_id, balance=False)
        except NoSuchPlan:
            continue
        for row in plan.goals:
            nightly_goal = nightly_goals[cluster_id, row["goal"]]
            assert (row["verdict_before"], row["breaches_before"]) == nightly_goal, (cluster_id, row["goal"])
            if row["goal"].startswith("Disk"):
                disk_verdicts.add(row["verdict_before"])
        compared += 1
    assert compared > 30
    assert {"satisfied", "violated", "unfixable"} <= disk_verdicts


@pytest.mark.parametrize(("sizes", "expected"), DISK_LOADS.items(), ids=str)
def test_disk_load_is_the_reported_load_or_the_leaders_size_or_the_largest(
    nightly_goals: dict[tuple[str, str], tuple[str, int]], sizes: Sizes, expected: Expected
) -> None:
    plan = plan_rows(BY_SIZES[str(sizes)], balance=False)
    assert {row["goal"]: row["verdict_before"] for row in plan.goals}["DiskCapacityGoal"] == expected.verdict
    assert nightly_goals[str(sizes), "DiskCapacityGoal"][0] == expected.verdict
    size = None if expected.size is None else expected.size * MIB
    assert {row["broker_id"]: row["size_bytes_before"] for row in plan.brokers} == {1: size, 2: size, 3: 0.0}
