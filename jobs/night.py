"""One night: the order of its tasks, and each task: ingest, a step, a gate, publish.

The same functions serve the local command, which runs all tasks in one process, and Airflow, where each task is a spark-submit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from types import ModuleType
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame

from expectations.limits import Limits
from jobs import ingest
from jobs.engine import DuckdbRows, Engine, SparkEngine
from jobs.errors import AuditError, NothingReadable
from jobs.gates.gate import check
from jobs.lake import publication as publish
from jobs.lake.lake import Rows
from jobs.lake.publication import Outcome
from jobs.lake.selection import Attempt, Values
from jobs.lake.table_file import TableFile
from jobs.schema import (
    ABSENT_CLUSTER,
    BESIDE,
    BROKER_BALANCE,
    BROKER_PAIR,
    BROKER_RESTART,
    CLUSTER,
    GROUP_LOAD,
    INPUT_FILE,
    PARAMETER,
    PARTITION_HEALTH,
    REJECTED_INPUT,
    SCENARIO,
    SNAPSHOT,
    TABLES,
    TOPIC_LOAD,
    VALIDATION,
    VERDICT,
    Table,
)
from jobs.schema.failure import NIGHTLY
from jobs.snapshot import SCALE, Snapshot
from jobs.spark.scale import Scale
from jobs.spark.session import release_memory
from jobs.spark.worker_rows import WorkerRows
from jobs.steps import (
    broker_balance,
    broker_restart,
    change,
    consumer_assignment,
    failover,
    goal,
    joint_failover,
    log_storage,
    producer_load,
    remedy,
    replica_assignment,
)
from jobs.steps.stage import ARROW_TABLES, InThisProcess, OnDisk, Stages, run_stages, transform
from jobs.views import verdicts

# The order of a night. Each gate evaluates the tables of the steps beside it. The local command and the DAG follow this order.
_ORDER: tuple[tuple[tuple[ModuleType, ...], str], ...] = (
    ((ingest,), "ingest"),
    ((change, replica_assignment, producer_load, consumer_assignment, log_storage), "computed"),
    ((failover, joint_failover, broker_restart, remedy), "failover"),
    ((broker_balance, goal), "balance"),
)


class Task(NamedTuple):
    """A task of a night."""

    kind: str  # step, check or publish
    name: str  # of the step or gate; empty for publish


def _name(step: ModuleType) -> str:
    return step.__name__.rpartition(".")[2]


JOBS: dict[str, ModuleType] = {_name(step): step for steps, _ in _ORDER[1:] for step in steps}
GATES: dict[str, tuple[Table, ...]] = {gate: tuple(table for step in steps for table in step.WRITES) for steps, gate in _ORDER}
NIGHT: tuple[Task, ...] = (
    *(task for steps, gate in _ORDER for task in (*(Task("step", _name(step)) for step in steps), Task("check", gate))),
    Task("publish", ""),
)
# `publish` computes the verdicts from these tables.
VERDICT_READS = (BROKER_BALANCE, BROKER_PAIR, BROKER_RESTART, GROUP_LOAD, PARTITION_HEALTH, SCENARIO, TOPIC_LOAD, VALIDATION)
_PARALLEL_TASKS = 3  # of a small night on two cores: one of them usually waits for the disk
# The parameters that a user may set, each a whole number.
PARAMETERS = {
    "start_index": "the index of the broker at which AdminUtils starts, for all topics of clusters with a ZooKeeper controller; by default the one "
    "that explains each topic best",
    "shift": "the shift of AdminUtils' followers, used with start_index; by default the same number, as in Kafka",
    "counter_start": "the first value of the producers' counter for records without a key; by default 0",
}


@dataclass
class NightlyRun(Snapshot):
    """One night: a snapshot, and the tasks that compute it.

    All tasks read and write the rows of one attempt. Each ingest starts a new one, so readers see the published attempt until `publish`
    replaces it.
    """

    checked_tables: Collection[Table] | None = None  # gates evaluate only rules that read one of these tables; None: all rules

    def replace(self, table: Table, rows: Rows, **where: Values) -> None:
        if isinstance(rows, DataFrame | DuckdbRows) and self.scale is Scale.SMALL:
            rows = rows.toArrow()
        self.lake.replace(table, rows, **self.attempt._asdict(), **where)

    def run(
        self,
        source: str | None,
        parameters: Mapping[str, str],
        limits: Limits,
        docs: str | None,
        timed: Callable[[str], AbstractContextManager[None]] = lambda task: nullcontext(),
        retired: Collection[str] = (),
    ) -> Outcome:
        """Run the whole night in this process.

        Each task runs within the context `timed`. Without a source, the night starts from the tables that `ingest` wrote before. `retired`
        clusters may be absent.
        """

        if source is not None:
            with timed("step ingest"):
                self.ingest(source, parameters)
        self.steps_and_checks(limits, docs, timed)
        with timed("publish"):
            return self.publish(limits, retired)

    def steps_and_checks(
        self,
        limits: Limits,
        docs: str | None,
        timed: Callable[[str], AbstractContextManager[None]] = lambda task: nullcontext(),
    ) -> None:
        """Run the tasks between `ingest` and `publish` in this process, each within the context `timed`."""

        def run_task(task: Task) -> None:
            with timed(f"{task.kind} {task.name}"):
                if task.kind == "check":
                    self.check(task.name, limits, docs)
                else:
                    self.step(task.name, limits)

        _run_in_order(NIGHT[1:-1], run_task, _PARALLEL_TASKS if self.scale is Scale.SMALL else 1)

    def ingest(self, source: str, parameters: Mapping[str, str]) -> None:
        """Read the dumps of every cluster into the lake; raise NothingReadable if no cluster has a readable file."""
        _validated(parameters)
        scale, attempt = ingest.source_scale(source), self.next_attempt()
        tables = ingest.read(self.lake.spark, source, self.snapshot_id, scale)
        with self.lake.computed(tables, **attempt._asdict()) if isinstance(tables, WorkerRows) else nullcontext(tables) as written:
            self.begin(written, parameters, scale, attempt)
        if not self.rows(CLUSTER):
            cluster, reason = next(iter(self._unreadable().items()))
            raise NothingReadable(
                f"source {source} has no readable dump, for example in cluster {cluster}: {reason}; "
                f"all_rejected_input of snapshot {self.snapshot_id} has every reason: repair the dumps, then run again"
            )

    def begin(
        self,
        tables: Sequence[pa.Table] | Sequence[Sequence[TableFile]] | Sequence[DataFrame],
        parameters: Mapping[str, str],
        scale: Scale,
        attempt: Attempt | None = None,
    ) -> None:
        """Start an attempt of the night, by default the next one, with these tables, in the order of ingest.WRITES.

        The attempt has begun when its parameters are stored. They are last, so that no task uses the tables of an interrupted ingest.
        """
        values = [*_validated(parameters).items(), (SCALE, scale)]
        _in_parallel(self.lake.create, TABLES)
        attempt = attempt or self.next_attempt()
        _in_parallel(lambda pair: self.lake.replace(*pair, **attempt._asdict()), [*zip(ingest.WRITES, tables, strict=True)])
        parameter = pa.table(
            list(zip(*values, strict=True)), schema=pa.schema([PARAMETER.schema.field("name"), PARAMETER.schema.field("value")])
        )
        self.lake.replace(PARAMETER, parameter, **attempt._asdict())
        self.attempt, self.scale = attempt, scale

    def step(self, name: str, limits: Limits) -> None:
        """Run a step (jobs/steps/stage.py): read its tables, transform them, and write the tables that it computes."""
        job = JOBS[name]
        engine = self.lake.engine(self.scale)
        result = transform(job, self.inputs(job), engine=engine, parameters=self.parameters(), thresholds=limits.cruise_control)
        self._write(job, result, engine)

    def inputs(self, job: ModuleType) -> list[Any]:
        """Return the tables that a step reads, in the order of its declarations."""

        def read(table: Table, **where: Any) -> Any:
            return self.lake.read_local(table, **where) if table in ARROW_TABLES else self.lake.relation(table, **where)

        inputs = [read(table, **self.attempt._asdict()) for table in job.READS]
        if previous := getattr(job, "READS_PREVIOUS", ()):
            earlier = self.earlier()
            inputs += [read(table, attempts=earlier) for table in previous]
        return inputs

    def _write(self, job: ModuleType, result: Stages[tuple[Any, ...]] | tuple[Any, ...], engine: Engine) -> None:
        """Run the stages of a step, and replace the rows of each of its tables; the scenarios of what-ifs remain."""

        def selection(table: Table) -> dict[str, str]:
            return {"scenario_set": NIGHTLY} if "scenario_set" in table.schema.names else {}

        def replace(table: Table, rows: Rows) -> None:
            self.replace(table, rows, **selection(table))

        def reread(table: Table) -> Any:
            return self.relation(table, **selection(table))

        def write_and_reread(table: Table, rows: Rows) -> Any:
            replace(table, rows)
            return reread(table)

        @contextmanager
        def write_and_reread_computed(rows: WorkerRows) -> Iterator[list[Any]]:
            with self.lake.computed(rows, **self.attempt._asdict(), scenario_set=NIGHTLY) as computed:
                rows_of = dict(zip(rows.tables, computed, strict=True))
                _in_parallel(
                    lambda table: replace(table, rows_of[table]), [table for table in rows.tables if table not in rows.intermediate]
                )
                yield [rows_of[table] if table in rows.intermediate else reread(table) for table in rows.tables]

        with OnDisk(write_and_reread, write_and_reread_computed) as on_disk:
            computed = run_stages(result, InThisProcess(engine) if self.scale is Scale.SMALL else on_disk)
            rows_by_table = {table: rows for table, rows in zip(job.WRITES, computed, strict=True) if table not in on_disk.written}
            if isinstance(engine, SparkEngine):
                _in_parallel(lambda pair: replace(*pair), [*rows_by_table.items()])
            else:  # DuckDB takes one query at a time, and uses all cores for it
                for table, rows in rows_by_table.items():
                    replace(table, rows)

    def check(self, gate: str, limits: Limits, docs: str | None) -> list[str]:
        """Evaluate the rules of a gate's tables; return a line for each broken hard rule."""
        if self.scale is Scale.LARGE:
            release_memory()
        tables, previous = GATES[gate], self.earlier()
        verdicts = check(self.lake, self.attempt, tables, previous=previous, limits=limits, docs=docs, reading=self.checked_tables)
        self.replace(VALIDATION, verdicts, gate=gate)
        broken = [row for row in verdicts.to_pylist() if row["severity"] == "hard" and row["success"] is False]
        return [
            "{cluster_id}: {suite}.{rule}: {sentence} {broken_rows} rows break it, for example {example}".format(**row) for row in broken
        ]

    def publish(self, limits: Limits, retired: Collection[str] = ()) -> Outcome:
        """Make the sound clusters of this attempt visible to readers with their verdicts, and record the absent ones but the `retired`.

        The last write replaces the night's rows of `snapshot`. With it, readers change from the attempt that was published before to this one.
        """
        suites = frozenset(table.name for gate in GATES.values() for table in gate)
        validation = self.rows(VALIDATION)
        sound = publish.sound(validation, suites)
        ids = sorted(row["cluster_id"] for row in self.rows(CLUSTER))
        published = [id for id in ids if id in sound]
        withheld = {
            id: publish.why_withheld([row for row in validation if row["cluster_id"] == id], suites) for id in ids if id not in sound
        }
        earlier, now = self.earlier(), datetime.now(UTC)
        before = {row["snapshot_id"] for row in self.lake.read_local(SNAPSHOT).to_pylist() if row["snapshot_id"] < self.snapshot_id}
        nights = sorted(before, reverse=True)[: limits.absent_cluster_nights]
        absent = publish.absent(earlier, nights, published=published, withheld=withheld, unreadable=self._unreadable(), retired=retired)
        previous = {id: attempt.snapshot_id for id, attempt in earlier.items()}
        key = self.attempt._asdict()
        rows = [{**key, "cluster_id": id, "previous_snapshot_id": previous.get(id), "published_at": now} for id in published]
        snapshots = pa.Table.from_pylist(rows, SNAPSHOT.schema)
        self.replace(VERDICT, verdicts(self.lake, snapshots))
        self.replace(ABSENT_CLUSTER, pa.Table.from_pylist([{**key, **row} for row in absent], ABSENT_CLUSTER.schema))
        self.lake.replace(SNAPSHOT, snapshots, snapshot_id=self.snapshot_id)
        return Outcome(published, absent)

    def _unreadable(self) -> dict[str, str]:
        """Return the reason for each cluster without a readable file, by cluster id."""
        read = {row["cluster_id"] for row in self.rows(CLUSTER)}
        ids = {row["cluster_id"] for row in self.rows(INPUT_FILE)} - read - {BESIDE}
        return {id: publish.why_unreadable(self.of_cluster(REJECTED_INPUT, id).to_pylist()) for id in sorted(ids)}


