"""The smallest change with which a partition survives the death of any one broker."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

from jobs.schema import BROKER, CLUSTER, PARTITION, TOPIC, Table
from jobs.steps import failover, remedy
from tests.jobs.rows import run_step, sorted_rows, table

RACKS = {1: "a", 2: "b", 3: "c", 4: "a", 5: "b", 9: "c"}
CATCH_UP, REVIVE, ADD_ONE, ADD_TWO = (
    "bring its lagging replicas back in sync",
    "bring its dead brokers back",
    "add a replica",
    "add two replicas",
)


class Case(NamedTuple):
    """A cluster with a single partition, led by broker 1, and the rows of `remedy` for it."""

    replicas: list[int]
    isr: list[int]
    min_insync_replicas: int
    remedies: list[tuple[str | None, list[int] | None]]  # the change, and the brokers of the replicas that it adds
    live: tuple[int, ...] = (1, 2, 3, 4, 5)
    cordoned: tuple[int, ...] = ()


CASES = [
    Case([1, 2, 3], [1, 2, 3], 2, []),
    Case([1, 2, 3], [1, 2], 2, [(CATCH_UP, [])]),
    Case([1, 2, 9], [1, 2], 2, [(REVIVE, [])]),
    Case([1, 2], [1, 2], 2, [(ADD_ONE, [3])]),  # rack c has no replica
    Case([1], [1], 1, [(ADD_ONE, [2])]),
    Case([1], [1], 2, [(ADD_TWO, [2, 3])]),
    Case([1], [1], 1, [(None, None)], live=(1,)),  # there is no other live broker
    Case([1, 2], [1, 2], 2, [(ADD_ONE, [4])], cordoned=(3,)),  # the only live broker of rack c takes no new replica
    Case([1], [1], 2, [(ADD_TWO, [3, 5])], cordoned=(2,)),
    Case([1], [1], 1, [(None, None)], cordoned=(2, 3, 4, 5)),
]


@pytest.fixture(scope="module")
def remedies(spark: SparkSession) -> dict[str, list[tuple[Any, ...]]]:
    """Return the remedies of each case under each controller. Each pair of them is a cluster."""
    clusters = {f"{controller} {number}": (controller, case) for controller in ("kraft", "zookeeper") for number, case in enumerate(CASES)}
    rows: dict[Table, list[dict[str, Any]]] = {CLUSTER: [], BROKER: [], TOPIC: [], PARTITION: []}
    for id, (controller, case) in clusters.items():
        cluster, elr = {"cluster_id": id}, {"elr": [], "last_known_elr": []} if controller == "kraft" else {}
        topic = {**cluster, "topic": "t"}
        rows[CLUSTER].append({**cluster, "controller": controller, "elr": controller == "kraft"})
        rows[BROKER] += [
            {**cluster, "broker_id": broker, "rack": rack, "live": broker in case.live, "cordoned": broker in case.cordoned or None}
            for broker, rack in RACKS.items()
        ]
        rows[TOPIC].append(
            {**topic, "partitions": 1, "replication_factor": len(case.replicas), "min_insync_replicas": case.min_insync_replicas}
        )
        rows[PARTITION].append({**topic, "partition": 0, "leader": 1, "replicas": case.replicas, "isr": case.isr, **elr})
    inputs = [table(spark, each, *given) for each, given in rows.items()]
    scenario, outcomes, _, _ = run_step(failover, *inputs, *(table(spark, each) for each in failover.READS[4:]))
    (remedy_rows,) = run_step(remedy, *inputs, scenario, outcomes)
    found: dict[str, list[tuple[Any, ...]]] = {id: [] for id in clusters}
    for id, *change in sorted_rows(remedy_rows, "cluster_id", "remedy", "added_replicas"):
        found[id].append(tuple(change))
    return found


@pytest.mark.parametrize("controller", ["kraft", "zookeeper"])
@pytest.mark.parametrize("case", range(len(CASES)))
def test_the_smallest_change_that_helps_is_the_remedy(remedies: dict[str, list[tuple[Any, ...]]], case: int, controller: str) -> None:
    assert remedies[f"{controller} {case}"] == CASES[case].remedies
