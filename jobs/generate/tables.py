"""A made-up fleet as the tables that ingest writes. What chance decides is a hash of the seed and of what it decides about, so that a fleet
is the same however many tasks make it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
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
from jobs.steps.replica_assignment import patterns

_CLUSTER = ["snapshot_id", "cluster_id"]
_TOPIC = [*_CLUSTER, "topic"]
_CAPTURED_AT = datetime(2026, 1, 1, tzinfo=UTC)
_LOG_DIR = "/var/lib/kafka/data"
_RECORD_BYTES = 100
_LINE_BYTES = 120  # of kafka-topics, for a partition
_MOST_MEMBERS = 1000
_ASSIGNORS = ("range", "roundrobin", "sticky", "cooperative-sticky", "uniform")  # the last is of the protocol consumer, the others classic


def tables(spark: SparkSession, fleet: Fleet, snapshot_id: str) -> Mapping[Table, DataFrame]:
    """The tables of ingest.WRITES, of a night on which all that can be told is told."""

    def chance(what: str, *of: str) -> Column:
        """A number from 0 to 1 for each of these."""
        return F.pmod(F.xxhash64(F.lit(fleet.seed), F.lit(what), *of), F.lit(1 << 32)) / (1 << 32)

    def draw(below: int | Column, what: str, *of: str) -> Column:
        return F.floor(chance(what, *of) * below).cast("int")

    def power_law(what: str, *of: str) -> Column:
        """From 1 on, three in a hundred above 20, and a mean of about 4 if none may be above 60 (Pareto, 1.2)."""
        return F.pow(1 - chance(what, *of), F.lit(-1 / 1.2))

    cluster = spark.range(fleet.clusters).select(
        F.lit(snapshot_id).alias("snapshot_id"),
        F.format_string("cluster-%03d", "id").alias("cluster_id"),
        F.when(F.col("id") % 4 == 0, "zookeeper").otherwise("kraft").alias("controller"),
        (F.col("id") % 4 > 1).alias("elr"),
        F.array(F.lit("generated")).alias("sources"),
        F.lit(_CAPTURED_AT).alias("captured_at"),
        F.when(F.col("id") % 3 == 2, F.floor(chance("lost", "id") * fleet.brokers).cast("int")).alias("lost"),
    )
    racks = F.create_map(*(F.lit(each) for pair in racks_of(fleet).items() for each in pair)) if fleet.racks else None
    id = F.col("broker_id")
    broker = cluster.withColumn("broker_id", F.explode(F.sequence(F.lit(0), F.lit(fleet.brokers - 1)))).withColumns(
        {
            "rack": F.lit(None) if racks is None else racks[id],
            "live": ~id.eqNullSafe(F.col("lost")),
            "disk_capacity_bytes": F.lit(float(1 << 42)),
            "network_in_capacity_bytes_per_s": F.lit(1e9),
            "network_out_capacity_bytes_per_s": F.lit(1e9),
            "cpu_capacity_percent": F.lit(400.0),
        }
    )

    factors = F.array(*(F.struct(F.lit(factor).alias("factor"), F.lit(least).alias("least")) for factor, least in FACTORS))
    topic = (
        cluster.withColumn("number", F.explode(F.sequence(F.lit(0), F.lit(fleet.topics - 1))))
        .withColumn("topic", F.format_string("topic-%05d", "number"))
        .withColumn("factors", F.get(factors, draw(len(FACTORS), "factor", "cluster_id", "number")))
        .withColumn("replication_factor", F.least("factors.factor", F.lit(fleet.brokers)))
        .withColumn("min_insync_replicas", F.least("factors.least", "replication_factor"))
        .withColumn(
            "partitions",
            F.least(
                F.greatest(F.lit(1), (power_law("count", "cluster_id", "number") * fleet.partitions / 4).cast("int")),
                F.lit(20 * fleet.partitions),
            ),
        )
        .withColumn("configs", F.create_map(F.lit("min.insync.replicas"), F.col("min_insync_replicas").cast("string")))
        .withColumn("unclean", chance("unclean", "cluster_id", "number") < 0.05)
        .withColumn(
            "configs",
            F.when(
                F.col("unclean"), F.map_concat("configs", F.create_map(F.lit("unclean.leader.election.enable"), F.lit("true")))
            ).otherwise(F.col("configs")),
        )
        .withColumn("start", draw(fleet.brokers, "start", "cluster_id", "number"))
        .withColumn("first_shift", draw(fleet.brokers, "shift", "cluster_id", "number"))
        .withColumn(
            "target", F.when(chance("skewed", "cluster_id", "number") < 0.15, draw(fleet.brokers, "target", "cluster_id", "number"))
        )
    )

    span = F.expr(f"if(replication_factor = 1, 1, {max(fleet.brokers - 1, 1)})")
    placed = (
        topic.withColumn("partition", F.explode(F.expr("sequence(0, partitions - 1)")))
        .withColumn("first_index", (F.col("partition") + F.col("start")) % fleet.brokers)
        .withColumn("shift", (F.col("first_shift") + F.expr(f"partition div {fleet.brokers}")) % span)
        .join(F.broadcast(patterns(broker, topic)), on=[*_CLUSTER, "replication_factor", "first_index", "shift"], how="inner")
    )
    moved = F.slice(F.concat(F.array("target"), F.array_remove("replicas", F.col("target"))), F.lit(1), F.size("replicas"))
    in_sync = F.when(F.col("lost").isNull(), F.col("replicas")).otherwise(F.array_remove("replicas", F.col("lost")))
    out = F.when(F.size("replicas") > F.size("in_sync"), F.array("lost")).otherwise(F.array().cast("array<int>"))
    partition = (
        placed.withColumn("replicas", F.when(F.col("target").isNull(), F.col("replicas")).otherwise(moved))
        .withColumn("in_sync", in_sync)
        .withColumns(
            {
                "leader": F.get("in_sync", F.lit(0)),
                "isr": F.sort_array("in_sync"),
                "elr": F.when(
                    F.col("elr"), F.when(F.size("in_sync") < F.col("min_insync_replicas"), out).otherwise(F.array().cast("array<int>"))
                ),
                "last_known_elr": F.when(F.col("elr"), F.array().cast("array<int>")),
                "log_start_offset": F.lit(0),
                "log_end_offset": draw(100_000, "records", "cluster_id", "number", "partition"),
            }
        )
        .withColumn(
            "replica_size_bytes",
            F.transform("replicas", lambda id: F.when(~id.eqNullSafe(F.col("lost")), F.col("log_end_offset") * _RECORD_BYTES)),
        )
    )
    gone = id.eqNullSafe(F.col("lost"))
    replica = partition.select(
        *_TOPIC, "partition", "isr", "lost", "replica_size_bytes", F.posexplode("replicas").alias("replica_index", "broker_id")
    ).withColumns(
        {
            "in_sync": ~gone,
            "log_dir": F.when(~gone, F.lit(_LOG_DIR)),
            "size_bytes": F.get("replica_size_bytes", F.col("replica_index")),
            "offset_lag": F.when(~gone, F.lit(0)),
        }
    )

    group = (
        cluster.withColumn("number", F.explode(F.sequence(F.lit(0), F.lit(fleet.groups - 1))) if fleet.groups else F.lit(None).cast("int"))
        .where(f"{fleet.groups} > 0")
        .withColumn("group_id", F.format_string("group-%05d", "number"))
        .withColumn("assignor", F.get(F.array(*map(F.lit, _ASSIGNORS)), draw(len(_ASSIGNORS), "assignor", "cluster_id", "number")))
        .withColumn("protocol", F.when(F.col("assignor") == "uniform", "consumer").otherwise("classic"))
        .withColumn("state", F.lit("Stable"))
        .withColumn("members", F.least(power_law("members", "cluster_id", "number"), F.lit(_MOST_MEMBERS)).cast("int"))
        .withColumn("first", draw(fleet.topics, "read", "cluster_id", "number"))
        .withColumn("many", F.least(draw(3, "many", "cluster_id", "number") + 1, F.lit(fleet.topics)))
    )
    read = group.withColumn("nth", F.explode(F.expr("sequence(0, many - 1)"))).withColumn(
        "topic", F.format_string("topic-%05d", (F.col("first") + F.col("nth")) % fleet.topics)
    )
    member = F.format_string("consumer-%04d", "member")
    topics = F.transform(F.expr("sequence(0, many - 1)"), lambda nth: F.format_string("topic-%05d", (F.col("first") + nth) % fleet.topics))
    group_member = (
        group.withColumn("topics", F.sort_array(topics))
        .withColumn("member", F.explode(F.expr("sequence(0, members - 1)")))
        .withColumns({"member_id": member, "client_id": F.lit("consumer"), "host": F.lit("/127.0.0.1")})
    )
    # Range gives each member a stretch of a topic; the others are taken to have dealt its partitions out in turn.
    each, over = F.expr("partitions div members"), F.expr("partitions % members")
    longer = over * (each + 1)
    stretch = F.when(F.col("partition") < longer, F.expr("partition div (partitions div members + 1)")).otherwise(
        over + F.floor((F.col("partition") - longer) / F.greatest(each, F.lit(1))).cast("int")
    )
    held = (
        read.join(topic.select(*_TOPIC, "partitions"), on=_TOPIC, how="inner")
        .join(partition.select(*_TOPIC, "partition", "log_end_offset"), on=_TOPIC, how="inner")
        .withColumn("member", F.when(F.col("assignor") == "range", stretch).otherwise(F.col("partition") % F.col("members")))
        .withColumn("lag", F.least("log_end_offset", draw(1000, "lag", "cluster_id", "group_id", "topic", "partition")))
        .withColumns({"member_id": member, "current_offset": F.col("log_end_offset") - F.col("lag")})
    )

    total = (F.col("partitions") * 5000).cast("bigint")
    rank = F.explode(F.sequence(F.lit(0), F.lit(fleet.keys)))  # Zipf's law; 0: without a key
    key_sample = (
        topic.withColumn("rank", rank)
        .withColumn("records", F.greatest(F.lit(1), F.when(F.col("rank") == 0, total).otherwise(F.floor(total / F.col("rank")))))
        .withColumns(
            {
                "key": F.when(
                    F.col("rank") > 0,
                    F.format_string("user-%d-%d", draw(10**6, "key", "cluster_id", "topic", "rank"), F.col("rank")).cast("binary"),
                ),
                "partition": F.lit(None),
                "size_bytes": F.col("records") * _RECORD_BYTES,
            }
        )
    )

    found = {
        CLUSTER: cluster,
        INPUT_FILE: topic.groupBy(_CLUSTER)
        .agg((F.sum("partitions") * _LINE_BYTES).alias("size_bytes"))
        .withColumns(
            {"file": F.lit("generated"), "format": F.lit("generated"), "entries": F.lit(0), "accepted": F.lit(0), "rejected": F.lit(0)}
        ),
        BROKER: broker,
        LOG_DIR: broker.where("live").withColumns({"log_dir": F.lit(_LOG_DIR), "capacity_bytes": F.col("disk_capacity_bytes")}),
        TOPIC: topic,
        PARTITION: partition,
        REPLICA: replica,
        CONSUMER_GROUP: group,
        GROUP_MEMBER: group_member,
        OBSERVED_ASSIGNMENT: held,
        COMMITTED_OFFSET: held,
        KEY_SAMPLE: key_sample,
    }
    return {table: _as(found[table], table) if table in found else spark.createDataFrame([], table.columns) for table in ingest.WRITES}


def _as(rows: DataFrame, table: Table) -> DataFrame:
    """The columns of the table; those that it lacks are null."""
    return rows.select(
        *(
            (F.col(field.name) if field.name in rows.columns else F.lit(None)).cast(from_arrow_type(field.type)).alias(field.name)
            for field in table.schema
        )
    )
