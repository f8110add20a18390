"""replica_assignment: where Kafka would place each partition, and what explains best where it is.

In a cluster with a ZooKeeper controller, AdminUtils' placement of partition p depends on two numbers only: the index of its first broker,
(p + start index) mod n, and the shift of its followers, (shift + p div n) mod (n - 1). Each cluster and replication factor therefore has a
small table of patterns, n x (n - 1) rows computed by kafka_model.placement.zookeeper. Joined by these numbers, it places a partition. Joined
by replicas, it gives the start index and shift that would have placed an observed partition. The pair that most partitions of a topic agree
on explains the topic best, if these are more than half.

In a KRaft cluster, the random draws of StripedReplicaPlacer explain a topic (striped_placement.py). Where the kind of controller is
unknown, so is the placement.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from functools import partial, reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.schema import BROKER, CLUSTER, PARTITION, REPLICA_ASSIGNMENT, TOPIC, TOPIC_PLACEMENT
from jobs.spark.session import cluster_files_by_id, dataframe_from_arrow
from jobs.steps.stage import Stage, Stages
from jobs.steps.striped_placement import recovered_draws
from kafka_model.placement.zookeeper import alternate_racks, replicas_rack_aware, replicas_rack_unaware

READS = (CLUSTER, BROKER, TOPIC, PARTITION)
WRITES = (REPLICA_ASSIGNMENT, TOPIC_PLACEMENT)

_CLUSTER = ["snapshot_id", "cluster_id"]
_TOPIC = [*_CLUSTER, "topic"]
_DRAWS = next(column.type for column in TOPIC_PLACEMENT.declared_columns if column.name == "draws")
_PATTERN_COLUMNS = "snapshot_id STRING, cluster_id STRING, replication_factor INT, first_index INT, shift INT, replicas ARRAY<INT>"
_SHIFTS = "if(replication_factor = 1, 1, greatest(n - 1, 1))"  # the number of shifts that place differently
# If only some brokers have a rack, kafka-topics refuses to create a topic (RackAwareMode.Enforced). A broker that creates a topic
# automatically ignores the racks (RackAwareMode.Safe), and so does this step.
_REFUSAL = (
    "WHEN replication_factor < 1 THEN 'replication factor below 1' "
    "WHEN replication_factor > n THEN concat('replication factor ', replication_factor, ' larger than the ', n, ' brokers')"
)
_REFUSAL_BY_ZOOKEEPER = f"CASE {_REFUSAL} WHEN some_rack AND NOT rack_aware THEN 'not all brokers have rack information' END"
_REFUSAL_BY_KRAFT = f"CASE {_REFUSAL} WHEN NOT some_live THEN 'all brokers are fenced' END"

# Rows of replica_assignment, and what makes the rows of topic_placement when they are materialized.
_Placed = tuple[DataFrame, Callable[[DataFrame], DataFrame]]


def transform(
    cluster: pa.Table, broker: pa.Table, topic: DataFrame, partition: DataFrame, *, parameters: Mapping[str, str]
) -> Stages[tuple[DataFrame, ...]]:
    spark = topic.sparkSession
    brokers = dataframe_from_arrow(spark, broker)
    placeable = topic.join(F.broadcast(_clusters(brokers).drop("brokers")), on=_CLUSTER, how="inner")
    kinds = ["unknown" if row["controller_assumed"] else row["controller"] for row in cluster.to_pylist()]
    placed: list[_Placed] = []
    for kind in sorted(set(kinds)) or ["unknown"]:
        of_kind = cluster.filter(pa.array([other == kind for other in kinds], pa.bool_()))
        ids = F.broadcast(dataframe_from_arrow(spark, of_kind.select(_CLUSTER)))
        topics, partitions = (rows.join(ids, on=_CLUSTER, how="left_semi") for rows in (placeable, partition))
        if kind == "kraft":
            placed.append((yield from _striped(broker, topics, partitions)))
        elif kind == "zookeeper":
            placed.append((yield from _by_start_index(brokers, topics, partitions, parameters)))
        else:
            placed.append(_unknown(topics, partitions))
    assignment = yield Stage(reduce(DataFrame.unionByName, [rows for rows, _ in placed]), REPLICA_ASSIGNMENT)
    placement = reduce(DataFrame.unionByName, [placement_of(assignment) for _, placement_of in placed])
    return assignment, cluster_files_by_id(placement)


def _unknown(topics: DataFrame, partitions: DataFrame) -> _Placed:
    """Return no placement for the topics of clusters whose kind of controller is unknown."""
    assignment = partitions.where(F.lit(False)).select(
        *_TOPIC, "partition", "replicas", F.col("replicas").alias("observed"), F.lit(None).cast("boolean").alias("drifted")
    )
    counted = partitions.groupBy(_TOPIC).agg(F.count("*").cast("int").alias("observed_partitions"))
    known = {"start_requested": F.lit(False), "partitions": F.coalesce("observed_partitions", F.lit(0))}
    placement = topics.join(counted, on=_TOPIC, how="left").select(
        *_TOPIC,
        *(
            known.get(column.name, F.lit(None).cast(column.type)).alias(column.name)
            for column in TOPIC_PLACEMENT.declared_columns
            if column.name not in _TOPIC
        ),
    )
    return _with_misplaced_replicas(assignment), lambda _: placement


def _striped(broker: pa.Table, topics: DataFrame, partitions: DataFrame) -> Generator[Stage, DataFrame, _Placed]:
    """Place the topics of KRaft clusters by the draws that explain them."""
    recovered = yield Stage(recovered_draws(partitions, broker))
    explained = (
        topics.drop("partitions").join(recovered, on=_TOPIC, how="left").withColumn("placed", F.expr("replication_factor BETWEEN 1 AND n"))
    )
    moved = explained.where("placed").select(*_TOPIC, "moved", F.col("draws").isNotNull().alias("explains"))
    is_moved = F.map_contains_key("moved", F.col("partition"))
    replicas = F.when(F.col("explains"), F.when(is_moved, F.try_element_at("moved", "partition")).otherwise(F.col("replicas")))
    assignment = partitions.join(F.broadcast(moved), on=_TOPIC, how="inner").select(
        *_TOPIC,
        "partition",
        replicas.alias("replicas"),
        F.col("replicas").alias("observed"),
        F.when(F.col("explains"), is_moved).alias("drifted"),
    )
    placement = explained.withColumn("draws", F.when(F.col("placed"), F.col("draws"))).select(
        *_TOPIC,
        F.when(F.col("placed"), F.lit("striped")).alias("algorithm"),
        F.lit(None).cast("int").alias("start_index"),
        F.lit(None).cast("int").alias("shift"),
        F.lit(False).alias("start_requested"),
        "draws",
        F.coalesce("partitions", F.lit(0)).alias("partitions"),
        F.when(F.col("draws").isNotNull(), F.col("partitions") - F.size("moved")).alias("matching_partitions"),
        F.expr("partitions IS NULL OR (draws IS NOT NULL AND first_unexplained_partition IS NULL)").alias("explained"),
        F.when(F.col("placed"), F.col("first_unexplained_partition")).alias("first_unexplained_partition"),
        F.expr(_REFUSAL_BY_KRAFT).alias("refusal"),
    )
    return _with_misplaced_replicas(assignment), lambda _: placement


def _by_start_index(
    brokers: DataFrame, topics: DataFrame, partitions: DataFrame, parameters: Mapping[str, str]
) -> Generator[Stage, DataFrame, _Placed]:
    """Place the topics of ZooKeeper-based clusters by a start index and shift, requested or recovered."""
    observed = partitions.select(*_TOPIC, "partition", F.col("replicas").alias("observed"), F.size("replicas").alias("replication_factor"))
    pattern = yield Stage(patterns(brokers, topics))
    counted = observed.groupBy(_TOPIC).agg(F.count("*").cast("int").alias("observed_partitions"))
    topics = topics.join(counted, on=_TOPIC, how="left").fillna(0, ["observed_partitions"])
    requested = "start_index" in parameters
    if requested:  # AdminUtils uses a given start index as the shift, too
        start, shift = int(parameters["start_index"]), int(parameters.get("shift", parameters["start_index"]))
        started = topics.withColumns({"start_index": F.lit(start), "shift": F.lit(shift), "explains": F.lit(True)})
    else:
        started = topics.join(_best_start(observed, topics, pattern), on=_TOPIC, how="left").fillna(0, ["start_index", "shift", "votes"])
        started = started.withColumn("explains", F.expr("2 * votes > observed_partitions OR observed_partitions = 0"))
    started = started.withColumns({"start_index": F.col("start_index") % F.col("n"), "shift": F.col("shift") % F.expr(_SHIFTS)})
    topics = yield Stage(started.withColumn("start_requested", F.lit(requested)))
    return _with_misplaced_replicas(_assignment(observed, topics, pattern)), partial(_placement_by_start_index, topics)


def _with_misplaced_replicas(assignment: DataFrame) -> DataFrame:
    misplaced = F.when(F.col("replicas").isNotNull(), F.size(F.array_except("observed", "replicas")))
    return assignment.withColumn("misplaced_replicas", misplaced)


def _clusters(broker: DataFrame) -> DataFrame:
    """The brokers of each cluster, their number `n`, and whether all or some have a rack."""
    return broker.groupBy(_CLUSTER).agg(
        F.sort_array(F.collect_list(F.struct("broker_id", "rack"))).alias("brokers"),
        F.count("*").cast("int").alias("n"),
        F.every(F.col("rack").isNotNull()).alias("rack_aware"),
        F.some(F.col("rack").isNotNull()).alias("some_rack"),
        F.some("live").alias("some_live"),
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
    best = votes.groupBy(_TOPIC).agg(F.min(F.struct((-F.col("votes")).alias("fewer"), "start_index", "shift")).alias("best"))
    return best.select(*_TOPIC, "best.start_index", "best.shift", (-F.col("best.fewer")).alias("votes"))


def _assignment(observed: DataFrame, topics: DataFrame, pattern: DataFrame) -> DataFrame:
    """The replicas that AdminUtils would place for each partition, beside the observed ones; null where no start index explains the topic."""
    starts = topics.select(
        *_TOPIC, "n", "replication_factor", F.col("start_index").alias("start"), F.col("shift").alias("first_shift"), "explains"
    )
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
            F.when(F.col("explains"), F.col("replicas")).alias("replicas"),
            "observed",
            F.when(F.col("explains"), F.col("replicas") != F.col("observed")).alias("drifted"),
        )
    )


def _placement_by_start_index(topics: DataFrame, assignment: DataFrame) -> DataFrame:
    """The start index, shift and algorithm of each topic, and how many of its partitions they explain."""
    found = assignment.join(F.broadcast(topics.select(_TOPIC)), on=_TOPIC, how="left_semi").groupBy(_TOPIC)
    matching = found.agg(
        F.count_if(~F.col("drifted")).cast("int").alias("matching_partitions"),
        F.min(F.when(F.coalesce("drifted", F.lit(True)), F.col("partition"))).alias("first_unexplained_partition"),
    )
    placed = F.col("refusal").isNull() | F.col("replication_factor").between(1, F.col("n"))
    explains = placed & F.col("explains")
    return (
        topics.withColumn("refusal", F.expr(_REFUSAL_BY_ZOOKEEPER))
        .join(matching, on=_TOPIC, how="left")
        .fillna(0, ["matching_partitions"])
        .select(
            *_TOPIC,
            F.when(placed, F.when(F.col("rack_aware"), "rack-aware").otherwise("rack-unaware")).alias("algorithm"),
            F.when(explains, F.col("start_index")).alias("start_index"),
            F.when(explains, F.col("shift")).alias("shift"),
            "start_requested",
            F.lit(None).cast(_DRAWS).alias("draws"),
            F.col("observed_partitions").alias("partitions"),
            F.when(explains, F.col("matching_partitions")).alias("matching_partitions"),
            (F.col("matching_partitions") == F.col("observed_partitions")).alias("explained"),
            "first_unexplained_partition",
            "refusal",
        )
    )
