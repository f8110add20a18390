"""producer_load: the records and bytes that each partition gets of what the producers send, predicted and seen.

Reproduces DefaultPartitioner (2.0): an explicit partition wins; a key goes to toPositive(murmur2(key)) mod all partitions; a record
without a key goes to the next available partition (with a leader), by a counter. The closed form of the counter is the columnar form of
kafka_model.partitioner.java_client. kafka_model.partitioner.key_attribution infers from the partitions of keys which client wrote them.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from jobs.failure.sizes import leader_size
from jobs.schema import CLUSTER, HOT_KEY, KEY_SAMPLE, PARTITION, PRODUCER_LOAD, TOPIC, TOPIC_LOAD, TOPIC_PARTITIONER
from jobs.spark.session import by_cluster, in_order
from jobs.steps import sampled_keys
from jobs.steps.sampled_keys import HOT_KEYS, KEYED, SAID
from jobs.steps.stage import Stage, Stages
from jobs.steps.variation import variation
from kafka_model.partitioner.key_attribution import KeyLocation, attribute

READS = (CLUSTER, TOPIC, PARTITION, KEY_SAMPLE)
READS_PREVIOUS = (CLUSTER, TOPIC, PARTITION)
WRITES = (PRODUCER_LOAD, TOPIC_LOAD, HOT_KEY, TOPIC_PARTITIONER)

_SHARING = 4  # keys that share a partition, up to which a floor is sought
LEAST_SECONDS = 600  # between two captures that tell a rate: files may have been copied since
_TOPIC = ["snapshot_id", "cluster_id", "topic"]
_NUMBERED = ["number", "partition"]  # a topic's number in place of its names: tens of millions of keys go by it
_TOLD = "has_sample OR observed_records IS NOT NULL OR observed_size_bytes IS NOT NULL"


def transform(
    cluster: DataFrame,
    topic: DataFrame,
    partition: DataFrame,
    key_sample: DataFrame,
    previous_cluster: DataFrame,
    previous_topic: DataFrame,
    previous_partition: DataFrame,
    *,
    parameters: Mapping[str, str],
) -> Stages[tuple[DataFrame, ...]]:
    topics = yield Stage(_numbered(topic, partition, previous_topic))
    names = F.broadcast(topics.select("number", *_TOPIC))
    said = yield Stage(_said(key_sample, topics), longest_bytes=_longest(key_sample))
    sample = yield Stage(_sampled(said))
    then = previous_cluster.select("cluster_id", F.col("captured_at").alias("captured_then"))
    seconds = (F.unix_micros("captured_at") - F.unix_micros("captured_then")) / 1e6
    between = cluster.join(then, on="cluster_id", how="inner").select(
        *_TOPIC[:2], F.when(seconds >= LEAST_SECONDS, seconds).alias("seconds")
    )

    now = _turns(partition, topics, counter=int(parameters.get("counter_start", "0")))
    was = _before(previous_partition, topics)
    of_each = topics.select("number", "available_partitions", "taking_partitions", "same_topic").join(
        sample.select("number", F.lit(True).alias("has_sample"), "n", "b"), on="number", how="left"
    )
    predicted = ["records", "size_bytes", "explicit_records", "keyed_records", "unkeyed_records", "keys"]
    load = yield Stage(
        # Every partition, what keys bring it, and what it was, in one aggregate: joins would sort them.
        now.unionByName(was, allowMissingColumns=True)
        .unionByName(said.where("keys IS NOT NULL").select(*_NUMBERED, *KEYED), allowMissingColumns=True)
        .groupBy(_NUMBERED)
        .agg(
            *(F.max(name).alias(name) for name in (*now.columns[2:], *was.columns[2:])),
            *(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in KEYED),
        )
        .where("here")
        .join(F.broadcast(of_each), on="number", how="inner")
        .fillna(0, ["n", "b"])
        .withColumn("before", _records_before(F.col("turn")))
        .withColumn("unkeyed_records", _records_before(F.col("turn") + 1) - F.col("before"))
        .withColumn("unkeyed_bytes", _bytes_before(F.col("before") + F.col("unkeyed_records")) - _bytes_before(F.col("before")))
        .withColumn("records", F.col("explicit_records") + F.col("keyed_records") + F.col("unkeyed_records"))
        .withColumn("size_bytes", F.col("keyed_bytes") + F.col("unkeyed_bytes"))
        .withColumns({name: F.when(F.col("has_sample"), F.col(name)) for name in predicted})
        .select(
            *_NUMBERED,
            *predicted,
            "librdkafka_moved_keys",
            "librdkafka_moved_records",
            "available_partitions",
            "has_sample",
            _grown("end", "end_then").alias("observed_records"),
            _grown("size", "size_then").alias("observed_size_bytes"),
        )
    )
    of_topic = yield Stage(_totals(load))
    producer_load = (
        load.where(_TOLD)
        .join(
            F.broadcast(of_topic.select("number", *(F.col(name).alias(f"all_{name}") for name in ("records", "size_bytes", "grown")))),
            on="number",
            how="inner",
        )
        .join(names, on="number", how="inner")
        .join(F.broadcast(between), on=_TOPIC[:2], how="left")
        .select(
            "number",
            *_TOPIC,
            "partition",
            *predicted,
            _share("records"),
            _share("size_bytes"),
            "observed_records",
            "observed_size_bytes",
            (F.col("observed_records") / F.col("all_grown")).alias("observed_record_share"),
            (F.col("observed_size_bytes") / F.col("seconds")).alias("observed_size_bytes_per_s"),
        )
    )
    of_topic = of_topic.join(topics.select("number", *_TOPIC, "told_partitions"), on="number", how="inner")
    topic_load, hot_key = _topic_load(of_topic, sample), _hot_keys(said, of_topic)
    return in_order(producer_load, "number"), by_cluster(topic_load), by_cluster(hot_key), _partitioners(key_sample, topic)


def _numbered(topic: DataFrame, partition: DataFrame, previous_topic: DataFrame) -> DataFrame:
    """The topics that have a partition, each with a number: always the same, for Spark may work this out again."""
    then = previous_topic.select("cluster_id", "topic", F.col("topic_id").alias("id_then"))
    return (
        partition.groupBy(_TOPIC)
        .agg(F.count("*").alias("partitions"), F.count("leader").alias("available_partitions"), F.min("partition").alias("least"), F.max("partition").alias("most"))
        .join(topic.select(*_TOPIC, "topic_id", F.col("partitions").alias("told_partitions")), on=_TOPIC, how="left")
        .join(then, on=["cluster_id", "topic"], how="left")
        .select(
            *_TOPIC,
            F.row_number().over(Window.orderBy(*_TOPIC)).alias("number"),
            "told_partitions",
            "available_partitions",
            F.expr("if(available_partitions > 0, available_partitions, partitions)").alias("taking_partitions"),  # with none available, all
            F.expr("least = 0 AND most = partitions - 1 AND available_partitions IN (0, partitions)").alias("all_alike"),
            F.expr("topic_id IS NULL OR id_then IS NULL OR topic_id = id_then").alias("same_topic"),
        )
    )  # fmt: skip


def _said(key_sample: DataFrame, topics: DataFrame) -> DataFrame:
    """What is said of runs of keys."""
    # `consistent_random` in kafka_model.partitioner.other_clients
    other = F.expr("if(length(key) > 0, cast(crc32(key) % told_partitions AS int), NULL)").alias("librdkafka_partition")
    return (
        key_sample.join(F.broadcast(topics.select(*_TOPIC, "number", "told_partitions")), on=_TOPIC, how="inner")
        .select("number", "told_partitions", "key", "partition", "records", "size_bytes", other)
        .mapInArrow(sampled_keys.said, from_arrow_schema(SAID))
    )


def _longest(key_sample: DataFrame) -> DataFrame:
    return key_sample.agg(F.coalesce(F.max(F.length("key")), F.lit(0)))


def _sampled(said: DataFrame) -> DataFrame:
    """Of each sampled topic, the records and bytes without a key (n, b), and the records of each of its keys, the most first."""
    of_all = F.sort_array(F.flatten(F.collect_list("counts")), asc=False)
    return said.where("counts IS NOT NULL").groupBy("number").agg(F.sum("n").alias("n"), F.sum("b").alias("b"), of_all.alias("counts"))


def _partitioners(key_sample: DataFrame, topic: DataFrame) -> DataFrame:
    """Who put each topic's keys where they were found."""
    found = (
        key_sample.where("key IS NOT NULL AND length(key) > 0 AND partition IS NULL AND observed_partitions IS NOT NULL")
        .join(topic.where("partitions > 1").select(*_TOPIC, "partitions"), on=_TOPIC, how="inner")
        .select(*_TOPIC, "partitions", "key", "observed_partitions", "observed_records")
    )
    return found.groupBy(*_TOPIC, "partitions").applyInArrow(_attributed, TOPIC_PARTITIONER.columns)


