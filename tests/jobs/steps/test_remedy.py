"""The smallest change that clears a finding, and that it does when it is played."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.schema import BROKER, CLUSTER, PARTITION, TOPIC, Table
from jobs.steps import failover, remedy
from tests.jobs.rows import run_step, table, told

RACKS = {1: "a", 2: "b", 3: "c", 4: "a", 5: "b", 9: "c"}
LAGS, BACK, ONE, TWO = "bring its lagging replicas back in sync", "bring its dead brokers back", "add a replica", "add two replicas"


# What a topic's only partition is, its min.insync.replicas, who lives, and the change that is offered.
CASES: list[tuple[dict[str, Any], int, tuple[int, ...], list[tuple[Any, ...]]]] = [
    ({"replicas": [1, 2, 3], "leader": 1, "isr": [1, 2, 3]}, 2, (1, 2, 3, 4, 5), []),
    ({"replicas": [1, 2, 3], "leader": 1, "isr": [1, 2]}, 2, (1, 2, 3, 4, 5), [(LAGS, [])]),
    ({"replicas": [1, 2, 9], "leader": 1, "isr": [1, 2]}, 2, (1, 2, 3, 4, 5), [(BACK, [])]),
    ({"replicas": [1, 2], "leader": 1, "isr": [1, 2]}, 2, (1, 2, 3, 4, 5), [(ONE, [3])]),  # rack c has none
    ({"replicas": [1], "leader": 1, "isr": [1]}, 1, (1, 2, 3, 4, 5), [(ONE, [2])]),
    ({"replicas": [1], "leader": 1, "isr": [1]}, 2, (1, 2, 3, 4, 5), [(TWO, [2, 3])]),
    ({"replicas": [1], "leader": 1, "isr": [1]}, 1, (1,), [(None, None)]),  # nowhere to go
]


@pytest.fixture(scope="module")
def offered(spark: SparkSession) -> dict[str, list[tuple[Any, ...]]]:
    """Each case is a cluster of its own, under each controller."""
    clusters = {f"{controller} {i}": (controller, case) for controller in ("kraft", "zookeeper") for i, case in enumerate(CASES)}
    rows: dict[Table, list[dict[str, Any]]] = {CLUSTER: [], BROKER: [], TOPIC: [], PARTITION: []}
    for id, (controller, (partition, min_isr, live, _)) in clusters.items():
        kept = {"elr": [], "last_known_elr": []} if controller == "kraft" else {}
        of = {"cluster_id": id, "topic": "t"}
        rows[CLUSTER].append({"cluster_id": id, "controller": controller, "elr": controller == "kraft"})
        rows[BROKER] += [{"cluster_id": id, "broker_id": broker, "rack": rack, "live": broker in live} for broker, rack in RACKS.items()]
        rows[TOPIC].append({**of, "partitions": 1, "replication_factor": len(partition["replicas"]), "min_insync_replicas": min_isr})
        rows[PARTITION].append({**of, "partition": 0, **kept, **partition})
    frames = [table(spark, name, *these) for name, these in rows.items()]
    scenario, failed, _ = run_step(failover, *frames, *(table(spark, of) for of in failover.READS[4:]))
    (found,) = run_step(remedy, *frames, scenario, failed)
    by_cluster: dict[str, list[tuple[Any, ...]]] = {id: [] for id in clusters}
    for id, *change in told(found, "cluster_id", "remedy", "added_replicas"):
        by_cluster[id].append(tuple(change))
    return by_cluster


@pytest.mark.parametrize("controller", ["kraft", "zookeeper"])
@pytest.mark.parametrize("case", range(len(CASES)))
def test_the_smallest_change_that_helps_is_offered(offered: dict[str, list[tuple[Any, ...]]], case: int, controller: str) -> None:
    assert offered[f"{controller} {case}"] == CASES[case][3]
