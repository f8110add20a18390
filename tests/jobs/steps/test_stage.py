"""Stages: a step triggers no Spark action, and its runner materializes what it yields."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from expectations.limits import limits
from jobs.engine import DuckdbEngine, Engine, SparkEngine
from jobs.lake.lake import Lake
from jobs.night import JOBS, NightlyRun
from jobs.schema import ABSENT_CLUSTER, LOG_STORAGE, Table
from jobs.spark.scale import Scale
from jobs.spark.session import configure_for_scale
from jobs.spark.worker_rows import WorkerRows
from jobs.steps.stage import ARROW_TABLES, InThisProcess, OnDisk, Stage, run_stages, transform
from tests.jobs.two_nights import SECOND


@pytest.fixture(scope="module")
def night(two_nights: Lake) -> NightlyRun:
    return NightlyRun(two_nights, SECOND)


@pytest.fixture
def large(spark: SparkSession) -> Iterator[None]:
    configure_for_scale(spark, Scale.LARGE)
    yield
    configure_for_scale(spark, Scale.SMALL)


class OpenedFiles:
    """Names of the files that this process opens while `active`, except for modules, their SQL texts and Spark's temporary files."""

    def __init__(self, spark: SparkSession) -> None:
        self.active, self.names, self._spark_folder = False, [], spark.sparkContext._temp_dir
        sys.addaudithook(self._record)  # a hook stays until the process ends

    def _record(self, event: str, arguments: tuple[object, ...]) -> None:
        if self.active and event == "open":
            name = str(arguments[0])
            if not name.endswith((".py", ".pyc", ".sql")) and not name.startswith(self._spark_folder):
                self.names.append(name)


@pytest.fixture(scope="module")
def opened_files(spark: SparkSession) -> OpenedFiles:
    return OpenedFiles(spark)


def test_opened_files_are_recorded(opened_files: OpenedFiles, tmp_path: Path) -> None:
    opened_files.names, opened_files.active = [], True
    (tmp_path / "written").touch()
    opened_files.active = False
    assert opened_files.names == [str(tmp_path / "written")]


def dataframes(night: NightlyRun, step: ModuleType) -> list[Any]:
    """Return the inputs of a step on other storage. The scan of a checkpoint runs as a job, unlike that of rows in this process."""
    previous = [(table, {"attempts": night.earlier()}) for table in getattr(step, "READS_PREVIOUS", ())]
    tables = [*((table, night.attempt._asdict()) for table in step.READS), *previous]
    return [
        night.lake.read_local(table, **where) if table in ARROW_TABLES else night.lake.read(table, **where).localCheckpoint()
        for table, where in tables
    ]


@pytest.mark.parametrize("engine_name", ["duckdb", "spark"])
@pytest.mark.parametrize("name", JOBS)
def test_a_transform_triggers_no_spark_action_and_opens_no_file(
    spark: SparkSession, night: NightlyRun, opened_files: OpenedFiles, name: str, engine_name: str
) -> None:
    engine: Engine = SparkEngine(spark) if engine_name == "spark" else DuckdbEngine()
    inputs = dataframes(night, JOBS[name]) if engine_name == "spark" else night.inputs(JOBS[name])
    thresholds = limits().cruise_control

    def observe(group: str) -> None:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", group)
        opened_files.active = group == name

    def materialize(stage: Stage | WorkerRows) -> Any:
        observe("stages")
        if isinstance(stage, Stage) and isinstance(stage.rows, DataFrame) and not stage.as_arrow:
            rows = stage.rows.localCheckpoint()
        else:
            rows = InThisProcess(engine)(stage)
        observe(name)
        return rows

    opened_files.names = []
    observe(name)
    try:
        run_stages(transform(JOBS[name], inputs, engine=engine, parameters={}, thresholds=thresholds), materialize)
    finally:
        observe("")
    assert list(spark.sparkContext.statusTracker().getJobIdsForGroup(name)) == []
    assert opened_files.names == []