def _attributed(group: tuple[pa.Scalar, ...], found: pa.Table) -> pa.Table:
    *topic, partitions = (value.as_py() for value in group)
    told = attribute(
        [
            KeyLocation(row["key"], partition, records)
            for row in found.select(["key", "observed_partitions", "observed_records"]).to_pylist()
            for partition, records in zip(row["observed_partitions"], row["observed_records"], strict=True)
        ],
        partitions,
    )
    row = (
        *topic,
        partitions,
        told.keys,
        told.records,
        told.partitioner,
        told.explained_records,
        1 - told.explained_records / told.records if told.records else 0.0,
        told.second_partitioner,
        told.second_records,
        told.split_keys,
        told.split_records,
    )
    schema = TOPIC_PARTITIONER.schema
    return pa.Table.from_arrays([pa.array([value], field.type) for value, field in zip(row, schema, strict=True)], schema=schema)


def _turns(partition: DataFrame, topics: DataFrame, *, counter: int) -> DataFrame:
    """Each partition with its turn, from 0, in the round of records without a key (null: none, since others have a leader), and with what
    its leader tells.
    """
    of_each = partition.join(
        F.broadcast(topics.select(*_TOPIC, "number", "available_partitions", "taking_partitions", "all_alike")), on=_TOPIC, how="inner"
    )
    takes = F.expr("leader IS NOT NULL OR available_partitions = 0")
    in_order = Window.partitionBy("number", takes).orderBy("partition")
    others = of_each.where("NOT all_alike").withColumn("place", F.when(takes, F.row_number().over(in_order) - 1))
    # Where all partitions of a topic take turns, each has its number for its place: of most topics no row is sorted.
    placed = of_each.where("all_alike").withColumn("place", F.col("partition")).unionByName(others)
    turn = F.pmod(F.col("place") - F.lit(counter & 0x7FFFFFFF), "taking_partitions").alias("turn")
    return placed.select(*_NUMBERED, F.lit(True).alias("here"), turn, F.col("log_end_offset").alias("end"), leader_size().alias("size"))


