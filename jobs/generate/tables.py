"""The tables of ingest for a generated fleet, computed by Spark.

A random choice is a hash of the seed and of the ids of the row, so a fleet does not depend on the number of tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]
from pyspark.sql.pandas.types import from_arrow_type

from jobs import ingest
from jobs.generate import FACTORS, Fleet, racks_of
from jobs.schema import (
    BROKER,
    CLUSTER,
    COMMITTED_OFFSET,
    CONSUMER_GROUP,
    GROUP_MEMBER,
    INPUT_FILE,
    KEY_SAMPLE,
    LOG_DIR,
    OBSERVED_ASSIGNMENT,
    PARTITION,
    REPLICA,
    TOPIC,
    Table,
)
from kafka_model.java.random_numbers import JavaRandom
from kafka_model.placement import zookeeper
from kafka_model.placement.kraft import UsableBroker, place_striped
from kafka_model.release import LATEST, LATEST_WITH_ZOOKEEPER

_CLUSTER = ["snapshot_id", "cluster_id"]
_TOPIC = [*_CLUSTER, "topic"]
_PLACEMENT_INPUTS = ("controller", "partitions", "replication_factor", "start", "first_shift", "placer_seed")
_REPLICAS = pa.list_(pa.list_(pa.int32()))
_CAPTURED_AT = datetime(2026, 1, 1, tzinfo=UTC)
_LOG_DIR = "/var/lib/kafka/data"
_RECORD_BYTES = 100
_LINE_BYTES = 120  # of a partition's line in kafka-topics
_MAX_MEMBERS = 1000
_ASSIGNORS = ("range", "roundrobin", "sticky", "cooperative-sticky", "uniform")  # uniform uses the protocol consumer, the others classic


class _RandomColumns:
    """Random choices as Spark columns: pure functions of the seed, a name and the ids in the given columns."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def uniform(self, name: str, *ids: str) -> Column:
        """Return a number in [0, 1)."""
        return F.pmod(F.xxhash64(F.lit(self._seed), F.lit(name), *ids), F.lit(1 << 32)) / (1 << 32)

    def integer(self, below: int | Column, name: str, *ids: str) -> Column:
        """Return a whole number from 0 to `below` - 1."""
        return F.floor(self.uniform(name, *ids) * below).cast("int")

    def power_law(self, name: str, *ids: str) -> Column:
        """Return a number of at least 1. 3 % of the numbers are above 20; capped at 60, the mean is about 4 (Pareto, 1.2)."""
        return F.pow(1 - self.uniform(name, *ids), F.lit(-1 / 1.2))


def tables(spark: SparkSession, fleet: Fleet, snapshot_id: str) -> Mapping[Table, DataFrame]:
    """Return the tables of `ingest.WRITES`; those that are not generated are empty."""
    random = _RandomColumns(fleet.seed)
    cluster = _clusters(spark, fleet, snapshot_id, random)
    broker = _brokers(cluster, fleet)
    topic = _topics(cluster, fleet, random)
    partition = _partitions(topic, fleet, random)
    group = _groups(cluster, fleet, random)
    assignment = _assignments(group, topic, partition, fleet, random)
    input_file = (
        topic.groupBy(_CLUSTER)
        .agg((F.sum("partitions") * _LINE_BYTES).alias("size_bytes"))
        .withColumns(
            {
                "file": F.lit("generated"),
                "format": F.lit("generated"),
                **dict.fromkeys(("entries", "accepted", "rejected", "skipped"), F.lit(0)),
            }
        )
    )
    generated = {
        CLUSTER: cluster,
        INPUT_FILE: input_file,
        BROKER: broker,
        LOG_DIR: broker.where("live").withColumns({"log_dir": F.lit(_LOG_DIR), "capacity_bytes": F.col("disk_capacity_bytes")}),
        TOPIC: topic,
        PARTITION: partition,
        REPLICA: _replicas(partition),
        CONSUMER_GROUP: group,
        GROUP_MEMBER: _members(group, fleet),
        OBSERVED_ASSIGNMENT: assignment,
        COMMITTED_OFFSET: assignment,
        KEY_SAMPLE: _key_samples(topic, fleet, random),
    }
    return {
        table: _conform(generated[table], table) if table in generated else spark.createDataFrame([], table.columns)
        for table in ingest.WRITES
    }


