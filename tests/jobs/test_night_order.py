"""The order in which a night runs its steps and gates."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from threading import Event

import pytest

from expectations import rules_of
from expectations.limits import limits
from expectations.rule import PREVIOUS
from jobs import cli, ingest
from jobs.errors import AuditError
from jobs.gates.duckdb_tables import tables_read
from jobs.gates.gate import tables_of
from jobs.lake.lake import open_lake
from jobs.lake.publication import Outcome
from jobs.night import GATES, JOBS, NIGHT, VERDICT_READS, NightlyRun, reads, writes
from jobs.schema import BY_NAME, NOTIFICATION, SNAPSHOT, TABLES, VALIDATION, VERDICT
from jobs.spark.scale import Scale
from jobs.views import VIEWS
from jobs.views.definitions import statements, verdict_query
from tests.jobs.two_nights import FIRST


def test_the_step_that_most_others_wait_for_starts_first() -> None:
    started: list[tuple[str, str]] = []

    class RecordedNight(NightlyRun):
        scale = Scale.LARGE  # one step at a time

        def step(self, name: str, limits: object) -> None:
            started.append(("step", name))

        def check(self, gate: str, limits: object, docs: str | None) -> list[str]:
            started.append(("check", gate))
            return []

        def publish(self, limits: object, retired: Collection[str]) -> Outcome:
            started.append(("publish", ""))
            return Outcome([], [{"retired": retired}])

    outcome = RecordedNight(open_lake("file:///nowhere", pytest.fail), FIRST).run(None, {}, limits(), None, retired={"west"})
    assert outcome.absent == [{"retired": {"west"}}]
    assert started[:2] == [("check", "ingest"), ("step", "producer_load")]  # failover waits for it, and three steps for failover
    assert started[-1] == ("publish", "")
    assert sorted(started) == sorted(NIGHT[1:])


def test_a_gate_waits_only_for_its_own_tables() -> None:
    validated = Event()

    class RecordedNight(NightlyRun):
        scale = Scale.SMALL  # steps in parallel

        def step(self, name: str, limits: object) -> None:
            assert name != "remedy" or validated.wait(10)

        def check(self, gate: str, limits: object, docs: str | None) -> list[str]:
            if gate == "balance":
                validated.set()
            return []

        def publish(self, limits: object, retired: Collection[str]) -> Outcome:
            return Outcome([], [])

    assert RecordedNight(open_lake("file:///nowhere", pytest.fail), FIRST).run(None, {}, limits(), None) == Outcome([], [])


def test_steps_come_after_the_steps_whose_tables_they_read() -> None:
    written = {table.name for table in ingest.WRITES}
    for kind, name in NIGHT[1:]:
        if kind == "step":
            job = JOBS[name]
            assert {table.name for table in job.READS} <= written, name
            written |= {table.name for table in job.WRITES}


@pytest.mark.parametrize("gate", GATES)
def test_a_gate_reads_only_ingested_tables_and_its_own(gate: str) -> None:
    own = {table.name for table in GATES[gate]}
    read = {name.removeprefix(PREVIOUS) for name in tables_of({table.name: rules_of(table, limits()) for table in GATES[gate]})}
    assert read > {"cluster"}
    assert read <= own | {table.name for table in ingest.WRITES}


def test_tasks_that_run_ahead_leave_a_file_unless_they_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    failover_started = Event()

    class RecordedNight(NightlyRun):
        scale = Scale.SMALL

        def step(self, name: str, limits: object) -> None:
            if name == "failover":
                failover_started.set()
            if name == "goal" and failover_started.wait(10):  # goal does not read the tables of failover, so it may start first
                raise AuditError("no goal today")

        def check(self, gate: str, limits: object, docs: str | None) -> list[str]:
            return []

    cli._run_ahead(RecordedNight(open_lake("file:///nowhere", pytest.fail), FIRST), limits(), tmp_path)
    files = {file.name for file in (tmp_path / "ahead").iterdir()}
    assert {"step-producer_load", "step-failover"} <= files
    assert files <= {f"{kind}-{name}" for kind, name in NIGHT[1:-1]} - {"step-goal", "check-balance"}
    assert capsys.readouterr().err == "topology-audit: a task after ingest failed; its own run reports it: no goal today\n"


def test_every_table_of_a_night_has_one_writer_and_is_read_after_it() -> None:
    written: list[str] = []
    for task in NIGHT:
        earlier_nights = {SNAPSHOT.name, *(table.name for table in getattr(JOBS.get(task.name), "READS_PREVIOUS", ()))}
        assert {table.name for table in reads(task)} - {*written, *earlier_nights} == set(), task
        written += [table.name for table in writes(task)]
    gates = [VALIDATION.name] * (len(GATES) - 1)  # each gate writes its own rows of this table
    on_demand = {table.name for table in TABLES if table.name.startswith("plan") or table is NOTIFICATION}
    assert sorted(written) == sorted([*{table.name for table in TABLES} - on_demand, *gates])


def test_publish_reads_the_tables_of_the_verdicts() -> None:
    queries = {**statements(lambda table: f"_{table.name}"), VERDICT.name: verdict_query()}
    read, unread = set[str](), {VERDICT.name}
    while unread:
        names = tables_read([queries.get(name, "SELECT 1") for name in unread])
        read |= names & BY_NAME.keys()
        unread = {name for name in names if name in VIEWS}
    assert {BY_NAME[name] for name in read} - {SNAPSHOT} == set(VERDICT_READS)
