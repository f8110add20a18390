"""replica_assignment: where Kafka would place each partition, and the start index that best explains where it is.

AdminUtils' placement of partition p depends on two numbers only: the index of its first broker, (p + start index) mod n, and the shift of
its followers, (shift + p div n) mod (n - 1). Each cluster and replication factor therefore has a small table of patterns, n x (n - 1) rows
computed by kafka_model.placement.zookeeper. Joined by these numbers, it places a partition. Joined by replicas, it gives the start index
and shift that would have placed an observed partition. The pair that most partitions of a topic agree on explains the topic best.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.schema import BROKER, PARTITION, REPLICA_ASSIGNMENT, TOPIC, TOPIC_PLACEMENT
from jobs.spark.session import cluster_files_by_id, dataframe_from_arrow
from jobs.steps.stage import Stage, Stages
from kafka_model.placement.zookeeper import alternate_racks, replicas_rack_aware, replicas_rack_unaware

READS = (BROKER, TOPIC, PARTITION)
WRITES = (REPLICA_ASSIGNMENT, TOPIC_PLACEMENT)

_CLUSTER = ["snapshot_id", "cluster_id"]
_TOPIC = [*_CLUSTER, "topic"]
_PATTERN_COLUMNS = "snapshot_id STRING, cluster_id STRING, replication_factor INT, first_index INT, shift INT, replicas ARRAY<INT>"
_SHIFTS = "if(replication_factor = 1, 1, greatest(n - 1, 1))"  # the number of shifts that place differently
# If only some brokers have a rack, kafka-topics refuses to create a topic (RackAwareMode.Enforced). A broker that creates a topic
# automatically ignores the racks (RackAwareMode.Safe), and so does this step.
_REFUSAL = (
    "CASE WHEN replication_factor < 1 THEN 'replication factor below 1' "
    "WHEN replication_factor > n THEN concat('replication factor ', replication_factor, ' larger than the ', n, ' brokers') "
    "WHEN some_rack AND NOT rack_aware THEN 'not all brokers have rack information' END"
)


def transform(broker: pa.Table, topic: DataFrame, partition: DataFrame, *, parameters: Mapping[str, str]) -> Stages[tuple[DataFrame, ...]]:
    brokers = dataframe_from_arrow(topic.sparkSession, broker)
    observed = partition.select(*_TOPIC, "partition", F.col("replicas").alias("observed"), F.size("replicas").alias("replication_factor"))
    pattern = yield Stage(patterns(brokers, topic))
    placeable = topic.join(F.broadcast(_clusters(brokers).drop("brokers")), on=_CLUSTER, how="inner")
    if "start_index" in parameters:  # AdminUtils uses a given start index as the shift, too
        start, shift = int(parameters["start_index"]), int(parameters.get("shift", parameters["start_index"]))
        started = placeable.withColumns({"start_index": F.lit(start), "shift": F.lit(shift)})
    else:
        started = placeable.join(_best_start(observed, placeable, pattern), on=_TOPIC, how="left").fillna(0, ["start_index", "shift"])
    topics = yield Stage(started.withColumns({"start_index": F.col("start_index") % F.col("n"), "shift": F.col("shift") % F.expr(_SHIFTS)}))
    assignment = yield Stage(_assignment(observed, topics, pattern), REPLICA_ASSIGNMENT)
    return assignment, cluster_files_by_id(_placement(topics, observed, assignment, start_requested="start_index" in parameters))


def _clusters(broker: DataFrame) -> DataFrame:
    """The brokers of each cluster, their number `n`, and whether all or some have a rack."""
    return broker.groupBy(_CLUSTER).agg(
        F.sort_array(F.collect_list(F.struct("broker_id", "rack"))).alias("brokers"),
        F.count("*").cast("int").alias("n"),
        F.every(F.col("rack").isNotNull()).alias("rack_aware"),
        F.some(F.col("rack").isNotNull()).alias("some_rack"),
    )


def patterns(broker: DataFrame, topic: DataFrame) -> DataFrame:
    """The replicas for each cluster, replication factor of its topics, index of the first broker and shift."""
    return (
        topic.select(*_CLUSTER, "replication_factor")
        .distinct()
        .join(_clusters(broker), on=_CLUSTER, how="inner")
        .where("replication_factor BETWEEN 1 AND n")
        .select(*_CLUSTER, "brokers", "rack_aware", "replication_factor")
        .mapInArrow(_pattern_batches, _PATTERN_COLUMNS)
    )


def _pattern_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the patterns of each cluster and replication factor."""
    for batch in batches:
        for row in batch.to_pylist():
            starts, replicas = _placements(row)
            yield pa.RecordBatch.from_pydict(
                {
                    "snapshot_id": [row["snapshot_id"]] * len(starts),
                    "cluster_id": [row["cluster_id"]] * len(starts),
                    "replication_factor": pa.array([row["replication_factor"]] * len(starts), pa.int32()),
                    "first_index": pa.array([first for first, _ in starts], pa.int32()),
                    "shift": pa.array([shift for _, shift in starts], pa.int32()),
                    "replicas": pa.array([list(brokers) for brokers in replicas], pa.list_(pa.int32())),
                }
            )


