"""Rows that Spark's workers compute as Arrow: in a folder the workers write them, on other storage Spark does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pytest
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession

from jobs.engine import DuckdbEngine, DuckdbRows, Engine, SparkEngine
from jobs.lake.lake import Lake, open_lake
from jobs.lake.worker_rows import SCRATCH_FOLDER
from jobs.schema import Table
from jobs.spark.scale import Scale
from jobs.spark.worker_rows import WorkerRows

NUMBERS = Table(
    "number", "a number", ("snapshot_id", "set_id", "n"), "snapshot_id STRING NOT NULL,\nset_id STRING NOT NULL,\nn BIGINT NOT NULL,\nparts ARRAY<INT>",
    partition_by=("snapshot_id", "set_id"),
)  # fmt: skip
SQUARES = Table("square", "its square", ("snapshot_id", "n"), "snapshot_id STRING NOT NULL,\nn BIGINT NOT NULL,\nsquare BIGINT")
PART = Table("part", "a number and its parts; not stored", (), "n BIGINT NOT NULL,\nparts ARRAY<BIGINT>", partition_by=())
SET = {"snapshot_id": "2026-01-31T02:00", "set_id": "odd"}
WHERE = {**SET, "attempt_id": "1"}


class Input(NamedTuple):
    """Where the workers get their input from: rows of this engine. DuckDB's reach them in a folder only."""

    engine: Engine

    def numbers_below(self, count: int) -> DataFrame | DuckdbRows:
        if isinstance(self.engine, SparkEngine):
            return self.engine.spark.range(0, count, 1, 2)
        return self.engine.sql(f"SELECT unnest(range({count})) AS id")


