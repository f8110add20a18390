"""Stages: a step triggers no Spark action, and its runner materializes what it yields."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from expectations.limits import limits
from jobs.cli import BUNDLED
from jobs.lake.lake import open_lake
from jobs.night import JOBS, Night
from jobs.schema import LOG_STORAGE
from jobs.spark.scale import Scale
from jobs.spark.session import configure_for_scale
from jobs.steps.stage import Materializer, Stage, run_stages, transform

SNAPSHOTS = Path(__file__).parents[2] / "snapshots"
FIRST, SECOND = "2026-01-01", "2026-01-02"


@pytest.fixture(scope="module")
def night(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Night:
    """A published night with the night before it."""
    lake = open_lake(str(tmp_path_factory.mktemp("lake")), lambda: spark)
    for snapshot_id, source in ((FIRST, SNAPSHOTS / "night-before"), (SECOND, BUNDLED)):
        Night(lake, snapshot_id).run(str(source), {}, limits(), None)
    return Night(lake, SECOND)


@pytest.fixture
def large(spark: SparkSession) -> Iterator[None]:
    configure_for_scale(spark, Scale.LARGE)
    yield
    configure_for_scale(spark, Scale.SMALL)


@pytest.mark.parametrize("name", sorted(JOBS.keys() - {"failover", "joint_failover"}))
def test_a_transform_triggers_no_spark_action(spark: SparkSession, night: Night, name: str) -> None:
    # The scan of a checkpoint runs as a job, unlike that of rows in this process.
    inputs = [rows.localCheckpoint() if isinstance(rows, DataFrame) else rows for rows in night.inputs(JOBS[name])]

    def in_group(group: str) -> None:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", group)

    def materialize(stage: Stage) -> DataFrame:
        in_group("stages")
        rows = stage.rows.localCheckpoint()
        in_group(name)
        return rows

    in_group(name)
    try:
        run_stages(transform(JOBS[name], inputs, parameters={}, thresholds=limits().cruise_control), materialize)
    finally:
        in_group("")
    assert spark.sparkContext.statusTracker().getJobIdsForGroup(name) == []


def test_a_small_night_computes_the_rows_of_a_stage_once_in_this_process(spark: SparkSession) -> None:
    rows = Materializer(True, pytest.fail)(Stage(spark.range(3).withColumn("random", F.rand()), LOG_STORAGE))
    assert rows.collect() == rows.collect()
    assert not rows.is_cached


def test_a_large_night_caches_a_stage_on_disk_until_the_step_ends(spark: SparkSession, large: None) -> None:
    with Materializer(False, pytest.fail) as materialize:
        rows = materialize(Stage(spark.range(3).withColumn("random", F.rand())))
        assert rows.storageLevel.useDisk
        assert not rows.storageLevel.useMemory
        assert rows.collect() == rows.collect()
    assert not rows.is_cached


def test_a_large_night_writes_a_stage_that_is_a_table_and_reads_it_back(spark: SparkSession, large: None) -> None:
    stored, reread = [], spark.range(1)
    with Materializer(False, lambda table, rows: stored.append((table, rows.count())) or reread) as materialize:
        assert materialize(Stage(spark.range(3), LOG_STORAGE)) is reread
        assert materialize.written == {LOG_STORAGE}
    assert stored == [(LOG_STORAGE, 3)]


@pytest.mark.parametrize(("longest_bytes", "rows_in_batch"), [(1_024, 10_000), (4_097, 1_024)])
def test_batches_of_short_values_are_limited_by_their_rows_and_others_by_their_bytes(
    spark: SparkSession, large: None, longest_bytes: int, rows_in_batch: int
) -> None:
    def counted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"rows": pa.array([batch.num_rows])})

    limit = "spark.sql.execution.arrow.maxBytesPerBatch"
    spark.conf.set(limit, 1 << 20)
    try:
        text = spark.range(20_000, numPartitions=1).select(F.repeat(F.lit("k"), 1_024).alias("key"))
        stage = Stage(text.mapInArrow(counted, "rows LONG"), longest_bytes=spark.range(1).select(F.lit(longest_bytes)))
        with Materializer(False, pytest.fail) as materialize:
            sizes = [row["rows"] for row in materialize(stage).collect()]
        assert sum(sizes) == 20_000
        assert rows_in_batch - rows_in_batch // 20 <= max(sizes) <= rows_in_batch
        assert spark.conf.get(limit) == str(1 << 20)
    finally:
        spark.conf.unset(limit)