def _before(previous_partition: DataFrame, topics: DataFrame) -> DataFrame:
    """What the leaders of the snapshot before told, of topics that are there still."""
    still = F.broadcast(topics.where("same_topic").select("cluster_id", "topic", "number"))
    return previous_partition.join(still, on=["cluster_id", "topic"], how="inner").select(
        *_NUMBERED, F.col("log_end_offset").alias("end_then"), leader_size().alias("size_then")
    )


def _grown(now: str, then: str) -> Column:
    """What a number grew by since the previous snapshot; a shrinking log tells nothing."""
    return F.when(F.col(now) >= F.col(then), F.col(now) - F.col(then))


def _records_before(turn: Column) -> Column:
    """How many of a topic's n records without a key go to the turns before this one."""
    each, over = F.expr("n div taking_partitions"), F.col("n") % F.col("taking_partitions")
    return F.coalesce(turn * each + F.least(turn, over), F.lit(0)).cast("bigint")


def _bytes_before(records: Column) -> Column:
    """The bytes of the first so many records, so that the whole adds up: decimal, for bytes x records passes 64 bits."""
    return F.coalesce(F.floor(F.col("b").cast("decimal(19,0)") * records.cast("decimal(19,0)") / F.greatest("n", F.lit(1))), F.lit(0)).cast(
        "bigint"
    )


def _share(column: str) -> Column:
    share = F.when(F.col(f"all_{column}") > 0, F.col(column) / F.col(f"all_{column}")).otherwise(0.0)
    return F.when(F.col("has_sample"), share).alias({"records": "record_share", "size_bytes": "byte_share"}[column])


