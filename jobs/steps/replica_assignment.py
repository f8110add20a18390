"""replica_assignment: where Kafka would place each partition, and the start that explains best where it is.

AdminUtils' placement of partition p depends on two numbers only: the index of its first broker, (p + start) mod n, and the shift
of its followers, (shift + p div n) mod (n - 1). So each cluster and replication factor has a small table of patterns, n x (n - 1)
rows made by kafka_model.placement.zookeeper. Joined one way it places a partition; joined the other way it gives the start and shift that
would have put an observed partition where it is. The start of most partitions of a topic explains the topic best.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.schema import BROKER, PARTITION, REPLICA_ASSIGNMENT, TOPIC, TOPIC_PLACEMENT
from jobs.spark.session import by_cluster
from jobs.steps.stage import Stage, Stages
from kafka_model.placement.zookeeper import alternate_racks, replicas_rack_aware, replicas_rack_unaware

READS = (BROKER, TOPIC, PARTITION)
WRITES = (REPLICA_ASSIGNMENT, TOPIC_PLACEMENT)

_CLUSTER = ["snapshot_id", "cluster_id"]
_TOPIC = [*_CLUSTER, "topic"]
_PATTERN = "snapshot_id STRING, cluster_id STRING, replication_factor INT, first_index INT, shift INT, replicas ARRAY<INT>"


def transform(broker: DataFrame, topic: DataFrame, partition: DataFrame, *, parameters: Mapping[str, str]) -> Stages[tuple[DataFrame, ...]]:
    cluster = _clusters(broker)
    observed = partition.select(*_TOPIC, "partition", F.col("replicas").alias("observed"), F.size("replicas").alias("replication_factor"))
    pattern = yield Stage(patterns(broker, topic))
    placeable = topic.join(F.broadcast(cluster.drop("brokers")), on=_CLUSTER, how="inner")
    if "start_index" in parameters:  # AdminUtils takes a fixed start index for the shift too
        start, shift = int(parameters["start_index"]), int(parameters.get("shift", parameters["start_index"]))
        started = placeable.withColumns({"start_index": F.lit(start), "shift": F.lit(shift)})
    else:
        started = placeable.join(_best_start(observed, placeable, pattern), on=_TOPIC, how="left").fillna(0, ["start_index", "shift"])
    span = F.expr("if(replication_factor = 1, 1, greatest(n - 1, 1))")  # shifts that place differently
    started = yield Stage(started.withColumns({"start_index": F.col("start_index") % F.col("n"), "shift": F.col("shift") % span}))

    first = started.select(*_TOPIC, "n", "replication_factor", F.col("start_index").alias("start"), F.col("shift").alias("first_shift"))
    assignment = (
        observed.drop("replication_factor")
        # Partitions stay where they lie, each cluster's together: topics are a hundredth of them.
        .join(F.broadcast(first), on=_TOPIC, how="inner")
        .withColumn("first_index", F.expr("(partition + start) % n"))
        .withColumn("shift", (F.col("first_shift") + F.expr("partition div n")) % span)
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
    matching = assignment.where("NOT drifted").groupBy(_TOPIC).agg(F.count("*").cast("int").alias("matching"))
    counted = observed.groupBy(_TOPIC).agg(F.count("*").cast("int").alias("seen"))
    placed = F.col("refusal").isNull() | F.col("replication_factor").between(1, F.col("n"))
    placement = (
        started.withColumn("refusal", F.expr(_REFUSAL))
        .join(counted, on=_TOPIC, how="left")
        .join(matching, on=_TOPIC, how="left")
        .fillna(0, ["seen", "matching"])
        .select(
            *_TOPIC,
            F.when(placed, F.when(F.col("rack_aware"), "rack-aware").otherwise("rack-unaware")).alias("algorithm"),
            F.when(placed, F.col("start_index")).alias("start_index"),
            F.when(placed, F.col("shift")).alias("shift"),
            F.lit("start_index" in parameters).alias("start_requested"),
            F.col("seen").alias("partitions"),
            F.col("matching").alias("matching_partitions"),
            (F.col("matching") == F.col("seen")).alias("explained"),
            "refusal",
        )
    )
    return assignment, by_cluster(placement)


def _clusters(broker: DataFrame) -> DataFrame:
    """Of each cluster, what AdminUtils knows of its brokers."""
    return broker.groupBy(_CLUSTER).agg(
        F.sort_array(F.collect_list(F.struct("broker_id", "rack"))).alias("brokers"),
        F.count("*").cast("int").alias("n"),
        F.every(F.col("rack").isNotNull()).alias("rack_aware"),
        F.some(F.col("rack").isNotNull()).alias("some_rack"),
    )


def patterns(broker: DataFrame, topic: DataFrame) -> DataFrame:
    """Of each cluster and replication factor of its topics, where each first index and shift put the replicas."""
    factor = topic.select(*_CLUSTER, "replication_factor").distinct()
    return (
        factor.join(_clusters(broker), on=_CLUSTER, how="inner")
        .where("replication_factor BETWEEN 1 AND n")
        .select(*_CLUSTER, "brokers", "rack_aware", "replication_factor")
        .mapInArrow(_patterns, _PATTERN)
    )


def _best_start(observed: DataFrame, placeable: DataFrame, pattern: DataFrame) -> DataFrame:
    """The start and shift that most partitions of a topic agree on, the lowest of equals."""
    told = (
        observed.join(F.broadcast(placeable.select(*_TOPIC, "n", "replication_factor")), on=[*_TOPIC, "replication_factor"], how="inner")
        .withColumnRenamed("observed", "replicas")
        .join(F.broadcast(pattern), on=[*_CLUSTER, "replication_factor", "replicas"], how="inner")
        .withColumn("start_index", F.expr("pmod(first_index - partition, n)"))
        .withColumn("shift", F.expr("pmod(shift - partition div n, if(replication_factor = 1, 1, greatest(n - 1, 1)))").cast("int"))
    )
    votes = told.groupBy(*_TOPIC, "start_index", "shift").agg(F.count("*").alias("votes"))  # a partition meets each pair in one pattern
    best = votes.groupBy(_TOPIC).agg(F.min(F.struct(-F.col("votes"), "start_index", "shift")).alias("best"))
    return best.select(*_TOPIC, "best.start_index", "best.shift")


# Brokers of which only some have a rack: kafka-topics refuses (RackAwareMode.Enforced); the broker's own topic creation goes on
# without racks (RackAwareMode.Safe), and so does this.
_REFUSAL = (
    "CASE WHEN replication_factor < 1 THEN 'replication factor below 1' "
    "WHEN replication_factor > n THEN concat('replication factor ', replication_factor, ' larger than the ', n, ' brokers') "
    "WHEN some_rack AND NOT rack_aware THEN 'not all brokers have rack information' END"
)


def _patterns(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Where every first index and shift put the replicas of a cluster, per replication factor."""
    for batch in batches:
        for row in batch.to_pylist():
            ids = [broker["broker_id"] for broker in row["brokers"]]
            factor, n = row["replication_factor"], len(ids)
            starts = [(first, shift) for first in range(n) for shift in range(1 if factor == 1 else max(n - 1, 1))]
            if row["rack_aware"]:
                racks = {broker["broker_id"]: broker["rack"] for broker in row["brokers"]}
                arranged = alternate_racks(racks)
                replicas = [replicas_rack_aware(racks, arranged, first, shift, factor) for first, shift in starts]
            else:
                replicas = [replicas_rack_unaware(ids, first, shift, factor) for first, shift in starts]
            yield pa.RecordBatch.from_pydict(
                {
                    "snapshot_id": [row["snapshot_id"]] * len(starts),
                    "cluster_id": [row["cluster_id"]] * len(starts),
                    "replication_factor": pa.array([factor] * len(starts), pa.int32()),
                    "first_index": pa.array([first for first, _ in starts], pa.int32()),
                    "shift": pa.array([shift for _, shift in starts], pa.int32()),
                    "replicas": pa.array([list(brokers) for brokers in replicas], pa.list_(pa.int32())),
                }
            )