def test_a_small_night_computes_the_rows_of_a_stage_once_in_this_process(spark: SparkSession) -> None:
    rows = InThisProcess(SparkEngine(spark))(Stage(spark.range(3).withColumn("random", F.rand())))
    assert rows.collect() == rows.collect()
    assert not rows.is_cached


@pytest.mark.parametrize("large_night", [False, True])
def test_few_rows_come_back_as_an_arrow_table(large_night: bool) -> None:
    engine = DuckdbEngine()
    materialize = OnDisk(pytest.fail, pytest.fail) if large_night else InThisProcess(engine)
    assert materialize(Stage(engine.sql("SELECT 7 AS n"), as_arrow=True)).to_pylist() == [{"n": 7}]


def levels_of_cached_rows(spark: SparkSession) -> list[str]:
    """Return where Spark caches the rows that it caches."""
    return sorted(str(rdd.getStorageLevel().description()) for rdd in spark.sparkContext._jsc.getPersistentRDDs().values())


def test_a_large_night_caches_a_stage_on_disk_until_the_step_ends(spark: SparkSession, large: None) -> None:
    before = levels_of_cached_rows(spark)
    with OnDisk(pytest.fail, pytest.fail) as materialize:
        rows = materialize(Stage(spark.range(3).withColumn("random", F.rand())))
        assert levels_of_cached_rows(spark) == sorted([*before, "Disk Serialized 1x Replicated"])
        assert rows.collect() == rows.collect()
    assert levels_of_cached_rows(spark) == before


@pytest.mark.parametrize("text", ["SELECT * FROM {rows}", "WITH read AS (SELECT * FROM {rows}) SELECT * FROM read"])
def test_a_sql_text_reads_the_rows_of_a_stage_without_the_query_that_computed_them(spark: SparkSession, large: None, text: str) -> None:
    engine, squares = SparkEngine(spark), "WITH number AS (SELECT id FROM {numbers}) SELECT id * id AS square FROM number"
    with OnDisk(pytest.fail, pytest.fail) as materialize:
        rows = materialize(Stage(engine.sql(squares, numbers=spark.range(3))))
        for _ in range(2):  # the first query drops its views
            query = engine.sql(text, rows=rows)
            assert "Range" not in query._jdf.queryExecution().executedPlan().toString()
            assert sorted(row["square"] for row in query.collect()) == [0, 1, 4]


def test_a_large_night_writes_a_stage_that_is_a_table_and_reads_it_back(spark: SparkSession, large: None) -> None:
    stored, reread = [], spark.range(1)
    with OnDisk(lambda table, rows: stored.append((table, rows.count())) or reread, pytest.fail) as materialize:
        assert materialize(Stage(spark.range(3), LOG_STORAGE)) is reread
        assert materialize.written == {LOG_STORAGE}
    assert stored == [(LOG_STORAGE, 3)]


def absent_clusters(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[Table, pa.Table]]:
    """Return an absent cluster for each id."""
    for batch in batches:
        ids = [str(id) for id in batch.column(0).to_pylist()]
        rows = [{"snapshot_id": "s", "cluster_id": id, "reason": "no folder", "detail": ""} for id in ids]
        yield ABSENT_CLUSTER, pa.Table.from_pylist(rows, ABSENT_CLUSTER.schema)


def test_a_small_night_computes_the_rows_of_workers_in_this_process(spark: SparkSession) -> None:
    (rows,) = InThisProcess(SparkEngine(spark))(WorkerRows(spark.range(3), absent_clusters, (ABSENT_CLUSTER,)))
    assert [row["cluster_id"] for row in rows.collect()] == ["0", "1", "2"]


def test_a_large_night_writes_the_rows_of_workers_and_reads_them_back(spark: SparkSession, large: None) -> None:
    stored, reread = [], [spark.range(1)]
    with OnDisk(pytest.fail, lambda rows: nullcontext(stored.append(rows) or reread)) as materialize:
        rows = WorkerRows(spark.range(3), absent_clusters, (ABSENT_CLUSTER,))
        assert materialize(rows) is reread
        assert materialize.written == {ABSENT_CLUSTER}
    assert stored == [rows]