def _placements(row: Mapping[str, Any]) -> tuple[list[tuple[int, int]], list[tuple[int, ...]]]:
    """Every pair of first index and shift, and the replicas that it places."""
    ids = [broker["broker_id"] for broker in row["brokers"]]
    factor, n = row["replication_factor"], len(ids)
    starts = [(first, shift) for first in range(n) for shift in range(1 if factor == 1 else max(n - 1, 1))]
    if not row["rack_aware"]:
        return starts, [replicas_rack_unaware(ids, first, shift, factor) for first, shift in starts]
    racks = {broker["broker_id"]: broker["rack"] for broker in row["brokers"]}
    arranged = alternate_racks(racks)
    return starts, [replicas_rack_aware(racks, arranged, first, shift, factor) for first, shift in starts]


def _best_start(observed: DataFrame, placeable: DataFrame, pattern: DataFrame) -> DataFrame:
    """The start index and shift that most partitions of a topic agree on; ties go to the lowest."""
    candidates = (
        observed.join(F.broadcast(placeable.select(*_TOPIC, "n", "replication_factor")), on=[*_TOPIC, "replication_factor"], how="inner")
        .withColumnRenamed("observed", "replicas")
        .join(F.broadcast(pattern), on=[*_CLUSTER, "replication_factor", "replicas"], how="inner")
        .withColumn("start_index", F.expr("pmod(first_index - partition, n)"))
        .withColumn("shift", F.expr(f"pmod(shift - partition div n, {_SHIFTS})").cast("int"))
    )
    # One pattern at most gives a partition this pair, so that each partition has one vote for it.
    votes = candidates.groupBy(*_TOPIC, "start_index", "shift").agg(F.count("*").alias("votes"))
    best = votes.groupBy(_TOPIC).agg(F.min(F.struct(-F.col("votes"), "start_index", "shift")).alias("best"))
    return best.select(*_TOPIC, "best.start_index", "best.shift")


def _assignment(observed: DataFrame, topics: DataFrame, pattern: DataFrame) -> DataFrame:
    """The replicas that Kafka would place for each partition, beside the observed ones."""
    starts = topics.select(*_TOPIC, "n", "replication_factor", F.col("start_index").alias("start"), F.col("shift").alias("first_shift"))
    return (
        observed.drop("replication_factor")
        # Broadcast joins keep the partitions of a cluster in the same files; there are a hundred times fewer topics.
        .join(F.broadcast(starts), on=_TOPIC, how="inner")
        .withColumn("first_index", F.expr("(partition + start) % n"))
        .withColumn("shift", (F.col("first_shift") + F.expr("partition div n")) % F.expr(_SHIFTS))
        .join(F.broadcast(pattern), on=[*_CLUSTER, "replication_factor", "first_index", "shift"], how="inner")
        .select(
            *_TOPIC,
            "partition",
            "replicas",
            "observed",
            (F.col("replicas") != F.col("observed")).alias("drifted"),
            F.size(F.array_except("observed", "replicas")).alias("misplaced_replicas"),
        )
    )


def _placement(topics: DataFrame, observed: DataFrame, assignment: DataFrame, *, start_requested: bool) -> DataFrame:
    """The start index, shift and algorithm of each topic, and how many of its partitions they explain."""
    matching = assignment.where("NOT drifted").groupBy(_TOPIC).agg(F.count("*").cast("int").alias("matching_partitions"))
    counted = observed.groupBy(_TOPIC).agg(F.count("*").cast("int").alias("observed_partitions"))
    placed = F.col("refusal").isNull() | F.col("replication_factor").between(1, F.col("n"))
    return (
        topics.withColumn("refusal", F.expr(_REFUSAL))
        .join(counted, on=_TOPIC, how="left")
        .join(matching, on=_TOPIC, how="left")
        .fillna(0, ["observed_partitions", "matching_partitions"])
        .select(
            *_TOPIC,
            F.when(placed, F.when(F.col("rack_aware"), "rack-aware").otherwise("rack-unaware")).alias("algorithm"),
            F.when(placed, F.col("start_index")).alias("start_index"),
            F.when(placed, F.col("shift")).alias("shift"),
            F.lit(start_requested).alias("start_requested"),
            F.col("observed_partitions").alias("partitions"),
            "matching_partitions",
            (F.col("matching_partitions") == F.col("observed_partitions")).alias("explained"),
            "refusal",
        )
    )