def _clusters(spark: SparkSession, fleet: Fleet, snapshot_id: str, random: _RandomColumns) -> DataFrame:
    """Rows of `cluster`, and `dead`: the dead broker of every third cluster, null in the others."""
    return spark.range(fleet.clusters).select(
        F.lit(snapshot_id).alias("snapshot_id"),
        F.format_string("cluster-%03d", "id").alias("cluster_id"),
        F.when(F.col("id") % 4 == 0, "zookeeper").otherwise("kraft").alias("controller"),
        F.lit(False).alias("controller_assumed"),
        (F.col("id") % 4 > 1).alias("elr"),
        F.when(F.col("id") % 4 == 0, str(LATEST_WITH_ZOOKEEPER)).otherwise(str(LATEST)).alias("kafka_version"),
        F.lit("assumed").alias("kafka_version_source"),
        F.array(F.lit("generated")).alias("sources"),
        F.lit(_CAPTURED_AT).alias("captured_at"),
        F.when(F.col("id") % 3 == 2, F.floor(random.uniform("lost", "id") * fleet.brokers).cast("int")).alias("dead"),
    )


def _brokers(cluster: DataFrame, fleet: Fleet) -> DataFrame:
    racks = F.create_map(*(F.lit(value) for pair in racks_of(fleet).items() for value in pair)) if fleet.racks else None
    broker_id = F.col("broker_id")
    return cluster.withColumn("broker_id", F.explode(F.sequence(F.lit(0), F.lit(fleet.brokers - 1)))).withColumns(
        {
            "rack": F.lit(None) if racks is None else racks[broker_id],
            "live": ~broker_id.eqNullSafe(F.col("dead")),
            "disk_capacity_bytes": F.lit(float(1 << 42)),
            "network_in_capacity_bytes_per_s": F.lit(1e9),
            "network_out_capacity_bytes_per_s": F.lit(1e9),
            "cpu_capacity_percent": F.lit(400.0),
        }
    )


def _topics(cluster: DataFrame, fleet: Fleet, random: _RandomColumns) -> DataFrame:
    """Rows of `topic`, and the inputs of its placement.

    `start` and `first_shift` are for AdminUtils, `placer_seed` for StripedReplicaPlacer. `target` is the first replica of all partitions of
    a skewed topic.
    """
    ids = ("cluster_id", "number")
    factors = F.array(*(F.struct(F.lit(factor).alias("factor"), F.lit(minimum).alias("minimum")) for factor, minimum in FACTORS))
    count = (random.power_law("count", *ids) * fleet.partitions / 4).cast("int")
    unclean = F.create_map(F.lit("unclean.leader.election.enable"), F.lit("true"))
    return (
        cluster.withColumn("number", F.explode(F.sequence(F.lit(0), F.lit(fleet.topics - 1))))
        .withColumn("topic", F.format_string("topic-%05d", "number"))
        .withColumn("factors", F.get(factors, random.integer(len(FACTORS), "factor", *ids)))
        .withColumn("replication_factor", F.least("factors.factor", F.lit(fleet.brokers)))
        .withColumn("min_insync_replicas", F.least("factors.minimum", "replication_factor"))
        .withColumn("partitions", F.least(F.greatest(F.lit(1), count), F.lit(20 * fleet.partitions)))
        .withColumn("configs", F.create_map(F.lit("min.insync.replicas"), F.col("min_insync_replicas").cast("string")))
        .withColumn("configs", F.when(random.uniform("unclean", *ids) < 0.05, F.map_concat("configs", unclean)).otherwise(F.col("configs")))
        .withColumn("start", random.integer(fleet.brokers, "start", *ids))
        .withColumn("first_shift", random.integer(fleet.brokers, "shift", *ids))
        .withColumn("placer_seed", random.integer(1 << 31, "placer", *ids))
        .withColumn("target", F.when(random.uniform("skewed", *ids) < 0.15, random.integer(fleet.brokers, "target", *ids)))
    )