def _run_in_order(tasks: Sequence[Task], run_task: Callable[[Task], None], parallel: int) -> None:
    """Run tasks, up to `parallel` at a time, each when the tables that it reads are written.

    Gates run beside later steps, because only publishing waits for them.
    """
    waiting = {task: _required_steps(task) for task in tasks}
    running: dict[Future[None], Task] = {}
    with ThreadPoolExecutor(parallel) as pool:
        while waiting or running:
            ready = [task for task, required in waiting.items() if not required & {*waiting, *running.values()}]
            # Gates first: the first one imports Great Expectations, which takes as long as several steps. Then the steps that most other tasks wait for.
            ready.sort(key=lambda task: (task.kind != "check", -sum(task in required for required in waiting.values())))
            for task in ready[: parallel - len(running)]:
                del waiting[task]
                running[pool.submit(run_task, task)] = task
            for ended in wait(running, return_when=FIRST_COMPLETED).done:
                del running[ended]
                ended.result()


def reads(task: Task) -> tuple[Table, ...]:
    """Return the tables that a task of the night reads, of its night or of an earlier one."""
    if task.kind == "publish":
        return (CLUSTER, INPUT_FILE, REJECTED_INPUT, SNAPSHOT, *VERDICT_READS)
    if task.kind == "check":
        return GATES[task.name]
    if task.name == "ingest":
        return ()
    step = JOBS[task.name]
    return tuple(dict.fromkeys((*step.READS, *getattr(step, "READS_PREVIOUS", ()))))


