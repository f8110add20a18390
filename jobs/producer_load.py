"""producer_load: the records and bytes that each partition gets of what the producers send, predicted and seen.

As DefaultPartitioner (2.0) has it: an explicit partition wins; a key goes to toPositive(murmur2(key)) mod all partitions; a record
without a key to the next of the available ones, those with a leader, by a counter. The counter's closed form stands here for
columns; kafka_model.partitioner has it for values. Where keys were found tells which client put them there: kafka_model.attribution.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType

from jobs.session import kept
from jobs.tables import CLUSTER, HOT_KEY, KEY_SAMPLE, PARTITION, PRODUCER_LOAD, REPLICA, TOPIC, TOPIC_LOAD, TOPIC_PARTITIONER
from jobs.variation import variation
from kafka_model.attribution import Found, attribute
from kafka_model.partitioner import murmur2_batch

READS = (CLUSTER, TOPIC, PARTITION, REPLICA, KEY_SAMPLE)
READS_PREVIOUS = (CLUSTER, TOPIC, PARTITION, REPLICA)
WRITES = (PRODUCER_LOAD, TOPIC_LOAD, HOT_KEY, TOPIC_PARTITIONER)

HOT_KEYS = 10
_SHARING = 4  # keys that share a partition, up to which a floor is sought
LEAST_SECONDS = 600  # between two captures that tell a rate: files may have been copied since
_TOPIC = ["snapshot_id", "cluster_id", "topic"]
_PARTITION = [*_TOPIC, "partition"]


def transform(
    cluster: DataFrame,
    topic: DataFrame,
    partition: DataFrame,
    replica: DataFrame,
    key_sample: DataFrame,
    previous_cluster: DataFrame,
    previous_topic: DataFrame,
    previous_partition: DataFrame,
    previous_replica: DataFrame,
    *,
    parameters: Mapping[str, str],
) -> tuple[DataFrame, ...]:
    keyed = kept(_to_partitions(key_sample, topic))
    sampled = keyed.groupBy(_PARTITION).agg(
        F.sum(F.when(F.col("explicit"), F.col("records")).otherwise(0)).alias("explicit_records"),
        F.sum(F.when(F.col("explicit"), 0).otherwise(F.col("records"))).alias("keyed_records"),
        F.sum("size_bytes").alias("keyed_bytes"),
        F.count(F.when(~F.col("explicit"), 1)).alias("keys"),
    )
    unkeyed = key_sample.where("key IS NULL AND partition IS NULL").groupBy(_TOPIC).agg(
        F.sum("records").alias("n"), F.sum("size_bytes").alias("b")
    )
    sampled_topic = key_sample.select(*_TOPIC).distinct().withColumn("has_sample", F.lit(True))
    growth = _growth(topic, partition, replica, previous_topic, previous_partition, previous_replica)
    then = previous_cluster.select("cluster_id", F.col("captured_at").alias("captured_then"))
    seconds = (F.unix_micros("captured_at") - F.unix_micros("captured_then")) / 1e6
    between = cluster.join(then, on="cluster_id", how="inner").select(*_TOPIC[:2], F.when(seconds >= LEAST_SECONDS, seconds).alias("seconds"))

    turn = _turns(partition, counter=int(parameters.get("counter_start", "0")))
    load = (
        turn.join(sampled_topic, on=_TOPIC, how="left")
        .join(unkeyed, on=_TOPIC, how="left")
        .join(sampled, on=_PARTITION, how="left")
        .join(growth, on=_PARTITION, how="left")
        .join(F.broadcast(between), on=_TOPIC[:2], how="left")
        .fillna(0, ["n", "b", "explicit_records", "keyed_records", "keyed_bytes", "keys"])
        .withColumn("before", _records_before(F.col("turn")))
        .withColumn("unkeyed_records", _records_before(F.col("turn") + 1) - F.col("before"))
        .withColumn("unkeyed_bytes", _bytes_before(F.col("before") + F.col("unkeyed_records")) - _bytes_before(F.col("before")))
        .withColumn("records", F.col("explicit_records") + F.col("keyed_records") + F.col("unkeyed_records"))
        .withColumn("size_bytes", F.col("keyed_bytes") + F.col("unkeyed_bytes"))
    )
    of_topic = Window.partitionBy(*_TOPIC)
    grown = F.sum("observed_records").over(of_topic)
    all_told = F.count("observed_records").over(of_topic) == F.count("*").over(of_topic)
    predicted = ["records", "size_bytes", "explicit_records", "keyed_records", "unkeyed_records", "keys", "record_share", "byte_share"]
    load = kept(
        load.withColumn("record_share", _share("records", of_topic))
        .withColumn("byte_share", _share("size_bytes", of_topic))
        .withColumn("observed_record_share", F.when(all_told & (grown > 0), F.col("observed_records") / grown))
        .withColumns({name: F.when(F.col("has_sample"), F.col(name)) for name in predicted})
        .where("has_sample OR observed_records IS NOT NULL OR observed_size_bytes IS NOT NULL")
    )
    producer_load = load.select(*_PARTITION, *predicted, "observed_records", "observed_size_bytes", "observed_record_share",
                                (F.col("observed_size_bytes") / F.col("seconds")).alias("observed_size_bytes_per_s"))  # fmt: skip
    hot_key = _hot_keys(keyed, producer_load)
    return producer_load, _topic_load(load, keyed), hot_key, _partitioners(key_sample, topic)


def _to_partitions(key_sample: DataFrame, topic: DataFrame) -> DataFrame:
    """Each sampled key, and each explicit partition, with the partition that its records go to, and a key's rank in its topic."""
    told = key_sample.where("key IS NOT NULL OR partition IS NOT NULL").join(topic.select(*_TOPIC, "partitions"), on=_TOPIC, how="inner")
    explicit = F.col("partition").isNotNull()
    by_records = Window.partitionBy(*_TOPIC, "explicit").orderBy(F.desc("records"), "key")
    return (
        told.select(
            *_TOPIC,
            F.col("partitions").alias("among"),
            "key",
            "records",
            "size_bytes",
            explicit.alias("explicit"),
            F.coalesce("partition", _hash("key").bitwiseAND(0x7FFFFFFF) % F.col("partitions")).alias("partition"),
            # kafka_model.foreign_partitioner's consistent_random
            F.expr("if(length(key) > 0, cast(crc32(key) % partitions AS int), NULL)").alias("librdkafka_partition"),
        )
        .withColumn("rank", F.row_number().over(by_records))
    )


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
            Found(row["key"], partition, records)
            for row in found.select(["key", "observed_partitions", "observed_records"]).to_pylist()
            for partition, records in zip(row["observed_partitions"], row["observed_records"], strict=True)
        ],
        partitions,
    )
    row = (
        *topic, partitions, told.keys, told.records, told.partitioner, told.explained_records,
        1 - told.explained_records / told.records if told.records else 0.0, told.second_partitioner, told.second_records, told.split_keys,
        told.split_records,
    )
    schema = TOPIC_PARTITIONER.schema
    return pa.Table.from_arrays([pa.array([value], field.type) for value, field in zip(row, schema, strict=True)], schema=schema)


