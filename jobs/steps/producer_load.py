"""producer_load: the records and bytes that each partition gets from producers, predicted from sampled keys and observed as growth.

Reproduces DefaultPartitioner (2.0): a named partition wins; a key goes to partition toPositive(murmur2(key)) mod all partitions; a record
without a key goes to the next available partition (one with a leader), by a counter. The closed form of the counter is the columnar form
of kafka_model.partitioner.java_client. kafka_model.partitioner.key_attribution infers from the partitions of keys which client wrote them.

What was written since the previous snapshot is the growth of the end offset times the mean bytes of a record: retention and compaction delete
bytes, but never lower an end offset.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from jobs.failure.sizes import leader_size
from jobs.schema import CLUSTER, HOT_KEY, KEY_SAMPLE, PARTITION, PRODUCER_LOAD, TOPIC, TOPIC_LOAD, TOPIC_PARTITIONER
from jobs.spark.session import cluster_files_by_id, dataframe_from_arrow, shuffle_partitions
from jobs.steps.captures import seconds_between
from jobs.steps.sampled_keys import HOT_KEYS, KEYED, MAX_SHARED_KEYS, SUMMARY_SCHEMA, summarize_keys
from jobs.steps.stage import Stage, Stages
from jobs.steps.variation import variation
from kafka_model.partitioner.key_attribution import KeyLocation, attribute

READS = (CLUSTER, TOPIC, PARTITION, KEY_SAMPLE)
READS_PREVIOUS = (CLUSTER, TOPIC, PARTITION)
WRITES = (PRODUCER_LOAD, TOPIC_LOAD, HOT_KEY, TOPIC_PARTITIONER)

# How the bytes that were written since the previous snapshot are computed: observed_size_source of `producer_load`.
OFFSETS_AND_LOG, OFFSETS_AND_SAMPLE, SIZE_GROWTH = "offsets_and_log", "offsets_and_sample", "size_growth"
_TOPIC = ["snapshot_id", "cluster_id", "topic"]
_NUMBERED = ["chunk", "number", "partition"]  # a number replaces the name of a topic: tens of millions of rows are joined by it
_PREDICTED = ["records", "size_bytes", "explicit_records", "keyed_records", "unkeyed_records", "keys"]
_HAS_LOAD = "has_sample OR observed_records IS NOT NULL OR size_growth IS NOT NULL"


def transform(
    cluster: pa.Table,
    topic: DataFrame,
    partition: DataFrame,
    key_sample: DataFrame,
    previous_cluster: pa.Table,
    previous_topic: DataFrame,
    previous_partition: DataFrame,
    *,
    parameters: Mapping[str, str],
) -> Stages[tuple[DataFrame, ...]]:
    topics = yield Stage(_numbered_topics(topic, partition, previous_topic))
    longest_key = key_sample.agg(F.coalesce(F.max(F.length("key")), F.lit(0)))
    summaries = yield Stage(_key_summaries(key_sample, topics), longest_bytes=longest_key)
    samples = yield Stage(_topic_samples(summaries))
    current = _current_partitions(partition, topics, counter_start=int(parameters.get("counter_start", "0")))
    load = yield Stage(_load(topics, samples, summaries, current, _previous_partitions(previous_partition, topics)))
    totals = yield Stage(_totals(load))
    captures = dataframe_from_arrow(topic.sparkSession, seconds_between(cluster, previous_cluster))
    producer_load = _shares(load, totals, topics, captures)
    named_totals = totals.drop("chunk").join(topics.select("number", *_TOPIC, "partition_count"), on="number", how="inner")
    topic_load, hot_key = _topic_load(named_totals, samples), _hot_keys(summaries, named_totals)
    return (
        producer_load,
        cluster_files_by_id(topic_load),
        cluster_files_by_id(hot_key),
        _partitioners(key_sample, topic),
    )


def _numbered_topics(topic: DataFrame, partition: DataFrame, previous_topic: DataFrame) -> DataFrame:
    """The topics with partitions, numbered in the order of their names.

    `partition_count` is what `topic` reports. `taking_partitions` take records without a key: the available ones, or all if none is.
    `turns_are_numbers`: the partitions have no gaps in their numbers, and all or none of them are available. `logs_are_complete`: the leaders
    store every record between the start and the end of their logs. `chunk` numbers groups of successive topics with about as many partitions
    each.
    """
    previous = previous_topic.select("cluster_id", "topic", F.col("topic_id").alias("previous_topic_id"))
    by_name, chunks = Window.orderBy(*_TOPIC), shuffle_partitions(topic.sparkSession)
    counts = partition.groupBy(_TOPIC).agg(
        F.count("*").alias("partitions"),
        F.count("leader").alias("available_partitions"),
        F.min("partition").alias("first"),
        F.max("partition").alias("last"),
    )
    configs = topic.select(
        *_TOPIC, "topic_id", F.col("partitions").alias("partition_count"), _logs_are_complete().alias("logs_are_complete")
    )
    return (
        counts.join(configs, on=_TOPIC, how="left")
        .join(previous, on=["cluster_id", "topic"], how="left")
        .select(
            *_TOPIC,
            F.row_number().over(by_name).alias("number"),
            F.floor((F.sum("partitions").over(by_name) - 1) * chunks / F.sum("partitions").over(Window.partitionBy()))
            .cast("int")
            .alias("chunk"),
            "partition_count",
            "available_partitions",
            F.expr("if(available_partitions > 0, available_partitions, partitions)").alias("taking_partitions"),
            F.expr("first = 0 AND last = partitions - 1 AND available_partitions IN (0, partitions)").alias("turns_are_numbers"),
            F.expr("topic_id IS NULL OR previous_topic_id IS NULL OR topic_id = previous_topic_id").alias("same_topic"),
            "logs_are_complete",
        )
    )


def _logs_are_complete() -> Column:
    """Return whether a leader's log has every record from its start to its end: compaction deletes some, tiered storage moves some away."""
    compacted = F.coalesce(F.col("configs")["cleanup.policy"], F.lit("delete")).contains("compact")
    return ~compacted & (F.coalesce(F.col("configs")["remote.storage.enable"], F.lit("false")) != "true")


