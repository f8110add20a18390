"""The smallest change that clears a finding, and that it does when it is played."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs import failover, remedy
from jobs.tables import BROKER, CLUSTER, CONSUMER_GROUP, PARTITION, PRODUCER_LOAD, TOPIC
from tests.jobs.rows import table, told

RACKS = {1: "a", 2: "b", 3: "c", 4: "a", 5: "b", 9: "c"}
LAGS, BACK, ONE, TWO = "bring its lagging replicas back in sync", "bring its dead brokers back", "add a replica", "add two replicas"


def run(spark: SparkSession, partition: dict[str, Any], min_isr: int, controller: str, live: tuple[int, ...]) -> list[tuple[Any, ...]]:
    kept = {"elr": [], "last_known_elr": []} if controller == "kraft" else {}
    of = [
        table(spark, CLUSTER, {"controller": controller, "elr": controller == "kraft"}),
        table(spark, BROKER, *({"broker_id": id, "rack": rack, "live": id in live} for id, rack in RACKS.items())),
        table(spark, TOPIC, {"topic": "t", "partitions": 1, "replication_factor": len(partition["replicas"]), "min_insync_replicas": min_isr}),
        table(spark, PARTITION, {"topic": "t", "partition": 0, **kept, **partition}),
    ]
    _, failed, _ = failover.transform(*of, table(spark, PRODUCER_LOAD), table(spark, CONSUMER_GROUP), parameters={})
    (found,) = remedy.transform(*of, failed, parameters={})
    return told(found, "remedy", "added_replicas")


@pytest.mark.parametrize("controller", ["kraft", "zookeeper"])
@pytest.mark.parametrize(
    ("partition", "min_isr", "live", "expected"),
    [
        ({"replicas": [1, 2, 3], "leader": 1, "isr": [1, 2, 3]}, 2, (1, 2, 3, 4, 5), []),
        ({"replicas": [1, 2, 3], "leader": 1, "isr": [1, 2]}, 2, (1, 2, 3, 4, 5), [(LAGS, [])]),
        ({"replicas": [1, 2, 9], "leader": 1, "isr": [1, 2]}, 2, (1, 2, 3, 4, 5), [(BACK, [])]),
        ({"replicas": [1, 2], "leader": 1, "isr": [1, 2]}, 2, (1, 2, 3, 4, 5), [(ONE, [3])]),  # rack c has none
        ({"replicas": [1], "leader": 1, "isr": [1]}, 1, (1, 2, 3, 4, 5), [(ONE, [2])]),
        ({"replicas": [1], "leader": 1, "isr": [1]}, 2, (1, 2, 3, 4, 5), [(TWO, [2, 3])]),
        ({"replicas": [1], "leader": 1, "isr": [1]}, 1, (1,), [(None, None)]),  # nowhere to go
    ],
)
def test_the_smallest_change_that_helps_is_offered(
    spark: SparkSession, partition: dict[str, Any], min_isr: int, live: tuple[int, ...], expected: list[Any], controller: str
) -> None:
    assert run(spark, partition, min_isr, controller, live) == expected