@F.arrow_udf(IntegerType())
def _hash(key: pa.Array) -> pa.Array:
    """murmur2 of each key; only keys cross over to Python: Arrow's Java writes a run of n null lists in n * n steps."""
    key = key.fill_null(b"")
    _, offsets, data = key.buffers()
    first = np.frombuffer(offsets, dtype=np.int32, count=key.offset + len(key) + 1)[key.offset :]
    bytes_ = np.frombuffer(data, dtype=np.uint8) if data else np.empty(0, dtype=np.uint8)
    return pa.array(murmur2_batch(bytes_, first), pa.int32())


def _turns(partition: DataFrame, *, counter: int) -> DataFrame:
    """Each partition with its turn, from 0, in the round of records without a key; null: none, since others have a leader."""
    of_topic = Window.partitionBy(*_TOPIC)
    available = F.col("leader").isNotNull()
    some = F.max(available.cast("int")).over(of_topic) == 1
    taking = F.when(some, available).otherwise(True)  # with none available, all
    return (
        partition.withColumn("taking", taking)
        .withColumn("available_partitions", F.sum(available.cast("int")).over(of_topic))
        .withColumn("taking_partitions", F.sum(F.col("taking").cast("int")).over(of_topic))
        .withColumn("place", F.sum(F.col("taking").cast("int")).over(of_topic.orderBy("partition")) - 1)
        .withColumn("turn", F.when(F.col("taking"), F.pmod(F.col("place") - F.lit(counter & 0x7FFFFFFF), "taking_partitions")))
        .select(*_PARTITION, "turn", "available_partitions", "taking_partitions")
    )


def _records_before(turn: Column) -> Column:
    """How many of a topic's n records without a key go to the turns before this one."""
    each, over = F.expr("n div taking_partitions"), F.col("n") % F.col("taking_partitions")
    return F.coalesce(turn * each + F.least(turn, over), F.lit(0)).cast("bigint")


def _bytes_before(records: Column) -> Column:
    """The bytes of the first so many records, so that the whole adds up: decimal, for bytes x records passes 64 bits."""
    return F.coalesce(F.floor(F.col("b").cast("decimal(19,0)") * records.cast("decimal(19,0)") / F.greatest("n", F.lit(1))), F.lit(0)).cast("bigint")


def _share(column: str, of_topic: Window) -> Column:
    total = F.sum(column).over(of_topic)
    return F.when(total > 0, F.col(column) / total).otherwise(0.0)