def _key_summaries(key_sample: DataFrame, topics: DataFrame) -> DataFrame:
    # consistent_random of kafka_model.partitioner.other_clients
    librdkafka = F.expr("if(length(key) > 0, cast(crc32(key) % partition_count AS int), NULL)").alias("librdkafka_partition")
    return (
        key_sample.join(F.broadcast(topics.select(*_TOPIC, "number", "partition_count")), on=_TOPIC, how="inner")
        .select("number", "partition_count", "key", "partition", "records", "size_bytes", librdkafka)
        .mapInArrow(summarize_keys, from_arrow_schema(SUMMARY_SCHEMA))
    )


def _topic_samples(summaries: DataFrame) -> DataFrame:
    """The records and bytes without a key of each sampled topic, and the records of its hottest keys in descending order."""
    return (
        summaries.where("records_of_keys IS NOT NULL")
        .groupBy("number")
        .agg(
            F.sum("sampled_unkeyed_records").alias("sampled_unkeyed_records"),
            F.sum("sampled_unkeyed_bytes").alias("sampled_unkeyed_bytes"),
            (F.sum("rows_without_size") == 0).alias("sizes_known"),
            F.sort_array(F.flatten(F.collect_list("records_of_keys")), asc=False).alias("records_of_keys"),
        )
    )


