"""The Spark session, its settings and its conversion of Arrow rows."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs.spark.scale import Scale
from jobs.spark.session import configure_for_scale, dataframe_from_arrow, properties, properties_file


def test_functions_of_expressions_are_looked_up_once(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    def expression() -> None:
        spark.range(1).select(F.when(F.col("id") > 0, F.lit("more")).alias("it"), F.filter(F.array("id"), lambda id: id > 0))

    expression()
    client, commands = spark.sparkContext._gateway._gateway_client, []
    send = client.send_command
    monkeypatch.setattr(client, "send_command", lambda command, *rest, **named: commands.append(command) or send(command, *rest, **named))
    expression()
    assert [command for command in commands if command.startswith("c\n")]  # the expression was made through this client
    assert [command for command in commands if command.startswith("r\n")] == []


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