def _growth(topic: DataFrame, partition: DataFrame, replica: DataFrame, *previous: DataFrame) -> DataFrame:
    """What end offsets and leaders' sizes grew by since the previous snapshot; a topic made anew, or a shrinking log, tells nothing."""

    def seen(topic: DataFrame, partition: DataFrame, replica: DataFrame, suffix: str) -> DataFrame:
        leading = replica.select(*_PARTITION, F.col("broker_id").alias("leader"), F.col("size_bytes").alias(f"size{suffix}"))
        return (
            partition.join(topic.select(*_TOPIC, F.col("topic_id").alias(f"id{suffix}")), on=_TOPIC, how="left")
            .join(leading, on=[*_PARTITION, "leader"], how="left")
            .select(*_PARTITION, f"id{suffix}", f"size{suffix}", F.col("log_end_offset").alias(f"end{suffix}"))
        )

    def grown(now: str, then: str) -> Column:
        return F.when(F.col(now) >= F.col(then), F.col(now) - F.col(then))

    before = seen(*previous, "_then").drop("snapshot_id")
    return (
        seen(topic, partition, replica, "")
        .join(before, on=["cluster_id", "topic", "partition"], how="inner")
        .where("id IS NULL OR id_then IS NULL OR id = id_then")
        .select(*_PARTITION, grown("end", "end_then").alias("observed_records"), grown("size", "size_then").alias("observed_size_bytes"))
    )


def _topic_load(load: DataFrame, keyed: DataFrame) -> DataFrame:
    """Each topic's skew beside the least that any partitioner could reach, which its hottest key sets."""
    elsewhere = F.col("librdkafka_partition").isNull() | (F.col("librdkafka_partition") != F.col("partition"))
    hottest = keyed.where("NOT explicit").groupBy(_TOPIC).agg(
        F.max("records").alias("hottest_key"),
        F.greatest(*(_together(n) for n in range(_SHARING))).alias("together"),
        F.count_if(elsewhere).alias("keys_elsewhere"),
        F.sum(F.when(elsewhere, F.col("records")).otherwise(0)).alias("records_elsewhere"),
    )
    # With counts in rising order: the sum of (2 x place - partitions - 1) x count, over partitions x their sum.
    places = F.sequence(F.lit(1), F.size("counts"))
    weighed = F.zip_with("counts", places, lambda count, place: count * (2 * place - F.size("counts") - 1))
    gini = F.aggregate(weighed, F.lit(0).cast("bigint"), lambda sum, each: sum + each) / (F.size("counts") * F.col("records"))
    return (
        load.groupBy(_TOPIC)
        .agg(
            F.count("*").cast("int").alias("partitions"),
            F.first("available_partitions").cast("int").alias("available_partitions"),
            F.sum("records").alias("records"),
            F.sum("size_bytes").alias("size_bytes"),
            F.sum("keys").alias("keys"),
            (-F.max(F.struct("records", (-F.col("partition")).alias("p")))["p"]).alias("hottest_partition"),
            F.max("records").alias("most"),
            variation("records").alias("record_cv"),
            F.max("explicit_records").alias("named"),
            F.sort_array(F.collect_list("records")).alias("counts"),
            F.sum("observed_records").alias("observed_records"),
            F.max("observed_record_share").alias("observed_share"),
        )
        .join(hottest, on=_TOPIC, how="left")
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
            (F.col("hottest_key") / F.col("records")).alias("hottest_key_share"),
            F.when(
                F.col("mean").isNotNull(), F.greatest(F.lit(1.0), F.greatest(F.coalesce("together", F.lit(0)), "named") / F.col("mean"))
            ).alias("skew_floor"),
            "observed_records",
            (F.col("observed_share") * F.col("partitions")).alias("observed_skew"),
            F.when(F.col("records").isNotNull(), F.coalesce("keys_elsewhere", F.lit(0))).alias("keys_elsewhere"),
            F.when(F.col("records").isNotNull(), F.coalesce("records_elsewhere", F.lit(0))).alias("records_elsewhere"),
            F.when(F.col("records") > 0, F.col("most") / F.col("records")).alias("hottest_share"),
            F.when(F.col("records") > 0, gini).alias("record_gini"),
        )
    )


def _together(others: int) -> Column:
    """What some partition has at least, if there are keys enough for one to share a partition with so many others.

    Of the k x partitions + 1 hottest keys some k + 1 share a partition, which has no less than the k + 1 least of them have together.
    """
    last = others * F.col("among") + 1
    least = F.sum(F.when(F.col("rank").between(last - others, last), F.col("records")))
    return F.when(F.count_if(F.col("rank") == last) > 0, least)


def _hot_keys(keyed: DataFrame, producer_load: DataFrame) -> DataFrame:
    total = producer_load.groupBy(_TOPIC).agg(F.sum("records").alias("total"))
    return (
        keyed.where("NOT explicit")
        .where(F.col("rank") <= HOT_KEYS)
        .join(total, on=_TOPIC, how="inner")
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