def _current_partitions(partition: DataFrame, topics: DataFrame, *, counter_start: int) -> DataFrame:
    """Each partition with its leader's log end offset, size and bytes per record, and its turn from 0 in the round of records without a key.

    The turn is null for a partition without a leader if others have one.
    """
    columns = (*_TOPIC, "chunk", "number", "available_partitions", "taking_partitions", "turns_are_numbers", "logs_are_complete")
    numbered = partition.join(F.broadcast(topics.select(*columns)), on=_TOPIC, how="inner")
    end_offset, size = F.col("log_end_offset").alias("end_offset"), leader_size().alias("leader_size")
    number_as_turn = F.when(F.col("turns_are_numbers"), _turn(F.col("partition"), counter_start)).alias("turn")
    records = F.col("log_end_offset") - F.col("log_start_offset")
    record_bytes = F.when(F.col("logs_are_complete") & (records > 0), leader_size() / records).alias("log_record_bytes")
    current = numbered.select(*_NUMBERED, F.lit(True).alias("is_current"), number_as_turn, end_offset, size, record_bytes)
    # Only the other topics have to be sorted. Their turns are further rows, which are joined by the aggregate of `_load`.
    ascending = Window.partitionBy("number").orderBy("partition")
    takes = F.expr("NOT turns_are_numbers AND (leader IS NOT NULL OR available_partitions = 0)")
    counted = numbered.where(takes).select(*_NUMBERED, _turn(F.row_number().over(ascending) - 1, counter_start).alias("turn"))
    return current.unionByName(counted, allowMissingColumns=True)


def _turn(position: Column, counter_start: int) -> Column:
    """The turn of the partition at this position among those that take records without a key."""
    return F.pmod(position - F.lit(counter_start & 0x7FFFFFFF), "taking_partitions")


def _previous_partitions(previous_partition: DataFrame, topics: DataFrame) -> DataFrame:
    """The leader's log end offset and size of each partition in the previous snapshot, for topics that are still the same."""
    same = F.broadcast(topics.where("same_topic").select("cluster_id", "topic", "chunk", "number"))
    return previous_partition.join(same, on=["cluster_id", "topic"], how="inner").select(
        *_NUMBERED, F.col("log_end_offset").alias("previous_end_offset"), leader_size().alias("previous_leader_size")
    )


def _load(topics: DataFrame, samples: DataFrame, summaries: DataFrame, current: DataFrame, previous: DataFrame) -> DataFrame:
    """The predicted and the observed load of each partition."""
    sampled = samples.select("number", F.lit(True).alias("has_sample"), "sampled_unkeyed_records", "sampled_unkeyed_bytes", "sizes_known")
    topic_columns = topics.select("number", "available_partitions", "taking_partitions").join(sampled, on="number", how="left")
    chunks = F.broadcast(topics.select("number", "chunk"))
    keyed = summaries.where("keys IS NOT NULL").join(chunks, on="number", how="inner").select(*_NUMBERED, *KEYED)
    rows = current.unionByName(previous, allowMissingColumns=True).unionByName(keyed, allowMissingColumns=True)
    return (
        # One aggregate of three kinds of rows in place of two joins, which would sort all partitions. One chunk becomes one file.
        rows.repartitionById(shuffle_partitions(rows.sparkSession), F.col("chunk"))
        .groupBy(_NUMBERED)
        .agg(
            *(F.max(name).alias(name) for name in (*current.columns[len(_NUMBERED) :], *previous.columns[len(_NUMBERED) :])),
            *(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in KEYED),
        )
        .where("is_current")
        .join(F.broadcast(topic_columns), on="number", how="inner")
        .fillna(0, ["sampled_unkeyed_records", "sampled_unkeyed_bytes"])
        .withColumn("records_before", _records_before(F.col("turn")))
        .withColumn("unkeyed_records", _records_before(F.col("turn") + 1) - F.col("records_before"))
        .withColumn(
            "unkeyed_bytes", _bytes_before(F.col("records_before") + F.col("unkeyed_records")) - _bytes_before(F.col("records_before"))
        )
        .withColumn("records", F.col("explicit_records") + F.col("keyed_records") + F.col("unkeyed_records"))
        .withColumn("size_bytes", F.when(F.col("sizes_known"), F.col("keyed_bytes") + F.col("unkeyed_bytes")))
        .select(
            *_NUMBERED,
            *(F.when(F.col("has_sample"), F.col(name)).alias(name) for name in _PREDICTED),
            "librdkafka_moved_keys",
            "librdkafka_moved_records",
            "available_partitions",
            "has_sample",
            _growth("end_offset", "previous_end_offset").alias("observed_records"),
            F.when(~_is_shorter(), _growth("leader_size", "previous_leader_size")).alias("size_growth"),
            "log_record_bytes",
        )
    )