def _placement(fleet: Fleet) -> Callable[..., Column]:
    """Return a function from columns of a topic to the replicas of its partitions, as Kafka places them."""
    racks = {broker: racks_of(fleet).get(broker) for broker in range(fleet.brokers)}
    brokers = [UsableBroker(broker, rack) for broker, rack in racks.items()]

    def place(controller: str, partitions: int, factor: int, start: int, shift: int, seed: int) -> Sequence[Sequence[int]]:
        if controller == "kraft":
            return place_striped(brokers, partitions, factor, random=JavaRandom(seed))
        return zookeeper.place(racks, partitions, factor, start_index=start, shift=shift)

    @arrow_udf("array<array<int>>")
    def place_all(*columns: pa.Array) -> pa.Array:
        return pa.array([place(*row) for row in zip(*(column.to_pylist() for column in columns), strict=True)], _REPLICAS)

    return place_all  # type: ignore[no-any-return]


def _partitions(topic: DataFrame, fleet: Fleet, random: _RandomColumns) -> DataFrame:
    """Rows of `partition`: Kafka's placement, with the target of a skewed topic first and the dead broker out of sync."""
    no_broker = F.array().cast("array<int>")
    skewed = F.slice(F.concat(F.array("target"), F.array_remove("replicas", F.col("target"))), F.lit(1), F.size("replicas"))
    in_sync = F.when(F.col("dead").isNull(), F.col("replicas")).otherwise(F.array_remove("replicas", F.col("dead")))
    out_of_sync = F.when(F.size("replicas") > F.size("in_sync"), F.array("dead")).otherwise(no_broker)
    elr = F.when(F.size("in_sync") < F.col("min_insync_replicas"), out_of_sync).otherwise(no_broker)
    size_of = lambda broker_id: F.when(~broker_id.eqNullSafe(F.col("dead")), F.col("log_end_offset") * _RECORD_BYTES)  # noqa: E731
    return (
        topic.withColumn("placed", _placement(fleet)(*_PLACEMENT_INPUTS))
        .select("*", F.posexplode("placed").alias("partition", "replicas"))
        .withColumn("replicas", F.when(F.col("target").isNull(), F.col("replicas")).otherwise(skewed))
        .withColumn("in_sync", in_sync)
        .withColumns(
            {
                "leader": F.get("in_sync", F.lit(0)),
                "isr": F.sort_array("in_sync"),
                "elr": F.when(F.col("elr"), elr),
                "last_known_elr": F.when(F.col("elr"), no_broker),
                "log_start_offset": F.lit(0),
                "log_end_offset": random.integer(100_000, "records", "cluster_id", "number", "partition"),
            }
        )
        .withColumn("replica_size_bytes", F.transform("replicas", size_of))
    )


def _replicas(partition: DataFrame) -> DataFrame:
    dead = F.col("broker_id").eqNullSafe(F.col("dead"))
    return partition.select(
        *_TOPIC, "partition", "dead", "replica_size_bytes", F.posexplode("replicas").alias("replica_index", "broker_id")
    ).withColumns(
        {
            "in_sync": ~dead,
            "log_dir": F.when(~dead, F.lit(_LOG_DIR)),
            "size_bytes": F.get("replica_size_bytes", F.col("replica_index")),
            "offset_lag": F.when(~dead, F.lit(0)),
        }
    )


def _groups(cluster: DataFrame, fleet: Fleet, random: _RandomColumns) -> DataFrame:
    """Rows of `consumer_group`; a group reads `topic_count` topics from number `first_topic` on."""
    ids = ("cluster_id", "number")
    numbers = F.explode(F.sequence(F.lit(0), F.lit(fleet.groups - 1))) if fleet.groups else F.lit(None).cast("int")
    return (
        cluster.withColumn("number", numbers)
        .where(f"{fleet.groups} > 0")
        .withColumn("group_id", F.format_string("group-%05d", "number"))
        .withColumn("assignor", F.get(F.array(*map(F.lit, _ASSIGNORS)), random.integer(len(_ASSIGNORS), "assignor", *ids)))
        .withColumn("protocol", F.when(F.col("assignor") == "uniform", "consumer").otherwise("classic"))
        .withColumn("state", F.lit("Stable"))
        .withColumn("members", F.least(random.power_law("members", *ids), F.lit(_MAX_MEMBERS)).cast("int"))
        .withColumn("first_topic", random.integer(fleet.topics, "read", *ids))
        .withColumn("topic_count", F.least(random.integer(3, "many", *ids) + 1, F.lit(fleet.topics)))
    )


