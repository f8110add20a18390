"""Every step of a night: read a job's tables, transform, replace what it writes; jobs/lake/ does the reading and writing.

A night is `ingest`, then each job and each gate, then `publish`; `NIGHT` has them in order. The same functions serve the local
command (all steps in one Spark session) and Airflow (a spark-submit a step).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from types import ModuleType
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from expectations.limits import Limits
from jobs import ingest
from jobs.errors import AuditError, NothingReadable
from jobs.gates.gate import check
from jobs.gates.judge_pool import judge_pool
from jobs.lake import publication as publish
from jobs.lake.lake import Lake
from jobs.lake.publication import Outcome
from jobs.lake.selection import Values
from jobs.lake.table_file import TableFile
from jobs.names import snapshot_name
from jobs.schema import ABSENT_CLUSTER, BESIDE, CLUSTER, INPUT_FILE, PARAMETER, REJECTED_INPUT, SNAPSHOT, TABLES, VALIDATION, Table
from jobs.schema.failure import NIGHTLY
from jobs.spark.scale import Scale
from jobs.spark.session import configure_for_scale
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
from jobs.steps.stage import ARROW_TABLES, Materializer, Stages, run_stages, transform

# The order of a night, declared here alone: each gate, after the steps whose tables it evaluates.
_ORDER: tuple[tuple[tuple[ModuleType, ...], str], ...] = (
    ((ingest,), "ingest"),
    ((change, replica_assignment, producer_load, consumer_assignment, log_storage), "computed"),
    ((failover, joint_failover, broker_restart, remedy), "failover"),
    ((broker_balance, goal), "balance"),
)


def _name(step: ModuleType) -> str:
    return step.__name__.rpartition(".")[2]


JOBS: dict[str, ModuleType] = {_name(step): step for steps, _ in _ORDER[1:] for step in steps}
GATES: dict[str, tuple[Table, ...]] = {gate: tuple(table for step in steps for table in step.WRITES) for steps, gate in _ORDER}
NIGHT: tuple[tuple[str, str], ...] = (
    *(task for steps, gate in _ORDER for task in (*(("step", _name(step)) for step in steps), ("check", gate))),
    ("publish", ""),
)
_SIDE_BY_SIDE = 3  # steps and gates: a core each for two, and one that waits
SCALE = "scale"  # the parameter that ingest writes
# The parameters that a user may set, each a whole number.
PARAMETERS = {
    "start_index": "the broker index that AdminUtils starts at, in place of the one recovered for each topic",
    "shift": "the shift of AdminUtils' followers; with a start_index alone, the same number, as Kafka has it",
    "counter_start": "where the producers' counter for records without a key stands at first (0)",
}


@dataclass(frozen=True)
class Night:
    """A snapshot in a lake."""

    lake: Lake
    snapshot_id: str

    def __post_init__(self) -> None:
        snapshot_name(self.snapshot_id)

    def read(self, table: Table) -> DataFrame:
        return self.lake.read(table, snapshot_id=self.snapshot_id)

    def replace(self, table: Table, rows: pa.Table | DataFrame, **where: Values) -> None:
        if self.scale is Scale.SMALL and isinstance(rows, DataFrame):
            rows = rows.toArrow()
        self.lake.replace(table, rows, snapshot_id=self.snapshot_id, **where)

    def rows(self, table: Table) -> list[dict[str, Any]]:
        return self.lake.read_local(table, snapshot_id=self.snapshot_id).to_pylist()

    def of_cluster(self, table: Table, cluster_id: str) -> pa.Table:
        """A cluster's rows in this process."""
        return self.lake.read_local(table, snapshot_id=self.snapshot_id, cluster_id=cluster_id)

    def run(
        self,
        source: str | None,
        parameters: Mapping[str, str],
        limits: Limits,
        docs: str | None,
        telling: Callable[[str], AbstractContextManager[None]] = lambda step: nullcontext(),
        retired: Collection[str] = (),
    ) -> Outcome:
        """Run the whole night in this process.

        Of a small night, steps run side by side once the tables that they read are written, and gates beside the steps after them,
        since they bind at publishing alone; gates of a lake in a folder run in processes of their own. `telling` is entered for each. Without a source, what was ingested is taken as it is.
        """

        def do(kind: str, name: str) -> None:
            with telling(f"{kind} {name}"):
                if kind == "check":
                    self.check(name, limits, docs, judges)
                else:
                    self.step(name, limits)

        # Processes of their own have no access to this session's credentials for other storage.
        with judge_pool() if self.lake.folder is not None else nullcontext() as judges:
            if source is not None:
                with telling("step ingest"):
                    self.ingest(source, parameters)
            at_once = _SIDE_BY_SIDE if self.scale is Scale.SMALL else 1
            waiting = {each: _needs(each) for each in NIGHT[1:-1]}
            running: dict[Future[None], tuple[str, str]] = {}
            with ThreadPoolExecutor(at_once) as pool:
                while waiting or running:
                    ready = [each for each, needs in waiting.items() if not needs & {*waiting, *running.values()}]
                    # Gates first, which work in processes of their own; of steps, the one that most others wait for.
                    ready.sort(key=lambda each: (each[0] != "check", -sum(each in needs for needs in waiting.values())))
                    for each in ready[: at_once - len(running)]:
                        del waiting[each]
                        running[pool.submit(do, *each)] = each
                    for it in wait(running, return_when=FIRST_COMPLETED).done:
                        del running[it]
                        it.result()
            with telling("publish"):
                return self.publish(limits, retired)

    def ingest(self, source: str, parameters: Mapping[str, str]) -> None:
        """Read the dumps of every cluster; fail if not one of them can be read, after the reasons are written."""
        _known(parameters)
        scale, file_writer = ingest.source_scale(source), self.lake.file_writer(snapshot_id=self.snapshot_id)
        self.begin(ingest.read(self.lake.spark, source, self.snapshot_id, scale, file_writer=file_writer), parameters, scale)
        if not self.rows(CLUSTER):
            cluster, why = next(iter(self._unreadable().items()))
            raise NothingReadable(
                f"source {source} has no readable dump, such as in cluster {cluster}: {why}; "
                f"all_rejected_input of snapshot {self.snapshot_id} has every reason: mend the dumps, then run again"
            )

    def begin(
        self, tables: Sequence[pa.Table] | Sequence[list[TableFile]] | Sequence[DataFrame], parameters: Mapping[str, str], scale: Scale
    ) -> None:
        """Make these, in the order of ingest.WRITES, the night's own; what was published or judged of it before is withdrawn first."""
        values = [*_known(parameters).items(), (SCALE, scale)]
        _together(self.lake.create, TABLES)
        for table in (SNAPSHOT, ABSENT_CLUSTER, VALIDATION):
            self.lake.replace(table, table.schema.empty_table(), snapshot_id=self.snapshot_id)
        parameter = pa.table(
            list(zip(*values, strict=True)), schema=pa.schema([PARAMETER.schema.field("name"), PARAMETER.schema.field("value")])
        )
        written = [(PARAMETER, parameter), *zip(ingest.WRITES, tables, strict=True)]
        _together(lambda pair: self.lake.replace(*pair, snapshot_id=self.snapshot_id), written)

    def step(self, name: str, limits: Limits) -> None:
        """Run a step (jobs/steps/stage.py): read its tables, transform them, and write the tables that it computes."""
        job = JOBS[name]
        self.session()
        result = transform(job, self.inputs(job), parameters=self.parameters(), thresholds=limits.cruise_control)
        self.write(job.WRITES, result, scenario_set=NIGHTLY)  # the scenarios of what-ifs stay

    def inputs(self, job: ModuleType) -> list[DataFrame | pa.Table]:
        """Return the tables that a step reads, in the order of its declarations."""

        def read(table: Table, **where: Any) -> DataFrame | pa.Table:
            return self.lake.read_local(table, **where) if table in ARROW_TABLES else self.lake.read(table, **where)

        inputs = [read(table, snapshot_id=self.snapshot_id) for table in job.READS]
        if previous := getattr(job, "READS_PREVIOUS", ()):
            earlier = self._earlier()
            inputs += [read(table, snapshots=earlier) for table in previous]
        return inputs

    def write(self, tables: Sequence[Table], result: Stages[tuple[DataFrame, ...]] | tuple[DataFrame, ...], **slice: str) -> None:
        """Run the stages of a step, and replace the slice of each table that it computes."""

        def slice_of(table: Table) -> dict[str, str]:
            return {name: value for name, value in slice.items() if name in table.schema.names}

        def write_and_reread(table: Table, rows: DataFrame) -> DataFrame:
            self.replace(table, rows, **slice_of(table))
            return self.lake.read(table, snapshot_id=self.snapshot_id, **slice_of(table))

        with Materializer(self.scale is Scale.SMALL, write_and_reread) as materialize:
            computed = zip(tables, run_stages(result, materialize), strict=True)
            _together(
                lambda pair: self.replace(*pair, **slice_of(pair[0])),
                [(table, rows) for table, rows in computed if table not in materialize.written],
            )

    def check(self, gate: str, limits: Limits, docs: str | None, judges: Executor | None = None) -> list[str]:
        """Evaluate the rules of a gate's tables, in one of the `judges` if there are any; return a line for each broken hard rule."""
        verdicts = check(self.lake, self.snapshot_id, GATES[gate], previous=self._earlier(), limits=limits, docs=docs, pool=judges)
        self.lake.replace(VALIDATION, verdicts, snapshot_id=self.snapshot_id, gate=gate)
        broken = [row for row in verdicts.to_pylist() if row["severity"] == "hard" and row["success"] is False]
        return ["{cluster_id}: {suite}.{rule}: {sentence} {broken_rows} rows break it, such as {example}".format(**row) for row in broken]

    def publish(self, limits: Limits, retired: Collection[str] = ()) -> Outcome:
        """Make the sound clusters visible, and record the absent ones; clusters that are `retired` on purpose are not missed."""
        suites = frozenset(table.name for gate in GATES.values() for table in gate)
        validation = self.rows(VALIDATION)
        sound = publish.sound(validation, suites)
        ids = sorted(row["cluster_id"] for row in self.rows(CLUSTER))
        published = [id for id in ids if id in sound]
        withheld = {
            id: publish.why_withheld([row for row in validation if row["cluster_id"] == id], suites) for id in ids if id not in sound
        }
        earlier, now = self._earlier(), datetime.now(UTC)
        before = {row["snapshot_id"] for row in self.lake.read_local(SNAPSHOT).to_pylist() if row["snapshot_id"] < self.snapshot_id}
        nights = sorted(before, reverse=True)[: limits.absent_cluster_nights]
        absent = publish.absent(earlier, nights, published=published, withheld=withheld, unreadable=self._unreadable(), retired=retired)
        rows = [{"cluster_id": id, "previous_snapshot_id": earlier.get(id), "published_at": now} for id in published]
        self._replace_rows(ABSENT_CLUSTER, absent)
        self._replace_rows(SNAPSHOT, rows)
        return Outcome(published, absent)

    def _replace_rows(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        schema = pa.schema([field for field in table.schema if field.name != "snapshot_id"])
        self.lake.replace(table, pa.Table.from_pylist(rows, schema), snapshot_id=self.snapshot_id)

    def _unreadable(self) -> dict[str, str]:
        """Of each cluster without a readable file, why."""
        read = {row["cluster_id"] for row in self.rows(CLUSTER)}
        ids = {row["cluster_id"] for row in self.rows(INPUT_FILE)} - read - {BESIDE}
        return {id: publish.why_unreadable(self.of_cluster(REJECTED_INPUT, id).to_pylist()) for id in sorted(ids)}

    @cached_property
    def scale(self) -> Scale:
        """The scale that ingest decided; an AuditError if ingest has not run."""
        parameters = self.parameters() if self.lake.exists(PARAMETER) else {}
        if SCALE not in parameters:
            raise AuditError(
                f"lake {self.lake.uri} has nothing of snapshot {self.snapshot_id}: run `step ingest --snapshot {self.snapshot_id}` first"
            )
        return Scale(parameters[SCALE])

    def parameters(self) -> dict[str, str]:
        """Return the values of the snapshot's parameters by name, its scale among them."""
        return {row["name"]: row["value"] for row in self.rows(PARAMETER)}

    def session(self) -> SparkSession:
        """Return the Spark session, configured for the snapshot's scale."""
        spark = self.lake.spark()
        configure_for_scale(spark, self.scale)
        return spark

    def _earlier(self) -> dict[str, str]:
        """Of each cluster, the newest published snapshot before this one."""
        return publish.newest(self.lake.read_local(SNAPSHOT).to_pylist(), before=self.snapshot_id)


def _needs(this: tuple[str, str]) -> set[tuple[str, str]]:
    """What must have run before a step: those that write what it reads; before a gate: those that write what it judges."""
    kind, name = this
    wanted = set(GATES[name] if kind == "check" else JOBS[name].READS)
    return {("step", job) for job, module in JOBS.items() if wanted & set(module.WRITES)}


def _known(parameters: Mapping[str, str]) -> dict[str, str]:
    for name, value in parameters.items():
        if name not in PARAMETERS:
            raise AuditError(f"unknown parameter {name}: a run may be asked {', '.join(PARAMETERS)}")
        if not re.fullmatch(r"\d{1,9}", value):
            raise AuditError(f"parameter {name} is {value!r}: it must be a whole number, 0 or more")
    return dict(parameters)


def _together(do: Callable[..., None], these: Sequence[object]) -> None:
    """Delta's small writes wait more than they work: several at once."""
    with ThreadPoolExecutor(4) as pool:
        for _ in pool.map(do, these):
            pass