def _records_before(turn: Column) -> Column:
    """The number of a topic's records without a key that go to the turns before this one."""
    each, remainder = F.expr("sampled_unkeyed_records div taking_partitions"), F.expr("sampled_unkeyed_records % taking_partitions")
    return F.coalesce(turn * each + F.least(turn, remainder), F.lit(0)).cast("bigint")


def _bytes_before(records: Column) -> Column:
    """The bytes of so many first records without a key. Rounding here makes the partitions add up to the total.

    If bytes x records can exceed 64 bits, they are decimals, which take many times as long.
    """
    bytes_, total = F.col("sampled_unkeyed_bytes"), F.greatest("sampled_unkeyed_records", F.lit(1))
    in_64_bits = F.call_function("div", bytes_ * records, total)
    in_decimals = F.floor(bytes_.cast("decimal(19,0)") * records.cast("decimal(19,0)") / total).cast("bigint")
    fits = records <= F.call_function("div", F.lit((1 << 63) - 1), F.greatest(bytes_, F.lit(1)))
    return F.coalesce(F.when(fits, in_64_bits).otherwise(in_decimals), F.lit(0))


def _growth(current: str, previous: str) -> Column:
    """The growth since the previous snapshot; null if the value shrank."""
    return F.when(F.col(current) >= F.col(previous), F.col(current) - F.col(previous))


def _is_shorter() -> Column:
    """Return whether the end offset fell since the previous snapshot: the log was truncated, or it is that of another topic."""
    return F.coalesce(F.col("end_offset") < F.col("previous_end_offset"), F.lit(False))


def _totals(load: DataFrame) -> DataFrame:
    """The sums and extremes of each topic's partitions."""
    observed = F.sum("observed_records")
    all_observed = F.count("observed_records") == F.count("*")
    return load.groupBy("chunk", "number").agg(
        F.count_if(F.expr(_HAS_LOAD)).cast("int").alias("partitions"),
        F.first("available_partitions").cast("int").alias("available_partitions"),
        F.sum("records").alias("records"),
        F.sum("size_bytes").alias("size_bytes"),
        F.sum("keys").alias("keys"),
        (-F.max(F.struct("records", (-F.col("partition")).alias("negated")))["negated"]).alias("hottest_partition"),
        F.max("records").alias("max_records"),
        F.sum("unkeyed_records").alias("unkeyed_records"),
        F.max(F.col("explicit_records") + F.col("keyed_records")).alias("max_placed_records"),
        variation("records").alias("record_cv"),
        F.max("explicit_records").alias("max_explicit_records"),
        F.sum("librdkafka_moved_keys").alias("librdkafka_moved_keys"),
        F.sum("librdkafka_moved_records").alias("librdkafka_moved_records"),
        F.sort_array(F.collect_list("records")).alias("records_of_partitions"),
        observed.alias("observed_records"),
        F.when(all_observed & (observed > 0), observed).alias("complete_observed_records"),
        F.max("observed_records").alias("max_observed_records"),
    )