def _topic_read(index: Column, fleet: Fleet) -> Column:
    """The name of the topic with this index among the topics that a group reads."""
    return F.format_string("topic-%05d", (F.col("first_topic") + index) % fleet.topics)


def _member_id(number: Column) -> Column:
    return F.format_string("consumer-%04d", number)


def _members(group: DataFrame, fleet: Fleet) -> DataFrame:
    topics = F.transform(F.expr("sequence(0, topic_count - 1)"), lambda number: _topic_read(number, fleet))
    return (
        group.withColumn("topics", F.sort_array(topics))
        .withColumn("member", F.explode(F.expr("sequence(0, members - 1)")))
        .withColumns(
            {
                "member_id": _member_id(F.col("member")),
                "client_id": F.lit("consumer"),
                "host": F.lit("/127.0.0.1"),
                "rack_known": F.lit(False),
            }
        )
    )


def _assignments(group: DataFrame, topic: DataFrame, partition: DataFrame, fleet: Fleet, random: _RandomColumns) -> DataFrame:
    """The partitions of each member with their offsets: ranges for the range assignor, round robin for all others."""
    topics_read = group.withColumn("topic_index", F.explode(F.expr("sequence(0, topic_count - 1)"))).withColumn(
        "topic", _topic_read(F.col("topic_index"), fleet)
    )
    per_member, remainder = F.expr("partitions div members"), F.expr("partitions % members")
    in_longer_ranges = remainder * (per_member + 1)
    range_member = F.when(F.col("partition") < in_longer_ranges, F.expr("partition div (partitions div members + 1)")).otherwise(
        remainder + F.floor((F.col("partition") - in_longer_ranges) / F.greatest(per_member, F.lit(1))).cast("int")
    )
    member = F.when(F.col("assignor") == "range", range_member).otherwise(F.col("partition") % F.col("members"))
    lag = random.integer(1000, "lag", "cluster_id", "group_id", "topic", "partition")
    return (
        topics_read.join(topic.select(*_TOPIC, "partitions"), on=_TOPIC, how="inner")
        # Spark expects few rows from explode, and would broadcast all partitions of the fleet.
        .join(partition.select(*_TOPIC, "partition", "log_end_offset").hint("merge"), on=_TOPIC, how="inner")
        .withColumn("member", member)
        .withColumn("lag", F.least("log_end_offset", lag))
        .withColumns({"member_id": _member_id(F.col("member")), "current_offset": F.col("log_end_offset") - F.col("lag")})
    )


def _key_samples(topic: DataFrame, fleet: Fleet, random: _RandomColumns) -> DataFrame:
    """Rows of `key_sample`: keys by Zipf's law; rank 0 has the records without a key."""
    total, rank = (F.col("partitions") * 5000).cast("bigint"), F.col("rank")
    key = F.format_string("user-%d-%d", random.integer(10**6, "key", "cluster_id", "topic", "rank"), rank)
    return (
        topic.withColumn("rank", F.explode(F.sequence(F.lit(0), F.lit(fleet.keys))))
        .withColumn("records", F.greatest(F.lit(1), F.when(rank == 0, total).otherwise(F.floor(total / rank))))
        .withColumns(
            {"key": F.when(rank > 0, key.cast("binary")), "partition": F.lit(None), "size_bytes": F.col("records") * _RECORD_BYTES}
        )
    )


def _conform(rows: DataFrame, table: Table) -> DataFrame:
    """Select and cast the columns of the table; missing ones are null."""
    return rows.select(
        *(
            (F.col(field.name) if field.name in rows.columns else F.lit(None)).cast(from_arrow_type(field.type)).alias(field.name)
            for field in table.schema
        )
    )
