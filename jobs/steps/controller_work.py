"""Records that a KRaft controller writes, and requests that a ZooKeeper controller sends, when brokers fail.

The columnar form of the requests of kafka_model.election.zookeeper_controller; a test compares them.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.schema.failure import LEADER_MOVED

_SCENARIO = ["snapshot_id", "cluster_id", "scenario_set", "scenario_id"]
_BATCHES = ("handed_over", "followed", "elected", "affected")


def request_batches(scenarios: DataFrame, outcomes: DataFrame) -> DataFrame:
    """Count, for each failure of one broker of a ZooKeeper cluster, the partitions of each batch of requests and the brokers that get it.

    The columns are `handed_over`, `followed`, `elected` and `affected`, and the same names with `_receivers`.
    """
    handed_over = F.col("election") == "controlled-shutdown"
    partitions_of = {
        "handed_over": handed_over,  # a controlled shutdown gives them another leader
        # A controlled shutdown removes the broker from their ISR.
        "followed": (F.col("assigned_replicas") > 1) & ~F.col("leader_before").eqNullSafe(F.col("failing_broker")),
        "elected": F.expr(LEADER_MOVED) & ~handed_over,
        "affected": F.lit(True),
    }
    single_failures = scenarios.where("size(brokers) = 1").select(*_SCENARIO, F.col("brokers")[0].alias("failing_broker"))
    zookeeper = outcomes.where("metadata_records IS NULL").join(F.broadcast(single_failures), on=_SCENARIO, how="inner")
    first = F.col("nth") == 0  # counts its partition once
    by_survivor = (
        zookeeper.select(
            *_SCENARIO,
            *(F.coalesce(condition, F.lit(False)).alias(name) for name, condition in partitions_of.items()),
            F.posexplode_outer("survivors").alias("nth", "survivor"),
        )
        .withColumn("nth", F.coalesce("nth", F.lit(0)))
        .groupBy(*_SCENARIO, "survivor")
        .agg(
            *(F.count_if(F.col(name) & first).alias(name) for name in _BATCHES), *(F.some(name).alias(f"{name}_reach") for name in _BATCHES)
        )
    )
    receivers = (F.count_if(F.col(f"{name}_reach") & F.col("survivor").isNotNull()).alias(f"{name}_receivers") for name in _BATCHES)
    return by_survivor.groupBy(_SCENARIO).agg(*(F.sum(name).alias(name) for name in _BATCHES), *receivers)


def controller_work() -> dict[str, Column]:
    """Return the columns of `scenario` that count records and requests, from the counts of a scenario and its request batches.

    KRaft fences a killed broker with one record of its registration, and writes another one first if the broker shuts down in order. A
    broker whose log dirs fail reports all of them at once.
    """
    controlled, survivors = F.col("controlled_shutdown"), F.col("surviving_brokers")
    brokers_of_log_dirs = F.array_distinct(F.transform("log_dirs", lambda log_dir: F.substring_index(log_dir, ":", 1).cast("int")))
    registration_records = F.col("effective_deaths") * F.when(controlled, 2).otherwise(1) + F.size(
        F.array_except(brokers_of_log_dirs, F.col("brokers"))
    )
    # The model covers one broker that fails while another one is the controller.
    modeled = ~F.col("kraft") & (F.size("brokers") == 1) & (F.size("log_dirs") == 0) & ~F.coalesce(F.col("controller_moves"), F.lit(False))

    def if_any(batch: str, requests: Column) -> Column:
        return F.when(F.col(batch) > 0, requests).otherwise(0)

    shutdown = {
        "leader_and_isr_requests": if_any("handed_over", F.col("handed_over_receivers") + 1) + F.col("followed_receivers"),
        "update_metadata_requests": if_any("handed_over", survivors + 1) + if_any("followed", survivors + 1),
        "stop_replica_requests": if_any("followed", F.lit(2)),
    }
    death = {
        "leader_and_isr_requests": F.col("elected_receivers") + F.col("affected_receivers"),
        "update_metadata_requests": if_any("elected", survivors) + survivors,
        "stop_replica_requests": F.lit(0),
    }
    requests = {name: F.when(modeled, death[name] + F.when(controlled, shutdown[name]).otherwise(0)).cast("bigint") for name in death}
    return {"metadata_records": F.when(F.col("kraft"), F.col("partition_records") + registration_records), **requests}