def _shares(load: DataFrame, totals: DataFrame, topics: DataFrame, seconds: DataFrame) -> DataFrame:
    """The partitions with a predicted or observed load, with their shares of their topic."""
    written, source = _written_bytes()
    summed = ("records", "size_bytes", "complete_observed_records")

    def share(column: str) -> Column:
        total = F.col(f"topic_{column}")
        return F.when(F.col("has_sample") & total.isNotNull(), F.when(total > 0, F.col(column) / total).otherwise(0.0))

    return (
        load.where(_HAS_LOAD)
        .join(F.broadcast(totals.select("number", *(F.col(name).alias(f"topic_{name}") for name in summed))), on="number", how="inner")
        .join(F.broadcast(topics.select("number", *_TOPIC)), on="number", how="inner")
        .join(F.broadcast(seconds), on=["snapshot_id", "cluster_id"], how="left")
        .select(
            *_TOPIC,
            "partition",
            *_PREDICTED,
            share("records").alias("record_share"),
            share("size_bytes").alias("byte_share"),
            "observed_records",
            written.alias("observed_size_bytes"),
            source.alias("observed_size_source"),
            (F.col("observed_records") / F.col("topic_complete_observed_records")).alias("observed_record_share"),
            (written / F.col("seconds")).alias("observed_size_bytes_per_s"),
        )
    )


def _written_bytes() -> tuple[Column, Column]:
    """Return the bytes written to a partition since the previous snapshot, and how they were computed."""
    growth, in_log, size_growth = F.col("observed_records"), F.col("log_record_bytes"), F.col("size_growth")
    in_sample = F.when(F.col("topic_size_bytes") > 0, F.col("topic_size_bytes") / F.col("topic_records"))
    known_growth = growth.isNotNull()
    by_log, by_sample = known_growth & (in_log.isNotNull() | (growth == 0)), known_growth & in_sample.isNotNull()
    record_bytes = F.coalesce(in_log, in_sample, F.lit(0.0))
    written = F.when(by_log | by_sample, F.round(growth * record_bytes).cast("bigint")).otherwise(size_growth)
    source = (
        F.when(by_log, F.lit(OFFSETS_AND_LOG)).when(by_sample, F.lit(OFFSETS_AND_SAMPLE)).when(size_growth.isNotNull(), F.lit(SIZE_GROWTH))
    )
    return written, source


def _topic_load(totals: DataFrame, samples: DataFrame) -> DataFrame:
    """Lower bounds of the skew of each topic: by the partitions of its keys, and by its hottest keys for any partitioner.

    Where records without a key go cannot be predicted, so that they only even out the partitions here.
    """
    keys = samples.select("number", "records_of_keys")
    sampled = F.col("records").isNotNull()
    floor = F.greatest(F.coalesce("shared_key_floor", F.lit(0)), "max_explicit_records") / F.col("mean")
    return (
        totals.where("partitions > 0")
        .join(keys, on="number", how="left")
        .withColumn("shared_key_floor", F.greatest(*(_shared_key_floor(others) for others in range(MAX_SHARED_KEYS))))
        .withColumn("mean", F.when(F.col("records") > 0, F.col("records") / F.col("partitions")))
        .select(
            *_TOPIC,
            "partitions",
            "available_partitions",
            "records",
            "size_bytes",
            "keys",
            F.when(sampled, F.col("hottest_partition")).alias("hottest_partition"),
            "unkeyed_records",
            F.greatest(F.col("max_placed_records") / F.col("mean"), F.when(F.col("mean").isNotNull(), 1.0)).alias("skew_lower_bound"),
            "record_cv",
            (F.get("records_of_keys", F.lit(0)) / F.col("records")).alias("hottest_key_share"),
            F.when(F.col("mean").isNotNull(), F.greatest(F.lit(1.0), floor)).alias("skew_floor"),
            "observed_records",
            (F.col("max_observed_records") / F.col("complete_observed_records") * F.col("partitions")).alias("observed_skew"),
            F.when(sampled, F.col("librdkafka_moved_keys")).alias("librdkafka_moved_keys"),
            F.when(sampled, F.col("librdkafka_moved_records")).alias("librdkafka_moved_records"),
            F.when(F.col("records") > 0, F.col("max_records") / F.col("records")).alias("hottest_share"),
            F.when(F.col("records") > 0, _gini()).alias("record_gini"),
        )
    )


