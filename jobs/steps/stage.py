"""What a step and its runner agree on.

A step is a module of this folder that declares

    READS            the tables that `transform` takes, in this order
    READS_PREVIOUS   tables of each cluster's previous published snapshot, which follow those of READS (optional)
    WRITES           the tables that `transform` returns, in this order
    transform        a function from the tables to rows; `engine`, `parameters` and `thresholds` are passed by name if it has them

The tables ARROW_TABLES arrive as Arrow rows. All others arrive as relations of the `engine`, which also runs the step's SQL texts
(jobs/engine.py).

`transform` performs no I/O and triggers no action. It is a list of stages: where the rest of the step reads the same rows more than once, or
needs few rows in Python, it yields them as a Stage, and the runner sends them back materialized. Tables that Spark's workers compute as Arrow
are yielded as WorkerRows, and the runner sends back a list with the rows of each of them.

    def transform(topic, partition, *, engine):
        counts = yield Stage(engine.sql("SELECT topic, count(*) AS partitions FROM {partition} GROUP BY topic", partition=partition))
        (load,) = yield WorkerRows(partition, compute_load, (PRODUCER_LOAD,))
        return engine.sql("SELECT * FROM {topic} JOIN {counts} USING (topic)", topic=topic, counts=counts), load
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from jobs.engine import DuckdbRows
from jobs.schema import BROKER, CLUSTER, SCENARIO, Table
from jobs.spark.session import rows_on_disk
from jobs.spark.worker_rows import WorkerRows, complete

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from jobs.engine import Engine

Result = TypeVar("Result")

ARROW_TABLES = frozenset({CLUSTER, BROKER, SCENARIO})  # tables with a few rows per broker


@dataclass(frozen=True, slots=True)
class Stage:
    """Rows that the rest of a step reads more than once, or needs in Python.

    `table` is the table that consists of exactly these rows, if there is one. Rows `as_arrow`, such as one per broker, come back as an Arrow
    table: they must be few.
    """

    rows: DataFrame | DuckdbRows
    table: Table | None = None
    as_arrow: bool = False


# A generator that yields stages, receives the materialized rows of each, and returns its result.
Stages = Generator[Stage | WorkerRows, Any, Result]


def takes(step: ModuleType, option: str) -> bool:
    """Return whether the `transform` of a step has a parameter of this name."""
    return option in inspect.signature(step.transform).parameters


def transform(step: ModuleType, inputs: Sequence[Any], **options: Any) -> Any:
    """Call the `transform` of a step with its inputs, and with those options that it takes."""
    return step.transform(*inputs, **{name: value for name, value in options.items() if takes(step, name)})


def run_stages(step: Stages[Result] | Result, materialize: Callable[[Stage | WorkerRows], Any]) -> Result:
    """Run what `transform` returned: the result itself, or a generator of stages."""
    if not isinstance(step, Generator):
        return step
    try:
        stage = next(step)
        while True:
            stage = step.send(materialize(stage))
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


@dataclass(frozen=True)
class InThisProcess:
    """Materializes the stages of a step in this process, for a small night or one cluster.

    Most of Spark's time is planning there, and what reads the rows is planned without the query that computed them.
    """

    engine: Engine

    def __call__(self, stage: Stage | WorkerRows) -> Any:
        """Return the rows of a stage, or of each table of WorkerRows, computed once."""
        if isinstance(stage, WorkerRows):
            return [self.engine.from_arrow(*pair) for pair in zip(stage.in_this_process(), stage.tables, strict=True)]
        rows = stage.rows.toArrow()
        if stage.as_arrow:
            return rows
        return self.engine.from_arrow(rows if stage.table is None else complete(stage.table, rows), stage.table)


@dataclass
class OnDisk:
    """Materializes the stages of a step on disk, for a large night, and releases them on exit from its `with` block.

    Rows are written to their table, or cached on disk: in memory they would leave no room for joins. `write_and_reread_computed` returns a
    context manager, whose block ends with the step.
    """

    write_and_reread: Callable[[Table, DataFrame | DuckdbRows], Any]
    write_and_reread_computed: Callable[[WorkerRows], AbstractContextManager[list[Any]]]
    written: set[Table] = field(default_factory=set)
    _until_exit: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> OnDisk:
        return self

    def __exit__(self, *_: object) -> None:
        self._until_exit.close()

    def __call__(self, stage: Stage | WorkerRows) -> Any:
        """Return the rows of a stage, or of each table of WorkerRows, computed once."""
        if isinstance(stage, WorkerRows):
            self.written.update(stage.tables)
            return self._until_exit.enter_context(self.write_and_reread_computed(stage))
        if stage.table is not None:
            self.written.add(stage.table)
            return self.write_and_reread(stage.table, stage.rows)
        if stage.as_arrow:
            return stage.rows.toArrow()
        if isinstance(stage.rows, DuckdbRows):
            return stage.rows.materialized()
        return self._until_exit.enter_context(rows_on_disk(stage.rows))
