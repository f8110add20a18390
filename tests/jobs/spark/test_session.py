"""The Spark session, its settings and its conversion of Arrow rows."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import SparkSession

from jobs.spark.scale import Scale
from jobs.spark.session import configure_for_scale, dataframe_from_arrow, properties, properties_file, release_memory


def test_rows_of_this_process_have_one_partition_on_a_small_night_and_one_per_core_on_a_large_one(spark: SparkSession) -> None:
    rows = pa.table({"id": range(100)})
    partitions = {}
    try:
        for scale in (Scale.LARGE, Scale.SMALL):
            configure_for_scale(spark, scale)
            partitions[scale] = dataframe_from_arrow(spark, rows).rdd.getNumPartitions()
    finally:
        configure_for_scale(spark, Scale.SMALL)
    assert partitions == {Scale.LARGE: spark.sparkContext.defaultParallelism, Scale.SMALL: 1}
    assert partitions[Scale.LARGE] > 1


def test_only_a_large_night_uses_the_second_compiler() -> None:
    options = {scale: properties(scale)["spark.driver.extraJavaOptions"] for scale in Scale}
    assert {scale: "-XX:TieredStopAtLevel=1" in text for scale, text in options.items()} == {Scale.SMALL: True, Scale.LARGE: False}
    for scale in Scale:
        assert options[scale] in properties_file(scale).read_text()


def test_memory_is_released_by_a_collection(spark: SparkSession) -> None:
    collectors = spark.sparkContext._jvm.java.lang.management.ManagementFactory.getGarbageCollectorMXBeans()
    before = sum(collector.getCollectionCount() for collector in collectors)
    release_memory()
    assert sum(collector.getCollectionCount() for collector in collectors) > before