def _gini() -> Column:
    """The Gini coefficient of the partitions' records.

    With the records in ascending order: the sum of (2 x position - partitions - 1) x records, over partitions x the sum of the records.
    """
    partitions = F.size("records_of_partitions")
    positions = F.sequence(F.lit(1), partitions)
    weighted = F.zip_with("records_of_partitions", positions, lambda records, position: records * (2 * position - partitions - 1))
    return _sum_of(weighted) / (partitions * F.col("records"))


def _shared_key_floor(others: int) -> Column:
    """The least records of the fullest partition, if some partition must take a hot key and so many others; null: too few keys.

    Among the others x partitions + 1 hottest keys, some others + 1 share a partition. It gets at least the records of the others + 1
    smallest of them.
    """
    hottest = others * F.col("partition_count") + 1
    smallest = F.slice("records_of_keys", hottest - others, F.lit(others + 1))
    return F.when(F.size("records_of_keys") >= hottest, _sum_of(smallest))


def _sum_of(integers: Column) -> Column:
    return F.aggregate(integers, F.lit(0).cast("bigint"), lambda total, each: total + each)


def _hot_keys(summaries: DataFrame, totals: DataFrame) -> DataFrame:
    by_records = Window.partitionBy("number").orderBy(F.desc("records"), "key")
    share = F.when(F.col("topic_records") > 0, F.col("records") / F.col("topic_records")).otherwise(0.0)
    return (
        summaries.where("key IS NOT NULL")
        .select("number", "partition", "key", "records", "size_bytes", "librdkafka_partition")
        .withColumn("rank", F.row_number().over(by_records))
        .where(F.col("rank") <= HOT_KEYS)
        .join(totals.select("number", *_TOPIC, F.col("records").alias("topic_records")), on="number", how="inner")
        .select(
            *_TOPIC,
            "rank",
            "key",
            F.when(F.expr("is_valid_utf8(cast(key AS string))"), F.col("key").cast("string")).alias("key_text"),
            "partition",
            "records",
            "size_bytes",
            share.alias("record_share"),
            "librdkafka_partition",
        )
    )


def _partitioners(key_sample: DataFrame, topic: DataFrame) -> DataFrame:
    """The partitioner that explains best in which partitions the keys of a topic were attribution."""
    located = (
        key_sample.where("key IS NOT NULL AND length(key) > 0 AND partition IS NULL AND observed_partitions IS NOT NULL")
        .join(topic.where("partitions > 1").select(*_TOPIC, "partitions"), on=_TOPIC, how="inner")
        .select(*_TOPIC, "partitions", "key", "observed_partitions", "observed_records")
    )
    return located.groupBy(*_TOPIC, "partitions").applyInArrow(_attribute_keys, TOPIC_PARTITIONER.columns)


def _attribute_keys(group: tuple[pa.Scalar, ...], keys: pa.Table) -> pa.Table:
    snapshot_id, cluster_id, topic, partitions = (value.as_py() for value in group)
    locations = [
        KeyLocation(row["key"], partition, records)
        for row in keys.select(["key", "observed_partitions", "observed_records"]).to_pylist()
        for partition, records in zip(row["observed_partitions"], row["observed_records"], strict=True)
    ]
    attribution = attribute(locations, partitions)
    row = {
        "snapshot_id": snapshot_id,
        "cluster_id": cluster_id,
        "topic": topic,
        "partitions": partitions,
        "keys": attribution.keys,
        "records": attribution.records,
        "partitioner": attribution.partitioner,
        "explained_records": attribution.explained_records,
        "unexplained_share": 1 - attribution.explained_records / attribution.records if attribution.records else 0.0,
        "second_partitioner": attribution.second_partitioner,
        "second_records": attribution.second_records,
        "split_keys": attribution.split_keys,
        "split_records": attribution.split_records,
    }
    return pa.Table.from_pylist([row], TOPIC_PARTITIONER.schema)