def _totals(load: DataFrame) -> DataFrame:
    """What the partitions of each topic have together."""
    grown = F.sum("observed_records")
    all_told = F.count("observed_records") == F.count("*")
    return load.groupBy("number").agg(
        F.count_if(F.expr(_TOLD)).cast("int").alias("partitions"),
        F.first("available_partitions").cast("int").alias("available_partitions"),
        F.sum("records").alias("records"),
        F.sum("size_bytes").alias("size_bytes"),
        F.sum("keys").alias("keys"),
        (-F.max(F.struct("records", (-F.col("partition")).alias("p")))["p"]).alias("hottest_partition"),
        F.max("records").alias("most"),
        variation("records").alias("record_cv"),
        F.max("explicit_records").alias("named"),
        F.sum("librdkafka_moved_keys").alias("librdkafka_moved_keys"),
        F.sum("librdkafka_moved_records").alias("librdkafka_moved_records"),
        F.sort_array(F.collect_list("records")).alias("counts"),
        grown.alias("observed_records"),
        F.when(all_told & (grown > 0), grown).alias("grown"),
        F.max("observed_records").alias("most_observed"),
    )


def _topic_load(of_topic: DataFrame, sample: DataFrame) -> DataFrame:
    """Each topic's skew beside the least that any partitioner could reach, which its hottest key sets."""
    keys = sample.select("number", F.col("counts").alias("of_keys"))
    # With counts in rising order: the sum of (2 x place - partitions - 1) x count, over partitions x their sum.
    places = F.sequence(F.lit(1), F.size("counts"))
    weighed = F.zip_with("counts", places, lambda count, place: count * (2 * place - F.size("counts") - 1))
    gini = F.aggregate(weighed, F.lit(0).cast("bigint"), lambda sum, each: sum + each) / (F.size("counts") * F.col("records"))
    return (
        of_topic.where("partitions > 0")
        .join(keys, on="number", how="left")
        .withColumn("together", F.greatest(*(_together(n) for n in range(_SHARING))))
        .withColumn("mean", F.when(F.col("records") > 0, F.col("records") / F.col("partitions")))
        .select(
            *_TOPIC,
            "partitions",
            "available_partitions",
            "records",
            "size_bytes",
            "keys",
            F.when(F.col("records").isNotNull(), F.col("hottest_partition")).alias("hottest_partition"),
            (F.col("most") / F.col("mean")).alias("skew"),
            "record_cv",
            (F.get("of_keys", F.lit(0)) / F.col("records")).alias("hottest_key_share"),
            F.when(
                F.col("mean").isNotNull(), F.greatest(F.lit(1.0), F.greatest(F.coalesce("together", F.lit(0)), "named") / F.col("mean"))
            ).alias("skew_floor"),
            "observed_records",
            (F.col("most_observed") / F.col("grown") * F.col("partitions")).alias("observed_skew"),
            F.when(F.col("records").isNotNull(), F.col("librdkafka_moved_keys")).alias("librdkafka_moved_keys"),
            F.when(F.col("records").isNotNull(), F.col("librdkafka_moved_records")).alias("librdkafka_moved_records"),
            F.when(F.col("records") > 0, F.col("most") / F.col("records")).alias("hottest_share"),
            F.when(F.col("records") > 0, gini).alias("record_gini"),
        )
    )


def _together(others: int) -> Column:
    """What some partition has at least, if there are keys enough for one to share a partition with so many others.

    Of the k x partitions + 1 hottest keys some k + 1 share a partition, which has no less than the k + 1 least of them have together.
    """
    last = others * F.col("told_partitions") + 1
    least = F.aggregate(F.slice("of_keys", last - others, F.lit(others + 1)), F.lit(0).cast("bigint"), lambda sum, each: sum + each)
    return F.when(F.size("of_keys") >= last, least)


def _hot_keys(said: DataFrame, of_topic: DataFrame) -> DataFrame:
    total = of_topic.select("number", *_TOPIC, F.col("records").alias("total"))
    by_records = Window.partitionBy("number").orderBy(F.desc("records"), "key")
    return (
        said.where("key IS NOT NULL")
        .select("number", "partition", "key", "records", "size_bytes", "librdkafka_partition")
        .withColumn("rank", F.row_number().over(by_records))
        .where(F.col("rank") <= HOT_KEYS)
        .join(total, on="number", how="inner")
        .select(
            *_TOPIC,
            "rank",
            "key",
            F.when(F.expr("is_valid_utf8(cast(key AS string))"), F.col("key").cast("string")).alias("key_text"),
            "partition",
            "records",
            "size_bytes",
            F.when(F.col("total") > 0, F.col("records") / F.col("total")).otherwise(0.0).alias("record_share"),
            "librdkafka_partition",
        )
    )
