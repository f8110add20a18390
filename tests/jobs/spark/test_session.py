"""The session's own manners."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs.spark.session import kept, set_for


def test_what_makes_expressions_is_resolved_once(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    def expression() -> None:
        spark.range(1).select(F.when(F.col("id") > 0, F.lit("more")).alias("it"), F.filter(F.array("id"), lambda id: id > 0))

    expression()
    client, asked = spark.sparkContext._gateway._gateway_client, []
    send = client.send_command
    monkeypatch.setattr(client, "send_command", lambda command, *rest, **named: asked.append(command) or send(command, *rest, **named))
    expression()
    assert [command for command in asked if command.startswith("c\n")]  # it was said through this client
    assert [command for command in asked if command.startswith("r\n")] == []


@pytest.mark.parametrize(("light", "rows"), [(True, 10_000), (False, 1_024)])
def test_batches_of_all_but_light_rows_are_held_to_their_bytes(spark: SparkSession, light: bool, rows: int) -> None:
    def counted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"rows": pa.array([batch.num_rows])})

    most = "spark.sql.execution.arrow.maxBytesPerBatch"
    spark.conf.set(most, 1 << 20)
    set_for(spark, small=False)
    try:
        text = spark.range(20_000, numPartitions=1).select(F.repeat(F.lit("k"), 1_024).alias("key"))
        sizes = [row["rows"] for row in kept(text.mapInArrow(counted, "rows LONG"), light=lambda: light).collect()]
        assert sum(sizes) == 20_000
        assert rows - rows // 20 <= max(sizes) <= rows
        assert spark.conf.get(most) == str(1 << 20)
    finally:
        set_for(spark, small=True)
        spark.conf.unset(most)