@pytest.fixture(params=["folder", "uri", "duckdb"])
def storage(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> tuple[Lake, Input]:
    lake = open_lake(tmp_path.as_uri() if request.param == "uri" else str(tmp_path), lambda: spark)
    for table in (NUMBERS, SQUARES):
        lake.create(table)
    return lake, Input(DuckdbEngine() if request.param == "duckdb" else SparkEngine(spark))


@pytest.fixture
def lake(storage: tuple[Lake, Input]) -> Lake:
    return storage[0]


@pytest.fixture
def input(storage: tuple[Lake, Input]) -> Input:
    return storage[1]


def odd_numbers(input: Input, count: int, fails_at: int = -1) -> WorkerRows:
    """Return the odd numbers below `count` and the squares of those below 5, which workers compute."""

    def compute(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[Table, pa.Table]]:
        for batch in batches:
            odd = [n for n in batch.column(0).to_pylist() if n % 2]
            if fails_at in odd:
                raise ValueError(f"there is no square of {fails_at}")
            yield NUMBERS, pa.table({"parts": [[n] * (n % 3) for n in odd], "n": odd}).append_column("set_id", constant("odd", odd)).append_column(
                "snapshot_id", constant(WHERE["snapshot_id"], odd)
            )  # fmt: skip
            small = [n for n in odd if n < 5]
            yield (
                SQUARES,
                pa.table({"n": small, "square": [n * n for n in small]}).append_column(
                    "snapshot_id", constant(WHERE["snapshot_id"], small)
                ),
            )

    return WorkerRows(input.numbers_below(count), compute, (NUMBERS, SQUARES))


def constant(value: str, rows: list[int]) -> pa.Array:
    return pa.array([value] * len(rows), pa.string())


def replace(lake: Lake, rows: WorkerRows) -> None:
    with lake.computed(rows, **WHERE) as computed:
        for table, table_rows in zip(rows.tables, computed, strict=True):
            lake.replace(table, table_rows, **{name: WHERE[name] for name in table.stored.partition_by})


def stored(lake: Lake, table: Table) -> list[dict]:
    return sorted(lake.read_local(table).to_pylist(), key=lambda row: (row["snapshot_id"], row["n"]))


def expected_numbers(count: int) -> list[dict]:
    return [{**SET, "n": n, "parts": [n] * (n % 3)} for n in range(1, count, 2)]


def test_the_rows_of_each_table_replace_its_partition(input: Input, lake: Lake) -> None:
    other = {"snapshot_id": WHERE["snapshot_id"], "set_id": "even", "n": 2, "parts": None}
    lake.replace(NUMBERS, pa.Table.from_pylist([other], NUMBERS.schema), **{**WHERE, "set_id": "even"})
    for count in (9, 5):
        replace(lake, odd_numbers(input, count))
        assert stored(lake, NUMBERS) == sorted([other, *expected_numbers(count)], key=lambda row: row["n"])
        assert [(row["n"], row["square"]) for row in stored(lake, SQUARES)] == [(1, 1), (3, 9)]


def test_a_task_that_fails_replaces_nothing(input: Input, lake: Lake) -> None:
    replace(lake, odd_numbers(input, 9))
    with pytest.raises(PythonException, match="there is no square of 7"):
        replace(lake, odd_numbers(input, 20, fails_at=7))
    assert stored(lake, NUMBERS) == expected_numbers(9)
    assert not list(lake.folder.glob(f"{SCRATCH_FOLDER}/*"))


def test_no_rows_empty_the_partition(input: Input, lake: Lake) -> None:
    replace(lake, odd_numbers(input, 9))
    replace(lake, odd_numbers(input, 0))
    assert stored(lake, NUMBERS) == stored(lake, SQUARES) == []


def test_packed_rows_are_released(spark: SparkSession, tmp_path: Path) -> None:
    def cached() -> set[int]:
        return set(spark.sparkContext._jsc.getPersistentRDDs())

    before = cached()  # Delta caches the state of tables
    with open_lake(tmp_path.as_uri(), lambda: spark).computed(odd_numbers(Input(SparkEngine(spark)), 9), **WHERE) as (numbers, _):
        assert numbers.count() == 4
        assert len(cached() - before) == 1
    assert cached() <= before


def test_files_replace_whole_partitions_only(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="whole partitions"):
        open_lake(str(tmp_path), lambda: spark).replace(NUMBERS, [], snapshot_id=WHERE["snapshot_id"])


def test_rows_of_many_row_groups_are_divided_among_the_tasks(spark: SparkSession, tmp_path: Path) -> None:
    lake = open_lake(str(tmp_path), lambda: spark)
    for table in (NUMBERS, SQUARES):
        lake.create(table)
    replace(lake, odd_numbers(Input(DuckdbEngine()), 100_000))
    assert [row["n"] for row in stored(lake, NUMBERS)] == [*range(1, 100_000, 2)]
    assert len(list(tmp_path.glob("number/*/*/*/*.parquet"))) == 5  # DuckDB's input has a row group for each 20,480 rows


def test_this_process_computes_the_same_rows(input: Input) -> None:
    numbers, squares = odd_numbers(input, 9).in_this_process()
    assert numbers.to_pylist() == expected_numbers(9)
    assert squares.to_pylist() == [{"snapshot_id": WHERE["snapshot_id"], "n": n, "square": n * n} for n in (1, 3)]


def parities(spark: SparkSession) -> WorkerRows:
    """Return the numbers below 9 as they are, and both parities from each of two tasks."""

    def compute(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[Table, pa.Table]]:
        for batch in batches:
            numbers = batch.column(0).to_pylist()
            rows = {"n": numbers, "set_id": constant("odd", numbers), "snapshot_id": constant(WHERE["snapshot_id"], numbers)}
            yield NUMBERS, pa.table(rows).append_column("parts", pa.nulls(len(numbers), pa.list_(pa.int32())))
        yield SQUARES, pa.table({"snapshot_id": constant(WHERE["snapshot_id"], [0, 1]), "n": [0, 1], "square": [0, 1]})

    return WorkerRows(spark.range(0, 9, 1, 2), compute, (NUMBERS, SQUARES), deduplicated=frozenset({SQUARES}))


def test_equal_rows_of_several_tasks_are_stored_once_in_a_deduplicated_table(spark: SparkSession, lake: Lake) -> None:
    replace(lake, parities(spark))
    assert [row["n"] for row in stored(lake, NUMBERS)] == [*range(9)]
    assert [(row["n"], row["square"]) for row in stored(lake, SQUARES)] == [(0, 0), (1, 1)]


@pytest.mark.parametrize(("square", "count"), [(1, 1), (2, 2)])
def test_different_rows_with_the_same_key_remain(spark: SparkSession, square: int, count: int) -> None:
    """The rule on the table's key finds them."""
    pieces = [pa.table([["s"], [1], [value]], schema=SQUARES.schema) for value in (1, square)]
    assert len(parities(spark).merged(SQUARES, pieces)) == count


def test_a_table_that_is_not_deduplicated_may_repeat_rows(spark: SparkSession) -> None:
    piece = pa.table([["s"], ["odd"], [1], [None]], schema=NUMBERS.schema)
    assert len(parities(spark).merged(NUMBERS, [piece, piece])) == 2


def test_rows_of_an_intermediate_table_are_a_relation_of_the_lake_s_engine_within_the_block(input: Input, lake: Lake) -> None:
    engine = lake.engine(Scale.LARGE)

    def compute(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[Table, pa.Table]]:
        for batch in batches:
            numbers = batch.column(0).to_pylist()
            yield PART, pa.table({"n": numbers, "parts": [[n] for n in numbers]}, schema=PART.schema)

    for count in (50_000, 0):
        rows = WorkerRows(input.numbers_below(count), compute, (PART,), intermediate=frozenset({PART}))
        with lake.computed(rows, **WHERE) as (parts,):
            sums = engine.sql("SELECT count(*) AS numbers, sum(get(parts, 0) + n) AS total FROM {part}", part=parts)
            assert sums.toArrow().to_pylist() == [{"numbers": count, "total": count * (count - 1) if count else None}]
    assert not list((lake.folder or Path()).glob(f"{SCRATCH_FOLDER}/*"))


def test_each_call_gets_all_rows_with_a_value_of_the_column_together(input: Input, lake: Lake) -> None:
    def compute(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[Table, pa.Table]]:
        if not (pieces := [*batches]):
            return
        rows = pa.Table.from_batches(pieces).to_pydict()
        counts = [rows["remainder"].count(value) for value in sorted(set(rows["remainder"]))]
        yield (
            SQUARES,
            pa.table({"snapshot_id": constant(WHERE["snapshot_id"], counts), "n": sorted(set(rows["remainder"])), "square": counts}),
        )

    numbers = input.engine.sql("SELECT id, id % 7 AS remainder FROM {number}", number=input.numbers_below(70_000))
    with lake.computed(WorkerRows(numbers, compute, (SQUARES,), together="remainder"), **WHERE) as (squares,):
        lake.replace(SQUARES, squares, snapshot_id=WHERE["snapshot_id"], attempt_id=WHERE["attempt_id"])
    assert [(row["n"], row["square"]) for row in stored(lake, SQUARES)] == [(n, 10_000) for n in range(7)]


def test_no_rows_reach_no_call(input: Input, lake: Lake) -> None:
    def compute(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[Table, pa.Table]]:
        assert not [*batches]
        yield from ()

    numbers = input.engine.sql("SELECT id, id % 7 AS remainder FROM {number}", number=input.numbers_below(0))
    with lake.computed(WorkerRows(numbers, compute, (SQUARES,), together="remainder"), **WHERE) as (squares,):
        lake.replace(SQUARES, squares, snapshot_id=WHERE["snapshot_id"], attempt_id=WHERE["attempt_id"])
    assert stored(lake, SQUARES) == []