def writes(task: Task) -> tuple[Table, ...]:
    """Return the tables that a task of the night writes."""
    if task.kind == "publish":
        return (VERDICT, ABSENT_CLUSTER, SNAPSHOT)
    if task.kind == "check":
        return (VALIDATION,)
    return (*ingest.WRITES, PARAMETER) if task.name == "ingest" else JOBS[task.name].WRITES


def computed_from(tables: Iterable[Table]) -> set[Table]:
    """Return these tables, and those that steps compute from them or from other such tables."""
    found = set(tables)
    for step in JOBS.values():
        if not found.isdisjoint(step.READS):
            found.update(step.WRITES)
    return found


def _required_steps(task: Task) -> set[Task]:
    """Return the steps that write the tables that a step reads or a gate evaluates."""
    tables = set(GATES[task.name] if task.kind == "check" else JOBS[task.name].READS)
    return {Task("step", name) for name, step in JOBS.items() if tables & set(step.WRITES)}


def _validated(parameters: Mapping[str, str]) -> dict[str, str]:
    for name, value in parameters.items():
        if name not in PARAMETERS:
            raise AuditError(f"unknown parameter {name}: the parameters of a run are {', '.join(PARAMETERS)}")
        if not re.fullmatch(r"\d{1,9}", value):
            raise AuditError(f"parameter {name} is {value!r}: it must be a whole number, 0 or more")
    return dict(parameters)


def _in_parallel(write: Callable[[Any], None], arguments: Sequence[object]) -> None:
    """Write several tables at a time: a small Delta write mostly waits."""
    with ThreadPoolExecutor(4) as pool:
        for _ in pool.map(write, arguments):
            pass
