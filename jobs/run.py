"""Every step of a night: read a job's tables, transform, replace what it writes. The only I/O on the lake is here.

A night is `ingest`, then each job and each gate, then `publish`; `NIGHT` has them in order. The same functions serve the local
command (all steps in one Spark session) and Airflow (a spark-submit a step).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from urllib.parse import urlparse

from filelock import FileLock, Timeout
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from expectations.limits import Limits
from jobs import broker_balance, consumer_assignment, failover, ingest, log_storage, producer_load, publish, replica_assignment
from jobs.check import check
from jobs.errors import AuditError
from jobs.tables import CLUSTER, INPUT_FILE, PARAMETER, SNAPSHOT, TABLES, VALIDATION, Table

JOBS: dict[str, ModuleType] = {
    "replica_assignment": replica_assignment,
    "producer_load": producer_load,
    "consumer_assignment": consumer_assignment,
    "log_storage": log_storage,
    "failover": failover,
    "broker_balance": broker_balance,
}
# The gates, each over the tables of the steps before it.
GATES: dict[str, tuple[Table, ...]] = {
    "ingest": ingest.WRITES,
    "computed": (*replica_assignment.WRITES, *producer_load.WRITES, *consumer_assignment.WRITES, *log_storage.WRITES),
    "failover": failover.WRITES,
    "balance": broker_balance.WRITES,
}
NIGHT = (
    ("step", "ingest"),
    ("check", "ingest"),
    ("step", "replica_assignment"),
    ("step", "producer_load"),
    ("step", "consumer_assignment"),
    ("step", "log_storage"),
    ("check", "computed"),
    ("step", "failover"),
    ("check", "failover"),
    ("step", "broker_balance"),
    ("check", "balance"),
    ("publish", ""),
)
_LARGE = 64 << 20  # bytes of dumps
# What a run may be asked, each a whole number.
PARAMETERS = {
    "start_index": "the broker index that AdminUtils starts at, in place of the one recovered for each topic",
    "shift": "the shift of AdminUtils' followers; with a start_index alone, the same number, as Kafka has it",
    "counter_start": "where the producers' counter for records without a key stands at first (0)",
}


@dataclass(frozen=True, slots=True)
class Night:
    """A snapshot in a lake, and the session that works on it."""

    spark: SparkSession
    lake: str
    snapshot_id: str

    def read(self, table: Table) -> DataFrame:
        return table.read(self.spark, self.lake, snapshot_id=self.snapshot_id)

    def replace(self, table: Table, df: DataFrame, **slice: str | Sequence[str]) -> None:
        table.replace(df, self.lake, snapshot_id=self.snapshot_id, **slice)

    def ingest(self, source: str, parameters: Mapping[str, str]) -> None:
        """Read the dumps of every cluster; what was published or judged of this snapshot before is withdrawn first."""
        known = self._known(parameters)
        frames = ingest.read(self.spark, source, self.snapshot_id)
        self.create_tables()
        for table in (SNAPSHOT, VALIDATION):
            self.replace(table, self._empty(table))
        rows = [(self.snapshot_id, name, value) for name, value in known.items()]
        asked = self.spark.createDataFrame(rows, PARAMETER.columns) if rows else self._empty(PARAMETER)
        self._replace_all([(PARAMETER, asked), *zip(ingest.WRITES, frames, strict=True)])

    def step(self, name: str) -> None:
        """Run a job: from the tables that it reads to those that it writes."""
        job = JOBS[name]
        self._fit_to_size()
        frames = [self.read(table) for table in job.READS] + [self._previous(table) for table in getattr(job, "READS_PREVIOUS", ())]
        parameters = {row.name: row.value for row in self.read(PARAMETER).collect()}
        results = job.transform(*frames, parameters=parameters)
        more = {"scenario_set": failover.NIGHTLY} if job is failover else {}
        self._replace_all(list(zip(job.WRITES, results, strict=True)), **more)
        self.spark.catalog.clearCache()

    def check(self, gate: str, limits: Limits, docs: str | None) -> list[str]:
        """Judge the tables of a gate; returns a line for each hard rule that a cluster broke."""
        self._fit_to_size()
        suites = [table.name for table in GATES[gate]]
        verdicts = check(self.spark, self.lake, self.snapshot_id, suites, limits=limits, docs=docs).persist()
        self.replace(VALIDATION, verdicts, suite=suites)
        broken = verdicts.where("severity = 'hard' AND NOT success").collect()
        return [f"{row.cluster_id}: {row.suite}.{row.rule}: {row.sentence} {row.broken_rows} rows break it, such as {row.example}" for row in broken]

    def publish(self) -> list[str]:
        """Make the sound clusters visible; returns the ids of those withheld."""
        self._fit_to_size()
        cluster = self.read(CLUSTER)
        suites = frozenset(table.name for gate in GATES.values() for table in gate)
        sound = publish.publishable(cluster, self.read(VALIDATION), suites).persist()
        earlier = publish.previous(SNAPSHOT.read(self.spark, self.lake), self.snapshot_id)
        row = sound.join(earlier, on="cluster_id", how="left").select(
            "snapshot_id", "cluster_id", "previous_snapshot_id", F.lit(datetime.now(UTC)).alias("published_at")
        )
        self.replace(SNAPSHOT, row)
        return [row.cluster_id for row in cluster.join(sound, on="cluster_id", how="left_anti").orderBy("cluster_id").collect()]

    def create_tables(self) -> None:
        _together(lambda table: table.create(self.spark, self.lake), TABLES)

    def _replace_all(self, written: Sequence[tuple[Table, DataFrame]], **slice: str) -> None:
        _together(lambda pair: self.replace(*pair, **{name: slice[name] for name in pair[0].slice if name in slice}), written)

    def _fit_to_size(self) -> None:
        """Spark's settings for the size of what was ingested: on a few rows, to plan and compile costs more than all the work."""
        read = self.read(INPUT_FILE).agg(F.sum("size_bytes")).first() if INPUT_FILE.exists(self.spark, self.lake) else None
        if read is None or read[0] is None:
            raise AuditError(f"lake {self.lake} holds nothing of snapshot {self.snapshot_id}: run `step ingest --snapshot {self.snapshot_id}` first")
        large = read[0] > _LARGE
        self.spark.conf.set("spark.sql.adaptive.enabled", large)
        self.spark.conf.set("spark.sql.codegen.wholeStage", large)
        self.spark.conf.set("spark.sql.codegen.factoryMode", "FALLBACK" if large else "NO_CODEGEN")
        self.spark.conf.set("spark.sql.shuffle.partitions", 4 * self.spark.sparkContext.defaultParallelism if large else 2)

    def _empty(self, table: Table) -> DataFrame:
        return self.spark.createDataFrame([], table.columns)

    def _previous(self, table: Table) -> DataFrame:
        """Each cluster's rows in the snapshot published before this one."""
        earlier = publish.previous(SNAPSHOT.read(self.spark, self.lake), self.snapshot_id)
        rows = table.read(self.spark, self.lake).where(F.col("snapshot_id") < self.snapshot_id)
        of_earlier = rows.join(F.broadcast(earlier), on="cluster_id", how="inner").where("snapshot_id = previous_snapshot_id")
        return of_earlier.select(*rows.columns)

    def _known(self, parameters: Mapping[str, str]) -> dict[str, str]:
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


@contextmanager
def sole_writer(lake: str) -> Iterator[None]:
    """Nobody else writes to a lake on this machine's disks meanwhile; on other storage Airflow's max_active_runs sees to it."""
    if urlparse(lake).scheme not in ("", "file"):
        yield
        return
    folder = Path(urlparse(lake).path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / ".writer.lock", timeout=0):
            yield
    except Timeout:
        raise AuditError(f"another run is writing to the lake {lake}: wait for it to end, then run again") from None
    except OSError as error:
        raise AuditError(f"cannot write to the lake {lake}: {error.strerror or error}") from None
